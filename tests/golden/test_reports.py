"""What is published in `reports/`: rebuilt by one command, and without the folders of the machine that made it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from benchmarks import reports
from specverify.audit.events import EVENTS, read_events

MACHINE = re.compile(rb"(?<![\w.:/=+])/(?:tmp|home|root|work|usr|opt)/")
LINES = [
    ("/tmp/v/tf/lib/python3.11/site-packages/a/b.py", "site-packages/a/b.py"),
    ("multinomial at /home/me/x/lib/site-packages/a/b.py:44 #0", "multinomial at site-packages/a/b.py:44 #0"),
    ("/work/main/specverify/gallery/transformers.py", "specverify/gallery/transformers.py"),
    ("specverify audit x --python /tmp/v/bin/python --out /tmp/rep", "specverify audit x --python …/python --out …/rep"),
    ("https://github.com/tmp/x and 1/2 and (1/2, 1/2)", "https://github.com/tmp/x and 1/2 and (1/2, 1/2)"),
]


@pytest.mark.parametrize(("made", "said"), LINES)
def test_folders_of_a_machine_are_not_published(made: str, said: str) -> None:
    assert reports.published({"draw": [made], "data": "/tmp/AA=="}) == {"draw": [said], "data": "/tmp/AA=="}
    assert reports.published(said) == said


def test_no_record_that_is_published_names_one() -> None:
    runs = reports.runs(reports.REPORTS)
    assert runs
    for run in runs:
        named = [line for line in (run / EVENTS).read_bytes().splitlines() if MACHINE.search(line)]
        assert not named, f"{run}: python -m benchmarks.reports"


def test_the_table_says_what_the_records_say() -> None:
    text = (reports.REPORTS / "README.md").read_text()
    assert text.partition(reports.BEGIN)[2].partition(reports.END)[0].strip() == reports.table(reports.read(reports.REPORTS), reports.REPORTS), (
        "python -m benchmarks.reports"
    )


def test_one_command_rebuilds_pages_and_table(tmp_path: Path) -> None:
    shutil.copytree(reports.REPORTS / "transformers", tmp_path / "one")
    (tmp_path / "one" / "index.html").unlink()
    first, *rest = (tmp_path / "one" / EVENTS).read_text().splitlines()
    (tmp_path / "one" / EVENTS).write_text("\n".join([json.dumps({**json.loads(first), "command": "specverify audit x --out /tmp/y"}), *rest]))
    (tmp_path / "README.md").write_text(f"Ours.\n{reports.BEGIN}\nold\n{reports.END}\nMore.\n")
    reports.main(tmp_path)
    assert "<html" in (tmp_path / "one" / "index.html").read_text()
    assert read_events(tmp_path / "one")[0].command == "specverify audit x --out …/y"
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("Ours.\n")
    assert text.endswith("More.\n")
    assert "old" not in text
    assert "transformers._speculative_sampling` (verify_chain)" in text
    (tmp_path / "README.md").write_text("no marks")
    with pytest.raises(SystemExit, match="no place for the table"):
        reports.main(tmp_path)
