"""Right answers on a few dull cases of each contract that can be tried: to tell what behaves like it from what only has its shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from specverify.contracts import CONTRACTS, Array, Case, array
from specverify.law import Law, Outcome, product_law

INF = float("inf")
CLOSE = 1e-4
"""Single precision on numbers of about 1, and a guard added to a sum (1e-6 is the largest in the wild)."""


@dataclass(frozen=True)
class Answer:
    """A case and what is right on it: any of several values, or a law."""

    case: Case
    values: tuple[Outcome, ...] = ()
    law: Law | None = None


def _row(*values: float) -> Array:
    return array("float32", (len(values),), values)


def _smoke(contract: str, *values: Outcome) -> Answer:
    return Answer(CONTRACTS[contract].smoke, values)


def _softmax(*logits: float) -> tuple[float, ...]:
    weights = [math.exp(x) for x in logits]
    return tuple(weight / sum(weights) for weight in weights)


def _decisions(*values: bool) -> Case:
    return {"accepted": array("bool", (len(values),), values)}


LOGITS = _row(0, 1, 2)
P, Q = array("float32", (2, 3), (0.5, 0.25, 0.25, 0.125, 0.375, 0.5)), array("float32", (1, 3), (0.25, 0.25, 0.5))
CHAIN = product_law(P.rows())
"""Of the tokens of a step of one draft, completed from p."""
HEADS = array("float32", (1, 2, 1, 1), (1, 2))
FOUR = array("float32", (1, 1, 1, 4), (1, 2, 3, 4))
BOTH = array("float32", (1, 1, 2, 4), range(1, 9))
TURNED: Case = {
    "q": BOTH, "k": BOTH, "positions": array("int64", (1, 2), (2, 1)),
    "cos": array("float32", (3, 4), (1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1)), "sin": array("float32", (3, 4), (0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0)),
}  # fmt: skip
"""At position 1 the second pair is turned by a right angle, at position 2 the first."""

ANSWERS: Mapping[str, tuple[Answer, ...]] = {
    "positive_part": (_smoke("positive_part", (0.5, 0, 0.5)), Answer({"x": _row(-0.1, 0.3, 0.1)}, ((0, 0.75, 0.25),))),
    "residual": (_smoke("residual", (0.5, 0, 0.5)), Answer({"p": _row(0.5, 0.25, 0.25), "q": _row(0.125, 0.125, 0.75)}, ((0.75, 0.25, 0),))),
    "ratio": tuple(Answer({"num": _row(num), "den": _row(den)}, ((num / den,),)) for num, den in ((0.5, 0.25), (0.25, 0.5), (0.25, 1))),
    "accept_probability": tuple(Answer({"p_x": _row(p), "q_x": _row(q)}, ((min(1.0, p / q),),)) for p, q in ((0.5, 0.25), (0.25, 0.5), (0.25, 1))),
    "first_rejection": (_smoke("first_rejection", (1,)), Answer(_decisions(True, True, True), ((3,),)), Answer(_decisions(False, True), ((0,),))),
    "warp": (
        _smoke("warp", _softmax(0, 1, 2)),
        Answer({"logits": LOGITS, "temperature": 2.0, "top_k": 3, "top_p": 1.0}, (_softmax(0, 0.5, 1),)),
        Answer({"logits": LOGITS, "temperature": 1.0, "top_k": 2, "top_p": 1.0}, ((0, *_softmax(1, 2)),)),
    ),
    "filter_logits": (_smoke("filter_logits", (-INF, 1, 2)), Answer({"logits": LOGITS, "top_k": 3, "top_p": 0.5}, ((-INF, -INF, 2),))),
    "keep_fraction": (_smoke("keep_fraction", (-INF, 1, 2)), Answer({"logits": LOGITS, "thres": 0.9}, ((-INF, -INF, 2),))),
    "sample": (Answer({"probs": _row(0.125, 0.5, 0.375)}, law=Law({0: 0.125, 1: 0.5, 2: 0.375})),),
    "pad_path": (_smoke("pad_path", (0, 1, -1, -1)), Answer({"path": [3], "length": 1, "pad": -2}, ((3,),))),
    "rotate_half": (_smoke("rotate_half", (-2, 1)), Answer({"x": FOUR}, ((-3, -4, 1, 2), (-2, 1, -4, 3)))),
    "repeat_kv": (_smoke("repeat_kv", (1, 1)), Answer({"kv": HEADS, "n": 2}, ((1, 1, 2, 2),))),
    "rotary": (
        _smoke("rotary", (1, 2, 1, 2)),
        Answer(TURNED, (2 * (-3, 2, 1, 4, 5, -8, 7, 6), 2 * (-2, 1, 3, 4, 5, 6, -8, 7))),
    ),
    "verify_chain": (Answer({"p": P, "q": Q}, law=CHAIN),),
    "verify_deterministic_draft": (Answer({"p": P, "draft": array("int64", (1,), (2,))}, law=CHAIN),),
    "verify_chain_greedy": (_smoke("verify_chain_greedy", (1, 0)), Answer({**CONTRACTS["verify_chain_greedy"].smoke, "draft": array("int64", (1,), (0,))}, ((1,),))),
}  # fmt: skip
"""By contract; seeding has none: its draws are compared with each other."""


def far(outcome: Outcome, answer: Answer) -> float:
    """The largest difference of a value from the nearest right one; infinite where not even the count of numbers agrees."""
    found = flat(outcome)
    return min((_distance(found, tuple(right)) for right in answer.values), default=INF)


def _distance(found: tuple[float, ...], right: tuple[float, ...]) -> float:
    if len(found) != len(right):
        return INF
    return max((0.0 if a == b else abs(a - b) for a, b in zip(found, right, strict=True)), default=0.0)


def flat(outcome: Outcome) -> tuple[float, ...]:
    """The numbers of an outcome in order."""
    if isinstance(outcome, Array):
        return outcome.values
    return tuple(x for part in outcome for x in flat(part)) if isinstance(outcome, tuple) else (outcome,)


def tokens_of(outcome: Outcome) -> Outcome:
    """What an answer's law is of: the completed tokens of a step; a token as it is."""
    return outcome[-1] if isinstance(outcome, tuple) and isinstance(outcome[-1], tuple) else outcome
