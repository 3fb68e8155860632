"""Packed batches as cases: those of `batches`, with parameters of their own for each request, a vocabulary of the draft's own, drafts without q, and buffers full of anything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import batches, company, rows
from specprops.batches import HALF, HIGH, LOW, ONE, TOSS, Asked, Padding, Rows, one_dtype, together
from specverify.contracts import Case, array, array_of
from specverify.contracts.packed import LOGITS

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

POISONS = (-7, 2**31 - 1)
"""In buffers for output: no id, and a large one."""
MARGIN = 1 / 64
"""Mass between a top-p and the sums beside it: no convention on boundaries, no rounding of half precision decides."""
TEMPERATURES = (1.0, 0.5, 2.0)
Kept = frozenset[int]


def first(subject: Description) -> list[Case]:
    """The small batches; every other one with another number in its buffers."""
    return [_poisoned(subject, case, POISONS[i % 2]) for i, case in enumerate(batches.first(subject))]


def _poisoned(subject: Description, case: Case, poison: int) -> Case:
    return {**case, "poison": poison} if subject.scratch else case


@st.composite
def cases(draw: st.DrawFn, subject: Description, *, dtypes: tuple[str, ...] | None = None) -> Case:
    """Batches as they are drawn for `verify_batch`, ids of either width where the subject takes them."""
    case = _poisoned(subject, draw(batches.batches(subject, dtypes=dtypes)), draw(st.sampled_from(POISONS)))
    return {**case, "ids": "int32"} if "int32" in subject.supports and draw(st.booleans()) else case


def wide(subject: Description) -> st.SearchStrategy[Case]:
    """Batches in float32 or float64."""
    return cases(subject, dtypes=rows.wide(subject))


def seeded(subject: Description) -> st.SearchStrategy[Case]:
    """With seeds and drafts."""
    return st.builds(batches.decided, wide(subject), st.integers(0, 9))


def seeded_first(subject: Description) -> list[Case]:
    """The small batches, with seeds and drafts."""
    return [batches.decided(case, 1) for case in first(subject)]


def many(subject: Description) -> list[Case]:
    """A large batch of unlike requests."""
    return [_poisoned(subject, case, POISONS[1]) for case in batches.many(subject)]


# Parameters of each request --------------------------------------------------------------------------------------------------


def asked_raw(raw: Rows, q: Rows, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0, *, greedy: bool = False) -> Asked:
    """A request whose rows of the target come from logits, under its own parameters."""
    p = tuple(processed(row, 0.0 if greedy else temperature, top_k, top_p) for row in raw)
    return Asked(p, q, greedy=greedy, raw=raw, temperature=temperature, top_k=top_k, top_p=top_p)


def processed(row: Sequence[float], temperature: float, top_k: int | None, top_p: float) -> tuple[float, ...]:
    """Probabilities of a row of logits: temperature, top-k, top-p, in this order (theory S11)."""
    if temperature == 0:
        return tuple(float(t == row.index(max(row))) for t in range(len(row)))
    weights = _softmax([x / temperature for x in row])
    kept = _nucleus(_only(weights, _largest(weights, top_k)), top_p)
    return _only(weights, kept)


def _softmax(row: Sequence[float]) -> tuple[float, ...]:
    weights = [math.exp(x - max(row)) for x in row]
    return tuple(x / math.fsum(weights) for x in weights)


def _only(weights: Sequence[float], kept: Kept) -> tuple[float, ...]:
    total = math.fsum(weights[t] for t in kept)
    return tuple(x / total if t in kept else 0.0 for t, x in enumerate(weights))


def _largest(weights: Sequence[float], k: int | None) -> Kept:
    return frozenset(sorted(range(len(weights)), key=lambda t: -weights[t])[:k])


def _nucleus(weights: Sequence[float], top_p: float) -> Kept:
    """The smallest set of the most probable tokens whose mass reaches top_p."""
    if top_p >= 1:
        return frozenset(t for t, x in enumerate(weights) if x > 0)
    order = sorted(range(len(weights)), key=lambda t: -weights[t])
    sums = list(itertools.accumulate(weights[t] for t in order))
    return frozenset(order[: next(i for i, mass in enumerate(sums) if mass >= top_p) + 1])


def agreed(one: Asked) -> bool:
    """Whether every convention on the order of temperature and filters, on ties and on boundaries gives the same rows."""
    return one.greedy or all(_agreed(row, one) for row in one.logits)


def _agreed(row: Sequence[float], one: Asked) -> bool:
    found = set()
    for weights in (_softmax(row), _softmax([x / one.temperature for x in row])):
        of_k = _largest(weights, one.top_k)
        of_all, of_kept = _nucleus(weights, one.top_p), _nucleus(_only(weights, of_k), one.top_p)
        found |= {of_k & of_all, of_k & of_kept, _largest(_only(weights, of_all), one.top_k) & of_all}
        sums = [mass for some in (weights, _only(weights, of_k)) for mass in itertools.accumulate(sorted(some, reverse=True))]
        if one.top_p < 1 and any(abs(mass - one.top_p) < MARGIN for mass in sums):
            return False
    ranked = sorted(row, reverse=True)
    return len(found) == 1 and (one.top_k is None or one.top_k >= len(row) or ranked[one.top_k - 1] > ranked[one.top_k])


RAW = ((2.0, 0.0, 1.0), (0.0, 1.0, 2.0))
"""Rows of three logits: 0.67, 0.09 and 0.24, and the other way round."""
FLAT = ((1 / 4, 1 / 2, 1 / 4),)
PARAMETERS = {
    "temperature": (asked_raw(RAW, FLAT, 0.5), asked_raw(RAW, FLAT, 2.0), asked_raw(RAW, FLAT, greedy=True)),
    "top_k": (asked_raw(RAW, FLAT, top_k=1), asked_raw(RAW, FLAT, top_k=2), asked_raw(RAW[1:], (), top_k=2)),
    "top_p": (asked_raw(RAW, FLAT, top_p=0.5), asked_raw(RAW, FLAT, top_p=0.75), asked_raw(RAW[1:], (), top_p=0.75)),
}
"""Requests that one parameter tells apart."""


def parameters(subject: Description) -> list[Case]:
    """Requests with parameters of their own, each alone, then two unlike ones beside each other in either order, then all."""
    mine = [PARAMETERS[name] for name in PARAMETERS if name in subject.supports]
    plain = asked_raw(RAW[:1], ())
    alone = [[one] for some in mine for one in some]
    pairs = [pair for some in mine for pair in ([some[0], plain], [plain, some[0]], list(some[:2]), [some[2], some[1]])]
    mixed = [[some[i] for some in mine for i in (0, 2)]] if len(mine) > 1 else []
    return [together(one_dtype(subject), asked, Padding()) for asked in [*alone, *pairs, *mixed]]


@st.composite
def with_parameters(draw: st.DrawFn, subject: Description) -> Case:
    """One to three requests over three or four tokens, on whose rows all conventions agree."""
    dtype, v = draw(st.sampled_from(rows.wide(subject))), draw(st.integers(3, 4))
    return together(dtype, draw(st.lists(_with_parameters(subject, v, dtype), min_size=1, max_size=3)), Padding())


@st.composite
def _with_parameters(draw: st.DrawFn, subject: Description, v: int, dtype: str) -> Asked:
    n = draw(st.integers(0, 2))
    line = st.permutations(range(v)).map(lambda order: tuple(x / 2 for x in order))
    raw, q = (tuple(draw(strategy) for _ in range(size)) for strategy, size in ((line, n + 1), (rows.row(v, dtype), n)))
    temperature = draw(st.sampled_from(TEMPERATURES if "temperature" in subject.supports else (1.0,)))
    top_k = draw(st.sampled_from((None, 1, 2))) if "top_k" in subject.supports else None
    top_p = draw(st.sampled_from((1.0, 0.3, 0.6))) if "top_p" in subject.supports else 1.0
    one = asked_raw(raw, q, temperature, top_k, top_p)
    return one if agreed(one) else asked_raw(raw, q, temperature)


def needs_logits(subject: Description) -> str | None:
    """Why requests have no parameters of their own."""
    if subject.conventions.get("target") != LOGITS:
        return "its rows of the target are probabilities, processed already"
    missing = not set(PARAMETERS) & set(subject.supports)
    return "it takes no temperature, top-k or top-p of single requests" if missing else rows.needs_wide(subject)


def needs_logits_and_seeds(subject: Description) -> str | None:
    """Why requests under other parameters are not compared from call to call."""
    return needs_logits(subject) or company.needs_seeds(subject)


def seeded_parameters(subject: Description) -> list[Case]:
    """Single requests with parameters, seeds and drafts."""
    return [batches.decided(case, 1) for case in parameters(subject) if array_of(case, "lengths").shape == (1,)]


def others(subject: Description) -> list[Asked]:
    """A request of each parameter, with a seed and a draft."""
    found = (PARAMETERS[name][place] for name in PARAMETERS if name in subject.supports for place in (0, 2))
    return [replace(one, seed=company.OTHER, draft=(0,) * len(one.q)) for one in found]


# A vocabulary of the draft's own ---------------------------------------------------------------------------------------------

DRAFTED = (
    ((0.25, 0.0, 0.25, 0.5), (0.0, 0.75, 0.0, 0.25)),
    ((0.25, 0.25, 0.25, 0.25), (0.5, 0.0, 0.5, 0.0)),
)
"""Rows of the target for two requests, over four tokens."""
SMALL = (0.0, 0.75, 0.0, 0.25)
"""A row of a draft that knows the tokens 1 and 3 alone."""
MAPS = ((3, 1), (1, 3), (1, 3, 0))


def mapped(subject: Description) -> list[Case]:
    """Small batches whose draft has two tokens of four, in either order, or three."""
    asked = [Asked(p, (SMALL,)) for p in DRAFTED]
    groups = [(asked[:1], ids) for ids in MAPS] + [([asked[1], Asked(DRAFTED[0][:1], ()), asked[0]], MAPS[0])]
    return [_mapped(together(one_dtype(subject), group), ids) for group, ids in groups]


def _mapped(case: Case, ids: Sequence[int]) -> Case:
    return {**case, "id_map": array("int64", (len(ids),), ids)}


@st.composite
def with_maps(draw: st.DrawFn, subject: Description) -> Case:
    """Up to three requests, whose draft knows some of four tokens."""
    dtype, v = draw(st.sampled_from(rows.wide(subject))), 4
    ids = draw(st.permutations(range(v)))[: draw(st.integers(1, v))]
    asked = []
    for n in draw(st.lists(st.integers(0, 2), min_size=1, max_size=3)):
        known = [draw(rows.row(len(ids), dtype)) if len(ids) > 1 else (1.0,) for _ in range(n)]
        q = tuple(tuple(row[ids.index(t)] if t in ids else 0.0 for t in range(v)) for row in known)
        asked.append(Asked(tuple(draw(rows.row(v, dtype)) for _ in range(n + 1)), q))
    return _mapped(together(dtype, asked), ids)


def takes(feature: str, why: str) -> Callable[[Description], str | None]:
    """Why a property of a feature does not apply to a subject, or none."""
    return lambda subject: rows.needs_wide(subject) if feature in subject.supports else why


# Drafts without q ------------------------------------------------------------------------------------------------------------

CERTAIN = (Asked((LOW, HALF), (ONE,)), Asked((HIGH, LOW, HALF), (ONE, (0.0, 1.0))), Asked(((0.0, 1.0), HALF), (ONE,)))


def certain(subject: Description) -> list[Case]:
    """Drafts that are no random choice, q not handed over."""
    groups = [[CERTAIN[0]], [CERTAIN[1], CERTAIN[2]], [CERTAIN[2], replace(TOSS, p=(LOW,), q=()), CERTAIN[0]]]
    return [{**together(one_dtype(subject), group), "no_q": 1} for group in groups]
