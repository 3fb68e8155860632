"""`verify_tree`: accept a path of a draft tree and emit one token more.

The law is judged with the children drawn by the tool, as the subject declares: `siblings="with-replacement"` (each from q on its own), `"without-replacement"`
(q without the siblings before, renormalised) or `"deterministic"` (they are no random choice; q is None). Rows depend on the tokens drawn, so a case of a law holds
tables by prefix, `target` and `drafter`, from which the tool makes p and q of each call:

    row 0 after the context, row 1 + x after it and x, row (1 + x) V + 1 + y after it, x and y, and so on to the depth of the tree
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Parameter, Stream, array_of, check_names, outside, probability_rows
from specverify.contracts.nodes import CONVENTIONS, ROOT, check_nodes, numbers, path_and_token
from specverify.contracts.picks import Pick
from specverify.law import Outcome

NAME = "verify_tree"
SIBLINGS = ("with-replacement", "without-replacement", "deterministic")
"""How the children of a node were drawn."""
TAKEN_BY = (NAME, "verify_tree_lcrs")
"""The contracts whose law depends on it."""

Prefix = tuple[int, ...]


def _check(case: Case) -> None:
    check_as(NAME, case)


def check_as(contract: str, case: Case) -> None:
    """Refuse what is no tree, in the name of a contract.

    A case carries p, q, parents and tokens; or tables, and then tokens only of children that are not drawn.
    """
    if "target" not in case:
        check_names(contract, case, ("p", "q", "parents", "tokens"))
        _check_rows(contract, case, check_nodes(contract, case, array_of(case, "p").shape[-1]) + 1, "p", "q")
        return
    drawn = () if case.get("siblings") == "deterministic" else ("tokens",)
    check_names(contract, case, tuple(name for name in ("target", "drafter", "parents", "siblings", "tokens", "pads") if name not in drawn))
    parents, width = numbers(case, "parents"), array_of(case, "target").shape[-1]
    check_nodes(contract, {"parents": case["parents"], "tokens": case.get("tokens", array("int64", (len(parents),), [0] * len(parents)))}, width)
    _check_rows(contract, case, places_of(parents, width), "target", "drafter")
    pads = case["pads"]
    if case["siblings"] not in SIBLINGS or not isinstance(pads, list) or not all(isinstance(pad, int) and pad < 0 for pad in pads):
        raise outside(contract, f"siblings must be one of {', '.join(SIBLINGS)}, and pads ints below 0")
    most = max(map(parents.count, parents), default=0)
    if case["siblings"] == "without-replacement" and any(sum(x > 0 for x in row) < most for row in array_of(case, "drafter").rows()):
        raise outside(contract, f"each row of the drafter must have {most} tokens to draw")


def _check_rows(contract: str, case: Case, rows: int, p: str, q: str) -> None:
    target, absent = probability_rows(contract, case, p), case[q] is None
    if target.shape != (rows, target.shape[-1]) or not (absent or probability_rows(contract, case, q).shape == target.shape):
        raise outside(contract, f"{p} must have shape ({rows}, V) for these nodes, and {q} too, or be None")
    if not absent and array_of(case, q).dtype != target.dtype:
        raise outside(contract, f"{p} and {q} must be of one dtype")


def depth_of(parents: Sequence[int]) -> int:
    """Nodes of the longest branch."""
    depths: list[int] = []
    for parent in parents:
        depths.append(1 + (depths[parent] if parent != ROOT else 0))
    return max(depths, default=0)


def places_of(parents: Sequence[int], width: int) -> int:
    """Rows of a table by prefix."""
    return int(sum(width**depth for depth in range(depth_of(parents) + 1)))


def row_of(prefix: Sequence[int], width: int) -> int:
    """The row of a table by prefix."""
    row = 0
    for token in prefix:
        row = row * width + 1 + token
    return row


def _outcome(case: Case, result: object) -> Outcome:
    name = "target" if "target" in case else "p"
    return path_and_token(result, len(numbers(case, "parents")) + len(_pads(case)), array_of(case, name).shape[-1])


def _pads(case: Case) -> list[int]:
    pads = case.get("pads", [])
    assert isinstance(pads, list)
    return pads


def _stream(case: Case) -> Stream:
    """Children drawn by the tool, rows of the prefixes that they make, completions from the target; outcome (tokens of the nodes, path, tokens emitted)."""
    if "target" not in case:
        fixed = numbers(case, "tokens")
        return Stream(finish=lambda _pick, _drawn, outcome: _emitted(fixed, outcome))
    tables = Tables(case)

    def finish(pick: Pick, drawn: Mapping[str, object], outcome: Outcome) -> Outcome:
        told = _emitted(numbers(drawn, "tokens"), outcome)
        return tables.completed(pick, told) if isinstance(outcome[0], tuple) else told

    return Stream(tables.draw, finish)


def _emitted(tokens: Sequence[int], outcome: Outcome) -> Outcome:
    """(tokens of the nodes, path, tokens emitted); an exception or a malformed result as it is."""
    if not isinstance(outcome[0], tuple):
        return outcome
    path, token = outcome
    return (tuple(tokens), path, (*(tokens[node] for node in path), token))


class Tables:
    """A case's tables, read once for all draws."""

    def __init__(self, case: Case) -> None:
        self.parents, self.pads, self.siblings = numbers(case, "parents"), _pads(case), case["siblings"]
        self.given = numbers(case, "tokens") if "tokens" in case else None
        self.target = array_of(case, "target")
        self.drafter = array_of(case, "drafter") if case["drafter"] is not None else None
        self.width, self.longest = self.target.shape[-1], depth_of(self.parents) + 1
        self.p = [list(itertools.accumulate(row)) for row in self.target.rows()]
        self.q = list(self.drafter.rows()) if self.drafter is not None else []

    def draw(self, pick: Pick) -> dict[str, object]:
        """Tokens of the nodes, and p and q with a row for each."""
        prefixes = self._grown(pick)
        tokens = [*(prefix[-1] for prefix in prefixes), *self.pads]
        places = [row_of(prefix, self.width) for prefix in [(), *prefixes, *[()] * len(self.pads)]]
        parents = array("int64", (len(tokens),), [*self.parents, *[ROOT] * len(self.pads)])
        q = None if self.drafter is None else _chosen(self.drafter, places)
        return {"p": _chosen(self.target, places), "q": q, "parents": parents, "tokens": array("int64", (len(tokens),), tokens)}

    def _grown(self, pick: Pick) -> list[Prefix]:
        """The prefix that ends with each node."""
        found: list[Prefix] = []
        for node, parent in enumerate(self.parents):
            above = found[parent] if parent != ROOT else ()
            before = [found[other][-1] for other in range(node) if self.parents[other] == parent]
            found.append((*above, self._token(pick, node, above, before)))
        return found

    def _token(self, pick: Pick, node: int, above: Prefix, before: Sequence[int]) -> int:
        if self.given is not None:
            return self.given[node]
        row = self.q[row_of(above, self.width)]
        taken = set(before) if self.siblings == "without-replacement" else set()
        return pick(list(itertools.accumulate(0.0 if token in taken else x for token, x in enumerate(row))))

    def completed(self, pick: Pick, told: Outcome) -> Outcome:
        """With tokens of the target behind those emitted, as many as the longest branch and one; nothing is added behind what is no token."""
        drafted, path, tokens = told
        while len(tokens) < self.longest and all(0 <= token < self.width for token in tokens):
            tokens = (*tokens, pick(self.p[row_of(tokens, self.width)]))
        return drafted, path, tokens


def _chosen(table: Array, rows: Sequence[int]) -> Array:
    size = len(table.data) // table.shape[0]
    return Array(table.dtype, (len(rows), table.shape[-1]), b"".join(table.data[row * size : (row + 1) * size] for row in rows))


def _outcomes(case: Case) -> int:
    """Children in every way, each with every token that may be emitted after them."""
    width = array_of(case, "target" if "target" in case else "p").shape[-1]
    drawn = "target" in case and case["siblings"] != "deterministic"
    return int(width ** (1 + drawn * len(numbers(case, "parents"))))


CONTRACT = Contract(
    name=NAME,
    prefix="TRE",
    sentence="Accepts a path of a draft tree and emits one token more.",
    parameters=(
        Parameter("p", "(n + 1, V)", "rows of the target: row 0 after the context, row i + 1 after node i"),
        Parameter("q", "(n + 1, V) or None", "the laws that the children of the context and of each node were drawn from; rows without children mean nothing"),
        Parameter("parents", "(n,)", "the node above each, int64; -1 is the context"),
        Parameter("tokens", "(n,)", "the token of each node, int64; siblings in the order in which they were drawn"),
    ),
    returns="path of node numbers, next token; pads below 0 may fill the path up",
    right="with the children drawn as `siblings` says, the emitted tokens completed by the target follow the target",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={
        "p": array("float32", (2, 2), (0.5, 0.5, 0.25, 0.75)),
        "q": array("float32", (2, 2), (0.75, 0.25, 0.5, 0.5)),
        "parents": array("int64", (1,), (-1,)),
        "tokens": array("int64", (1,), (0,)),
    },
    conventions=CONVENTIONS,
    stream=_stream,
    outcomes=_outcomes,
)
