"""The e-processes of `specverify.stats` for many tables at once, in numpy; `check` holds them beside the originals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from specverify.law import GRID, Law
from specverify.stats import WEIGHTS, log_directed, log_e_value
from specverify.stats.eprocess import KAPPAS, RATES

Array = NDArray[np.float64]
Tables = NDArray[np.int64]

RULED_OUT = -1e12
"""In place of minus infinity, which a matrix product cannot hold beside counts of zero."""

CANCELLED = 1e-6
"""Relative: log gammas at kappa = 1e8 are differences of numbers of 1e9."""


def log_factors(right: Array, faults: Mapping[str, Array]) -> Array:
    """What a draw adds to each log ratio, shape (faults * weights, cells + 1): cells of the support of `right`, then all others together.

    Args:
        right: masses of all cells.
        faults: name to masses of the same cells.
    """
    inside = right > 0
    rows = []
    for law in faults.values():
        for weight in WEIGHTS:
            ratios = 1 - weight + weight * law[inside] / right[inside]
            rows.append(np.append(ratios, 1 + (1 / GRID - 1) * weight * law[~inside].sum()))
    found = np.array(rows)
    return np.log(found, out=np.full_like(found, RULED_OUT), where=found > 0)


def generic(tables: Tables, masses: Array) -> Array:
    """Log of the Dirichlet mixture's e-value for each table, shape (tables, cells + 1); `masses` are the support's."""
    total, outside = tables.sum(1), tables[:, -1]
    centre, null = np.append(masses * (1 - GRID), GRID), np.log(np.append(masses, GRID))
    parts = [gammaln(k) - gammaln(k + total) + (gammaln(k * centre + tables) - gammaln(k * centre)).sum(1) for k in KAPPAS]
    dirichlet = logsumexp(parts, axis=0) - np.log(len(KAPPAS)) - tables @ null
    leaks = [(total - outside) * np.log1p(-rate) + outside * np.log(rate / GRID) for rate in RATES]
    return np.logaddexp(dirichlet, logsumexp(leaks, axis=0) - np.log(len(RATES))) - np.log(2)


def averaged(logs: Array) -> Array:
    """Log of the mean over the last axis."""
    return logsumexp(logs, axis=-1) - np.log(logs.shape[-1])


def check() -> None:
    """Two tables, with a draw outside and without, against the originals."""
    right, fault = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.3, 0.3, 0.3, 0.1])
    tables = np.array([[40, 30, 20, 0], [30, 30, 29, 1]])
    law = Law.of(dict(enumerate(right)))
    for table, here, there in zip(tables, generic(tables, right[:3]), averaged(tables @ log_factors(right, {"f": fault}).T), strict=True):
        counts = {i: int(n) for i, n in enumerate(table) if n}
        np.testing.assert_allclose(here, log_e_value(counts, law), rtol=CANCELLED)
        np.testing.assert_allclose(there, log_directed(counts, law, {"f": Law.of(dict(enumerate(fault)))}), rtol=CANCELLED)
