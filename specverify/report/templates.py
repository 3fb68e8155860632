"""The templates of pages, with what they may call; all text is escaped."""

from __future__ import annotations

import functools
from fractions import Fraction

import jinja2

from specverify.report.gaps import ALWAYS_UNTESTED
from specverify.report.marks import verdict_mark
from specverify.report.summary import counts_text
from specverify.report.text import choice_text, evidence_text, likely_text, parts_text


@functools.cache
def template(name: str) -> jinja2.Template:
    """One of this folder."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("specverify.report", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.tests["probability"] = lambda text: percent(text) is not None
    environment.globals.update(
        percent=percent,
        counts=counts_text,
        evidence=evidence_text,
        choice_text=choice_text,
        likely=likely_text,
        parts=parts_text,
        mark_of=verdict_mark,
        always=ALWAYS_UNTESTED,
    )
    return environment.get_template(name)


def percent(text: str) -> float | None:
    """A probability as a bar's length, from the text that is shown: "3/8", "0.564"; none if it is no probability."""
    try:
        value = float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return None
    return round(100 * value, 1) if 0 <= value <= 1 else None
