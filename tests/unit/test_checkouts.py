"""Checkouts that gallery entries import from: their commits, read without git, and one sentence for what is none."""

import subprocess
from pathlib import Path

import pytest

from specverify.audit.arguments import source
from specverify.audit.checkouts import UNKNOWN, head
from specverify.errors import SpecverifyError
from specverify.gallery import CHECKOUTS

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git_folder(path: Path, head: str, **files: str) -> Path:
    git = path / ".git"
    (git / "refs/heads").mkdir(parents=True)
    for name, text in {"HEAD": head, **files}.items():
        (git / name).write_text(text + "\n")
    return path


def test_a_detached_head_tells_its_commit(tmp_path: Path) -> None:
    assert head(git_folder(tmp_path, COMMIT)) == COMMIT[:12]


def test_a_branch_has_a_file_or_a_line_of_packed_refs(tmp_path: Path) -> None:
    loose = git_folder(tmp_path / "loose", "ref: refs/heads/main", **{"refs/heads/main": COMMIT})
    packed = git_folder(tmp_path / "packed", "ref: refs/heads/main", **{"packed-refs": f"# pack-refs with: peeled\n{COMMIT} refs/heads/main"})
    assert head(loose) == head(packed) == COMMIT[:12]


def test_a_worktree_names_its_git_folder(tmp_path: Path) -> None:
    """The one that git itself makes."""
    main, tree = tmp_path / "main", tmp_path / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(main)]
    main.mkdir()
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", str(tree)]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    right = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:12]
    assert head(main) == head(tree) == right


@pytest.mark.parametrize("text", ["ref: refs/heads/gone", "no commit", "ref: ../../HEAD", ""])
def test_what_tells_no_commit_is_unknown(tmp_path: Path, text: str) -> None:
    assert head(git_folder(tmp_path, text)) == UNKNOWN


def test_a_folder_without_git_is_unknown_even_inside_a_repository(tmp_path: Path) -> None:
    (git_folder(tmp_path, COMMIT) / "inner").mkdir()
    assert head(tmp_path / "inner") == UNKNOWN


def test_another_commit_than_the_one_described_is_noted(tmp_path: Path) -> None:
    described = CHECKOUTS["rest"].commit
    there = git_folder(tmp_path / "there", described + COMMIT[7:])
    other = git_folder(tmp_path / "other", COMMIT)
    assert source("gallery:rest", checkout=str(there)).commit == (described + COMMIT[7:])[:12]
    assert source("gallery:rest", checkout=str(other)).commit == f"{COMMIT[:12]}; the entry describes FasterDecoding/REST at {described}"


def test_the_modules_folder_comes_first_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert source("gallery:lmflow", checkout=str(tmp_path)).folders == (str(tmp_path / "src"),)


@pytest.mark.parametrize(
    ("text", "checkout", "sentence"),
    [
        ("gallery:rest", None, "needs a checkout of FasterDecoding/REST"),
        ("gallery:rest", "/nowhere", "no folder /nowhere"),
        ("gallery:lmflow", "/proc", "no checkout of OptimalScale/LMFlow: it has no folder src"),
        ("gallery:transformers", "/proc", "takes no checkout"),
        ("fault:residual-from-p", "/proc", "takes no checkout"),
    ],
)
def test_a_wrong_checkout_is_one_sentence_with_a_hint(text: str, checkout: str | None, sentence: str) -> None:
    with pytest.raises(SpecverifyError, match=sentence) as caught:
        source(text, checkout=checkout)
    assert caught.value.hint
