"""Checkouts of repositories that gallery entries import from: where their modules are, and at which commit they stand."""

from __future__ import annotations

import re
from pathlib import Path

from specverify.errors import SpecverifyError
from specverify.gallery import CHECKOUTS

SHORT = 12
"""Digits of a commit that are shown, as `commit_of` does."""
UNKNOWN = "commit unknown"


def import_folder(entry: str, checkout: str | None) -> tuple[str, ...]:
    """The folder of a checkout that an entry's modules are imported from; none of an entry that needs no checkout.

    Raises:
        SpecverifyError: a checkout is needed and none is given, or the other way round, or it is not there.
    """
    if entry not in CHECKOUTS:
        if checkout is not None:
            raise SpecverifyError(f"gallery:{entry} takes no checkout.", hint=f"It audits an installed package; checkouts are for {', '.join(CHECKOUTS)}.")
        return ()
    told = CHECKOUTS[entry]
    how = f"git clone https://github.com/{told.repository}, check {told.commit} out, and give its folder: --checkout PATH."
    if checkout is None:
        raise SpecverifyError(f"gallery:{entry} needs a checkout of {told.repository}.", hint=how)
    if not Path(checkout).is_dir():
        raise SpecverifyError(f"There is no folder {checkout} to audit.", hint=how)
    root = Path(checkout, told.root).resolve()
    if not root.is_dir():
        raise SpecverifyError(f"{checkout} is no checkout of {told.repository}: it has no folder {told.root}.", hint=how)
    return (str(root),)


def commits(entry: str, checkout: str) -> str:
    """What a report says of a checkout: its commit, and beside it the one described where that is another."""
    told, here = CHECKOUTS[entry], head(Path(checkout))
    return here if here.startswith(told.commit) else f"{here}; the entry describes {told.repository} at {told.commit}"


def head(checkout: Path) -> str:
    """The commit that a checkout stands at, read from its own .git without running git; `UNKNOWN` where that does not tell."""
    try:
        git = _git(checkout)
        text = (git / "HEAD").read_text().strip()
        found = _commit(git, text.removeprefix("ref: ")) if text.startswith("ref: ") else text
    except (OSError, UnicodeDecodeError):
        return UNKNOWN
    return found[:SHORT] if re.fullmatch(r"[0-9a-f]{40,64}", found) else UNKNOWN


def _git(checkout: Path) -> Path:
    """The git folder; of a worktree or submodule, .git is a file that names it."""
    git = checkout / ".git"
    return git if git.is_dir() else checkout / git.read_text().strip().removeprefix("gitdir: ")


def _commit(git: Path, reference: str) -> str:
    """What a reference stands for: a file of its own, else a line of packed-refs; a worktree shares those of the main checkout."""
    shared = git / "commondir"
    places = [git, git / shared.read_text().strip()] if shared.exists() else [git]
    for place in places:
        if (place / reference).is_file():
            return (place / reference).read_text().strip()
    packed = places[-1] / "packed-refs"
    lines = [line.split() for line in packed.read_text().splitlines()] if packed.exists() else []
    return next((words[0] for words in lines if words[1:] == [reference]), "")
