"""Rounds of a loop as cases: tables of target and draft by prefix, and the laws that they must have (theory S3, S4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops import rows
from specverify.contracts import Case, array
from specverify.contracts.draft_and_verify import length, tables
from specverify.contracts.table_models import Prefix, Table
from specverify.law import Law, Outcome

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Line = tuple[float, ...]
TEXT = [1, 0]
DEPTH = 2
"""Tokens behind the text up to which every prefix has a row of its own; behind longer ones rows come again, as a hash chooses."""


class Shape(NamedTuple):
    """Whole weights of the target and of the draft by prefix, repeated as often as they are needed, and tokens to draft."""

    target: tuple[Line, ...]
    draft: tuple[Line, ...]
    gamma: int


P2, Q2 = ((1, 1), (1, 3), (3, 1), (5, 3), (1, 7)), ((3, 1), (1, 1), (1, 3))
"""Over two tokens: five rows and three, so that a prefix has another pair than its neighbours."""
P3, Q3 = ((4, 3, 1), (1, 6, 1), (1, 2, 5), (5, 1, 2), (0, 4, 4)), ((1, 2, 5), (4, 2, 2), (1, 6, 1))
SMALL = (
    Shape(P2, Q2, 1),
    Shape(((0, 1), (1, 0), (1, 0)), ((1, 0), (0, 1), (0, 1), (1, 0)), 1),
    Shape(P3, Q3, 1),
    Shape(P2, Q2, 2),
    Shape(((1, 1),), ((1, 0), (0, 1), (1, 0)), 2),
)
"""Rows that overlap, point masses that never agree, three tokens, two drafts, drafts that are no random choice."""
WIDER = Shape(P3, Q3, 2)


def case(dtype: str, shape: Shape, *, rounds: int = 1, places: int = 0) -> Case:
    """The case of a shape."""
    count = sum(len(shape.target[0]) ** depth for depth in range(DEPTH + 1))
    target, draft = (_table(dtype, itertools.islice(itertools.cycle(lines), count)) for lines in (shape.target, shape.draft))
    return {"target": target, "draft": draft, "prefix": TEXT, "gamma": shape.gamma, "rounds": rounds, "places": places}


def _table(dtype: str, lines: Iterable[Line]) -> object:
    found = [rows.normalised(line, dtype) for line in lines]
    return array(dtype, (len(found), len(found[0])), itertools.chain(*found))


def dtype_of(subject: Description) -> str:
    """The first of those with 24 bits or more, if there is one."""
    return (rows.wide(subject) or subject.dtypes)[0]


def first(subject: Description) -> list[Case]:
    """The small loops."""
    return [case(dtype_of(subject), shape) for shape in SMALL]


@st.composite
def drawn(draw: st.DrawFn, subject: Description, *, dtypes: tuple[str, ...] | None = None) -> Case:
    """One or two drafts over two to eight tokens, in few enough cells; each prefix has a pair of rows of its own."""
    dtype, gamma = draw(st.sampled_from(dtypes or subject.dtypes)), draw(st.integers(1, 2))
    v = draw(st.integers(2, int(rows.CELLS ** (1 / (gamma + 1)) + 0.5)))
    pairs = [draw(rows.pair(v, dtype)) for _ in range(1 + v)]
    return case(dtype, Shape(tuple(p for p, _ in pairs), tuple(q for _, q in pairs), gamma))


def wide(subject: Description) -> st.SearchStrategy[Case]:
    """Loops in float32 or float64."""
    return drawn(subject, dtypes=rows.wide(subject))


def right_law(one: Case) -> Law:
    """The target's own law of as many tokens as all rounds emit at most."""
    target, _ = tables(one)
    masses = {tokens: math.prod(ahead(target, tokens)) for tokens in itertools.product(range(target.width), repeat=length(one))}
    return Law({tokens: mass for tokens, mass in masses.items() if mass > 0})


def ahead(table: Table, tokens: Prefix) -> list[float]:
    """The probability of each token behind the text and those before it."""
    lines = [table.line((*table.text, *tokens[:place])) for place in range(len(tokens))]
    return [line[token] / math.fsum(line) for line, token in zip(lines, tokens, strict=True)]


def standard_law(one: Case) -> Law:
    """Of (accepted length, gamma + 1 tokens) of one round under the standard rule: accepted tokens with min(p, q), the replacement with (p - q)+, the others with p."""
    (target, draft), masses = tables(one), dict[Outcome, float]()
    for tokens in itertools.product(range(target.width), repeat=length(one)):
        p, q = ahead(target, tokens), ahead(draft, tokens)
        for n in range(len(tokens)):
            stop = p[n] if n == len(tokens) - 1 else max(p[n] - q[n], 0.0)
            mass = math.prod(map(min, p[:n], q[:n])) * stop * math.prod(p[n + 1 :])
            masses.update({(n, tokens): mass} if mass > 0 else {})
    return Law.of(masses)


def sure(dtype: str, gamma: int, rounds: int, draft: str) -> Case:
    """A target whose every row is a point: 0, 1, 2 in turns along its own text, another token off it. The draft is `right` but for the token after the drafts, `wrong` or `open`."""
    prefixes = [one for depth in range(rounds * (gamma + 1)) for one in itertools.product(range(3), repeat=depth)]
    target = [_token_behind(one) for one in prefixes]
    off = [draft == "wrong" or len(one) % (gamma + 1) == gamma for one in prefixes]
    drafted: list[Line] = [_point((token + wrong) % 3) if draft != "open" else (1, 1, 1) for token, wrong in zip(target, off, strict=True)]
    found = {"target": _table(dtype, map(_point, target)), "draft": _table(dtype, drafted)}
    return {**found, "prefix": TEXT, "gamma": gamma, "rounds": rounds, "places": 0}


def _token_behind(prefix: Sequence[int]) -> int:
    """Of the sure target."""
    return (len(prefix) + 2 * any(token != place % 3 for place, token in enumerate(prefix))) % 3


def _point(token: int) -> Line:
    return tuple(float(token == other) for other in range(3))
