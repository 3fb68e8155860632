"""The words of --report, shared by the verbs that write reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from specverify.audit.records import Record
from specverify.errors import unknown
from specverify.report.forms import FORMS, write_forms

PAGE = "html"
"""The form that is written where none is asked for."""


def named(given: Iterable[str]) -> tuple[str, ...]:
    """Forms by name, each once: `--report html,junit`, or the option given again.

    Raises:
        SpecverifyError: a word that names no form.
    """
    words = [word.strip() for one in given for word in one.split(",") if word.strip()]
    for word in words:
        if word not in FORMS:
            raise unknown("form of report", word, FORMS)
    return tuple(dict.fromkeys(words))


def write_into(folder: Path, found: Sequence[Record], forms: Sequence[str]) -> Path:
    """Write forms into a run's folder, under their usual names; the page's place, or the folder where there is none."""
    write_forms(list(found), {name: folder / FORMS[name].file for name in forms})
    return folder / FORMS[PAGE].file if PAGE in forms else folder
