"""A small line plot as SVG, legible on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 60, 530, 50, 260
"""Of the plane, in pixels."""
STEPS = (0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 50, 100)
"""Of the vertical axis, which has four."""
STYLE = """.page{fill:#fff}.ink{fill:#1f2328;stroke:#fff;stroke-width:3;paint-order:stroke}.grid{stroke:#d0d7de}.line{stroke:#0969da;fill:none;stroke-width:2}.dot{fill:#0969da}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}.ink{fill:#e6edf3;stroke:#0d1117}.grid{stroke:#3d444d}.line{stroke:#4493f8}.dot{fill:#4493f8}}"""


def plot(file: Path, title: str, below: str, points: Sequence[tuple[str, float]]) -> None:
    """Write a line through named values, at most 360; its axis begins at 0.

    Args:
        file: to write.
        title: what the values are.
        below: what their names are.
        points: names and values, from left to right.
    """
    highest = max(value for _, value in points)
    top = 4 * next(step for step in STEPS if 4 * step >= 1.1 * highest)
    at = [(LEFT + (i + 0.5) * (RIGHT - LEFT) / len(points), _height(value / top)) for i, (_, value) in enumerate(points)]
    parts = [f"<style>{STYLE}</style>", f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>', _text(LEFT, 28, title, "start", 15)]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = _height(share)
        parts += [f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.0f}" y2="{y:.0f}"/>', _text(LEFT - 8, y + 4, f"{share * top:g}", "end")]
    parts += [f'<polyline class="line" points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in at)}"/>']
    for (x, y), (name, value) in zip(at, points, strict=True):
        parts += [f'<circle class="dot" cx="{x:.0f}" cy="{y:.0f}" r="4"/>', _text(x, y - 10, f"{value:.2f}"), _text(x, BOTTOM + 20, name)]
    parts.append(_text((LEFT + RIGHT) / 2, HEIGHT - 14, below))
    frame = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
    file.write_text("\n".join([f"<svg {frame}>", *parts, "</svg>", ""]))


def _height(share: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * share


def _text(x: float, y: float, text: str, anchor: str = "middle", size: int = 12) -> str:
    return f'<text class="ink" x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}">{text}</text>'
