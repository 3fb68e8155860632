"""A badge as JSON, for shields.io's endpoint: https://img.shields.io/endpoint?url=…"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from specverify.audit.verdict import exit_code
from specverify.report.marks import verdict_mark
from specverify.report.view import View, total, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specverify.audit.records import Record

COLOURS = {"good": "brightgreen", "bad": "red", "open": "yellow"}


def render(found: Sequence[Record]) -> str:
    """The whole file."""
    run = view(found)
    tone = verdict_mark(exit_code(list(run.verdicts))).tone
    shown: dict[str, Any] = {
        "schemaVersion": 1,
        "label": "specverify",
        "message": _message(run),
        "color": COLOURS["open" if run.cut and tone == "good" else tone],
    }
    return json.dumps(shown | ({"isError": True} if tone == "bad" else {}), ensure_ascii=False) + "\n"


def _message(run: View) -> str:
    told = run.verdicts[0].headline.lower() if len(run.verdicts) == 1 else total(run.verdicts) or "nothing checked"
    return f"{told} (partial)" if run.cut else told
