"""`build_tree`: the nodes chosen from a candidate tree as what a kernel reads: who attends to whom, positions, first children and next siblings.

The result has slots: slot 0 is the context's last token, slot k + 1 the k-th chosen node, and more slots may follow that hold none. Links are numbers of slots. The
mask has a row for each slot, in one of three forms:

    draft-only    (S, S): a column for each slot
    full          (S, L + S): L columns before them for the cache, which every node attends to; L is whatever the adapter says
    packed        (S, W): the draft-only row in W words, bit 0 of word 0 first, or as declared

    @sv.subject("build_tree", conventions={"mask": "packed", "word": 8, "unused": 0})
    def build(parents, selected):
        kernel(parents, selected, mask, positions, first, sibling)  # buffers of 64 slots, in bytes
        return mask, positions, first, sibling
"""

from __future__ import annotations

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, check_names, outside
from specverify.contracts.nodes import ROOT, ints, listed, numbers, parts
from specverify.law import Outcome

NAME = "build_tree"
PARTS = ("mask", "positions", "first child", "next sibling")
MASKS = ("draft-only", "full", "packed")
BITS = ("low first", "high first")
SIBLINGS = ("as selected", "any")


def _check(case: Case) -> None:
    check_names(NAME, case, ("parents", "selected"))
    if not all(isinstance(one, Array) and one.dtype == "int64" and len(one.shape) == 1 for one in case.values()):
        raise outside(NAME, "parents and selected must be int64, each of one axis")
    parents, selected = numbers(case, "parents"), numbers(case, "selected")
    if not all(ROOT <= parent < node for node, parent in enumerate(parents)):
        raise outside(NAME, "parents must be -1 or a node before")
    if list(selected) != sorted({*selected} & {*range(len(parents))}):
        raise outside(NAME, "selected must be nodes, each once, in ascending order")
    if not {parents[node] for node in selected} <= {ROOT, *selected}:
        raise outside(NAME, "the parent of a node that is selected must be selected")


def _outcome(case: Case, result: object) -> Outcome:
    """(mask, positions, first child, next sibling) as nested tuples: of all slots, but the mask of those that are in use; its entries as ints."""
    given = parts(PARTS, result, len(PARTS))
    rows, links = listed(given[0]), [ints(name, part) for name, part in zip(PARTS[1:], given[1:], strict=True)]
    needed, slots = len(numbers(case, "selected")) + 1, len(links[0])
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        raise Malformed("the mask is no matrix, a row for each slot")
    for name, part in zip(PARTS, (rows, *links), strict=True):
        if len(part) != slots or slots < needed:
            raise Malformed(f"{name} has {len(part)} slots, and positions {slots}; all must have the same, {needed} or more")
    return tuple(tuple(map(_entry, row)) for row in rows[:needed]), *links


def _entry(value: object) -> int:
    if isinstance(value, (bool, int)) or value in (0.0, 1.0):
        return int(value)
    raise Malformed(f"the mask holds {value!r}, neither a truth value nor a word; of one that is added to scores, give `mask == 0`")


CONTRACT = Contract(
    name=NAME,
    prefix="TRB",
    sentence="Turns the nodes chosen from a candidate tree into a mask, positions and links.",
    parameters=(
        Parameter("parents", "(n,)", "the candidate above each, int64; -1 is the context"),
        Parameter("selected", "(m,)", "the candidates that are chosen, int64, ascending; with each of them those above it"),
    ),
    returns="mask (S, …), positions (S,), first child (S,), next sibling (S,); S slots, at least m + 1: slot 0 the context, slot k + 1 the k-th chosen",
    right="mask = ancestor or self, the context among the ancestors; positions count depth on from the context's; siblings linked in the order of selected",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"parents": array("int64", (1,), (-1,)), "selected": array("int64", (1,), (0,))},
    conventions={
        "mask": Convention("the form of the mask, draft-only if nothing is declared", MASKS),
        "word": Convention("bits of a word of a packed mask: 8, 32 or 64, which it is if nothing is declared"),
        "bits": Convention(
            "the slot whose bit stands lowest in a word of a packed mask: the first of its slots (low first, which it is if nothing is declared), or the last",
            BITS,
        ),
        "end": Convention("the number that says that there is no child, or no further sibling; -1 if nothing is declared"),
        "siblings": Convention("whether siblings are linked in the order of selected, which it is if nothing is declared, or in any", SIBLINGS),
        "unused": Convention("what positions and links hold in slots behind the last node; without it they mean nothing there"),
    },
    equivalents=("build_tree_kernel_efficient", "build_dynamic_tree"),
)
