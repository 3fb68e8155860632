"""`python -m benchmarks.power`: how many draws each test needs for each fault, V = 8, gamma = 2 (512 cells), at 1e-9, side by side in one run.

Sequential tests: the median over REPEATS runs of the look at which E reaches 1e9. Chi-squared: the first look at which 90 % of the runs reject, pooled to
5 expected draws as it is used, and to 100 with the honest p-value.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from benchmarks.mutant_laws import Array, laws, published_rows, right_law, total_variation
from benchmarks.processes import RULED_OUT, averaged, check, generic, log_factors
from specverify.law import Law
from specverify.stats.chisquare import LEAST_EXPECTED, LEAST_EXPECTED_DEEP, Fit, deep_tail, goodness_of_fit

ALPHA = 1e-9
REPEATS = 41
SHARE = 0.9
"""Of runs in which chi-squared must reject."""
LOOKS = np.unique(np.round(16 * 1.12 ** np.arange(130)).astype(int))
"""Up to 36 million draws, each look 12 % after the last."""
COLUMNS = ("chi2", "chi2 honest", "Dirichlet", "mix", "screen", "SPRT")

PUBLISHED = (
    (4349, 4244, 865, 730), (1813, 2407, 437, 390), (4941, 4754, 1152, 1028), (3134, 3789, 689, 615), (314, 310, 67, 56), (3134, 3789, 865, 730),
    (86242, 80875, 16546, 14773), (319, 310, 52, 46), (1192, 1364, 276, 246), (2384, 3020, 490, 390), (157000, 200000, 26000, 23000), (1171, 1528, 246, 246),
    (1171, 1086, 246, 219), (89, 52, 32, 32), (4349, 4754, 1086, 865), (5032, 5040, 865, 772), (68000, 64000, 12000, 11000), (34000, 37000, 6681, 5325),
    (7.5e6, 41e6, 1.4e6, 1.2e6),
)  # fmt: skip
"""Chi-squared, Dirichlet, mixture, SPRT of statistics.md 2.2, in the order of the faults."""


@dataclass
class Race:
    """Runs of all tests on draws of one fault, look after look, until each has an answer.

    Attributes:
        needed: column to draws.
    """

    right: Array
    fault: Array
    factors: Array
    own: Array
    needed: dict[str, int] = field(default_factory=dict)

    def run(self, rng: np.random.Generator) -> dict[str, int]:
        """Draws that each test needs; a missing one needs more than the last look."""
        tables = np.zeros((REPEATS, self.right.size + 1), dtype=np.int64)
        done = 0
        for look in LOOKS:
            tables[:, :-1] += rng.multinomial(look - done, self.fault, size=REPEATS)
            done = look
            for column, rejected in self._verdicts(tables, done):
                enough = SHARE if column.startswith("chi2") else 0.5
                if column not in self.needed and rejected.mean() >= enough:
                    self.needed[column] = done
            if len(self.needed) == len(COLUMNS):
                break
        return self.needed

    def _verdicts(self, tables: NDArray[np.int64], total: int) -> list[tuple[str, NDArray[np.bool_]]]:
        directed, dirichlet = averaged(tables @ self.factors.T), generic(tables, self.right)
        alarm = -np.log(ALPHA)
        return [
            ("chi2", chi_squared(tables, self.right, total, LEAST_EXPECTED) <= ALPHA),
            ("chi2 honest", chi_squared(tables, self.right, total, LEAST_EXPECTED_DEEP) <= ALPHA),
            ("Dirichlet", dirichlet >= alarm),
            ("mix", directed >= alarm),
            ("screen", np.logaddexp(directed, dirichlet) - np.log(2) >= alarm),
            ("SPRT", tables @ self.own >= alarm),
        ]


def chi_squared(tables: NDArray[np.int64], right: Array, total: int, least: float) -> Array:
    """Pearson's p-values of many tables, the honest ones where `least` is that of deep levels; 1 where fewer than two cells remain."""
    order = np.argsort(right, kind="stable")
    expected, drawn = total * right[order], tables[:, :-1][:, order]
    small = int((expected < least).sum())
    while 0 < small < len(order) and expected[:small].sum() < least:
        small += 1
    pools = [*range(small, len(order))]
    means, counts = expected[pools], drawn[:, pools]
    if small:
        means, counts = np.append(means, expected[:small].sum()), np.column_stack([counts, drawn[:, :small].sum(1)])
    if len(means) < 2:
        return np.ones(len(tables))
    values = ((counts - means) ** 2 / means).sum(1)
    if least < LEAST_EXPECTED_DEEP:
        return np.asarray(chi2.sf(values, len(means) - 1))
    return np.array([deep_tail(float(value), len(means) - 1, float(means.min())) for value in values])


def check_chi_squared(right: Array, rng: np.random.Generator) -> None:
    """Some tables against `specverify.stats`."""
    law = Law(dict(enumerate(right.tolist())))
    for total in (2_000, 50_000):
        table = np.append(rng.multinomial(total, right), 0)
        counts = {i: int(n) for i, n in enumerate(table) if n}
        for alpha, least in ((1e-3, LEAST_EXPECTED), (ALPHA, LEAST_EXPECTED_DEEP)):
            fit = goodness_of_fit(counts, law, alpha=alpha)
            assert isinstance(fit, Fit)
            np.testing.assert_allclose(chi_squared(table[None], right, total, least), fit.pearson.p_value, rtol=1e-9)


def log_ratio(law: Array, right: Array) -> Array:
    """What a draw adds to the log ratio of the test that knows the fault; no cell lies outside the support here."""
    return np.append(np.log(law / right, out=np.full_like(law, RULED_OUT), where=law > 0), 0.0)


def main() -> None:
    """Print the table, published numbers in brackets."""
    check()
    start, rng = time.perf_counter(), np.random.default_rng(1)
    rows = published_rows()
    right, faults = right_law(rows).ravel(), {name: law.ravel() for name, law in laws(rows).items()}
    factors = log_factors(right, faults)
    check_chi_squared(right, rng)
    print(
        f"{'fault':<20} {'TV':>6}" + "".join(f" {column:>12}" for column in COLUMNS) + f"   {'chi2/mix':>8}  [published: chi2 Dirichlet mix SPRT]", flush=True
    )
    for number, (name, law) in enumerate(faults.items()):
        race = Race(right, law, factors, log_ratio(law, right))
        needed = race.run(rng)
        cells = "".join(f" {needed.get(column, 0) or '-':>12}" for column in COLUMNS)
        ratio = f"{needed['chi2'] / needed['mix']:>8.1f}" if {"chi2", "mix"} <= needed.keys() else f"{'-':>8}"
        print(f"{name:<20} {total_variation(right, law):>6.3f}{cells}   {ratio}  {list(map(round, PUBLISHED[number]))}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
