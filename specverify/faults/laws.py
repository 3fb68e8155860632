"""Exact laws of known faults, by contract: what a step with that fault emits, on the rows of a case. The tool's side alone.

A name is a fault's; where it has a parameter, one law for each of some values, such as "lenience(0.8)".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from specverify.contracts import Case, array_of
from specverify.faults.steps import Rows, Step, enumerated, last_row, ratio, residual, standard_acceptance
from specverify.law import Law, product_law

Known = dict[str, Callable[[Rows, Rows], Law]]
MILD = (0.95, 0.8, 0.65, 0.5)
"""Leniences; what lies between two values, or beside 1, is nearly a mixture of both laws."""
TEMPERATURES = (0.7, 0.9, 1.2, 1.5)
FLOORS = tuple(x / 10 for x in range(1, 10))
"""Of min-p: laws change by steps, and nothing lies between two of them."""


def family(name: str, law: Callable[[float], Callable[[Rows, Rows], Law]], values: tuple[float, ...]) -> Known:
    """The laws of a fault with a parameter."""
    return {f"{name}({value:g})": law(value) for value in values}


def fault_of(name: str) -> str:
    """The fault that a law belongs to: its name without the parameter."""
    return name.partition("(")[0]


def heated(row: Rows, power: float) -> Rows:
    """Rows of probabilities to a power (1 / temperature), normalised."""
    found = np.where(row > 0, row, 0.0) ** power * (row > 0)
    return np.asarray(found / found.sum(-1, keepdims=True))


def late(i: int, rows: Rows) -> int:
    """The next row, or the last."""
    return min(i + 1, len(rows) - 1)


def without_each(row: Rows) -> Rows:
    """A row of weights for each token: the given one without it, (V, V)."""
    return row * (1 - np.eye(len(row)))


def rewritten(of_p: Callable[[Rows], Rows] = lambda p: p, of_q: Callable[[Rows], Rows] = lambda q: q, bonus: Callable[[Rows, Rows], Rows] = last_row) -> Step:
    """The right step on rows that are not the given ones."""
    return Step(lambda p, q, i: standard_acceptance(of_p(p), of_q(q), i), lambda p, q, i: residual(of_p(p), of_q(q), i), bonus)


def softmax(row: Rows) -> Rows:
    """The exponential over its sum."""
    return np.asarray(np.exp(row) / np.exp(row).sum())


def point_at_the_largest(row: Rows) -> Rows:
    """One at the first of the largest entries."""
    return np.asarray(np.arange(len(row)) == row.argmax(), dtype=float)


def normalised_residual(p: Rows, q: Rows, i: int) -> Rows:
    """(p - q)+ over its sum, zeros where nothing is left."""
    left = residual(p, q, i)
    return np.asarray(left / max(left.sum(), np.finfo(float).tiny))


def overflowing(p: Rows, q: Rows, i: int) -> Rows:
    """What an inverse CDF makes of weights that sum to less than 1: the rest falls to the last token."""
    left = residual(p, q, i)
    left[-1] += 1 - left.sum()
    return left


def above_the_ratio(p: Rows, q: Rows, i: int) -> Rows:
    """The replacement's law if it is drawn with the uniform that failed the test of each token, which lies above the ratio; (V, V)."""
    upper = normalised_residual(p, q, i).cumsum()
    lower = np.concatenate([[0.0], upper[:-1]])
    return np.asarray(np.maximum(upper - np.maximum(lower, standard_acceptance(p, q, i)[:, None]), 0.0))


def typical(p: Rows, _q: Rows, i: int) -> Rows:
    """Medusa's criterion (2401.10774, section 3) with epsilon .3 and delta .09."""
    entropy = -(p[i] * np.log(np.where(p[i] > 0, p[i], 1.0))).sum()
    return np.asarray(p[i] > min(0.3, 0.09 * np.exp(-entropy)), dtype=float)


def truncated(floor: float) -> Callable[[Rows], Rows]:
    """Rows without what is below `floor` times their largest entry, normalised."""

    def cut(rows: Rows) -> Rows:
        kept = rows * (rows >= floor * rows.max(-1, keepdims=True))
        return np.asarray(kept / kept.sum(-1, keepdims=True))

    return cut


def ratios(p: Rows, q: Rows, draft: tuple[int, ...]) -> list[float]:
    """The ratio of each draft token."""
    return [float(ratio(p[i], q[i])[x]) for i, x in enumerate(draft)]


def with_one_uniform(p: Rows, q: Rows, draft: tuple[int, ...]) -> list[float]:
    """Every position is tested with the same number: the smallest ratio so far decides."""
    left = np.minimum.accumulate([1.0, *ratios(p, q, draft)])
    return [*(left[:-1] - left[1:]), left[-1]]


def counted(p: Rows, q: Rows, draft: tuple[int, ...]) -> list[float]:
    """All tests are made, and those that pass are counted, behind a rejection too."""
    chances = [0.0] * len(p)
    for passed in itertools.product((0, 1), repeat=len(draft)):
        chances[sum(passed)] += float(np.prod([a if ok else 1 - a for a, ok in zip(ratios(p, q, draft), passed, strict=True)]))
    return chances


def block_stops(p: Rows, q: Rows, draft: tuple[int, ...]) -> list[float]:
    """Block verification's accepted length (2403.10444): the longest prefix that passes its own test."""
    tests = [1.0, *(_block_test(p, q, draft, i) for i in range(1, len(p)))]
    return [test * float(np.prod([1 - other for other in tests[n + 1 :]])) for n, test in enumerate(tests)]


def _block_test(p: Rows, q: Rows, draft: tuple[int, ...], i: int) -> float:
    weight = block_weight(p, q, draft, i)
    if i == len(q):
        return weight
    excess = float(np.maximum(weight * p[i] - q[i], 0).sum())
    return excess / (excess + 1 - weight) if excess + 1 - weight > 0 else 1.0


def block_weight(p: Rows, q: Rows, draft: tuple[int, ...], n: int) -> float:
    """w_n = min(1, w_(n-1) p / q)."""
    weight = 1.0
    for i, x in enumerate(draft[:n]):
        weight = min(weight * p[i, x], q[i, x]) / q[i, x]  # the quotient alone overflows over a subnormal q
    return float(weight)


CHAIN: Known = {
    "always-accept": Step(accept=lambda p, q, i: np.ones(p.shape[1])),
    "inverted-ratio": Step(accept=lambda p, q, i: ratio(q[i], p[i])),
    "two-chances": Step(accept=lambda p, q, i: 1 - (1 - p[i]) * (1 - ratio(p[i], q[i]))),
    "ratio-over-the-maximum": Step(accept=lambda p, q, i: p[i] / p[i].max()),
    "accept-row-late": Step(accept=lambda p, q, i: ratio(p[i + 1], q[i])),
    "first-draft-token-accepted": Step(accept=lambda p, q, i: ratio(p[i], q[i]) if i else np.ones(p.shape[1])),
    "last-draft-token-accepted": Step(accept=lambda p, q, i: ratio(p[i], q[i]) if i < len(q) - 1 else np.ones(p.shape[1])),
    "acceptances-counted": enumerated(counted, lambda p, q, _draft, n: p[n] if n == len(q) else residual(p, q, n)),
    **family("acceptance-floor-of-a-step", lambda a: Step(accept=lambda p, q, i: np.maximum(ratio(p[i], q[i]), a)), (0.05, 0.2)),
    **family("ratio-softened", lambda power: Step(accept=lambda p, q, i: ratio(p[i], q[i]) ** power), (0.5, 0.8)),
    **family("lenience", lambda mild: Step(lambda p, q, i: ratio(p[i], mild * q[i]), lambda p, q, i: residual(p, mild * q, i)), MILD),
    **family("lenient-acceptance", lambda mild: Step(accept=lambda p, q, i: ratio(p[i], mild * q[i])), MILD),
    "residual-from-p": Step(replace=lambda p, q, i: p[i]),
    "residual-from-q": Step(replace=lambda p, q, i: q[i]),
    "residual-reversed-in-a-step": Step(replace=lambda p, q, i: np.maximum(q[i] - p[i], 0)),
    "residual-absolute": Step(replace=lambda p, q, i: abs(p[i] - q[i])),
    "residual-not-normalised": Step(replace=overflowing),
    "residual-through-softmax": Step(replace=lambda p, q, i: softmax(normalised_residual(p, q, i))),
    "residual-argmax": Step(replace=lambda p, q, i: point_at_the_largest(residual(p, q, i))),
    "residual-without-the-draft": Step(replace=lambda p, q, i: without_each(p[i])),
    **family("residual-lifted-in-a-step", lambda e: Step(replace=lambda p, q, i: residual(p, q, i) + e), (1e-3, 0.01, 0.1)),
    **family("residual-at-another-temperature", lambda t: Step(replace=lambda p, q, i: residual(p, q, i) ** (1 / t)), TEMPERATURES),
    "mismatch-thrown-away": Step(accept=lambda p, q, i: p[i], replace=lambda p, q, i: p[i]),
    "residual-row-zero": Step(replace=lambda p, q, i: residual(p, q, 0)),
    "residual-row-late": Step(replace=lambda p, q, i: np.maximum(p[i + 1] - q[late(i, q)], 0)),
    "residual-last-row": Step(replace=lambda p, q, i: p[-1]),
    "replacement-row-late": Step(replace=lambda p, q, i: p[i + 1]),
    "q-row-late": rewritten(of_q=lambda q: np.concatenate([q[1:], q[-1:]])),
    "q-row-early": rewritten(of_q=lambda q: np.concatenate([q[:1], q[:-1]])),
    "p-row-late": rewritten(of_p=lambda p: np.concatenate([p[1:], p[-1:]])),
    "bonus-missing": Step(emits_bonus=False),
    "bonus-from-previous-row": Step(bonus=lambda p, q: p[-2]),
    "bonus-from-q": Step(bonus=lambda p, q: q[-1]),
    "bonus-greedy": Step(bonus=lambda p, q: point_at_the_largest(p[-1])),
    "reused-uniform": Step(replace=above_the_ratio),
    "one-uniform-for-all": enumerated(with_one_uniform, lambda p, q, _draft, n: p[n] if n == len(q) else residual(p, q, n)),
    **family("draft-scored-at-another-temperature", lambda t: rewritten(of_q=lambda q: heated(q, t)), (0.8, 0.95, 1.2, 1.5)),
    **family("draft-scored-with-a-flatter-row", lambda e: rewritten(of_q=lambda q: (1 - e) * q + e / q.shape[1]), (0.1, 0.3)),
    **family("target-at-another-temperature", lambda t: rewritten(lambda p: heated(p, 1 / t), bonus=lambda p, q: heated(p[-1], 1 / t)), TEMPERATURES),
    **family("verified-rows-at-another-temperature", lambda t: rewritten(lambda p: heated(p, 1 / t)), TEMPERATURES),
    **family("bonus-row-filtered-alone", lambda floor: Step(bonus=lambda p, q: truncated(floor)(p[-1])), FLOORS),
    **family("target-filtered", lambda floor: rewritten(truncated(floor), bonus=lambda p, q: truncated(floor)(p[-1])), FLOORS),
    "greedy-step": Step(lambda p, q, i: point_at_the_largest(p[i]), lambda p, q, i: point_at_the_largest(p[i]), lambda p, q: point_at_the_largest(p[-1])),
    "typical-acceptance": Step(typical, lambda p, q, i: point_at_the_largest(p[i]), lambda p, q: point_at_the_largest(p[-1])),
    "block-residual-of-the-token": enumerated(block_stops, lambda p, q, _draft, n: p[n] if n == len(q) else residual(p, q, n)),
}
"""Of (n, gamma + 1 tokens), by p and the q that the draft is drawn from; gamma + 1 rows and gamma rows."""

GIVEN: Known = {
    "mismatch-drawn-again": Step(replace=lambda p, q, i: p[i]),
    "one-hot-always-accepted": CHAIN["always-accept"],
    **family("softmax-q-for-a-given-draft", lambda peak: Step(accept=lambda p, q, i: np.minimum(1, p[i] / peak)), (0.6, 0.8)),
    "two-chances-for-a-given-draft": CHAIN["two-chances"],
    "given-draft-over-the-maximum": CHAIN["ratio-over-the-maximum"],
    "target-zeroed-in-place": Step(accept=lambda p, q, i: np.zeros(p.shape[1])),
    "given-draft-verified-greedily": CHAIN["greedy-step"],
    "given-draft-row-late": CHAIN["accept-row-late"],
    "bonus-of-a-given-draft-early": CHAIN["bonus-from-previous-row"],
}
"""The same for a draft that is given: q is one-hot at its tokens, so that the right step accepts with p and replaces by p without the token (theory S8)."""


def _comonotone(p: Rows) -> Law:
    """All rows drawn by inverse CDF from one uniform."""
    bounds = sorted({0.0, 1.0, *np.minimum(p.cumsum(-1), 1.0).ravel().tolist()})
    pieces = [(tuple(int((row.cumsum() <= (low + high) / 2).sum()) for row in p), high - low) for low, high in itertools.pairwise(bounds)]
    return Law({tokens: sum(mass for other, mass in pieces if other == tokens) for tokens, _ in pieces})


SAMPLE: Known = {
    "greedy-sampling": lambda p, _: product_law(np.array([point_at_the_largest(row) for row in p])),
    "shared-row-uniform": lambda p, _: _comonotone(p),
    "ids-of-the-sorted-row": lambda p, _: product_law(-np.sort(-p, -1)),
    "probabilities-through-softmax": lambda p, _: product_law(np.array([softmax(row) for row in p])),
    **family("sampled-at-another-temperature", lambda t: lambda p, _: product_law(heated(p, 1 / t)), TEMPERATURES),
    **family("tail-lifted", lambda e: lambda p, _: product_law((p + e) / (p + e).sum(-1, keepdims=True)), (1e-3, 0.01, 0.1)),
}
"""Of the tokens of all rows; there is no second argument."""

LAWS: dict[str, Known] = {"verify_chain": CHAIN, "verify_deterministic_draft": GIVEN, "sample": SAMPLE}
"""By contract."""
LARGEST = 40_000
"""Tokens' cells of a case up to which laws are computed: more take seconds, and memory."""


def right_law(contract: str, p: Rows, q: Rows) -> Law:
    """What the right step emits by the standard rule, in the same outcomes."""
    return product_law(p) if contract == "sample" else Step()(p, q)


def rows_of(contract: str, case: Case) -> tuple[Rows, Rows] | None:
    """P and q of a case, normalised, as its contract's laws take them; none if no law is known or the case is too large."""
    if contract not in LAWS or ("draft" in case) != (contract == "verify_deterministic_draft"):
        return None
    p = np.atleast_2d(np.array(array_of(case, "probs" if contract == "sample" else "p").nested(), dtype=float))
    if p.shape[1] ** len(p) > LARGEST:
        return None
    if contract == "sample":
        return _over_sums(p), np.empty((0, p.shape[1]))
    if contract == "verify_chain":
        return _over_sums(p), _over_sums(np.array(array_of(case, "q").nested(), dtype=float))
    return _over_sums(p), np.eye(p.shape[1])[[int(x) for x in array_of(case, "draft").values]]


def _over_sums(rows: Rows) -> Rows:
    return np.asarray(rows / rows.sum(-1, keepdims=True))


def alternatives(contract: str, case: Case) -> dict[str, Law]:
    """The law of each known fault on a case: of (n, gamma + 1 tokens completed from p), of a sample the tokens of its rows; empty where none is known."""
    rows = rows_of(contract, case)
    return {} if rows is None else {name: law(*rows) for name, law in LAWS[contract].items()}
