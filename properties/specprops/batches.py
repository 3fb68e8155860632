"""Batches of requests as cases: small ones that tell faults apart, drawn ones, large ones; and each request of a case taken out of its batch again."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import rows
from specverify.contracts import Case, Family, array, array_of
from specverify.contracts.verify_batch import UNDEFINED, requests
from specverify.contracts.verify_packed import BESIDE

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Rows = tuple[tuple[float, ...], ...]
POISON = (math.nan, 2**31 - 1)
"""A probability and a token id for what must not be read."""

SELDOM = 1 / 8
"""What q has for a pad, in the rows of the padding."""


@dataclass(frozen=True)
class Asked:
    """One request: rows of the target (n + 1, V) and of the draft (n, V), its draft if that is not to be drawn, its seed if it has one.

    Where the subject makes the rows of the target: `raw` logits that they come from, and the parameters. Where the draft is a tree: the node above each of its tokens.
    """

    p: Rows
    q: Rows
    draft: tuple[int, ...] | None = None
    seed: int | None = None
    greedy: bool = False
    raw: Rows | None = None
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    parents: tuple[int, ...] | None = None

    @property
    def logits(self) -> Rows:
        """Those given, else the logarithms of its rows."""
        return self.raw or tuple(tuple(math.log(x) if x else -math.inf for x in row) for row in self.p)


@dataclass(frozen=True)
class Padding:
    """What stands behind a request's end: rows of p that are sure of a token, and its id; or what is no number and no id. And how many places there are for drafts at least.

    `beside` holds arguments of the whole batch, as they stand in a case.
    """

    token: int = 0
    places: int = 0
    poison: bool = False
    beside: tuple[tuple[str, object], ...] = ()


def together(dtype: str, asked: Sequence[Asked], padding: Padding = Padding()) -> Case:
    """The batch of these requests. A pad that were read as a draft token would be no draw from its q, which seldom has it: point masses would be lawful drafts (theory S8)."""
    v, places = len(asked[0].p[0]), max(padding.places, *(len(one.q) for one in asked))
    pad = (POISON[0],) * v if padding.poison else tuple(float(t == padding.token) for t in range(v))
    seldom = pad if padding.poison else tuple(SELDOM if t == padding.token else 1 - SELDOM if t == (padding.token + 1) % v else 0.0 for t in range(v))
    token = int(POISON[1]) if padding.poison else padding.token
    p = [row for one in asked for row in (*one.p, *[pad] * (places - len(one.q)))]
    q = [row for one in asked for row in (*one.q, *[seldom] * (places - len(one.q)))]
    case: dict[str, object] = {
        "p": array(dtype, (len(asked), places + 1, v), itertools.chain(*p)),
        "q": array(dtype, (len(asked), places, v), itertools.chain(*q)),
        "lengths": array("int64", (len(asked),), [len(one.q) for one in asked]),
        "pad": token,
        **dict(padding.beside),
        **_parameters(asked),
    }
    if any(one.raw is not None for one in asked):
        logits = [row for one in asked for row in (*one.logits, *[pad] * (places - len(one.q)))]
        case["logits"] = array(dtype, (len(asked), places + 1, v), itertools.chain(*logits))
    if all(one.seed is not None for one in asked):
        case["seeds"] = array("int64", (len(asked),), [one.seed or 0 for one in asked])
    if all(one.draft is not None for one in asked):
        case["draft"] = array("int64", (len(asked), places), [x for one in asked for x in (*(one.draft or ()), *[token] * (places - len(one.q)))])
    return case


def _parameters(asked: Sequence[Asked]) -> dict[str, object]:
    """Temperatures, top-k and top-p, where a request has one that changes something."""
    size, v = (len(asked),), len(asked[0].p[0])
    case: dict[str, object] = {}
    if any(one.greedy or one.temperature != 1 for one in asked):
        case["temperature"] = array("float32", size, [0.0 if one.greedy else one.temperature for one in asked])
    if any(one.top_k is not None for one in asked):
        case["top_k"] = array("int64", size, [one.top_k or v for one in asked])
    if any(one.top_p < 1 for one in asked):
        case["top_p"] = array("float32", size, [one.top_p for one in asked])
    return case


def taken_apart(case: Case) -> list[Asked]:
    """The requests of a case."""
    mine = requests(case)
    told = {name: array_of(case, name).values if name in case else [None] * len(mine) for name in ("seeds", "temperature", "top_k", "top_p")}
    logits = [_raw(case, b, one.q.shape[0]) for b, one in enumerate(mine)]
    return [
        Asked(
            tuple(one.p.rows()), tuple(one.q.rows()), one.draft, None if seed is None else int(seed), t == 0, raw,
            t or 1.0, None if k is None else int(k), 1.0 if top_p is None else top_p,
        )
        for one, raw, seed, t, k, top_p in zip(mine, logits, *told.values(), strict=True)
    ]  # fmt: skip


def _raw(case: Case, b: int, n: int) -> Rows | None:
    if "logits" not in case:
        return None
    logits = array_of(case, "logits")
    rows, places = list(logits.rows()), logits.shape[1]
    return tuple(rows[b * places : b * places + n + 1])


HALF, LOW, HIGH, ZERO, ONE = (0.5, 0.5), (0.25, 0.75), (0.75, 0.25), (1.0, 0.0), (0.0, 1.0)
TOSS = Asked((LOW, HALF), (HIGH,))
SURE = Asked((ONE, ZERO), (HALF,))
EMPTY = Asked((LOW,), ())
TWICE = Asked((LOW, HIGH, HALF), (HIGH, LOW))
COLD = Asked((ONE, ZERO), (HALF,), greedy=True)
FAR = Asked(((0.5, 0.5, 0.0, 0.0), (0.0, 0.5, 0.5, 0.0)), ((0.25, 0.75, 0.0, 0.0),))
FARTHER = Asked(((0.0, 0.0, 0.5, 0.5), (0.5, 0.0, 0.0, 0.5)), ((0.0, 0.0, 0.75, 0.25),))
LONG = Asked((LOW, HIGH) * 4 + (HALF,), (HALF,) * 8)
"""Eight drafts; TOSS beside it has one."""


def first(subject: Description) -> list[Case]:
    """Small batches, smallest first: one request, sure ones, an empty one in each place, a greedy one beside others, supports that do not touch, K = 1 next to K = 8."""
    groups = [[TOSS], [SURE, TOSS], [EMPTY, TOSS], [TOSS, EMPTY], [TOSS, TOSS], [FAR, FARTHER], [FARTHER, EMPTY4, FAR], [TWICE, SURE], [TOSS, LONG]]
    cold = [[COLD, TOSS], [TOSS, COLD, EMPTY]] if "temperature" in subject.supports else []
    dtype = one_dtype(subject)
    spoilt = [together(dtype, [TOSS, EMPTY, TWICE], Padding(poison=True))] if UNDEFINED in subject.supports else []
    return [*(together(dtype, group) for group in (*groups, *cold)), *spoilt]


EMPTY4 = Asked(((0.0, 1.0, 0.0, 0.0),), ())


def one_dtype(subject: Description) -> str:
    """The first wide one, else the first."""
    return (rows.wide(subject) or subject.dtypes)[0]


@st.composite
def requests_of(draw: st.DrawFn, subject: Description, v: int, dtype: str, *, longest: int = 3) -> Asked:
    """One request of up to `longest` drafts; greedy at times, where the subject takes temperatures."""
    n = draw(st.integers(0, longest))
    pairs = [draw(rows.pair(v, dtype)) for _ in range(n)]
    if "temperature" in subject.supports and draw(st.integers(0, 3)) == 0:
        return Asked(tuple(draw(rows.point(v)) for _ in range(n + 1)), tuple(q for _, q in pairs), greedy=True)
    return Asked((*(p for p, _ in pairs), draw(rows.row(v, dtype))), tuple(q for _, q in pairs))


@st.composite
def batches(draw: st.DrawFn, subject: Description, *, dtypes: tuple[str, ...] | None = None, largest: int = 4) -> Case:
    """Batches of up to four requests over up to `largest` tokens; pads are any id, and what is no id where the subject reads none."""
    dtype, v = draw(st.sampled_from(dtypes or subject.dtypes)), draw(st.integers(2, largest))
    asked = draw(st.lists(requests_of(subject, v, dtype), min_size=1, max_size=4))
    poison = UNDEFINED in subject.supports and draw(st.booleans())
    places = max(1, *(len(one.q) for one in asked)) + draw(st.integers(0, 2))
    return together(dtype, asked, Padding(draw(st.sampled_from((0, v - 1))), places, poison))


def wide(subject: Description) -> st.SearchStrategy[Case]:
    """Batches in float32 or float64."""
    return batches(subject, dtypes=rows.wide(subject))


def seeded(subject: Description) -> st.SearchStrategy[Case]:
    """Batches with seeds and drafts, so that nothing is left to chance."""
    return st.builds(decided, wide(subject), st.integers(0, 9))


def decided(case: Case, key: int) -> Case:
    """The case with a seed for each request, and a draft drawn from its q."""
    rng = random.Random(f"decided/{key}")
    asked = [replace(one, seed=rng.getrandbits(31), draft=tuple(rng.choices(range(len(row)), row)[0] for row in one.q)) for one in taken_apart(case)]
    p = array_of(case, "p")
    return together(p.dtype, asked, padding_of(case))


def padding_of(case: Case) -> Padding:
    """Of a case of ours."""
    pad, places = case["pad"], array_of(case, "q").shape[1]
    assert isinstance(pad, int)
    beside = tuple((name, case[name]) for name in BESIDE if name in case)
    return Padding(0 if pad == POISON[1] else pad, places, pad == POISON[1], beside)


MANY = 64
"""Requests of a large batch."""


def many(subject: Description) -> list[Case]:
    """A large batch of unlike requests over four tokens, drafts from none to three, some of each support; where temperatures are taken, each eighth is greedy."""
    rng, asked = random.Random("many"), list[Asked]()
    for b in range(MANY):
        n, cold = b % 4, "temperature" in subject.supports and b % 8 == 5  # noqa: PLR2004
        p = tuple(some(rng, 1 if cold else 3) for _ in range(n + 1))
        asked.append(Asked(p, tuple(some(rng, 4) for _ in range(n)), greedy=cold))
    return [together(one_dtype(subject), asked)]


def some(rng: random.Random, support: int) -> tuple[float, ...]:
    """A row over four tokens, in sixteenths, with so many tokens in its support."""
    cuts = sorted(rng.sample(range(1, 16), support - 1))
    weights = [b - a for a, b in itertools.pairwise([0, *cuts, 16])] + [0] * (4 - support)
    rng.shuffle(weights)
    return tuple(weight / 16 for weight in weights)


@st.composite
def large(draw: st.DrawFn, subject: Description) -> Case:
    """Two requests over 2,000 tokens or 32,000, the target's support small."""
    p = draw(rows.large(subject, "sparse", (2, 3)))
    q = Family(draw(st.sampled_from(("sparse", "zipf"))), p.seed + draw(st.sampled_from((0, 1))), p.dtype, (2, 2, p.shape[-1]))
    return {"p": p, "q": q, "lengths": array("int64", (2,), (draw(st.integers(0, 2)), 2)), "pad": 0}


def spread(subject: Description) -> list[Case]:
    """Two requests over 2,000 tokens: all mass lies on the first and the last token."""
    dtype = rows.wide(subject)[0]
    return [{"p": Family("edges", 1, dtype, (2, 2, 2000)), "q": Family("edges", 2, dtype, (2, 1, 2000)), "lengths": array("int64", (2,), (1, 1)), "pad": 0}]
