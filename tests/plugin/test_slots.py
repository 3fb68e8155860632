"""`slots`: how many of the subjects that declare it are called at once, however many processes there are."""

from itertools import pairwise
from pathlib import Path

import pytest

SLOTTED = """
import os, time
import specverify as sv

def told(name):
    def pad_path(path, length, pad):
        start = time.time()
        time.sleep(0.003)
        with open("calls.txt", "a") as calls:
            calls.write(f"{name} {os.getppid()} {start} {time.time()}\\n")
        return path + [pad] * (length - len(path))
    return pad_path

for name in ("one", "two", "three"):
    sv.subject("pad_path", name=name, slots=SLOTS)(told(name))
"""


def calls(pytester: pytest.Pytester, slots: int | None, processes: int) -> list[tuple[str, str, float, float]]:
    """Every call of three subjects, in the order of their starts: subject, process of pytest, start, end."""
    pytester.makepyfile(specverify_subjects=SLOTTED.replace("SLOTS", str(slots)))
    assert pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", str(processes), timeout=200).ret == 0
    rows = [line.split() for line in (Path(pytester.path) / "calls.txt").read_text().splitlines()]
    return sorted(((name, process, float(start), float(end)) for name, process, start, end in rows), key=lambda row: row[2])


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)


def test_subjects_of_one_slot_never_overlap(pytester: pytest.Pytester) -> None:
    seen = calls(pytester, 1, 2)
    assert {name for name, *_ in seen} == {"one", "two", "three"}
    assert len({process for _, process, *_ in seen}) == 1
    assert all(end <= start for (_, _, _, end), (_, _, start, _) in pairwise(seen))


def test_two_slots_are_two_processes_at_most(pytester: pytest.Pytester) -> None:
    seen = calls(pytester, 2, 3)
    served = {name: {process for other, process, *_ in seen if other == name} for name, *_ in seen}
    assert all(len(processes) == 1 for processes in served.values())
    assert served["one"] == served["three"]


def test_a_subject_is_done_before_the_next_begins(pytester: pytest.Pytester) -> None:
    """In one process too, where pytest alone would take each property through all subjects."""
    order = [name for name, *_ in calls(pytester, None, 0)]
    assert list(dict.fromkeys(order)) == ["one", "two", "three"]
    assert order == sorted(order, key=["one", "two", "three"].index)
