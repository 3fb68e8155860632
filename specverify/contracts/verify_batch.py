"""`verify_batch`: many chains at once, each with a draft of its own length; what lies behind a row's length is padding."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import ROW_SUM_TOLERANCE, Case, Contract, Parameter, Stream, array_of, check_names, float_array, outside
from specverify.contracts.picks import Pick
from specverify.contracts.ragged import OUTPUT, Expected, read
from specverify.contracts.verify_chain import completed, cumulative
from specverify.law import Outcome

NAME = "verify_batch"
UNDEFINED = "undefined padding"
"""The feature of subjects that read nothing behind a row's length: it may then hold anything, NaN and foreign ids included."""
SEED_BITS = 31
IDS = ("int64", "int32")
WIDEST = 128
"""Two requests over two tokens with a draft each have 64, and each row of padding of ours twice as many, which cost nothing. A vectorised step takes half a second for 64."""


class Request(NamedTuple):
    """One row of a batch without its padding: rows of the target (n + 1, V) and of the draft (n, V), and the drafted tokens, none where they are still to be drawn."""

    p: Array
    q: Array
    draft: tuple[int, ...] | None


def requests(case: Case) -> list[Request]:
    """The requests of a batch, each as a case of `verify_chain` has it."""
    p, q, lengths = array_of(case, "p"), array_of(case, "q"), [int(n) for n in array_of(case, "lengths").values]
    given = drafts(case) if "draft" in case else [None] * len(lengths)
    return [Request(_leading(p, b, n + 1), _leading(q, b, n), draft) for b, (n, draft) in enumerate(zip(lengths, given, strict=True))]


def drafts(case: Case) -> list[tuple[int, ...]]:
    """The drafted tokens of each request, without their padding."""
    ids, places = [int(x) for x in array_of(case, "draft").values], array_of(case, "q").shape[1]
    return [tuple(ids[b * places : b * places + int(n)]) for b, n in enumerate(array_of(case, "lengths").values)]


def _leading(rows: Array, b: int, n: int) -> Array:
    """The first n rows of one request, as they lie in memory."""
    places, width = rows.shape[1:]
    row = len(rows.data) // max(rows.shape[0] * places, 1)
    return Array(rows.dtype, (n, width), rows.data[b * places * row : (b * places + n) * row])


def _check(case: Case) -> None:
    check_as(NAME, case)


def check_as(contract: str, case: Case) -> None:
    """Refuse what is no batch, in the name of a contract."""
    check_names(contract, {**dict.fromkeys(("draft", "temperature", "seeds", "pad")), **case}, ("p", "q", "draft", "lengths", "temperature", "seeds", "pad"))
    p, q = float_array(contract, case, "p"), float_array(contract, case, "q")
    if len(p.shape) != 3 or q.shape != (p.shape[0], p.shape[1] - 1, p.shape[2]) or p.dtype != q.dtype or not p.shape[0]:  # noqa: PLR2004
        raise outside(contract, "p must have shape (B, K + 1, V), q (B, K, V), both of one dtype, with at least one request")
    for name, shape, dtypes in (
        ("lengths", p.shape[:1], IDS),
        ("draft", q.shape[:2], IDS),
        ("seeds", p.shape[:1], ("int64",)),
        ("temperature", p.shape[:1], FLOATS),
    ):
        value = case.get(name)
        if (value is not None or name == "lengths") and not (isinstance(value, Array) and value.shape == shape and value.dtype in dtypes):
            raise outside(contract, f"{name} must be an array of {dtypes[0]} of shape {shape}")
    if not all(0 <= n < p.shape[1] for n in array_of(case, "lengths").values):
        raise outside(contract, "lengths must lie in 0 … K")
    cold = [t == 0 for t in array_of(case, "temperature").values] if "temperature" in case else [False] * p.shape[0]
    for request, greedy in zip(requests(case), cold, strict=True):
        _check_request(contract, request, greedy=greedy)


def _check_request(contract: str, request: Request, *, greedy: bool) -> None:
    """Inside its length a request has rows of probabilities and ids of the vocabulary; a greedy one has point masses of the target."""
    for name, rows in (("p", request.p), ("q", request.q)):
        for row in rows.rows():
            if not all(0 <= x <= 1 for x in row) or abs(sum(row) - 1) > ROW_SUM_TOLERANCE:
                raise outside(contract, f"a row of {name} inside a request's length is no probability distribution")
    if greedy and not all(max(row) == 1 for row in request.p.rows()):
        raise outside(contract, "at temperature 0 the rows of p must be point masses")
    if not all(0 <= token < request.p.shape[1] for token in request.draft or ()):
        raise outside(contract, "draft must hold ids of the vocabulary up to each request's length")


def _outcome(case: Case, result: object) -> Outcome:
    """A tuple of rows; a declared convention `output` and the sentinel stand in the case."""
    output, sentinel = str(case.get("output", "rows")), case.get("sentinel")
    return read(result, Expected(drafts(case), array_of(case, "p").shape[2], output, sentinel if isinstance(sentinel, int) else None))


def _stream(case: Case) -> Stream:
    """Drafts drawn from q, each behind its end filled with `pad`; outcome: for each request (draft, n, length + 1 tokens completed from p)."""
    mine, places, pad = requests(case), array_of(case, "q").shape[1], int(case.get("pad", 0))  # type: ignore[call-overload]
    sums = [(cumulative(one.p), cumulative(one.q)) for one in mine]

    def draw(pick: Pick) -> dict[str, object]:
        if "draft" in case:
            return {}
        rows = ([pick(row) for row in q] for _, q in sums)
        return {"draft": array("int64", (len(mine), places), [x for row in rows for x in (*row, *[pad] * (places - len(row)))])}

    def finish(pick: Pick, drawn: Mapping[str, object], outcome: Outcome) -> Outcome:
        if not isinstance(outcome[0], tuple):
            return outcome
        return tuple(completed(pick, draft, row, p) for draft, row, (p, _) in zip(drafts({**case, **drawn}), outcome, sums, strict=True))

    return Stream(draw, finish)


def _keywords(case: Case, rng: random.Random) -> dict[str, object]:
    """What a subject may take besides: the case's own, else temperature 1, and seeds drawn afresh."""
    rows = array_of(case, "lengths").shape[0]
    temperature = case.get("temperature") or array("float32", (rows,), [1.0] * rows)
    seeds = case.get("seeds") or array("int64", (rows,), [rng.getrandbits(SEED_BITS) for _ in range(rows)])
    return {"temperature": temperature, "seeds": seeds}


CONTRACT = Contract(
    name=NAME,
    prefix="BAT",
    sentence="Accepts a prefix of each request's draft and emits one token more, for a batch of requests.",
    parameters=(
        Parameter("p", "(B, K + 1, V)", "rows of the target; those behind a request's own lengths[b] + 1 are padding"),
        Parameter("q", "(B, K, V)", "rows of the draft"),
        Parameter("draft", "(B, K)", "draft token ids, int64; behind lengths[b] anything that is an id"),
        Parameter("lengths", "(B,)", "draft tokens of each request, 0 … K, int64"),
    ),
    optional=(
        Parameter("temperature", "(B,)", "0 marks a greedy request, whose rows of p are point masses already"),
        Parameter("seeds", "(B,)", 'a seed for each request, int64; as generators with rng="generators"'),
    ),
    returns="one row of token ids for each request, (n + 1,), n its accepted length; see the convention output",
    right="each request as verify_chain on its own; nothing of it depends on the other requests, their order, K or the padding",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={
        "p": array("float32", (2, 2, 2), (0.5, 0.5, 0.25, 0.75, 0.5, 0.5, 0.5, 0.5)),
        "q": array("float32", (2, 1, 2), (0.75, 0.25, 0.5, 0.5)),
        "draft": array("int64", (2, 1), (0, 0)),
        "lengths": array("int64", (2,), (1, 0)),
    },
    conventions={"output": OUTPUT},
    equivalents=("rejection_sample", "chain_speculative_sampling", "verify over a batch"),
    stream=_stream,
    features=("temperature", "seeds", UNDEFINED),
    keywords=_keywords,
    widest=WIDEST,
)
