"""Plots as SVG by altair and vl-convert, the extra "plots"; without it the report has tables alone and says so."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from specverify.report.evidence import BINS, Bar, first_looks, p_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specverify.audit.records import Record

NEEDED = ("altair", "vl_convert")
MISSING = 'Plots of these numbers need the extra "plots": pip install "specdec-verify[plots]".'
SUSPECT = 3
"""A case is suspect from E = 10^3 on."""
CEILING = 6
"""What reaches 10^6 is drawn in one bar: a finding's E has hundreds of digits."""
INK = "currentColor"
"""So that a plot is legible on light and on dark pages."""


@dataclass(frozen=True)
class Plot:
    """A picture, and what it shows, in words."""

    told: str
    svg: str


def available() -> bool:
    """Whether the extra is installed."""
    return all(importlib.util.find_spec(name) is not None for name in NEEDED)


def plots(found: Sequence[Record]) -> list[Plot]:
    """Of a run's evidence: p-values of laws, and e-values of all screens; none without the extra or the numbers."""
    if not available():
        return []
    return [Plot(told, _svg(place, x, bars)) for place, (told, x, bars) in enumerate(_charts(found)) if bars]


def _charts(found: Sequence[Record]) -> Iterator[tuple[str, str, list[Bar]]]:
    yield (
        f"How often the chi-squared p-values of laws at their first look fell in each of {BINS} parts; right laws spread them evenly.",
        "p-value",
        p_values(found),
    )
    yield (
        "How many cases had an e-value of each power of ten at their first look; from 10^3 on a case is suspect and judged again.",
        "log10 E",
        _e_values(found),
    )


def _e_values(found: Sequence[Record]) -> list[Bar]:
    powers = [min(math.floor(one.log_e / math.log(10)), CEILING) for one in first_looks(found)]
    steps = range(min(powers, default=0), max(powers, default=-1) + 1)
    return [Bar(f"{step} to {step + 1}" if step < CEILING else f"{step} or more", powers.count(step), 0.0) for step in steps]


def _svg(place: int, x: str, bars: Sequence[Bar]) -> str:
    """One chart, with ids of its own, since a page has several."""
    import altair
    import vl_convert

    values = [{"at": bar.bounds, "cases": bar.count} for bar in bars]
    axes: dict[str, Any] = {"labelColor": INK, "titleColor": INK, "tickColor": INK, "domainColor": INK, "gridOpacity": 0.3}
    chart = (
        altair.Chart(altair.Data(values=values), width=420, height=140)
        .mark_bar(color=INK, opacity=0.7)
        .encode(altair.X("at:N", sort=None, title=x, axis=altair.Axis(labelAngle=-40)), altair.Y("cases:Q", title="cases"))
        .configure(background="transparent")
        .configure_axis(**axes)
        .configure_view(stroke=None)
    )
    return str(vl_convert.vegalite_to_svg(chart.to_dict())).replace('id="', f'id="plot{place}-').replace("url(#", f"url(#plot{place}-")
