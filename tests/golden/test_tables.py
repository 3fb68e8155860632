"""The tables of the report: what holds, property by subject, what gave no answer, how p-values are spread."""

import msgspec
import pytest

from specverify.audit.records import CaseRecord, Finding, Likely, Part, PropertyRecord, Record, Speed, Statistics, SubjectRecord
from specverify.audit.suite import properties
from specverify.audit.verdict import Verdict, verdicts
from specverify.report.evidence import p_values, strongest
from specverify.report.findings import chapters
from specverify.report.formulas import FORMULAS, SUPPORT
from specverify.report.gaps import answered, gaps
from specverify.report.guarantees import rungs, standings
from specverify.report.matrix import WIDEST, matrices
from specverify.report.speed import paces
from specverify.report.text import likely_text


def row(
    id_: str, guards: str, status: str = "ok", reason: str = "", *, subject: str = "step", evidence: str = "statistical", law: bool = False
) -> PropertyRecord:
    return PropertyRecord(subject, "verify_chain", id_, f"Sentence of {id_}.", guards, status, evidence, reason, 10, 2000, law=law)


def finding(id_: str, property_: str, severity: str = "finding") -> Finding:
    return Finding(id_, "step", "verify_chain", property_, "Sentence.", "source", severity, "Message.", (), (), "statistical")


def verdict(*found: Record) -> Verdict:
    return verdicts([SubjectRecord("step", "./x", "verify_chain", "lossless")], list(found))[0]


def ladder(*found: Record) -> dict[str, str]:
    given = verdict(*found)
    steps = rungs([given])
    return {rung.guards: standing.mark.word for rung, standing in zip(steps, standings(given, steps), strict=True)}


LAW = row("CHN-008", "joint", law=True)
BROKEN_LAW = (finding("f1", "CHN-008"), row("CHN-008", "joint", "failed", "f1", law=True))
BROKEN_SUPPORT = (finding("f2", "CHN-003"), row("CHN-003", "support", "failed", "f2"))


@pytest.mark.parametrize(
    ("found", "joint", "position", "support"),
    [
        ((), "not tested", "not tested", "not tested"),
        ((LAW,), "statistical", "statistical", "statistical"),
        ((row("CHN-005", "joint"),), "in part", "not tested", "not tested"),
        (BROKEN_LAW, "BROKEN", "not tested", "not tested"),
        ((*BROKEN_LAW, row("CHN-003", "support", evidence="pointwise")), "BROKEN", "not tested", "pointwise"),
        ((LAW, *BROKEN_SUPPORT), "falls", "not tested", "BROKEN"),
        ((row("CHN-008", "joint", "blocked", "CHN-003"), *BROKEN_SUPPORT), "falls", "not tested", "BROKEN"),
        ((LAW, row("CHN-006", "joint", "unconfirmed")), "not decided", "not tested", "not tested"),
        ((LAW, row("CHN-003", "support"), row("CHN-004", "support", "inconclusive")), "statistical", "statistical", "not decided"),
        ((LAW, row("CHN-004", "support", "not applicable")), "statistical", "statistical", "statistical"),
        ((LAW, row("CHN-003", "support", evidence="pointwise"), row("CHN-011", "support")), "statistical", "statistical", "statistical"),
        ((LAW, finding("g", "CHN-004", "grid"), row("CHN-004", "support", "grid", "g")), "statistical", "statistical", "to 2^-20"),
        ((LAW, finding("g", "CHN-004", "grid"), row("CHN-004", "support", "failed", "g")), "statistical", "statistical", "to 2^-20"),
    ],
)
def test_a_rung_says_what_may_be_relied_on(found: tuple[Record, ...], joint: str, position: str, support: str) -> None:
    shown = ladder(*found)
    assert (shown["joint"], shown["position"], shown["support"]) == (joint, position, support)


def test_rungs_of_other_claims_appear_where_a_property_looked_at_them() -> None:
    assert list(ladder(LAW)) == ["joint", "position", "support", "greedy", "well-formed"]
    assert ladder(row("CHN-020", "pathwise", evidence="pathwise"))["pathwise"] == "pathwise"


def test_a_standing_tells_how_it_is_known() -> None:
    given = verdict(LAW, *BROKEN_SUPPORT)
    joint, _, support, *_ = standings(given, rungs([given]))
    assert (joint.detail, joint.finding) == ("with support", "f2")
    assert (support.detail, support.finding) == ("CHN-003", "f2")
    for draws, told in ((2_000, "finds a total variation of 0.13 with probability 99 %"), (50, "50 draws, too few to find a total variation for sure")):
        alone = verdict(LAW, CaseRecord("step", "CHN-008", "d", "ok", Statistics(draws, 0.0, dof=62 if draws > 50 else 500)))
        assert standings(alone, rungs([alone]))[0].detail == f"10 cases, 2,000 draws; {told}"


def test_a_rung_with_weaker_evidence_than_its_laws_tells_theirs() -> None:
    given = verdict(row("CHN-008", "joint", evidence="exact", law=True), row("CHN-005", "joint"))
    joint = standings(given, rungs([given]))[0]
    assert (joint.mark.word, joint.detail) == ("statistical", "20 cases, 4,000 draws; its laws exact")


def test_a_cell_leads_to_the_finding_behind_it() -> None:
    (table,) = matrices([verdict(*BROKEN_SUPPORT, row("CHN-008", "joint", "blocked", "CHN-003"), row("CHN-001", "well-formed"))])
    cells = {line.property.property: line.cells[0] for line in table.lines}
    assert list(cells) == ["CHN-001", "CHN-003", "CHN-008"]
    assert (cells["CHN-001"].mark.word, cells["CHN-001"].finding) == ("ok", "")
    assert (cells["CHN-003"].mark.word, cells["CHN-003"].finding) == ("FAILED", "f2")
    assert (cells["CHN-008"].mark.word, cells["CHN-008"].why, cells["CHN-008"].finding) == ("blocked", "by CHN-003", "f2")


def test_wide_tables_are_cut_and_missing_rows_are_told() -> None:
    names = [f"s{number}" for number in range(WIDEST + 1)]
    records: list[Record] = [row("CHN-001", "well-formed", subject=name) for name in names] + [row("CHN-002", "well-formed", subject="s0")]
    tables = list(matrices(verdicts([SubjectRecord(name, "./x", "verify_chain", "lossless") for name in names], records)))
    assert [(table.part, len(table.subjects)) for table in tables] == [("subjects 1 to 6 of 7", 6), ("subjects 7 to 7 of 7", 1)]
    assert [cell.mark.word for cell in tables[0].lines[1].cells] == ["ok", *["not reached"] * (WIDEST - 1)]


def test_gaps_are_gathered_by_reason() -> None:
    subjects = [
        SubjectRecord("a", "./x", "verify_chain", "lossless"),
        SubjectRecord("b", "./x", "verify_chain", "lossless"),
        SubjectRecord("c", "./y", problem="No."),
    ]
    records: list[Record] = [row(id_, "support", "not applicable", "no uniforms", subject=name) for name in "ab" for id_ in ("CHN-004", "CHN-005")] + [
        row("CHN-001", "joint", subject="a"),
        row("CHN-004", "support", "blocked", "CHN-003", subject="a"),
    ]
    given = verdicts(subjects, records)
    assert [(gap.properties, gap.mark.word, gap.reason, gap.subjects) for gap in gaps(given)] == [
        (("all",), "not loaded", "– No.", ("c",)),
        (("CHN-004",), "blocked", "by CHN-003", ("a",)),
        (("CHN-004", "CHN-005"), "not applicable", "– no uniforms", ("a", "b")),
    ]
    assert answered(given) == (1, 6)


def test_cards_stop_where_the_room_ends_gravest_first() -> None:
    given = verdict(finding("a1", "CHN-010", "advisory"), *BROKEN_SUPPORT, *BROKEN_LAW)
    grave, light = chapters([given], 1)
    assert ([card.finding.id for card in grave.cards], [left.id for left in grave.brief]) == (["f2"], ["f1"])
    assert (light.cards, [left.id for left in light.brief]) == ([], ["a1"])
    assert grave.counts == ""


def test_findings_that_one_fault_explains_have_one_root_cause() -> None:
    fault = Likely(("residual-from-p", "another"), "Draws from p.", ("B022",), fits=True, left=0.0, behind=0.0, drawn=False)
    part = Part("replacement", 1, 0, None, 0.5, wrong=True)
    support, law = (msgspec.structs.replace(one, likely=(fault,), parts=parts) for one, parts in ((BROKEN_SUPPORT[0], ()), (BROKEN_LAW[0], (part,))))
    other = msgspec.structs.replace(finding("f3", "CHN-001"), likely=(msgspec.structs.replace(fault, fits=False),))
    blocked = row("CHN-011", "support", "blocked", "CHN-003")
    (chapter,) = chapters([verdict(support, law, other, BROKEN_SUPPORT[1], BROKEN_LAW[1], blocked)], 10)
    assert [[one.id for one in card.findings] for card in chapter.cards] == [["f1", "f2"], ["f3"]]
    assert chapter.counts == "2 root causes, 3 findings."
    assert chapter.cards[0].blocked == ("CHN-011",)
    assert chapter.cards[0].formula.startswith("P(X₁ … Xᵧ₊₁")
    (chapter,) = chapters([verdict(support, law, other)], 2)
    assert ([len(card.findings) for card in chapter.cards], [one.id for one in chapter.brief]) == ([2], ["f3"])


def test_every_formula_is_of_a_property_that_judges_what_comes_out() -> None:
    assert all(properties()[id_].guards in ("joint", "position", "support", "greedy") for id_ in FORMULAS)
    assert {id_ for id_, formula in FORMULAS.items() if formula == SUPPORT} <= {id_ for id_, one in properties().items() if one.guards == "support"}


def test_long_lists_of_likely_faults_are_cut() -> None:
    many = Likely(tuple(f"fault-{n}" for n in range(30)), "It fails.", ("B001",), fits=True, left=0.0, behind=0.0, drawn=False)
    assert likely_text((many,)) == "fault-0 or fault-1 or fault-2 or 27 others (B001): It fails."
    nothing = msgspec.structs.replace(many, fits=False, left=1.0)
    assert likely_text((nothing, nothing)) == "unknown; none of the 60 known faults that were compared explains any of it"
    assert "leaves 98% of the deviation unexplained" in likely_text((msgspec.structs.replace(nothing, left=0.98),))


def test_what_a_claim_leaves_out_is_not_promised() -> None:
    rows = [row("CHN-008", "joint", "not applicable"), row("CHN-001", "well-formed")]
    given = verdicts([SubjectRecord("step", "./x", "verify_chain", "lossy(typical)")], list(rows))
    assert [one.mark.word for one in standings(given[0], rungs(given))] == ["not promised"] * 4 + ["statistical"]


def test_speed_adds_up_over_properties() -> None:
    rows = [msgspec.structs.replace(LAW, property=f"CHN-{n}", speed=Speed(100, 120, 150, 140, 160)) for n in (1, 2)]
    (pace,) = paces([verdict(*rows, row("CHN-003", "support"))])
    assert pace.speed.steps == 200
    assert (pace.length, pace.acceptance) == ((1.2, 1.4), (0.8, 0.875))
    assert list(paces([verdict(LAW)])) == []


def test_p_values_are_of_first_looks_at_laws() -> None:
    cases: list[Record] = [
        CaseRecord("step", property_, "d", result, Statistics(2000, 1.0, p_value=value))
        for property_, result, value in (
            ("CHN-008", "ok", 1.0),
            ("CHN-008", "ok", 0.95),
            ("CHN-008", "suspect", 0.0),
            ("CHN-008", "confirmed", 0.0),
            ("CHN-003", "ok", 0.5),
            ("CHN-008", "ok", None),
        )
    ]
    bars = p_values([LAW, *cases])
    assert [bar.count for bar in bars] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert (bars[0].bounds, bars[0].length, bars[9].length) == ("0 to 0.1", 50.0, 100.0)
    assert p_values(cases) == []


def test_the_strongest_e_value_is_kept() -> None:
    looks: list[Record] = [CaseRecord("step", "CHN-008", "d", "ok", Statistics(2000, log)) for log in (-1.0, 4.605170185988092, 0.0)]
    assert strongest(looks) == {("step", "CHN-008"): "10^2.0"}
