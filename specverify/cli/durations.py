"""Lengths of time as people write them."""

from __future__ import annotations

import re

from specverify.errors import SpecverifyError

UNITS = {"h": 3600, "m": 60, "s": 1}
WRITTEN = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")


def seconds(text: str) -> float:
    """A length of time in seconds: 1h, 90s, 1h30m, or a number of seconds.

    Raises:
        SpecverifyError: it is written otherwise, or is 0.
    """
    found = WRITTEN.fullmatch(text.strip())
    length = sum(float(part) * unit for part, unit in zip(found.groups(), UNITS.values(), strict=True) if part) if found else 0
    if not length:
        raise SpecverifyError(f"{text!r} is no length of time.", hint="Write it as 1h, 10m, 90s or 1h30m.")
    return length
