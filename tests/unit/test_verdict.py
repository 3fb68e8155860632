"""From records to exit codes, in their order of priority."""

import msgspec
import pytest

from specverify.audit.records import CaseRecord, Finding, PropertyRecord, Statistics, SubjectRecord
from specverify.audit.verdict import exit_code, verdicts

GOOD = SubjectRecord("s", "./x", "sample", "lossless")


def row(status: str, subject: str = "s") -> PropertyRecord:
    return PropertyRecord(subject, "sample", "SMP-001", "A sentence.", "position", status, "statistical", cases=1, draws=10)


@pytest.mark.parametrize(
    ("statuses", "code", "headline"),
    [
        (["ok"], 0, "LOSSLESS, AS FAR AS TESTED"),
        (["ok", "advisory", "unconfirmed", "not applicable"], 0, "LOSSLESS, AS FAR AS TESTED"),
        (["ok", "grid"], 0, "LOSSLESS TO 2^-20, AS FAR AS TESTED"),
        (["ok", "failed", "inconclusive", "blocked"], 1, "NOT LOSSLESS"),
        (["ok", "inconclusive"], 4, "INCONCLUSIVE"),
        (["not applicable"], 4, "INCONCLUSIVE"),
        ([], 4, "INCONCLUSIVE"),
    ],
)
def test_of_one_subject(statuses: list[str], code: int, headline: str) -> None:
    (verdict,) = verdicts([GOOD], [row(status) for status in statuses])
    assert (verdict.exit_code, verdict.headline) == (code, headline)


def test_a_claim_needs_a_judged_property_of_its_own_kind() -> None:
    for claim in ("greedy-exact", "pathwise", "bitwise", "lossy(typical)"):
        (verdict,) = verdicts([SubjectRecord("s", "./x", "sample", claim)], [row("ok")])
        assert (verdict.exit_code, verdict.sentence) == (4, f"Nothing that the claim {claim} promises was checked.")


def test_what_the_draws_resolve_is_told_by_the_case_that_resolves_least() -> None:
    law = msgspec.structs.replace(row("ok"), law=True)
    for looks, told in (
        ([(2_000, 63)], "a total variation of 0.13 is found with probability 99 % (the fewest draws of a case were 2,000)."),
        ([(2_000, 63), (200, 7)], "a total variation of 0.3 is found with probability 99 % (the fewest draws of a case were 200)."),
        ([(2_000, 63), (5, 7)], "a case had 5 draws alone, too few to find a total variation for sure."),
        ([(2_000, None)], "a total variation of 0.13 is found"),
        ([], "Laws were judged by sampling."),
    ):
        cases = [CaseRecord("s", "SMP-001", "a", "ok", Statistics(draws, 0.0, dof=dof)) for draws, dof in looks]
        (verdict,) = verdicts([GOOD], [*cases, law])
        assert told in verdict.sentence
    (verdict,) = verdicts([GOOD], [CaseRecord("s", "SMP-001", "a", "ok", Statistics(60, 0.0, dof=63, cells=2)), law])
    assert "a total variation of 0.49 is found" in verdict.sentence
    (verdict,) = verdicts([GOOD], [CaseRecord("s", "SMP-001", "a", "ok", Statistics(60, 0.0)), row("ok")])
    assert "sampling" not in verdict.sentence


def test_a_lossy_claim_is_told_to_promise_no_law() -> None:
    judged = msgspec.structs.replace(row("ok"), guards="efficiency")
    (verdict,) = verdicts([msgspec.structs.replace(GOOD, claim="lossy(typical)")], [judged])
    assert verdict.sentence.endswith("A lossy claim promises no law, and none was judged: the output may differ from the target's.")


def test_a_worker_that_does_not_come_back_is_3() -> None:
    (verdict,) = verdicts([GOOD], [row("ok"), row("lost")])
    assert (verdict.exit_code, verdict.headline) == (3, "WORKER LOST")


def test_what_only_an_option_makes_a_failure_leaves_the_claim_standing() -> None:
    advisory = Finding("ab", "s", "sample", "SMP-010", "A sentence.", "", "advisory", "", (), (), "pointwise")
    failed = PropertyRecord("s", "sample", "SMP-010", "A sentence.", "hygiene", "failed", "pointwise", "ab")
    (verdict,) = verdicts([GOOD], [row("ok"), advisory, failed])
    assert (verdict.exit_code, verdict.headline) == (1, "FAILED ON ADVISORY")


def test_laws_are_spoken_of_only_where_one_was_judged() -> None:
    (without,) = verdicts([GOOD], [row("ok")])
    (judged,) = verdicts([GOOD], [msgspec.structs.replace(row("ok"), law=True)])
    assert "Laws" not in without.sentence
    assert "Laws were judged by sampling" in judged.sentence


def test_of_several_subjects_the_first_in_priority() -> None:
    missing = SubjectRecord("m", "./y", problem="It does not import.")
    usage = SubjectRecord("u", "./z", problem="There is no contract 'x'.", usage=True)
    broken = SubjectRecord("b", "./x", "sample", "lossless")
    found = [row("ok"), row("failed", "b")]
    assert exit_code(verdicts([GOOD], found)) == 0
    assert exit_code(verdicts([GOOD, missing], found)) == 3
    assert exit_code(verdicts([GOOD, missing, broken], found)) == 1
    assert exit_code(verdicts([GOOD, missing, broken, usage], found)) == 2
    assert exit_code([]) == 4
