"""SUBJECT arguments of the command line: `[kind:]id` to a source."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from specverify.audit.checkouts import commits, import_folder
from specverify.audit.config import Config
from specverify.errors import SpecverifyError, unknown
from specverify.faults import fault, not_bug, not_bugs
from specverify.gallery import PACKAGES
from specverify.subjects.declare import CLAIMS
from specverify.subjects.source import SUBJECTS_FILE, Source, from_dotted, from_path, from_program

GALLERY = Path(__file__).resolve().parent.parent / "gallery"
KINDS = ("py", "exec", "fault", "not-bug", "gallery")


def gallery() -> list[str]:
    """Names of the published audits that ship with the tool."""
    return sorted(PACKAGES)


def entry(name: str) -> Path:
    """The subjects file of a published audit: NAME.py, or the one in the folder NAME, which its parts share with it."""
    alone = GALLERY / f"{name}.py"
    return alone if alone.exists() else GALLERY / name / SUBJECTS_FILE


def configured(text: str, config: Config, python: str | None = None, checkout: str | None = None) -> Source:
    """What an argument names in a project: one of its `[subjects.NAME]`, or what `source` reads.

    Args:
        text: SUBJECT, as it was written.
        config: of the project.
        python: interpreter that was asked for; it goes before that of the subject, and that before the one of the whole configuration.
        checkout: folder of the repository that a gallery entry imports from, if any.
    """
    one = config.subjects.get(text)
    if one is None:
        return source(text, python or config.python, checkout)
    if one.claim is not None and one.claim not in CLAIMS and not one.claim.startswith("lossy("):
        raise unknown("claim", one.claim, (*CLAIMS, "lossy(NAME)"))
    use = f"{one.use}@{one.contract}" if one.contract is not None and "@" not in one.use else one.use
    return replace(source(use, python or one.python or config.python, checkout), claim=one.claim)


def source(text: str, python: str | None = None, checkout: str | None = None) -> Source:
    """What one SUBJECT argument names; `checkout` is the folder of the repository that a gallery entry imports from.

    Raises:
        SpecverifyError: another form, an unknown name, or nothing there.
    """
    interpreter = python or sys.executable
    kind, colon, rest = text.partition(":")
    if checkout is not None and kind != "gallery":
        raise SpecverifyError(f"{text} takes no checkout.", hint="--checkout PATH is for entries of the gallery; `specverify list gallery` shows which.")
    if kind in ("http", "https"):
        raise SpecverifyError(
            "Servers cannot be audited in this version.", hint="Audit the functions that the server calls: a checkout, or py:MODULE:NAME@CONTRACT."
        )
    if kind == "py" and colon:
        return from_dotted(text, interpreter)
    if kind == "exec" and colon:
        return from_program(text, interpreter)
    if kind == "fault" and colon:
        return Source(text, interpreter, module=fault(rest).module, only=rest)
    if kind == "not-bug" and colon:
        return Source(text, interpreter, module=not_bugs.MODULE, only=not_bug(rest).name)
    if kind == "gallery" and colon:
        return _from_gallery(text, interpreter, checkout)
    if colon and not Path(text).exists():
        raise unknown("kind of subject", kind, KINDS)
    return from_path(text, interpreter)


def _from_gallery(text: str, interpreter: str, checkout: str | None) -> Source:
    """An entry, or with `gallery:NAME:SUBJECT` one subject of it."""
    name, _, only = text.removeprefix("gallery:").partition(":")
    if name not in gallery():
        raise unknown("gallery entry", name, gallery())
    folders, commit = import_folder(name, checkout), commits(name, checkout) if checkout else ""
    return Source(text, interpreter, file=str(entry(name)), only=only or None, folders=folders, commit=commit)
