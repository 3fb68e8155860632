"""Rounds of `specverify fuzz`: alpha is shared, findings are kept once, and an end in whatever way leaves a valid file."""

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from specverify.audit.combine import merged
from specverify.audit.events import ending, read_events
from specverify.audit.fuzz import Told, fuzz, settings_of, share
from specverify.audit.records import CaseRecord, Finding, Footer, Header, PropertyRecord, Record, SubjectRecord
from specverify.audit.run import TIME_UP, Finished, Watcher
from specverify.audit.settings import CONFIRM_DRAWS, SCREEN_DRAWS, Settings
from specverify.audit.suite import of_contract
from specverify.cli.durations import seconds
from specverify.errors import SpecverifyError
from specverify.law import Law
from specverify.stats.power import detectable_tv

HEADER = Header(1, "0", "1", "run", ("a",), "key", 1e-6, 10, 1, (), "", "3", "linux")
SUBJECT = SubjectRecord("pad", "here", "pad_path", "lossless")
PADS = of_contract("pad_path")
FIRST = PADS[0].id


def row(status: str, reason: str = "", id_: str = FIRST) -> PropertyRecord:
    return PropertyRecord("pad", "pad_path", id_, "It is right.", "joint", status, "pointwise", reason, cases=3)


def found(id_: str) -> Finding:
    return Finding(id_, "pad", "pad_path", FIRST, "It is right.", "here", "finding", "It is not.", (), (), "pointwise")


def round_of(folder: Path, *records: Record, complete: bool = True, code: int = 0) -> Finished:
    folder.mkdir(parents=True)
    (folder / "findings").mkdir()
    for one in records:
        if isinstance(one, Finding):
            (folder / "findings" / f"{one.id}.json").write_text(folder.name)
    footer = Footer(complete, code, 1.0, "" if complete else "cut")
    return Finished(folder, HEADER, (), (HEADER, SUBJECT, *records, footer), code, 1.0, complete)


def searched(
    tmp_path: Path, *rounds: tuple[Record, ...], ends: dict[int, Finished] | None = None, **options: object
) -> tuple[Finished, list[Told], list[Settings]]:
    """Fuzz with rounds that are given, not run."""
    numbers, told, given = itertools.count(), list[Told](), list[Settings]()

    def one(settings: Settings, folder: Path, _: Watcher) -> Finished:
        number = next(numbers)
        given.append(settings)
        return round_of(folder / str(number), *rounds[number], **(options if number == len(rounds) - 1 else {}))

    done = fuzz(["a"], Settings(run_key="key"), one, out=tmp_path / "out", seconds=60, most=len(rounds), told=told.append)
    return done, told, given


def test_all_rounds_together_spend_alpha() -> None:
    """The shares fall as 1 / k^2: their sum comes up to alpha from below, and what is left after n rounds is less than alpha / n."""
    alpha = 1e-6
    spent = math.fsum(share(alpha, k) for k in range(1, 10_001))
    assert spent < alpha
    assert alpha - spent < alpha / 10_000
    assert [settings_of(Settings(alpha=alpha), k).threshold < settings_of(Settings(alpha=alpha), k + 1).threshold for k in (1, 2, 50)] == [True] * 3


def test_a_round_has_a_key_and_a_threshold_of_its_own(tmp_path: Path) -> None:
    _, _, given = searched(tmp_path, (row("ok"),), (row("ok"),), (row("ok"),))
    assert [one.run_key for one in given] == ["key", "key/2", "key/3"]
    assert [one.scope for one in given] == ["small", "none", "none"]
    assert [one.alpha for one in given] == [share(1e-6, k) for k in (1, 2, 3)]


def test_a_finding_is_kept_once_and_from_the_round_that_saw_it_first(tmp_path: Path) -> None:
    fails = (found("aaaaaaaa"), row("failed", "aaaaaaaa"))
    done, told, _ = searched(tmp_path, (row("ok"),), fails, fails, (found("bbbbbbbb"), row("failed", "bbbbbbbb")))
    assert [[one.id for one in each.new] for each in told] == [[], ["aaaaaaaa"], [], ["bbbbbbbb"]]
    assert done.exit_code == 1
    assert [one.id for one in done.records if isinstance(one, Finding)] == ["aaaaaaaa", "bbbbbbbb"]
    assert {path.stem: path.read_text() for path in (done.folder / "findings").iterdir()} == {"aaaaaaaa": "1", "bbbbbbbb": "3"}
    assert [path.name for path in done.folder.iterdir() if path.is_dir()] == ["findings"]
    (only,) = [one for one in done.records if isinstance(one, PropertyRecord)]
    assert (only.status, only.reason, only.cases) == ("failed", "aaaaaaaa", 12)
    header = read_events(done.folder)[0]
    assert isinstance(header, Header)
    assert header.rounds == 4


def test_what_the_end_cuts_off_takes_nothing_back(tmp_path: Path) -> None:
    done, _, _ = searched(tmp_path, (row("ok"),), (row("inconclusive", TIME_UP),), complete=False, code=4)
    assert (done.exit_code, done.complete, ending(read_events(done.folder))) == (0, True, "")


def test_a_first_round_that_is_cut_off_is_no_answer(tmp_path: Path) -> None:
    done, _, _ = searched(tmp_path, (row("inconclusive", TIME_UP),), complete=False, code=4)
    assert (done.exit_code, ending(read_events(done.folder))) == (4, f"{TIME_UP} in the first round")


def test_an_interruption_keeps_what_was_found(tmp_path: Path) -> None:
    done, _, _ = searched(tmp_path, (found("aaaaaaaa"), row("failed", "aaaaaaaa")), (row("inconclusive", "interrupted"),), complete=False, code=130)
    assert (done.exit_code, ending(read_events(done.folder))) == (130, "interrupted")
    assert [one.id for one in done.records if isinstance(one, Finding)] == ["aaaaaaaa"]


def test_a_killed_search_leaves_a_file_that_says_so(tmp_path: Path) -> None:
    """After a round, before the next one ends."""
    numbers = itertools.count()

    def one(_: Settings, folder: Path, __: Watcher) -> Finished:
        if next(numbers):
            raise MemoryError
        return round_of(folder / "0", row("ok"))

    with pytest.raises(MemoryError):
        fuzz(["a"], Settings(), one, out=tmp_path, seconds=60, most=None, told=lambda _: None)
    (run,) = tmp_path.iterdir()
    assert "no last record" in ending(read_events(run))
    assert [record for record in read_events(run) if isinstance(record, PropertyRecord)] == [row("ok")]


def test_the_first_rounds_cases_stay_and_later_ones_stay_where_they_are_odd(tmp_path: Path) -> None:
    cases = tuple(CaseRecord("pad", FIRST, str(number), result) for number, result in enumerate(("ok", "suspect")))
    done, _, _ = searched(tmp_path, (*cases, row("ok")), (*cases, row("unconfirmed")))
    assert [one.result for one in done.records if isinstance(one, CaseRecord)] == ["ok", "suspect", "suspect"]


def test_an_advisory_of_a_part_does_not_fail_the_whole() -> None:
    """Of shards as of rounds: an advisory is no finding."""
    told = msgspec.structs.replace(found("aaaaaaaa"), severity="advisory")
    parts = [[HEADER, SUBJECT, told, row("advisory", "aaaaaaaa")], [HEADER, SUBJECT, row("ok")]]
    for rounds in (False, True):
        (last,) = [one for one in merged(HEADER, parts, rounds=rounds) if isinstance(one, PropertyRecord)]
        assert (last.status, last.reason) == ("advisory", "aaaaaaaa")


@pytest.mark.parametrize(("text", "length"), [("1h", 3600), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("7", 7), ("0.5h", 1800)])
def test_lengths_of_time(text: str, length: float) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize("text", ["", "0s", "soon", "-1h", "1d", "1h 1"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(SpecverifyError, match="no length of time"):
        seconds(text)


@pytest.mark.parametrize("tv", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("cells", [2, 8, 64])
def test_detect_buys_draws_that_find_it(tv: float, cells: int) -> None:
    """Against the power that the statistics work out: of a screen at 1,000, and of a confirmation over 40 pairs."""
    settings, right = Settings(pairs=40).finding(tv), Law(dict.fromkeys(range(cells), 1 / cells))
    for draws, threshold in ((settings.screen, 1_000.0), (settings.draws, settings.threshold)):
        finds = detectable_tv(right, draws, alpha=1 / threshold)
        assert finds is not None
        assert finds <= tv


def test_detect_never_lowers_a_budget() -> None:
    assert Settings().finding(0.9) == Settings().finding(None) == Settings(draws=CONFIRM_DRAWS, screen=SCREEN_DRAWS)


@pytest.mark.slow
def test_fuzz_finds_keeps_and_replays(project: Callable, tmp_path: Path) -> None:
    """The whole way: two rounds, a finding of the second that its own key shows again, and the exit codes."""
    command = [sys.executable, "-m", "specverify"]
    fuzzed = [*command, "fuzz", "fault:pad-in-front", "--max-time", "5m", "--rounds", "2", "-n", "1", "--scope", "none"]
    done = subprocess.run(fuzzed, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "round 2" in done.stdout
    again = subprocess.run([*command, "replay"], cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert (again.returncode, again.stdout.startswith("failed")) == (1, True), again.stdout + again.stderr
    wrong = subprocess.run([*command, "fuzz", "fault:nothing"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (wrong.returncode, len(list((tmp_path / "reports").iterdir()))) == (2, 1)


@pytest.mark.slow
def test_fuzz_is_stopped_by_the_clock_and_by_a_person(project: Callable, tmp_path: Path) -> None:
    folder = project("import time\nimport specverify as sv\nsv.subject('pad_path')(lambda path, length, pad: time.sleep(300))")
    command = [sys.executable, "-m", "specverify", "fuzz", str(folder), "--call-seconds", "600", "-n", "1", "--out", str(tmp_path / "reports")]
    done = subprocess.run([*command, "--max-time", "8s"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 4, done.stdout + done.stderr
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    signal.signal(signal.SIGINT, heard)
    for _ in range(600):
        if list((tmp_path / "reports").glob("*/rounds/*/pytest.log")):
            break
        time.sleep(0.1)
    time.sleep(1)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    run = max((tmp_path / "reports").iterdir())
    assert ending(read_events(run)) == "interrupted"
    assert "PARTIAL" in (run / "index.html").read_text()
    assert json.loads((run / "events.jsonl").read_text().splitlines()[-1])["exit_code"] == 130
