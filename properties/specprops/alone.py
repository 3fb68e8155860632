"""What a stand-alone script needs to show a finding: the calls behind it and what they gave, or the outcomes that come too often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from specprops.trial import Recorded, Trial
from specprops.violation import NoAnswer, NotJudged, Violation
from specverify.audit.cases import arguments
from specverify.audit.records import Alone, Call, Excess
from specverify.audit.standalone.literals import LONGEST, literal
from specverify.audit.standalone.script import LOOPS
from specverify.contracts import CONTRACTS, Case, recast
from specverify.errors import SpecverifyError
from specverify.law import Outcome, show_outcome
from specverify.observe import Exactly, Observed, Question
from specverify.observe.ladder import is_failure
from specverify.stats import GRID
from specverify.subjects.draws import part
from specverify.subjects.replies import Malformed, Raised, Value

if TYPE_CHECKING:
    from specprops.suite import Claim
    from specverify.audit.bench import Bench

MOST_CALLS = 4
"""Calls that a reader can compare by eye."""
OPAQUE = "'<"
"""What the name of a type begins with, in the place of what is no data, such as a list of generators."""
MOST_DRAWS = 200
"""Outcomes of single draws that a script lists; the most telling come first."""


def alone(claim: Claim, bench: Bench, case: Case, violation: Violation) -> Alone:
    """For one finding; a reason where a script would show something else, or nothing."""
    seen = violation.observed
    if violation.kind in ("together", "boundary", "died", "decision"):
        return Alone(why_not={"together": "no single case shows it", "died": "the process ends"}.get(violation.kind, "single random numbers are put, or read"))
    if seen is None:
        return _called(claim, bench, case)
    question = violation.question if isinstance(seen, Observed) else seen.question
    if question is None or question.keep is not None:
        return Alone(why_not="it is seen in batches of copies")
    if told := _of_a_loop(bench):
        return Alone(why_not=told)
    excess = _excess(question, seen)
    return Alone(excess=excess, spans=question.spans, lifted=_lifted(bench)) if excess else Alone(why_not="no outcome comes too often")


def _of_a_loop(bench: Bench) -> str:
    """Why a script cannot play a loop, or nothing."""
    described = bench.subject.description
    if described.contract not in LOOPS:
        return ""
    if described.models not in (None, "callable"):
        return f"its models are of the form {described.models}, which specverify builds with a cache"
    return "all rounds of a text share a seed" if described.rng == "counter" else ""


def _excess(question: Question, seen: Exactly | Observed) -> tuple[Excess, ...]:
    """The outcomes that come too often, those furthest off first, as long as there is room for the draws that are each."""
    total = sum(seen.outcomes.values())
    draws: dict[Outcome, list[Outcome]] = {}
    for outcome in seen.outcomes:
        draws.setdefault(outcome if is_failure(outcome) else question.project(outcome), []).append(outcome)
    found = {outcome: sum(seen.outcomes[one] for one in mine) / total for outcome, mine in draws.items()}
    often = sorted((x for x in draws if found[x] > question.right[x] + GRID), key=lambda x: question.right[x] - found[x])
    kept = [x for number, x in enumerate(often) if sum(len(draws[one]) for one in often[: number + 1]) <= MOST_DRAWS]
    return tuple(Excess(show_outcome(x), found[x], question.right[x], tuple(map(_written, draws[x]))) for x in kept)


def _written(outcome: Outcome) -> Outcome:
    """An outcome without what only our own words tell: how a malformed result is."""
    if not isinstance(outcome, tuple):
        return outcome
    return ("malformed",) if outcome[:1] == ("malformed",) else tuple(map(_written, outcome))


def _lifted(bench: Bench) -> bool:
    """Whether one row is handed over as (1, V)."""
    contract = CONTRACTS[bench.subject.description.contract]
    if not contract.row_parameters:
        return False
    dtype = bench.subject.description.dtypes[0]
    reply = bench.subject.call({name: recast(value, dtype) for name, value in contract.smoke.items()}, raw=True)
    return isinstance(reply, (Value, Raised, Malformed)) and reply.raw is not None and bool(reply.raw["lifted"])


def _called(claim: Claim, bench: Bench, case: Case) -> Alone:
    """The property's body once more, with its calls written down."""
    trial = Trial(bench, claim.row)
    trial.recorded = []
    try:
        claim.body(trial, case)
    except Violation:
        return _told(bench, trial.recorded)
    except (NoAnswer, NotJudged, SpecverifyError):
        pass
    finally:
        trial.dispose()
    return Alone(why_not="a second look does not show it")


def _told(bench: Bench, recorded: list[Recorded]) -> Alone:
    if not recorded or not all(one.plain for one in recorded):
        return Alone(why_not="it is seen by watching a call, not in what the call gives")
    if len(recorded) > MOST_CALLS:
        return Alone(why_not=f"it is seen in {len(recorded)} calls beside each other")
    random = CONTRACTS[bench.subject.description.contract].random
    calls = [_call(one, random=random) for one in recorded]
    return (
        Alone(calls=tuple(one for one in calls if one))
        if all(calls)
        else Alone(why_not="a result, or what was handed over, is no plain data of a readable size")
    )


def _call(one: Recorded, *, random: bool) -> Call | None:
    if not isinstance(one.reply, (Value, Raised, Malformed)) or one.reply.raw is None:
        return None
    raw: Mapping[str, object] = one.reply.raw
    keywords = dict(raw["keywords"])  # type: ignore[call-overload]
    gave = f"raises {one.reply.type}" if isinstance(one.reply, Raised) else literal(raw["result"])
    if len(gave) > LONGEST or OPAQUE in literal(list(keywords.values())):
        return None
    seeds = (part(one.key, "python"), part(one.key, "numpy") % 2**32, part(one.key, "torch")) if random else None
    return Call(
        arguments(one.case),
        gave,
        bool(raw["lifted"]),
        keywords=dict(zip(keywords, (argument.data for argument in arguments(keywords)), strict=True)),
        seeds=seeds,
    )
