"""Exact laws: every random choice of a function, explored with its exact probability. Runs in the subject's interpreter; all but `pointwise` and `decisions` needs torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specverify.exact.engine import choose, exact_law, real
    from specverify.exact.space import NotExact

__all__ = ["NotExact", "choose", "exact_law", "real"]


def __getattr__(name: str) -> object:
    """The engine, when it is asked for: not every interpreter has torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("specverify.exact.engine"), name)
