"""`verify_packed`: many chains in one ragged object, as engines call their kernels; the parameters of each request are its own.

A case is one of `verify_batch`, whose rows p are those that tokens must follow. Beside it may stand what an engine turns into such rows or reads them by: raw
`logits` with `temperature`, `top_k` and `top_p`; `id_map`, the draft's vocabulary; `ids`, the width of ids; `no_q` (1) where q is certain and not handed over; and
`poison`, the number in buffers for output.
"""

from __future__ import annotations

import itertools
import math
import random

from specverify.contracts import coins, verify_batch
from specverify.contracts.arrays import FLOATS, Array, array
from specverify.contracts.base import Case, Contract, Convention, Parameter, array_of, outside
from specverify.contracts.bundle import Bundle
from specverify.contracts.packed import LOGITS, Packed
from specverify.contracts.verify_batch import IDS, UNDEFINED, WIDEST, requests

NAME = "verify_packed"
BESIDE = ("id_map", "ids", "no_q", "poison")
"""What of a case belongs to the batch as a whole."""
OF_REQUESTS = ("top_k", "top_p")
EXPLORED = 256
"""Entries of all rows together up to which a law is explored: a draw from a wide row has as many ends."""


def _check(case: Case) -> None:
    beside = (*BESIDE, *OF_REQUESTS, "logits")
    verify_batch.check_as(NAME, {name: value for name, value in case.items() if name not in beside})
    p, size = array_of(case, "p"), array_of(case, "lengths").shape
    for name, shape, dtypes in (("logits", p.shape, (p.dtype,)), ("top_k", size, IDS), ("top_p", size, FLOATS)):
        value = case.get(name)
        if value is not None and not (isinstance(value, Array) and value.shape == shape and value.dtype in dtypes):
            raise outside(NAME, f"{name} must be an array of {dtypes[0]} of shape {shape}")
    if case.get("ids", IDS[0]) not in IDS:
        raise outside(NAME, f"ids must be one of {', '.join(IDS)}")
    if "id_map" in case:
        _check_map(case)
    if case.get("no_q") and not all(max(row) == 1 for one in requests(case) for row in one.q.rows()):
        raise outside(NAME, "q is certain where it is not handed over")


def _check_map(case: Case) -> None:
    """Each id of the draft's is another one of the target's, and q has no other."""
    ids = list(array_of(case, "id_map").values)
    if len(set(ids)) != len(ids) or not all(0 <= x < array_of(case, "p").shape[2] for x in ids):
        raise outside(NAME, "id_map must hold different ids of the target's vocabulary")
    if any(x > 0 and token not in ids for one in requests(case) for row in one.q.rows() for token, x in enumerate(row)):
        raise outside(NAME, "q must not give a token that id_map lacks")


def _prepare(case: Case) -> Case:
    return {**case, "batch": Bundle(lambda into: Packed(case, into))}


def _keywords(case: Case, rng: random.Random) -> dict[str, object]:
    return {"seeds": verify_batch.CONTRACT.keywords(case, rng)["seeds"]}


def _outcomes(case: Case) -> int:
    """Drafts, and the tokens that follow, of all requests."""
    rows = [row for one in requests(case) for table in (one.p, one.q) for row in table.rows()]
    entries = sum(map(len, rows))
    return entries if entries > EXPLORED else math.prod(sum(x > 0 for x in row) for row in rows)


def _coins(case: Case) -> int:
    return sum(_own_coins(case))


def _own_coins(case: Case) -> list[int]:
    return [int(n) + 1 for n in array_of(case, "lengths").values]


def _streams(case: Case) -> list[tuple[int, int]] | None:
    return list(zip(map(int, array_of(case, "seeds").values), _own_coins(case), strict=True)) if "seeds" in case else None


def _borders(case: Case) -> set[float]:
    one = [{"p": p, "q": q, "draft": array("int64", (len(draft or ()),), draft or ())} for p, q, draft in requests(case)]
    return set(itertools.chain.from_iterable(map(coins.chain, one)))


CONTRACT = Contract(
    name=NAME,
    prefix="PCK",
    sentence="Accepts a prefix of each request's draft and emits one token more, for one ragged batch under the parameters of each request.",
    parameters=(Parameter("batch", "Packed", "a ragged batch; its views give rows flat or dense (contracts.packed)"),),
    optional=(Parameter("seeds", "(B,)", "a seed for each request, int64, as batch.seeds"),),
    returns="one row of token ids for each request, (n + 1,), n its accepted length; see the convention output",
    right="each request as verify_chain on its own, under its own parameters",
    random=True,
    check=_check,
    outcome=verify_batch.CONTRACT.outcome,
    smoke=verify_batch.CONTRACT.smoke,
    conventions={
        **verify_batch.CONTRACT.conventions,
        "target": Convention(
            "what rows of the target are; of logits the subject makes probabilities, by each request's temperature, top_k and top_p", ("probabilities", LOGITS)
        ),
    },
    equivalents=("rejection_sample", "chain_speculative_sampling", "verify kernels of engines"),
    prepare=_prepare,
    stream=verify_batch.CONTRACT.stream,
    coins=coins.Coins("(N + B,), one for each draft and one for the token behind", _coins, _borders, _streams),
    features=("temperature", "top_k", "top_p", "seeds", "int32", "id map", "no q", UNDEFINED),
    outcomes=_outcomes,
    widest=WIDEST,
    keywords=_keywords,
    bundles=True,
)
