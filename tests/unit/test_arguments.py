"""SUBJECT arguments: every form, and one sentence for what is none."""

from pathlib import Path

import pytest

from specverify.audit.arguments import source
from specverify.errors import SpecverifyError

BAD = [
    ("http://localhost:8000", "Servers cannot be audited"),
    ("https://host", "Servers cannot be audited"),
    ("fault:residual-from-pp", "Did you mean 'residual-from-p'"),
    ("gallery:transformer", "Did you mean 'transformers'"),
    ("py:module", "does not name a module, a function and a contract"),
    ("py:module:f", "does not name"),
    ("py:module:f@verify_chian", "Did you mean 'verify_chain'"),
    ("falt:x", "kind of subject 'falt'"),
    ("nowhere", "no file or folder"),
    ("exec:", "names no program"),
    ("exec:./a 'b", "names no program"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD)
def test_what_names_nothing_is_told(text: str, sentence: str) -> None:
    with pytest.raises(SpecverifyError, match=sentence) as caught:
        source(text)
    assert caught.value.hint


def test_a_folder_without_a_subjects_file(tmp_path: Path) -> None:
    with pytest.raises(SpecverifyError, match=r"holds no specverify_subjects\.py"):
        source(str(tmp_path))


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(SpecverifyError, match="no Python file"):
        source(str(tmp_path / "notes.txt"))


def test_every_form(tmp_path: Path) -> None:
    (tmp_path / "specverify_subjects.py").write_text("")
    assert source(str(tmp_path)).file == str(tmp_path / "specverify_subjects.py")
    assert source("py:pkg.mod:Class.step@verify_chain").attribute == "Class.step"
    assert source("fault:residual-from-p").only == "residual-from-p"
    assert source("not-bug:ties-are-cut").module == "specverify.faults.planted_not_bugs"
    assert source("exec:./step --fast").command == (str(Path("step").resolve()), "--fast")
    assert Path(source("exec:cat").command[0]).is_absolute()
    assert Path(source("gallery:transformers", python="/usr/bin/python3").file).name == "transformers.py"
