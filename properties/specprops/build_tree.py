"""Properties of `build_tree`: mask, positions and links are those of the chosen nodes, slot by slot, in whatever form the mask is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops.hygiene import inputs_unchanged
from specprops.suite import prop
from specprops.trees import ROOT
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case, array
from specverify.contracts.nodes import numbers
from specverify.subjects.replies import Raised

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

TREES = "2305.09781, section 4; theory "
CANDIDATES = 8
SLOTS = 70
"""More than a word of 64 bits has places for."""
WORD = 64
CONTEXT = 0
"""Its slot."""
END = -1


class Built(NamedTuple):
    """What a subject gave: of all slots, but the mask of those that are in use."""

    mask: Sequence[Sequence[int]]
    positions: Sequence[int]
    first: Sequence[int]
    sibling: Sequence[int]


def _case(parents: Sequence[int], selected: Sequence[int] | None = None) -> Case:
    chosen = range(len(parents)) if selected is None else selected
    return {"parents": array("int64", (len(parents),), parents), "selected": array("int64", (len(chosen),), chosen)}


def first(_: Description) -> list[Case]:
    """One node; siblings; a chain; forks; numbers that a choice moves; siblings left out at every place; more slots than a word has places for."""
    given = [
        _case([-1]), _case([-1, -1]), _case([-1, 0]), _case([-1, 0, 0]), _case([-1, -1, 0]), _case([-1, -1, 1, 0]), _case([-1, 0, -1, 2, 0]), _case([-1] * 3 + [0] * 3),
        _case([-1, -1], [1]), _case([-1, -1, 1], [1, 2]), _case([-1, -1, -1], [0, 2]), _case([-1, 0, 0, 0, 2], [0, 2, 4]), _case([-1, -1, 0, 1, 1, 3], [1, 3, 4, 5]),
    ]  # fmt: skip
    rng = random.Random("many slots")
    many = [ROOT, *(rng.randrange(-1, node) for node in range(1, SLOTS))]
    return [*given, _case(many), _case(many, _closed(many, range(0, SLOTS, 3)))]


def _closed(parents: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The wanted nodes and all above them, ascending."""
    found: set[int] = set()
    for node in wanted:
        place = node
        while place != ROOT:
            found.add(place)
            place = parents[place]
    return sorted(found)


@st.composite
def drawn(draw: st.DrawFn, _: Description) -> Case:
    """Up to eight candidates, some of them chosen, with those above them."""
    parents = [draw(st.integers(-1, node - 1)) for node in range(draw(st.integers(1, CANDIDATES)))]
    return _case(parents, _closed(parents, draw(st.lists(st.integers(0, len(parents) - 1), min_size=1))))


def _right(case: Case) -> list[int]:
    """The slot above each slot; ROOT above the context's."""
    parents, selected = numbers(case, "parents"), numbers(case, "selected")
    slots = {ROOT: CONTEXT, **{node: slot for slot, node in enumerate(selected, 1)}}
    return [ROOT, *(slots[parents[node]] for node in selected)]


def _upwards(above: Sequence[int], slot: int) -> list[int]:
    """A slot and all above it, down to the context."""
    found = [slot]
    while above[found[-1]] != ROOT:
        found.append(above[found[-1]])
    return found


def _found(trial: Trial, case: Case) -> Built:
    return Built(*trial.value(case).outcome)


@prop("TRB-014", "The result is a mask in the form that is declared, and for each slot a position, a first child and a next sibling.", source=TREES + "A1, A2",
      guards="well-formed", first=first, cases=drawn, limit=30)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    built = _found(trial, case)
    mask, form, columns, slots = built.mask, _form(trial.subject), len(built.mask[0]), len(built.positions)
    right = {"full": columns >= slots, "packed": columns >= -(-slots // _word(trial.subject))}.get(form, columns == slots)
    foreign = [entry for row in mask for entry in row if entry not in (0, 1)] if form != "packed" else []
    if not right or foreign:
        told = f"a mask of {columns} columns for {slots} slots" + (f", with the entry {foreign[0]}" if foreign else "")
        raise Violation(f"The mask is not of the form {form}.", (Row("mask", told, f"the form {form}"),), kind="form")


def _form(subject: Description) -> str:
    return str(subject.conventions.get("mask", "draft-only"))


def _word(subject: Description) -> int:
    return int(subject.conventions.get("word", WORD))


def attended(subject: Description, built: Built, slot: int) -> tuple[list[int], bool]:
    """The slots that one attends to, by the form of the mask; and whether it attends to all that is before the slots."""
    row, slots = built.mask[slot], len(built.positions)
    if _form(subject) == "packed":
        width, high = _word(subject), subject.conventions.get("bits") == "high first"
        row = [row[j // width] >> (width - 1 - j % width if high else j % width) & 1 for j in range(slots)]
    before = len(row) - slots
    return [j for j, sees in enumerate(row[before:]) if sees], all(row[:before])


@prop("TRB-015", "A node attends to itself, to those above it, the context among them, and to no other slot.", source=TREES + "A1; faults B087, B088", guards="position",
      after=("TRB-014",), first=first, cases=drawn, limit=40)  # fmt: skip
def test_mask(trial: Trial, case: Case) -> None:
    built, above = _found(trial, case), _right(case)
    for slot in range(len(above)):
        (found, whole), right = attended(trial.subject, built, slot), sorted(_upwards(above, slot))
        if found != right or not whole:
            told = "attends to other slots than itself and those above it" if found != right else "does not attend to all that is cached"
            raise Violation(f"Slot {slot} {told}.", (Row(f"slot {slot} attends to", str(found), str(right)), _tree(above)), kind="mask")


@prop("TRB-016", "A node's position is its depth, counted on from the context's.", source=TREES + "A2; faults B085, B089", guards="position", after=("TRB-014",), first=first,
      cases=drawn, limit=40)  # fmt: skip
def test_positions(trial: Trial, case: Case) -> None:
    above = _right(case)
    found = list(_found(trial, case).positions)[: len(above)]
    right = [found[CONTEXT] + len(_upwards(above, slot)) - 1 for slot in range(len(above))]
    if found != right:
        raise Violation("A position is not the context's and the node's depth.", (Row("positions", str(found), str(right)), _tree(above)), kind="positions")


def _children(trial: Trial, built: Built, slot: int, count: int) -> tuple[list[int], bool]:
    """The slots that the links of one lead to, as far as they are nodes and none comes twice; and whether they end with the end."""
    end, found = trial.subject.conventions.get("end", END), []
    at = built.first[slot]
    while at != end and 0 < at < count and at not in found:
        found.append(at)
        at = built.sibling[at]
    return found, at == end


@prop("TRB-017", "First children and next siblings lead from a node to each of its children once, and then end.", source="contracts, C; faults B088", guards="position",
      after=("TRB-014",), first=first, cases=drawn, limit=40)  # fmt: skip
def test_links(trial: Trial, case: Case) -> None:
    built, above = _found(trial, case), _right(case)
    for slot in range(len(above)):
        (found, ends), right = _children(trial, built, slot, len(above)), _below(above, slot)
        if sorted(found) != right or not ends:
            told = "leads to other slots than its children" if sorted(found) != right else "does not end"
            raise Violation(
                f"The list of children of slot {slot} {told}.",
                (Row("children", _listed(found, ends=ends), _listed(right, ends=True)), _tree(above)),
                kind="links",
            )
    if built.sibling[CONTEXT] != trial.subject.conventions.get("end", END):
        raise Violation("The context has a sibling.", (Row("next sibling of slot 0", str(built.sibling[CONTEXT]), "the end"),), kind="links")


def _below(above: Sequence[int], slot: int) -> list[int]:
    return [child for child, parent in enumerate(above) if parent == slot]


def _listed(slots: Sequence[int], *, ends: bool) -> str:
    return " -> ".join([*map(str, slots), "end" if ends else "no child, or one that came before"])


def _in_order(subject: Description) -> str | None:
    return "any order of siblings is declared" if subject.conventions.get("siblings") == "any" else None


@prop("TRB-018", "Siblings are linked in the order in which they were selected.", source="theory 1c; faults L20", guards="position", severity="advisory", after=("TRB-017",), first=first,
      cases=drawn, limit=25, applies=_in_order)  # fmt: skip
def test_order_of_siblings(trial: Trial, case: Case) -> None:
    built, above = _found(trial, case), _right(case)
    for slot in range(len(above)):
        found, right = _children(trial, built, slot, len(above))[0], _below(above, slot)
        if found != right:
            raise Violation(
                f"The children of slot {slot} are linked in another order.",
                (Row("children", _listed(found, ends=True), _listed(right, ends=True)),),
                kind="order",
            )


@prop("TRB-019", "Candidates that are not selected change nothing.", source="theory A5", guards="position", after=("TRB-015", "TRB-017"), first=first, cases=drawn, limit=25)  # fmt: skip
def test_candidates_left_out(trial: Trial, case: Case) -> None:
    count, above = len(_right(case)), _right(case)
    once = _nodes(trial, _found(trial, case), count)
    for how, other in _alike(above).items():
        again = _nodes(trial, _found(trial, other), count)
        if again != once:
            raise Violation(f"With {how} the tree is another.", (Row(f"of {numbers(other, 'parents')}", str(again), str(once)),), kind="candidates")


def _alike(above: Sequence[int]) -> dict[str, Case]:
    """The same chosen tree in other candidate trees; the number of node k is that of its slot less one."""
    bare = [slot - 1 for slot in above[1:]]
    moved = [2 * parent + 1 if parent != ROOT else ROOT for parent in bare for _ in range(2)]
    return {
        "no other candidate": _case(bare),
        "a candidate before each": _case(moved, range(1, 2 * len(bare), 2)),
        "leaves behind": _case([*bare, *range(-1, len(bare))], range(len(bare))),
    }


def _nodes(trial: Trial, built: Built, count: int) -> tuple[object, ...]:
    """All that a tree is, of the slots that hold it."""
    masks = [attended(trial.subject, built, slot) for slot in range(count)]
    depths = [built.positions[slot] - built.positions[CONTEXT] for slot in range(count)]
    return masks, depths, list(built.first[:count]), list(built.sibling[:count])


def _declares_unused(subject: Description) -> str | None:
    return None if "unused" in subject.conventions else "what unused slots hold is not declared"


@prop("TRB-020", "Slots behind the last node hold what is declared.", source="contracts, C; faults B083", guards="position", after=("TRB-014",), first=first, cases=drawn, limit=15,
      applies=_declares_unused)  # fmt: skip
def test_unused_slots(trial: Trial, case: Case) -> None:
    built, count, wanted = _found(trial, case), len(_right(case)), trial.subject.conventions["unused"]
    for name, part in zip(("positions", "first child", "next sibling"), built[1:], strict=True):
        if set(part[count:]) - {wanted}:
            raise Violation(f"An unused slot has another {name} than is declared.", (Row(name, str(list(part[count:])), f"{wanted}, each"),), kind="unused")


@prop("TRB-021", "Where nothing is selected the context stands alone: a plain decoding step.", source=TREES + "A8", guards="position", after=("TRB-014",),
      first=lambda _: [_case([]), _case([-1, 0], [])])  # fmt: skip
def test_nothing_selected(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Raised):
        raise Violation(f"Where nothing is selected, the subject {reply}.", kind="refused", severity="advisory")
    built, end = _found(trial, case), trial.subject.conventions.get("end", END)
    found, right = (attended(trial.subject, built, CONTEXT)[0], built.first[CONTEXT], built.sibling[CONTEXT]), ([CONTEXT], end, end)
    if found != right:
        raise Violation("The context does not stand alone.", (Row("attends to, first child, next sibling", str(found), str(right)),), kind="alone")


@prop("TRB-022", "The call leaves its arguments as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("TRB-014",), first=first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("TRB-023", "The same nodes give the same tree twice.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("TRB-014",), first=first)  # fmt: skip
def test_twice_the_same(trial: Trial, case: Case) -> None:
    count = len(_right(case))
    once, again = (_nodes(trial, Built(*trial.value(case, stage=stage).outcome), count) for stage in ("once", "again"))
    if once != again:
        raise Violation("Two calls with equal arguments differ.", (Row("result", "two trees", "twice the same"),), kind="nondeterministic")


def _tree(above: Sequence[int]) -> Row:
    return Row("slots above", str(list(above)), "each slot's, -1 above the context's")
