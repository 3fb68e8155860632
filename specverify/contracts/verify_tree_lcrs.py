"""`verify_tree_lcrs`: many draft trees in one packed batch, as first children and next siblings, as engines call their kernels.

Nodes, tokens and rows of all requests stand one behind the other in a case, `sizes` (B,) nodes for each; what each request has is a case of `verify_tree`: rows of its
own nodes, or for a law tables by prefix. Beside them may stand `slots`, how many each request has in the batch; `pad`, the token of slots without a node; `ids`, the
width of ids; `seeds` and `temperature` (B,); and `poison`, the number in buffers for output.

    @sv.subject("verify_tree_lcrs", siblings="with-replacement", rng="coins", conventions={"output": "path and token"})
    def step(batch):
        tokens, first, sibling, target, q = batch.lcrs(end=-1)
        kernel(path, bonus, tokens, first, sibling, target, q, batch.coins)  # slots of the accepted nodes, filled up with -1
        return path, bonus
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from specverify.contracts import coins, verify_batch, verify_tree
from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, Stream, array_of, check_names, outside, token_list
from specverify.contracts.bundle import Bundle
from specverify.contracts.nodes import CONVENTIONS, ROOT, ints, listed, numbers, parts
from specverify.contracts.packed_trees import PackedTrees, slots_of, split
from specverify.contracts.picks import Pick
from specverify.contracts.ragged import Expected, read
from specverify.contracts.verify_batch import IDS, UNDEFINED
from specverify.contracts.verify_tree import Tables, depth_of, places_of
from specverify.law import Outcome

NAME = "verify_tree_lcrs"
OF_TREES = ("p", "q", "target", "drafter", "parents", "tokens")
"""What of a case belongs to the nodes of its requests."""
BESIDE = ("ids", "poison")
"""What belongs to the batch as a whole, and does not change with its requests."""
OF_THE_BATCH = (*BESIDE, "sizes", "slots", "pad", "seeds", "temperature")
PATHS = "path and token"
WIDEST = 128
"""Outcomes up to which a law is explored: three nodes in two levels over three tokens have 81, which take a vectorised step seconds."""
OUTPUT = Convention(
    "what comes back: rows of token ids, filled up behind their ends or not, and the accepted lengths (B,) beside them where ids may stand behind an end; the same with "
    "the numbers of emitted tokens; all ids one behind the other, and how many of them are of each request (B,); or the slots of the accepted nodes, filled up with numbers "
    "below 0, that of the context before them or not, and the tokens behind them (B,)",
    ("rows", "rows and counts", "flat and counts", PATHS),
)


def requests(case: Case) -> list[Case]:
    """Each request as a case of `verify_tree`."""
    sizes, shared = numbers(case, "sizes"), {name: case[name] for name in OF_TREES if name in case and case[name] is None}
    if "target" in case:
        shared |= {"siblings": case["siblings"], "pads": []}
    rows, places = [n + 1 for n in sizes], _places(case, sizes) if "target" in case else []
    counts = {"p": rows, "q": rows, "target": places, "drafter": places, "parents": sizes, "tokens": sizes}
    held = {name: split(array_of(case, name), counts[name]) for name in OF_TREES if name in case and case[name] is not None}
    return [{**shared, **{name: pieces[b] for name, pieces in held.items()}} for b in range(len(sizes))]


def _places(case: Case, sizes: Sequence[int]) -> list[int]:
    width = array_of(case, "target").shape[-1]
    return [places_of([int(x) for x in parents.values], width) for parents in split(array_of(case, "parents"), sizes)]


def joined(mine: Sequence[Case]) -> dict[str, object]:
    """What belongs to the nodes of all requests, one behind the other."""
    names = [name for name in OF_TREES if name in mine[0]]
    return {name: None if mine[0][name] is None else _end_to_end([array_of(one, name) for one in mine]) for name in names}


def _end_to_end(tables: Sequence[Array]) -> Array:
    first = tables[0]
    return Array(first.dtype, (sum(one.shape[0] for one in tables), *first.shape[1:]), b"".join(one.data for one in tables))


def _check(case: Case) -> None:
    trees = {name: value for name, value in case.items() if name not in OF_THE_BATCH}
    law = ("target", "drafter", "parents", "siblings") if "target" in case else ("p", "q", "parents", "tokens")
    check_names(NAME, {"tokens": None, **trees}, (*law, *(("tokens",) if "target" in case else ())))
    sizes = case.get("sizes")
    if not isinstance(sizes, Array) or sizes.dtype not in IDS or len(sizes.shape) != 1 or not sizes.shape[0] or min(sizes.values) < 0:
        raise outside(NAME, "sizes must be int64 of shape (B,), with at least one request")
    _check_counts(case, numbers(case, "sizes"))
    for one in requests(case):
        verify_tree.check_as(NAME, one)
    _check_beside(case, sizes.shape)


def _check_counts(case: Case, sizes: Sequence[int]) -> None:
    """As many nodes and rows as the requests have together, and tokens of the vocabulary."""
    nodes, rows = sum(sizes), "target" if "target" in case else "p"
    if array_of(case, "parents").shape != (nodes,):
        raise outside(NAME, f"parents must have shape ({nodes},), the sum of sizes")
    wanted = sum(_places(case, sizes)) if rows == "target" else nodes + len(sizes)
    if array_of(case, rows).shape[0] != wanted:
        raise outside(NAME, f"{rows} must have {wanted} rows for these trees")
    if "tokens" in case and not all(0 <= x < array_of(case, rows).shape[-1] for x in numbers(case, "tokens")):
        raise outside(NAME, "tokens must be ids of the vocabulary")


def _check_beside(case: Case, size: tuple[int, ...]) -> None:
    for name, dtypes in (("seeds", ("int64",)), ("temperature", FLOATS)):
        value = case.get(name)
        if value is not None and not (isinstance(value, Array) and value.shape == size and value.dtype in dtypes):
            raise outside(NAME, f"{name} must be an array of {dtypes[0]} of shape {size}")
    if case.get("ids", IDS[0]) not in IDS:
        raise outside(NAME, f"ids must be one of {', '.join(IDS)}")


def _outcome(case: Case, result: object) -> Outcome:
    """A tuple of rows of emitted tokens; declared conventions and the sentinel stand in the case."""
    output, sentinel, above = str(case.get("output", "rows")), case.get("sentinel"), _parents(case)
    rows = [[*path, token] for path, token in _followed(case, above, result)] if output == PATHS else result
    longest, width = [range(depth_of(parents)) for parents in above], array_of(case, "target" if "target" in case else "p").shape[-1]
    return read(rows, Expected(longest, width, "rows" if output == PATHS else output, sentinel if isinstance(sentinel, int) and output != PATHS else None))


def _followed(case: Case, above: Sequence[Sequence[int]], result: object) -> list[tuple[list[int], int]]:
    """Of each request the tokens of the nodes in whose slots its path is, and the token behind it."""
    paths, last = parts(("paths of slots", "tokens behind them"), result, 2)
    rows, behind, width = listed(paths), token_list(last), array_of(case, "target" if "target" in case else "p").shape[-1]
    if not isinstance(rows, list) or not len(rows) == len(behind) == len(above):
        raise Malformed(f"there is no row of slots and no token for each of {len(above)} requests")
    if not {*behind} <= {*range(width)}:
        raise Malformed(f"the tokens behind the paths are {behind}, not ids of 0 … {width - 1}")
    tokens = [one.values for one in split(array_of(case, "tokens"), numbers(case, "sizes"))]
    return [([int(mine[slot - 1]) for slot in _path(b, row, above[b])], token) for b, (row, token, mine) in enumerate(zip(rows, behind, tokens, strict=True))]


def _path(b: int, row: object, parents: Sequence[int]) -> list[int]:
    """Slots of nodes from a child of the context down."""
    slots = list(ints(f"the path of request {b}", row))
    held = slots[bool(slots) and slots[0] == 0 :]
    path = held[: next((i for i, slot in enumerate(held) if slot < 0), len(held))]
    if any(slot >= 0 for slot in held[len(path) :]):
        raise Malformed(f"the path of request {b} goes on behind its end: {slots}")
    for place, slot in zip([0, *path], path, strict=False):
        if slot not in range(1, len(parents) + 1) or parents[slot - 1] != place + ROOT:
            raise Malformed(f"the path of request {b} goes from slot {place} to {slot}, which is no child of it: {slots}")
    return path


def _parents(case: Case) -> list[list[int]]:
    return [[int(x) for x in one.values] for one in split(array_of(case, "parents"), numbers(case, "sizes"))]


def _stream(case: Case) -> Stream:
    """Children drawn by the tool; outcome: for each request (tokens of its nodes, n, tokens: those emitted, of a law completed from the target)."""
    sizes, tables = numbers(case, "sizes"), [Tables(one) for one in requests(case)] if "target" in case else None

    def draw(pick: Pick) -> dict[str, object]:
        return {} if tables is None else joined([one.draw(pick) for one in tables])

    def finish(pick: Pick, drawn: Mapping[str, object], outcome: Outcome) -> Outcome:
        if not isinstance(outcome[0], tuple):
            return outcome
        held = split(array_of({**case, **drawn}, "tokens"), sizes)
        told = [(tuple(map(int, one.values)), len(row) - 1, row) for one, row in zip(held, outcome, strict=True)]
        return tuple(told if tables is None else (table.completed(pick, one) for table, one in zip(tables, told, strict=True)))

    return Stream(draw, finish)


def _outcomes(case: Case) -> int:
    """Of all requests: children in every way, each with every token that may be emitted after them."""
    return math.prod(map(verify_tree.CONTRACT.outcomes or len, requests(case)))


def _prepare(case: Case) -> Case:
    return {**case, "batch": Bundle(lambda into: PackedTrees(case, into))}


def _keywords(case: Case, rng: random.Random) -> dict[str, object]:
    rows = array_of(case, "sizes").shape[0]
    return {"seeds": case.get("seeds") or array("int64", (rows,), [rng.getrandbits(verify_batch.SEED_BITS) for _ in range(rows)])}


def _coins(case: Case) -> int:
    return array_of(case, "sizes").shape[0] * slots_of(case)


def _streams(case: Case) -> list[tuple[int, int]] | None:
    return [(int(seed), slots_of(case)) for seed in array_of(case, "seeds").values] if "seeds" in case else None


def _borders(case: Case) -> set[float]:
    """Of each request with its tokens: acceptances and scans of every place, whatever was refused there before (theory 1c)."""
    return {x for one in requests(case) for place in range(array_of(one, "p").shape[0]) for x in _at(one, place)}


def _at(tree: Case, place: int) -> set[float]:
    p, tokens = list(array_of(tree, "p").rows())[place], numbers(tree, "tokens")
    q = list(array_of(tree, "q").rows())[place] if tree["q"] is not None else None
    found, left = coins.scans(p), p
    for x in (tokens[node] for node, parent in enumerate(numbers(tree, "parents")) if parent == place + ROOT):
        drawn: Sequence[float] = q if q is not None else [float(token == x) for token in range(len(p))]
        found |= {left[x] / drawn[x]} if drawn[x] > 0 else set()
        rest = [max(0.0, a - b) if q is not None else a * (b == 0) for a, b in zip(left, drawn, strict=True)]
        left = tuple(a / math.fsum(rest) for a in rest) if math.fsum(rest) > 0 else left
        found |= coins.scans(left)
    return found


CONTRACT = Contract(
    name=NAME,
    prefix="TRE",
    sentence="Accepts a path of each request's draft tree and emits one token more, for one packed batch of trees.",
    parameters=(Parameter("batch", "PackedTrees", "trees as first children and next siblings by slot, rows beside them (contracts.packed_trees)"),),
    optional=(Parameter("seeds", "(B,)", "a seed for each request, int64, as batch.seeds"),),
    returns="one row of token ids for each request, (n + 1,), n the nodes of its path; see the convention output",
    right="each request as verify_tree on its own, with the children drawn as `siblings` says",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={**verify_tree.CONTRACT.smoke, "sizes": array("int64", (1,), (1,))},
    conventions={"output": OUTPUT, "order": CONVENTIONS["order"]},
    equivalents=("tree_speculative_sampling", "tree verify kernels of engines"),
    prepare=_prepare,
    stream=_stream,
    coins=coins.Coins("(B, S), one for each slot: as many as nodes may be tried, and one for the token behind", _coins, _borders, _streams),
    features=("temperature", "seeds", "int32", UNDEFINED),
    outcomes=_outcomes,
    widest=WIDEST,
    keywords=_keywords,
    bundles=True,
)
