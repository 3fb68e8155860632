"""Properties of `seeding`: what is drawn after it depends on the seed, on the whole seed, and on nothing else."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import NoAnswer, Row, Violation
from specverify.contracts import Case
from specverify.contracts.seeding import GENERATORS, LARGEST_SEED

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SOURCE = "contracts, seeding; faults B058"
PARTNERS = {0: 1, 1: LARGEST_SEED}

Draws = dict[str, tuple[int, ...]]


def promised(subject: Description) -> list[str]:
    """The generators that it says it seeds; all of them if it says nothing."""
    return [name for name in GENERATORS if name in (subject.supports or GENERATORS)]


def _case(subject: Description, seed: int) -> Case:
    return {"seed": seed, "draw": promised(subject)}


def first(subject: Description) -> list[Case]:
    """Both ends of the range and the sign bit of 32."""
    return [_case(subject, seed) for seed in (0, 1, LARGEST_SEED, 2**31)]


def cases(subject: Description) -> st.SearchStrategy[Case]:
    """Any seed of 32 bits."""
    return st.integers(0, LARGEST_SEED).map(lambda seed: _case(subject, seed))


def _drawn(trial: Trial, case: Case, stage: str) -> Draws:
    """The numbers of each generator after one call. The generators' states before the call come from the stage."""
    return dict(trial.value(case, stage=stage).outcome)


@prop("SED-001", "The result is what draw() returned, for every seed from 0 to 2^32 - 1, and no exception.", source=SOURCE, guards="well-formed",
      first=first, cases=cases, limit=8)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    absent = [name for name in trial.subject.supports if name not in _drawn(trial, case, "once")]
    if absent:
        raise NoAnswer(f"The subject promises to seed {absent[0]}, which its interpreter has not loaded; import it in the subjects file.")


@prop("SED-002", "The same seed gives the same draws, whatever was drawn before: for torch, numpy and random, or those that the subject declares.",
      source=SOURCE, guards="position", after=("SED-001",), first=first, cases=cases, limit=8)  # fmt: skip
def test_same_seed(trial: Trial, case: Case) -> None:
    once, again = _drawn(trial, case, "once"), _drawn(trial, case, "again")
    for name in once.keys() & again.keys():
        if once[name] != again[name]:
            table = (Row(f"{name}, first number", f"{once[name][0]}, then {again[name][0]}", "twice the same"),)
            told = f"{name} does not follow the seed: two calls with the seed {case['seed']} draw different numbers."
            raise Violation(f"{told} A subject that leaves it alone declares what it `supports`.", table, kind=f"{name} unseeded")


@prop("SED-003", "Different seeds give different draws.", source=SOURCE, guards="position", after=("SED-002",), first=first, cases=cases, limit=8)
def test_different_seeds(trial: Trial, case: Case) -> None:
    seed = int(str(case["seed"]))
    other = PARTNERS.get(seed, random.Random(seed).getrandbits(32))
    if other == seed:
        return
    one, two = _drawn(trial, case, "once"), _drawn(trial, {**case, "seed": other}, "once")
    for name in one.keys() & two.keys():
        if one[name] == two[name]:
            table = (Row(f"{name}, first number", f"{one[name][0]} for both", "different"),)
            raise Violation(f"{name} draws the same numbers after the seeds {seed} and {other}.", table, kind=f"{name} ignores the seed")
