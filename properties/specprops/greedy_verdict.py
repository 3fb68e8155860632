"""The greedy verdict of `generate` on real models (theory 1f): each token of a text is the oracle's, or rounding leaves it open, or it is a fault.

The oracle scores a text in double precision. How far rounding moves the difference of two logits is measured on the same texts, read by the same model without any speculation, id by id and in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Case
from specverify.contracts.generate import prompts
from specverify.contracts.table_models import Prefix
from specverify.contracts.weights import VOCABULARY
from specverify.stats.logs import log_mean

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Line = Sequence[float]
EXACT = "float64"
REAL = ("transformers", "whisper")
"""Forms of which there are models with weights."""
LENGTH = 128
"""Tokens of a text: thirty rounds and more, each of which may leave a cache wrong."""
PROMPTS = ([3, 14, 15, 9, 26, 5], [27, 18], [1, 4, 1, 4, 2, 13, 5, 6, 2], [31, 0, 31])
"""Of a pair of models, each in the same process as those before it."""
PAIRS = ((10, 1), (10, 3), (0, 4), (10, 5))
"""By how many percent the draft is shaken, of which 10 leaves four of five drafts right and 0 all, and drafts a round. Four texts of each are 2,048 positions, and twice as many errors."""
GRANTED = 2
"""Times the measured noise up to which a margin is a near-tie: a flip between two runs needs no more than both of their errors. And times the control's rate of near-ties."""
SURE = math.log(1e9)
"""Of the rate gate: by chance once in so many runs, a thousandth of the share of error that a run has."""
SHARES = 20
"""Of near-ties that are the subject's, beyond the share that is granted, over which the gate's alternative is spread."""


class Place(NamedTuple):
    """A token of a text: where it stands, and what the oracle and the two readings without speculation say there."""

    told: str
    text: Prefix
    at: int
    oracle: Line
    steps: Line
    blocks: Line

    @property
    def token(self) -> int:
        """What the subject wrote."""
        return self.text[self.at]

    @property
    def margin(self) -> float:
        """By how much the oracle's likeliest token is ahead."""
        return max(self.oracle) - self.oracle[self.token]

    @property
    def noise(self) -> float:
        """The most by which a reading moves a difference of two logits."""
        errors = ([a - b for a, b in zip(read, self.oracle, strict=True)] for read in (self.steps, self.blocks))
        return max(max(one) - min(one) for one in errors)

    @property
    def flips(self) -> int:
        """How many of the two readings have another token ahead than the oracle."""
        return sum(likeliest(read) != likeliest(self.oracle) for read in (self.steps, self.blocks))


def likeliest(line: Line) -> int:
    """The first of the largest."""
    return max(range(len(line)), key=line.__getitem__)


def on_a_real_model(subject: Description) -> str | None:
    """Why there is no such model for a subject, or none."""
    if subject.supports and "greedy" not in subject.supports:
        return "the subject does not declare that it heeds greedy"
    return None if subject.models in REAL else f"real models have the forms {' and '.join(REAL)}"


def real(subject: Description) -> list[Case]:
    """The first pair of models; the others differ in their numbers alone."""
    return [{
        **pair(0), "dtype": subject.dtypes[0], "prompts": [list(one) for one in PROMPTS], "max_new_tokens": LENGTH, "temperature": 0.0, "top_k": VOCABULARY, "top_p": 1.0,
        "eos": None, "texts": [],
    }]  # fmt: skip


def pair(seed: int) -> Case:
    """A target, the same shaken as a draft, and how many it drafts."""
    shaken, gamma = PAIRS[seed]
    return {"target": [seed, 0], "draft": [seed, shaken], "gamma": gamma}


@prop("GEN-030", "At temperature 0 a real model's text is its own, but for tokens that rounding leaves open, and these are no more than without speculation.",
      source="theory S10, 1f; faults KV-TARGET, ROW", guards="greedy", after=("GEN-002",), applies=on_a_real_model, first=real)  # fmt: skip
def test_greedy_verdict(trial: Trial, case: Case) -> None:
    try:
        trial.remark = verdict(places(trial, case))
    except Violation as found:
        raise found if case["dtype"] == EXACT else decided(trial, {**case, "dtype": EXACT}, found) from None


def decided(trial: Trial, case: Case, found: Violation) -> Violation:
    """What was found, held against the same models in double precision: a fault of the loop stays, one of its numbers is gone (theory 1f, rule 5)."""
    try:
        told = verdict(places(trial, case))
    except Violation:
        found.table = (*found.table, Row("the same in double precision", "not plain decoding's text", "plain decoding's text"))
        return found
    message = f"{found.message} In double precision its texts are plain decoding's ({told}), so that it is its numbers that are coarser than the model's own."
    return Violation(message, found.table, kind="numbers", severity="advisory")


def places(trial: Trial, case: Case) -> list[Place]:
    """Every token that the subject writes, of all pairs of models."""
    return [place for seed in range(len(PAIRS)) for place in scored(trial, {**case, **pair(seed)})]


def scored(trial: Trial, case: Case) -> Iterator[Place]:
    """Every token that the subject writes, beside the oracle's row."""
    written = [tuple(one[0]) for one in trial.value(case).outcome]
    rows = trial.value({**case, "texts": [list(one) for one in written]}).outcome
    for prompt, text, (oracle, steps, blocks) in zip(prompts(case), written, rows, strict=True):
        told = f"With weights {case['target']} and {case['draft']}, {case['gamma']} drafts a round, behind {list(prompt)}"
        yield from (Place(told, text, at, *lines) for at, lines in enumerate(zip(oracle, steps, blocks, strict=True)))


def verdict(places: Sequence[Place]) -> str:
    """What is to be said of texts without a fault.

    Raises:
        Violation: a token that rounding does not explain, or more tokens that it might explain than without speculation.
    """
    noise = max(place.noise for place in places)
    fault = next((place for place in places if place.margin > GRANTED * noise), None)
    if fault is not None:
        raise _of_logic(fault, noise, len(places))
    ties, control = sum(place.token != likeliest(place.oracle) for place in places), sum(place.flips for place in places)
    log_e = rate(ties, len(places), control, 2 * len(places))
    told = f"{ties} near-ties in {len(places):,} tokens, {control} in {2 * len(places):,} without speculation; rounding moves logits by {noise:.2g} at most"
    if log_e > SURE:
        raise Violation(f"{told}: too many, by odds of 10^{log_e / math.log(10):.0f}.", (Row("near-ties", str(ties), f"about {control / 2:.0f}"),), kind="rate")
    return told


def _of_logic(place: Place, noise: float, measured: int) -> Violation:
    right, around = likeliest(place.oracle), range(max(0, place.at - 3), min(len(place.text), place.at + 4))
    message = f"{place.told}, the text leaves plain decoding's at token {place.at}, where that is ahead by {place.margin:.2g} in the logits; rounding explains {GRANTED * noise:.2g}."
    table = (
        Row(f"token {place.at}", str(place.token), str(right)),
        Row("its logit in float64", f"{place.oracle[place.token]:.6g}", f"{place.oracle[right]:.6g}"),
        Row(f"rounding, measured at {measured:,} positions", f"{noise:.2g}", ""),
        Row(
            f"tokens {around.start} to {around.stop - 1}",
            " ".join(str(place.text[i]) for i in around),
            " ".join(map(str, (*place.text[around.start : place.at], right, "…"))),
        ),
    )
    return Violation(message, table, kind="logic")


def rate(ties: int, tokens: int, control: int, measured: int) -> float:
    """The logarithm of an e-value against "near-ties are at most `GRANTED` times as frequent as in the control".

    Given their sum, the subject's are binomial with a share of at most s = GRANTED tokens / (GRANTED tokens + measured); the likelihood ratio of any larger share rises
    with their number, so its mean is largest at s, where it is 1; and so is the mean of several.
    """
    share = GRANTED * tokens / (GRANTED * tokens + measured)
    larger: Iterable[float] = (share + (1 - share) * (step + 0.5) / SHARES for step in range(SHARES))
    return log_mean([ties * math.log(x / share) + control * math.log((1 - x) / (1 - share)) for x in larger])
