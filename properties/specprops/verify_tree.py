"""Properties of `verify_tree`: whatever the tree, the tokens that leave a step follow the target (2305.09781, section 4; theory 1c, A4 to A9)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from specprops import rows
from specprops.boundary import at_the_bounds
from specprops.draft_trees import is_path, takes_pads
from specprops.hygiene import inputs_unchanged
from specprops.suite import prop
from specprops.tree_cases import SMALL, Shape, T, explicit, first, made, right_law, tables, wide
from specprops.trees import ROOT, children
from specprops.trial import Trial
from specprops.violation import Violation
from specverify.contracts import Case, Family, array, array_of
from specverify.contracts.nodes import numbers
from specverify.contracts.verify_tree import row_of
from specverify.law import Law, Outcome
from specverify.subjects.replies import Raised

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

THEOREM = "2305.09781, theorem 4.2; theory 1c"
LARGE = 32_000
PADS = (1, 3)
"""Slots without a node: the least, and as many as the small trees have nodes."""


class Draw(NamedTuple):
    """One draw of a step's stream: the tokens of the nodes, the accepted path, the tokens emitted and then completed from the target."""

    drafted: tuple[int, ...]
    path: tuple[int, ...]
    tokens: tuple[int, ...]


@prop("TRE-001", "Every call gives a path of nodes and one token of the vocabulary, and no exception.", source="2305.09781, algorithm 2", guards="well-formed",
      statistical=True, first=first, cases=tables, limit=8)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda _: True, "The step fails")


@prop("TRE-002", "The path goes from a child of the context down, node after node.", source="theory A3", guards="well-formed", statistical=True, after=("TRE-001",),
      first=first, cases=tables, limit=6)  # fmt: skip
def test_path(trial: Trial, case: Case) -> None:
    parents = numbers(case, "parents")
    trial.holds(case, on_draws(lambda d: is_path(parents, d.path)), "The path is no path of the tree")


@prop("TRE-003", "A token that the target gives probability zero is never emitted, on the path or after it.", source="theory S12c", guards="support",
      statistical=True, after=("TRE-001",), first=first, cases=tables, limit=8)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    table, width = list(array_of(case, "target").rows()), array_of(case, "target").shape[-1]

    def inside(d: Draw) -> bool:
        emitted = d.tokens[: len(d.path) + 1]
        return all(t in range(width) and table[row_of(emitted[:place], width)][t] > 0 for place, t in enumerate(emitted))

    trial.holds(case, on_draws(inside), "A token of target probability zero is emitted")


@prop("TRE-004", "No bound of a uniform generator's range leads to a token of target probability zero or to an exception.",
      source="theory S12c, C6, C7; faults B030, B073", guards="support", severity="grid", after=("TRE-001", "TRE-003"), first=explicit)  # fmt: skip
def test_boundary_draws(trial: Trial, case: Case) -> None:
    p, tokens = list(array_of(case, "p").rows()), numbers(case, "tokens")

    def impossible(outcome: Outcome) -> str | None:
        path, last = outcome
        emitted = [*(tokens[node] for node in path), last]
        zero = [t for place, t in zip((ROOT, *path), emitted, strict=True) if p[place + 1][t] == 0]
        return f"token {zero[0]} of target probability zero is emitted" if zero else None

    at_the_bounds(trial, case, impossible, lambda outcome: (Draw(*outcome).path, Draw(*outcome).tokens[-1]))


def refuses_for_good(subject: Description) -> str | None:
    """The rules under which a refused sibling is not emitted; in half precision rows may lawfully be normalised once more."""
    if subject.rule not in ("standard", "sample-and-match"):
        return f"holds for the rules standard, sample-and-match; declared is {subject.rule or 'none'}"
    return rows.needs_wide(subject)


@prop("TRE-005", "The token after the path is not that of a child which was refused there.", source="2305.09781, algorithm 2; theory S12b; faults B023", guards="joint",
      statistical=True, after=("TRE-002",), first=first, cases=wide, limit=6, applies=refuses_for_good)  # fmt: skip
def test_a_refused_token_is_not_emitted(trial: Trial, case: Case) -> None:
    below = children(numbers(case, "parents"))

    def differs(d: Draw) -> bool:
        refused = [d.drafted[node] for node in below[d.path[-1] if d.path else ROOT]]
        return d.tokens[len(d.path)] not in refused

    trial.holds(case, on_draws(differs), "The token of a refused child is emitted")


@prop("TRE-008", "With the children drawn as declared, the emitted tokens completed by the target follow the target.", source=THEOREM, guards="joint",
      statistical=True, after=("TRE-002", "TRE-003"), first=first, cases=wide, limit=4, applies=rows.needs_wide)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    trial.law(case, right_law(case), lambda outcome: Draw(*outcome).tokens)


def padded(subject: Description) -> list[Case]:
    """The small trees with slots that hold no node."""
    pad = int(subject.conventions.get("pad", ROOT))
    return [made(subject, shape, [pad] * n) for shape in SMALL[:1] + SMALL[2:3] + SMALL[5:6] for n in PADS]


@prop("TRE-006", "Slots that hold pads are never on the path.", source="theory A4; faults B079, B090", guards="well-formed", statistical=True, after=("TRE-002",),
      first=padded, applies=takes_pads)  # fmt: skip
def test_pads_are_no_nodes(trial: Trial, case: Case) -> None:
    parents = numbers(case, "parents")
    trial.holds(case, on_draws(lambda d: is_path(parents, d.path)), "A slot that holds no node is accepted")


@prop("TRE-007", "Slots that hold pads change no law, however many they are.", source="theory A4; faults B079, B090", guards="joint", statistical=True,
      after=("TRE-006", "TRE-008"), first=padded, applies=lambda subject: takes_pads(subject) or rows.needs_wide(subject))  # fmt: skip
def test_law_with_pads(trial: Trial, case: Case) -> None:
    trial.law(case, right_law(case), lambda outcome: Draw(*outcome).tokens)


@prop("TRE-009", "Successive calls draw afresh: the tokens of two calls are independent.", source="2305.09781, theorem 4.2; faults B053, B058", guards="joint",
      statistical=True, after=("TRE-008",), first=lambda subject: first(subject)[2:3], applies=rows.needs_wide, drawn_too=True)  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    once = right_law(case).probabilities
    both = Law({(*a, *b): x * y for (a, x), (b, y) in itertools.product(once.items(), repeat=2)})
    trial.law(case, both, lambda outcome: tuple(token for one in outcome for token in Draw(*one).tokens), spans=2)


@prop("TRE-010", "The call leaves its arguments as they were.", source="theory, L17; faults B019", guards="hygiene", severity="advisory", after=("TRE-001",),
      first=lambda subject: explicit(subject)[:12])  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


def large(subject: Description) -> list[Case]:
    """Rows over 32,000 tokens, the target's support small; two children that the drafter likes, one of them with a child."""
    dtype = (rows.wide(subject) or subject.dtypes)[0]
    p, q = Family("sparse", 1, dtype, (4, LARGE)), Family("zipf", 2, dtype, (4, LARGE))
    best = [sorted(range(LARGE), key=row.__getitem__)[::-1] for row in q.expand().rows()]
    tokens = array("int64", (3,), (best[0][0], next(t for t, x in enumerate(next(iter(p.expand().rows()))) if x), best[2][0]))
    return [{"p": p, "q": None if subject.siblings == "deterministic" else q, "parents": array("int64", (3,), (ROOT, ROOT, 1)), "tokens": tokens}]


@prop("TRE-011", "Over a large vocabulary the step keeps to the tree and to the target's support.", source="theory S12c, A3", guards="support", statistical=True,
      after=("TRE-002", "TRE-003"), first=large, applies=rows.needs_wide)  # fmt: skip
def test_large_vocabulary(trial: Trial, case: Case) -> None:
    p, parents = list(array_of(case, "p").rows()), numbers(case, "parents")

    def keeps(d: Draw) -> bool:
        return is_path(parents, d.path) and all(p[place + 1][t] > 0 for place, t in zip((ROOT, *d.path), d.tokens, strict=True))

    trial.holds(case, on_draws(keeps), "The path or the support is not kept", draws=50)


@prop("TRE-012", "Of a tree without nodes a token of the target is drawn: a plain decoding step.", source="theory A8", guards="joint", statistical=True,
      after=("TRE-008",), first=lambda subject: [made(subject, Shape((), (), (line,), (line,))) for line in (T, (0, 1))], applies=rows.needs_wide)  # fmt: skip
def test_empty(trial: Trial, case: Case) -> None:
    none = array("int64", (0,), ())
    reply = trial.call({"p": case["target"], "q": case["drafter"], "parents": none, "tokens": none})
    if isinstance(reply, Raised):
        raise Violation(f"Without any node, the subject {reply}.", kind="refused", severity="advisory")
    trial.law(case, right_law(case), lambda outcome: Draw(*outcome).tokens)


def on_draws(predicate: Callable[[Draw], bool]) -> Callable[[Outcome], bool]:
    """A predicate of draws as one of outcomes."""
    return lambda outcome: predicate(Draw(*outcome))
