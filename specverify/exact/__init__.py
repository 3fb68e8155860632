"""Exact laws: every random choice of a function, explored with its exact probability; and near-exact ones of opaque code that takes its draws.

Runs in the subject's interpreter. The engine needs torch, the black box the standard library alone: each is loaded when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specverify.exact.blackbox import inject, inject_rows
    from specverify.exact.coordinates import Categorical, Exponential, Gumbel, Uniform
    from specverify.exact.engine import choose, exact_law, real
    from specverify.exact.space import NotExact

__all__ = ["Categorical", "Exponential", "Gumbel", "NotExact", "Uniform", "choose", "exact_law", "inject", "inject_rows", "real"]

_HOMES = {"choose": "engine", "exact_law": "engine", "real": "engine", "inject": "blackbox", "inject_rows": "blackbox", "NotExact": "space"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"specverify.exact.{_HOMES.get(name, 'coordinates')}"), name)
