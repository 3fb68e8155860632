"""Adding up shards: what must agree, which status wins, what blocks, certificates and the evidence of all cases."""

from pathlib import Path
from typing import Any

import pytest

from specverify.audit.combine import combined
from specverify.audit.events import write_records
from specverify.audit.records import Certificate, Finding, Footer, Header, PropertyRecord, Record, Sign, Speed, SubjectRecord, Together
from specverify.errors import SpecverifyError
from specverify.stats import RunWide

HEADER: dict[str, Any] = {
    "format": 1, "version": "1", "suite": "1", "run": "r", "arguments": ("here",), "run_key": "k", "alpha": 1e-6, "draws": 100, "pairs": 10, "fail_on": (), "started": "",
    "python": "", "platform": "",
}  # fmt: skip
SUBJECT = SubjectRecord("step", "here", "verify_chain", "lossless", None, "f.py", 7)


def row(name: str, status: str = "ok", reason: str = "", **more: Any) -> PropertyRecord:
    return PropertyRecord("step", "verify_chain", name, "It holds.", "joint", status, "statistical", reason, 2, 50, 0.5, law=True, **more)


def finding(name: str, id_: str) -> Finding:
    return Finding(id_, "step", "verify_chain", name, "It holds.", "here", "finding", "It does not.", (), (), "statistical")


def shards(folder: Path, *parts: list[Record], complete: bool = True, **header: Any) -> list[Path]:
    """A folder for each shard."""
    folders = []
    for number, part in enumerate(parts, 1):
        (one := folder / str(number)).mkdir()
        head = Header(**{**HEADER, "shard": number, "shards": len(parts), **header})
        write_records(one, [head, SUBJECT, *part, Footer(complete=complete, exit_code=0, seconds=1.0)])
        folders.append(one)
    return folders


def status(done: Any) -> dict[str, str]:
    return {one.property: one.status for one in done.records if isinstance(one, PropertyRecord)}


def test_counts_add_up_and_the_worst_status_wins(tmp_path: Path) -> None:
    done = combined(
        shards(tmp_path, [row("CHN-001")], [finding("CHN-001", "ab"), row("CHN-001", "failed", "ab")], [row("CHN-001", "unconfirmed", "one")]), tmp_path / "all"
    )
    (judged,) = [one for one in done.records if isinstance(one, PropertyRecord)]
    assert (judged.status, judged.reason, judged.cases, judged.draws, judged.seconds) == ("failed", "ab", 6, 150, 1.5)
    assert (done.exit_code, done.seconds, done.header.shards, done.header.run) == (1, 3.0, 1, "all")
    assert [one.id for one in done.records if isinstance(one, Finding)] == ["ab"]


def test_what_no_shard_saw_is_a_health_note_and_what_one_saw_is_none(tmp_path: Path) -> None:
    never, once = Sign("acceptance", seen=False, log_chance=-15.0), Sign("acceptance", seen=True, log_chance=0.0)
    for name, parts, notes in (("ill", (never, never), 1), ("too few", (never,), 0), ("well", (never, never, once), 0)):
        (tmp_path / name).mkdir()
        done = combined(shards(tmp_path / name, *([row("CHN-001", signs=(sign,))] for sign in parts)), tmp_path / name / "all")
        assert len(done.verdicts[0].health) == notes, name


def test_speeds_of_shards_are_added(tmp_path: Path) -> None:
    done = combined(
        shards(tmp_path, [row("CHN-001", speed=Speed(10, 9, 10, 8, 10))], [row("CHN-001", speed=Speed(5, 1, 5, 4, 5))], [row("CHN-001")]), tmp_path / "all"
    )
    (judged,) = [one for one in done.records if isinstance(one, PropertyRecord)]
    assert judged.speed == Speed(15, 10, 15, 12, 15)


def test_the_same_finding_of_two_shards_is_one(tmp_path: Path) -> None:
    part: list[Record] = [finding("CHN-001", "ab"), row("CHN-001", "failed", "ab")]
    done = combined(shards(tmp_path, part, part), tmp_path / "all")
    assert len([one for one in done.records if isinstance(one, Finding)]) == 1


def test_what_fails_in_one_shard_blocks_in_all(tmp_path: Path) -> None:
    first: list[Record] = [finding("CHN-001", "ab"), row("CHN-001", "failed", "ab"), row("CHN-002", "blocked", "CHN-001")]
    other: list[Record] = [row("CHN-001"), finding("CHN-002", "cd"), row("CHN-002", "failed", "cd")]
    done = combined(shards(tmp_path, first, other), tmp_path / "all")
    assert status(done) == {"CHN-001": "failed", "CHN-002": "blocked"}
    assert [one.id for one in done.records if isinstance(one, Finding)] == ["ab"]


def test_a_certificate_is_of_all_draws(tmp_path: Path) -> None:
    """1,000 draws a shard, of two halves: 520 and 500 heads are a distance of 0.01."""
    halves = [Certificate("a coin", 2, 1_000, 0.0, 0.1, 1e-6, ((heads, 0.5), (1_000 - heads, 0.5))) for heads in (520, 500)]
    done = combined(shards(tmp_path, *([row("CHN-013", certificate=half)] for half in halves)), tmp_path / "all")
    (judged,) = [one for one in done.records if isinstance(one, PropertyRecord)]
    assert judged.certificate is not None
    assert judged.certificate.draws == 2_000
    assert judged.certificate.distance == pytest.approx(0.01)
    assert judged.certificate.bound == pytest.approx(0.01 + (13.815510557964274 / 4_000) ** 0.5)


def together(case: str, log: float) -> Together:
    process = RunWide(["lenience"])
    process.add(case, {"lenience": (log, log, log, log)})
    return Together("step", "CHN-008", 2_000, log, "lenience", process.as_dict(), (), ())


@pytest.mark.parametrize(("log", "code"), [(9.0, 1), (8.0, 0)])
def test_cases_of_all_shards_speak_together(tmp_path: Path, log: float, code: int) -> None:
    """The bar is 2 x 10 / 1e-6, of which the logarithm is 16.8: neither shard reaches it."""
    done = combined(shards(tmp_path, [together("a", log), row("CHN-008")], [together("b", log), row("CHN-008")]), tmp_path / "all")
    assert done.exit_code == code
    found = [one for one in done.records if isinstance(one, Finding)]
    assert [one.message.partition(":")[0] for one in found] == ["The draws of all 2 cases together do not follow the right law"] * code
    assert status(done) == {"CHN-008": "failed" if code else "ok"}


def test_a_shard_that_was_cut_short_leaves_the_whole_open(tmp_path: Path) -> None:
    done = combined(shards(tmp_path, [row("CHN-001")], [row("CHN-001")], complete=False), tmp_path / "all")
    assert (done.exit_code, done.complete) == (4, False)


def test_all_shards_of_one_run_are_wanted(tmp_path: Path) -> None:
    folders = shards(tmp_path, [row("CHN-001")], [row("CHN-001")], [row("CHN-001")])
    with pytest.raises(SpecverifyError, match="2 of 3 is missing"):
        combined([folders[0], folders[2]], tmp_path / "all")
    with pytest.raises(SpecverifyError, match="one comes twice"):
        combined([*folders, folders[0]], tmp_path / "all")
    (other := tmp_path / "other").mkdir()
    with pytest.raises(SpecverifyError, match="differ in run key"):
        combined([folders[0], folders[1], shards(other, [], [], [], run_key="other")[2]], tmp_path / "all")
