"""Plots as SVG by altair and vl-convert, the extra "plots"; without it the report has tables alone and says so."""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from specverify.report.evidence import BINS, first_looks, p_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import altair

    from specverify.audit.records import Record

NEEDED = ("altair", "vl_convert")
MISSING = 'Plots of these numbers need the extra "plots": pip install "specdec-verify[plots]".'
SUSPECT = 3
"""A case is suspect from E = 10^3 on."""
CEILING = 6
"""What exceeds 10^6 is drawn there: a finding's E has hundreds of digits."""
P_VALUES = f"How often the chi-squared p-values of laws at their first look fell in each of {BINS} parts; right laws spread them evenly."
E_VALUES = "E of every case at its first look, by its draws; a larger dot stands for more cases. From the broken line on a case is suspect and judged again."
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
    """Of a run's evidence: p-values of laws, and e-values of all screens by their draws; none without the extra or the numbers."""
    if not available():
        return []
    return [Plot(told, _svg(place, chart)) for place, (told, chart) in enumerate(_charts(found))]


def _charts(found: Sequence[Record]) -> Iterator[tuple[str, altair.Chart | altair.LayerChart]]:
    import altair

    spread = [{"at": bar.bounds, "cases": bar.count} for bar in p_values(found)]
    looks = Counter((one.draws, min(round(one.log_e / math.log(10), 1), CEILING)) for one in first_looks(found))
    if spread:
        bars = altair.Chart(altair.Data(values=spread)).mark_bar(color=INK, opacity=0.7)
        place = altair.X("at:N", sort=None, title="p-value", axis=altair.Axis(labelAngle=-40))
        yield P_VALUES, bars.encode(place, altair.Y("cases:Q", title="cases"))
    if looks:
        values = [{"draws": draws, "power": power, "cases": cases} for (draws, power), cases in looks.items()]
        dots = altair.Chart(altair.Data(values=values)).mark_circle(color=INK, opacity=0.6)
        sides = altair.X("draws:Q", scale=altair.Scale(type="log")), altair.Y("power:Q", title="log10 E", scale=altair.Scale(domainMax=CEILING))
        bound = altair.Chart(altair.Data(values=[{"power": SUSPECT}])).mark_rule(color=INK, strokeDash=[4, 4]).encode(y="power:Q")
        yield E_VALUES, dots.encode(*sides, altair.Size("cases:Q", legend=None)) + bound


def _svg(place: int, chart: altair.Chart | altair.LayerChart) -> str:
    """One chart, with ids of its own, since a page has several."""
    import vl_convert

    axes: dict[str, Any] = {"labelColor": INK, "titleColor": INK, "tickColor": INK, "domainColor": INK, "gridOpacity": 0.3}
    drawn = chart.properties(width=420, height=150).configure(background="transparent").configure_axis(**axes).configure_view(stroke=None)
    return str(vl_convert.vegalite_to_svg(drawn.to_dict())).replace('id="', f'id="plot{place}-').replace("url(#", f"url(#plot{place}-")
