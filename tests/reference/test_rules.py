"""The rules for chains against laws derived from the papers, in rational arithmetic.

A rule is a function of its uniforms, constant on boxes. The boxes' borders and the law come from the papers, in fractions; the rule is asked just
inside all corners of each box, and in its middle. Where it says the same at all of them, its law is the boxes' mass, but for a strip at each border.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from random import Random
from typing import NamedTuple

import pytest
import torch

from specref.draws import inverse_cdf
from specref.rules import Block, DeterministicDraft, Greedy, Lenient, Round, SampleAndMatch, Standard, Typical, Verdict
from specref.rules.verdict import leading, row_at, verdict

Row = tuple[Fraction, ...]
Table = Callable[[tuple[int, ...]], Row]
Law = dict[tuple[int, ...], Fraction]

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
MIDDLE = 0.5

STRIP = {torch.float64: Fraction(1, 2**46), torch.float32: Fraction(1, 2**17), torch.bfloat16: Fraction(1, 2**17)}
"""How near to a border the rule is asked: 64 roundings of the arithmetic (float32 for the last two), for borders that divide by masses of 1/64."""
CUTS = 6
"""Most borders that one draft meets: 3 coins, and 3 in the row behind them (4 tokens); sample-and-match has more, but of rows as they are given."""
assert 2 * CUTS * STRIP[torch.float64] < Fraction(1, 10**12), "the strips hide less than the bar of 1e-12"


def rounding(gamma: int, kind: torch.dtype) -> float:
    """Bound on the total variation that rounding the rows to a dtype can cost, to first order, and what the strips hide.

    Entries move by a factor 1 ± e, e = eps / 2. A step by ratios: acceptance 2e, rejected mass 2e, residual of mass m, weighted by m, 4e, its
    arithmetic 2e; in L1, at each of gamma + 1 places: 5e in total variation. By block: w_i moves by 2ie, the stop's weights by (2i + 1)e + e, the
    mass that reaches it by 2(gamma - i)e, arithmetic 3e: (gamma + 1)(gamma + 2.5)e. (gamma + 1)(gamma + 5)e is above both.
    """
    return (gamma + 1) * (gamma + 5) * torch.finfo(kind).eps / 2 + float(2 * CUTS * STRIP[kind])


def normalised(weights: Row) -> Row:
    return tuple(x / sum(weights) for x in weights) if any(weights) else ()


def positive_part(p: Row, q: Row) -> Row:
    return tuple(max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True))


def scaled(factor: Fraction, row: Row) -> Row:
    return tuple(factor * x for x in row)


def point(at: int, v: int) -> Row:
    return tuple(Fraction(x == at) for x in range(v))


class Borders(NamedTuple):
    """Where the uniforms of one draft are cut: thresholds of each coin, and the weights that the last uniform draws from at each stop."""

    coins: list[set[Fraction]]
    stops: list[Row]


class Step(NamedTuple):
    """One position of the law: mass of the tokens emitted here, and of the drafted ones that go on, with the weight they carry."""

    emitted: Row
    passed: tuple[tuple[Fraction, Fraction], ...]


def cumulative(weights: Row) -> set[Fraction]:
    return {sum(weights[: i + 1], Fraction(0)) / sum(weights) for i in range(len(weights))} if any(weights) else set()


@dataclass(frozen=True)
class Ratio:
    """2211.17192, algorithm 1 and appendix A.5: accept with min(1, p / (l q)), else norm(p - l q)+ (theory: S4, C8)."""

    lenience: Fraction = Fraction(1)

    def borders(self, p: list[Row], q: list[Row], draft: tuple[int, ...]) -> Borders:
        coins = [{a[x] / (self.lenience * b[x])} for a, b, x in zip(p, q, draft, strict=False)]
        return Borders(coins, [positive_part(a, scaled(self.lenience, b)) for a, b in zip(p, q, strict=False)] + p[-1:])

    def step(self, reached: Fraction, weight: Fraction, p: Row, q: Row) -> Step:
        passed = tuple(min(b, a / self.lenience) for a, b in zip(p, q, strict=True))
        rest = normalised(positive_part(p, scaled(self.lenience, q))) or p
        return Step(scaled(reached * (1 - sum(passed)), rest), tuple((reached * x, weight) for x in passed))

    def end(self, reached: Fraction, weight: Fraction, p: Row) -> Row:
        return scaled(reached, p)


@dataclass(frozen=True)
class Whole:
    """2403.10444: of the paths x_1 … x_k with mass Q, the stop at k emits y with Q (w_k p - q)+(y), and the end with Q w p(y)."""

    def borders(self, p: list[Row], q: list[Row], draft: tuple[int, ...]) -> Borders:
        weights = [Fraction(1)]
        for a, b, x in zip(p, q, draft, strict=False):
            weights.append(min(1, weights[-1] * a[x] / b[x]))
        stops = [positive_part(scaled(w, a), b) for w, a, b in zip(weights, p, q, strict=False)] + p[-1:]
        passing = [sum(m) / (sum(m) + 1 - w) if sum(m) + 1 - w else Fraction(1) for m, w in zip(stops[1:-1], weights[1:-1], strict=True)]
        return Borders([{h} for h in [*passing, *weights[1:][-1:]]], stops)

    def step(self, reached: Fraction, weight: Fraction, p: Row, q: Row) -> Step:
        passed = tuple((reached * b, min(Fraction(1), weight * a / b) if b else Fraction(0)) for a, b in zip(p, q, strict=True))
        return Step(scaled(reached, positive_part(scaled(weight, p), q)), passed)

    def end(self, reached: Fraction, weight: Fraction, p: Row) -> Row:
        return scaled(reached * weight, p)


@dataclass(frozen=True)
class Given(Ratio):
    """Theory, S8: the ratio's law with q one-hot at the draft; other rows q say only how the draft was chosen."""

    def borders(self, p: list[Row], q: list[Row], draft: tuple[int, ...]) -> Borders:
        return super().borders(p, [point(x, len(p[0])) for x in draft], draft)

    def step(self, reached: Fraction, weight: Fraction, p: Row, q: Row) -> Step:
        emitted = tuple(reached * a * (1 - b) for a, b in zip(p, q, strict=True))
        return Step(emitted, tuple((reached * a * b, weight) for a, b in zip(p, q, strict=True)))


@dataclass(frozen=True)
class Match(Given):
    """Theory, S9: the law of S8, but the token is drawn by the coin of its position, and the last uniform draws behind the draft alone."""

    def borders(self, p: list[Row], q: list[Row], draft: tuple[int, ...]) -> Borders:
        return Borders([cumulative(a) for a in p[:-1]], [()] * len(draft) + p[-1:])


@dataclass(frozen=True)
class Fixed:
    """Rules without chance: a set of tokens that pass, and the likeliest token behind them (theory: S10, and 1c for Medusa's set)."""

    accepts: Callable[[Row], set[int]]

    def borders(self, p: list[Row], q: list[Row], draft: tuple[int, ...]) -> Borders:
        return Borders([set()] * len(draft), [()] * len(p))

    def step(self, reached: Fraction, weight: Fraction, p: Row, q: Row) -> Step:
        passed = tuple(b * (x in self.accepts(p)) for x, b in enumerate(q))
        return Step(self.end(reached * (1 - sum(passed)), weight, p), tuple((reached * x, weight) for x in passed))

    def end(self, reached: Fraction, weight: Fraction, p: Row) -> Row:
        return scaled(reached, point(p.index(max(p)), len(p)))


def typical(epsilon: float, delta: float) -> Fixed:
    """2401.10774, section 3: p(x) > min(epsilon, delta exp(-H))."""

    def accepts(p: Row) -> set[int]:
        entropy = -sum(x * math.log(x) for x in map(float, p) if x)
        threshold = min(epsilon, delta * math.exp(-entropy))
        return {x for x, a in enumerate(map(float, p)) if a > threshold}

    return Fixed(accepts)


def joint(right, p: Table, q: Table, gamma: int) -> Law:
    """The law of the tokens of one verification, accepted prefix and emitted token, the draft being drawn from q."""
    found: Law = defaultdict(Fraction)
    paths = {(): (Fraction(1), Fraction(1))}
    for _ in range(gamma):
        longer = {}
        for path, (reached, weight) in paths.items():
            step = right.step(reached, weight, p(path), q(path))
            for y, mass in enumerate(step.emitted):
                found[(*path, y)] += mass
            longer |= {(*path, x): passed for x, passed in enumerate(step.passed)}
        paths = longer
    for path, (reached, weight) in paths.items():
        for y, mass in enumerate(right.end(reached, weight, p(path))):
            found[(*path, y)] += mass
    return positive(found)


def positive(law: Law) -> Law:
    return {tokens: mass for tokens, mass in law.items() if mass}


def completed(law: Law, p: Table, gamma: int) -> Law:
    """The law of the next gamma + 1 tokens, those behind the emitted one drawn from p."""
    found = defaultdict(Fraction, law)
    for length in range(1, gamma + 1):
        for tokens in [tokens for tokens in found if len(tokens) == length]:
            mass = found.pop(tokens)
            for y, chance in enumerate(p(tokens)):
                found[(*tokens, y)] += mass * chance
    return positive(found)


def plain(p: Table, gamma: int) -> Law:
    """The product of p's rows."""
    return completed({(y,): mass for y, mass in enumerate(p(()))}, p, gamma)


def total_variation(a: Law, b: Law) -> Fraction:
    return sum((abs(a.get(tokens, 0) - b.get(tokens, 0)) for tokens in {*a, *b}), Fraction(0)) / 2


# ---- the law of a rule


class Box(NamedTuple):
    row: int
    sides: tuple[tuple[float, float], ...]
    mass: Fraction


def pieces(cuts: set[Fraction], strip: Fraction) -> list[tuple[tuple[float, float], Fraction]]:
    """The pieces between borders, each without its strips, and their lengths; what is all strip is left out, and so missing from the law."""
    ends = sorted({Fraction(0), Fraction(1)} | {t for t in cuts if 0 < t < 1})
    return [((float(a + strip), float(b - strip)), b - a) for a, b in pairwise(ends) if b - a > 2 * strip]


@cache
def as_given(row: Row, kind: torch.dtype) -> Row:
    """The row as a narrow dtype has it; float64's rounding is the strips' business."""
    return row if kind == torch.float64 else tuple(map(Fraction, torch.tensor([float(x) for x in row], dtype=torch.float64).to(kind).tolist()))


def tensor(rows: list, kind: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.tensor([[[float(x) for x in row] for row in chain] for chain in rows], dtype=torch.float64).reshape(shape).to(kind)


@dataclass
class Chains:
    """All drafts that q can draw, with the rows along each, as a dtype has them."""

    drafts: list[tuple[int, ...]]
    chances: list[Fraction]
    p: list[list[Row]]
    q: list[list[Row]]
    kind: torch.dtype

    @classmethod
    def of(cls, p: Table, q: Table, gamma: int, kind: torch.dtype) -> "Chains":
        drafts = {draft: math.prod(q(draft[:i])[x] for i, x in enumerate(draft)) for draft in product(range(len(p(()))), repeat=gamma)}
        drafts = positive(drafts)
        rows = [[[as_given(table(draft[:i]), kind) for i in range(gamma + more)] for draft in drafts] for table, more in ((p, 1), (q, 0))]
        return cls(list(drafts), [Fraction(x) for x in drafts.values()], *rows, kind)

    def ask(self, rule, boxes: list[Box]) -> Verdict:
        """The rule's verdicts in boxes, (boxes, corners and the middle, ...)."""
        gamma, v = len(self.drafts[0]), len(self.p[0][0])
        corners = torch.tensor([*product((0.0, 1.0), repeat=gamma + 1), (MIDDLE,) * (gamma + 1)], dtype=torch.float64)
        low, high = (torch.tensor([[side[end] for side in box.sides] for box in boxes], dtype=torch.float64)[:, None] for end in (0, 1))
        u = (low + corners * (high - low)).flatten(0, 1)
        rows = torch.tensor([box.row for box in boxes]).repeat_interleave(len(corners))
        p, q = tensor(self.p, self.kind, -1, gamma + 1, v)[rows], tensor(self.q, self.kind, -1, gamma, v)[rows] if rule.needs_q else None
        draft = torch.tensor(self.drafts)[rows]
        said = rule(Round(p, q, draft, torch.full_like(rows, gamma), u[:, :gamma], u[:, gamma]))
        return Verdict(*(x.unflatten(0, (len(boxes), -1)) for x in said))


def law_of(rule, right, p: Table, q: Table, gamma: int, kind: torch.dtype = torch.float64) -> Law:
    """The law of the rule's tokens, draft included. Fails where a box does not have one verdict."""
    chains, strip = Chains.of(p, q, gamma, kind), STRIP[kind]
    borders = [right.borders(*of) for of in zip(chains.p, chains.q, chains.drafts, strict=True)]
    wide = pieces(set(), strip)
    boxes = [box for row, of in enumerate(borders) for box in _boxes(row, chains.chances[row], [pieces(cuts, strip) for cuts in of.coins])]
    first = chains.ask(rule, [Box(box.row, (*box.sides, wide[0][0]), box.mass) for box in boxes]).accepted
    assert (first == first[:, :1]).all(), "the accepted length changes inside of a box"
    inner = [
        Box(box.row, (*box.sides, side), box.mass * length)
        for box, stop in zip(boxes, first[:, 0].tolist(), strict=True)
        for side, length in pieces(cumulative(borders[box.row].stops[stop]), strip)
    ]
    tokens, accepted = chains.ask(rule, inner)
    assert (tokens == tokens[:, :1]).all(), "the tokens change inside of a box"
    found: Law = defaultdict(Fraction)
    for box, row, n in zip(inner, tokens[:, 0].tolist(), accepted[:, 0].tolist(), strict=True):
        found[tuple(row[: n + 1])] += box.mass
    return positive(found)


def _boxes(row: int, chance: Fraction, axes: list) -> Iterator[Box]:
    for sides in product(*axes):
        yield Box(row, tuple(side for side, _ in sides), chance * math.prod((length for _, length in sides), start=Fraction(1)))


# ---- the tables


def some_row(rnd: Random, v: int) -> Row:
    """Small weights, zeros and ties among them, or a point."""
    weights = [rnd.choice((0, 1, 2, 3, 5)) for _ in range(v)] if rnd.random() < 0.9 else point(rnd.randrange(v), v)
    return normalised(tuple(map(Fraction, weights))) or (Fraction(1, v),) * v


def draft_row(rnd: Random, p: Row) -> Row:
    """Like the target's, or on its zeros, or any."""
    aside = normalised(tuple(Fraction(x == 0) for x in p))
    return rnd.choice((p, aside or p, *(some_row(rnd, len(p)) for _ in range(6))))


def tables(v: int, seed: int, seen: Callable = tuple) -> tuple[Table, Table]:
    """Rows that depend on the tokens before, or on what is seen of them."""

    @cache
    def p(before) -> Row:
        return some_row(Random(f"p {v} {seed} {before}"), v)

    @cache
    def q(before) -> Row:
        return draft_row(Random(f"q {v} {seed} {before}"), p(before))

    return lambda before: p(seen(before)), lambda before: q(seen(before))


def constant(row: Row) -> Table:
    return lambda before: row


def pinned(draft: tuple[int, ...], v: int) -> Table:
    """The draft's rows when it is no random choice."""
    return lambda before: point(draft[len(before)], v)


EIGHTH = Fraction(1, 8)
PAIRS = [
    ((THIRD, 2 * THIRD), (2 * THIRD, THIRD)),  # 2403.10444's example
    ((HALF, HALF), (HALF, HALF)),
    ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))),
    ((Fraction(1), Fraction(0)), (Fraction(1), Fraction(0))),
    ((Fraction(0), Fraction(1)), (HALF, HALF)),
    ((HALF, HALF), (Fraction(0), Fraction(1))),
    ((HALF, HALF, Fraction(0)), (Fraction(0), Fraction(0), Fraction(1))),
    ((HALF, HALF, Fraction(0)), (Fraction(0), HALF, HALF)),
    ((5 * EIGHTH, 2 * EIGHTH, EIGHTH), (EIGHTH, 2 * EIGHTH, 5 * EIGHTH)),
    ((THIRD, THIRD, THIRD), (HALF, Fraction(0), HALF)),
]
CHAIN = [((2, 6, 0), (4, 2, 2)), ((4, 4, 0), (0, 1, 7)), ((0, 5, 3), (1, 2, 5)), ((8, 0, 0), (8, 0, 0))]
"""Eighths by position: behind token 0, of weight 1/2 by block, two tokens stay in w p - q, and not in the proportion of p - q."""
SIZES = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1), *(pytest.param(*size, marks=pytest.mark.slow) for size in [(3, 3), (4, 2), (4, 3)])]
SEEDS = 6

RANDOM = {
    "standard": (Standard(), Ratio()),
    "block": (Block(), Whole()),
    "lenient .5": (Lenient(0.5), Ratio(HALF)),
    "lenient .75": (Lenient(0.75), Ratio(Fraction(3, 4))),
}
ANY = {
    "deterministic": (DeterministicDraft(), Given()),
    "match": (SampleAndMatch(), Match()),
    "greedy": (Greedy(), Fixed(lambda p: {p.index(max(p))})),
    "typical": (Typical(), typical(0.3, 0.09)),
    "typical, tie": (Typical(0.5, 10.0), typical(0.5, 10.0)),
    "typical, entropy": (Typical(0.9, 0.7), typical(0.9, 0.7)),
}
RULES = RANDOM | ANY


def settings(v: int, kept: int = SEEDS) -> Iterator[tuple[Table, Table]]:
    for p, q in PAIRS:
        if len(p) == v:
            yield constant(p), constant(q)
    if v == 3:
        p, q = (lambda before, k=k: scaled(EIGHTH, CHAIN[len(before)][k]) for k in (0, 1))
        yield p, q
    for seed in range(kept):
        yield tables(v, seed, len if seed % 2 else tuple)


def check(rule, right, p: Table, q: Table, gamma: int) -> None:
    """The joint law of accepted prefix and emitted token is the paper's, and for exact rules the tokens follow the target."""
    found = law_of(rule, right, p, q, gamma)
    assert found == joint(right, p, q, gamma)
    if rule.exact and not isinstance(rule, Greedy):
        assert completed(found, p, gamma) == plain(p, gamma)


@pytest.mark.parametrize(("v", "gamma"), SIZES)
@pytest.mark.parametrize("name", RULES)
def test_joint_law(name: str, v: int, gamma: int) -> None:
    """S3, S4 and their kin: equal as fractions, so within 1e-12 with the strips, over rows with zeros, ties, equal and disjoint ones."""
    for p, q in settings(v, SEEDS if v < 4 else 2):
        check(*RULES[name], p, q, gamma)


@pytest.mark.parametrize(("v", "gamma"), SIZES[:-1])
@pytest.mark.parametrize("name", ANY)
def test_joint_law_of_each_draft(name: str, v: int, gamma: int) -> None:
    """Rules that do not read q keep their law whatever the draft: its errors cannot cancel over drafts. One-hot rows are standard's too."""
    for seed, draft in product(range(2), product(range(v), repeat=gamma)):
        check(*ANY[name], tables(v, seed)[0], pinned(draft, v), gamma)
        if name == "deterministic":
            check(*RULES["standard"], tables(v, seed)[0], pinned(draft, v), gamma)


@pytest.mark.parametrize("gamma", [1, 2])
def test_greedy_is_exact_for_one_hot_targets(gamma: int) -> None:
    p, q = tables(3, 1)
    sure = lambda before: point(p(before).index(max(p(before))), 3)
    assert completed(law_of(*RULES["greedy"], sure, q, gamma), sure, gamma) == plain(sure, gamma)


NARROW = [torch.float32, torch.bfloat16]


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("name", RULES)
def test_law_of_narrow_rows(name: str, kind: torch.dtype) -> None:
    """Rows of float32 and bfloat16 cost no more than rounding them does, against the law of the rows before rounding."""
    for gamma in (1, 2):
        check_narrow(*RULES[name], kind, gamma)


def sixteenths(of: object) -> Row:
    """Three probabilities that every dtype holds exactly."""
    low, high = sorted(Random(str(of)).choices(range(17), k=2))
    return Fraction(low, 16), Fraction(high - low, 16), Fraction(16 - high, 16)


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("name", RULES)
def test_dyadic_rows_lose_nothing(name: str, kind: torch.dtype) -> None:
    """Rows that bfloat16 holds exactly have the law of the same rows in float64: arithmetic is float32 or wider, whatever comes in."""
    for gamma, seed in product((1, 2), range(4)):
        p, q = (lambda before, s=(name, seed): sixteenths((*s, before)) for name in "pq")
        assert law_of(*RULES[name], p, q, gamma, kind) == joint(RULES[name][1], p, q, gamma)


@pytest.mark.parametrize("kind", [torch.float64, *NARROW])
@pytest.mark.parametrize("rule", [Standard(), Block(), Lenient(0.5), DeterministicDraft(), SampleAndMatch()], ids=lambda rule: type(rule).__name__)
def test_long_rows_keep_light_tokens(rule, kind: torch.dtype) -> None:
    """A row of 513 tokens, (256, 1, 0 …, 255) / 512, that bfloat16 holds exactly though not the sum of its first half; its law by 512 uniforms."""
    p = torch.zeros(513)
    p[[0, 1, 512]] = torch.tensor([256.0, 1.0, 255.0]) / 512
    u = (torch.arange(512).double() + 0.5) / 512
    rows, none = p.to(kind).expand(512, 1, -1), torch.empty(512, 0).double()
    said = rule(Round(rows, torch.empty(512, 0, 513, dtype=kind) if rule.needs_q else None, none.long(), torch.zeros(512).long(), none, u))
    assert said.tokens.flatten().bincount(minlength=513).tolist() == (512 * p).tolist()


# ---- expected accepted lengths


def expected(law: Law) -> Fraction:
    return sum(((len(tokens) - 1) * mass for tokens, mass in law.items()), Fraction(0))


def stacked(table: Table, length: int) -> torch.Tensor:
    return torch.tensor([[float(x) for x in table((0,) * i)] for i in range(length)], dtype=torch.float64)


@pytest.mark.parametrize("name", RULES)
def test_expected_accepted(name: str) -> None:
    """What a rule says of itself is what it does, on rows that depend on the position alone (theory: S5)."""
    rule, right = RULES[name]
    for (v, gamma), seed in product([(2, 1), (2, 3), (3, 2)], range(4)):
        p, q = tables(v, seed, len)
        said = rule.expected_accepted(stacked(p, gamma + 1), stacked(q, gamma))
        assert said.dtype == torch.float64
        assert said.item() == pytest.approx(float(expected(law_of(rule, right, p, q, gamma))), abs=1e-12)


@pytest.mark.parametrize(("name", "right"), [("standard", Fraction(10, 9)), ("block", Fraction(11, 9))])
def test_example_of_block_verification(name: str, right: Fraction) -> None:
    """2403.10444: 10/9 token by token, 11/9 by block."""
    p, q = map(constant, PAIRS[0])
    assert expected(law_of(*RULES[name], p, q, 2)) == right
    assert RULES[name][0].expected_accepted(stacked(p, 3), stacked(q, 2)).item() == pytest.approx(float(right), abs=1e-15)


def full_information(p: Table, q: Table, v: int, gamma: int) -> Fraction:
    """Sum over i of 1 - TV of the laws of the first i tokens: no coupling accepts more (theory: S6)."""
    chance = lambda table, x: math.prod(table(x[:i])[y] for i, y in enumerate(x))
    return sum((min(chance(p, x), chance(q, x)) for i in range(1, gamma + 1) for x in product(range(v), repeat=i)), Fraction(0))


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_block_accepts_at_least_as_much_and_nobody_too_much(gamma: int) -> None:
    """Standard <= block <= full information, and block is strictly better somewhere once there are two tokens."""
    gained = []
    for v, seed in product((2, 3), range(24 // gamma)):
        p, q = tables(v, seed)
        standard, block = (expected(law_of(*RULES[name], p, q, gamma)) for name in ("standard", "block"))
        assert standard <= block <= full_information(p, q, v, gamma)
        gained.append(block > standard)
    assert any(gained) == (gamma > 1)


# ---- wrong twins: each check above can fail


class Twin(NamedTuple):
    """A rule with one line wrong."""

    call: Callable[[Round], Verdict]
    needs_q: bool = True
    exact: bool = True

    def __call__(self, given: Round) -> Verdict:
        return self.call(given)


def by_ratio(given: Round, *, lenience: float = 1.0, of_residual: float = 1.0, mix: float = 1.0, bonus: int = 0, ratio: float = 1.0) -> Verdict:
    n = leading(given.drafted & (given.coins * lenience * ratio * given.of_draft(given.q) < given.of_draft(given.p)))
    ended = (n == given.lengths)[:, None]
    p, q = row_at(given.p, (n - bonus * ended[:, 0]).clamp(min=0)), row_at(given.q, n.clamp(max=given.q.shape[1] - 1))
    rest = (p - mix * of_residual * q).clamp(min=0)
    return verdict(given, n, inverse_cdf(torch.where(ended | ~(rest > 0).any(-1, keepdim=True), p, rest), given.last))


def shared_uniform(given: Round) -> Verdict:
    return Standard()(given._replace(last=given.coins[:, -1]))


def previous_residual(given: Round) -> Verdict:
    return Standard()(given._replace(q=given.q.roll(1, 1)))


def smallest_passing(given: Round) -> Verdict:
    """Block verification that ends before the first prefix refused, instead of behind the longest that passes."""
    alone = [given.coins.where(torch.arange(given.coins.shape[1]) == i, torch.ones(())) for i in range(given.coins.shape[1])]
    n = leading(torch.stack([Block()(given._replace(coins=coins)).accepted > 0 for coins in alone], 1))
    only_n = torch.where(torch.arange(given.coins.shape[1]) == n[:, None] - 1, 0.0, 1.0)
    return Block()(given._replace(coins=only_n.double()))


def standard_coins_for_block(given: Round) -> Verdict:
    """Block's stop with the standard rule's residual: w left out."""
    n = Block()(given).accepted
    p, q = row_at(given.p, n), row_at(given.q, n.clamp(max=given.q.shape[1] - 1))
    rest = (p - q).clamp(min=0)
    rest = torch.where((rest > 0).any(-1, keepdim=True), rest, p)
    return verdict(given, n, inverse_cdf(torch.where((n == given.lengths)[:, None], p, rest), given.last))


def nothing_zeroed(given: Round) -> Verdict:
    n = leading(given.drafted & (given.coins < given.of_draft(given.p)))
    return verdict(given, n, inverse_cdf(row_at(given.p, n), given.last))


def drawn_again(given: Round) -> Verdict:
    n = SampleAndMatch()(given).accepted
    return verdict(given, n, inverse_cdf(row_at(given.p, n), given.last))


def one_too_many(given: Round) -> Verdict:
    """Greedy that goes on behind a mismatch."""
    same = given.p.argmax(-1)[:, :-1] == given.draft
    n = same.sum(1)
    return verdict(given, n, row_at(given.p, n).argmax(-1))


def inclusive_set(given: Round) -> Verdict:
    n = leading(given.drafted & (given.of_draft(given.p) >= 0.5))
    return verdict(given, n, row_at(given.p, n).argmax(-1))


WRONG = {
    "residual from p": ("standard", Twin(lambda given: by_ratio(given, mix=0.0))),
    "bonus from the previous row": ("standard", Twin(lambda given: by_ratio(given, bonus=1))),
    "ratio a thousandth too small": ("standard", Twin(lambda given: by_ratio(given, ratio=1.001))),
    "one uniform for coin and token": ("standard", Twin(shared_uniform)),
    "draft row of another position": ("standard", Twin(previous_residual)),
    "lenient": ("standard", Twin(lambda given: by_ratio(given, lenience=0.5, of_residual=0.5))),
    "lenient's residual without l": ("lenient .5", Twin(lambda given: by_ratio(given, lenience=0.5))),
    "another lenience": ("lenient .75", Twin(lambda given: by_ratio(given, lenience=0.5, of_residual=0.5))),
    "standard instead of block": ("block", Standard()),
    "smallest instead of largest": ("block", Twin(smallest_passing)),
    "residual without w": ("block", Twin(standard_coins_for_block)),
    "refused token kept": ("deterministic", Twin(nothing_zeroed, needs_q=False)),
    "redraw after a mismatch": ("match", Twin(drawn_again, needs_q=False)),
    "goes on behind a mismatch": ("greedy", Twin(one_too_many, needs_q=False, exact=False)),
    "p >= threshold": ("typical, tie", Twin(inclusive_set, needs_q=False, exact=False)),
}


def check_everywhere(rule, right) -> None:
    for v in (2, 3):
        for p, q in settings(v):
            check(rule, right, p, q, 2)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_twins_are_refused(name: str) -> None:
    like, twin = WRONG[name]
    with pytest.raises(AssertionError):
        check_everywhere(twin, RULES[like][1])


def check_narrow(rule, right, kind: torch.dtype, gamma: int) -> None:
    for v in (2, 3):
        for p, q in settings(v):
            assert total_variation(law_of(rule, right, p, q, gamma, kind), joint(right, p, q, gamma)) <= rounding(gamma, kind)


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("name", ["ratio a thousandth too small", "refused token kept", "residual without w"])
def test_twins_with_narrow_rows_are_refused(name: str, kind: torch.dtype) -> None:
    """The tolerance for rounding does not hide a fault."""
    like, twin = WRONG[name]
    with pytest.raises(AssertionError):
        check_narrow(twin, RULES[like][1], kind, 2)


def test_coins_that_reach_the_ratio_are_refused() -> None:
    """The twin `u <= p / q` has the same law but accepts p = 0 at u = 0, and u = p / q (theory: C6): only an injected uniform tells."""
    p, q = torch.tensor([[[0.0, 1.0], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]]).double(), torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]]]).double()
    given = Round(p, q, torch.zeros(2, 1).long(), torch.ones(2).long(), torch.tensor([[0.0], [0.5]]).double(), torch.zeros(2).double())
    inclusive = given.coins * given.of_draft(given.q) <= given.of_draft(given.p)
    assert inclusive.flatten().tolist() == [True, True]
    for rule in (Standard(), Block(), Lenient(1.0)):
        assert rule(given).tokens.tolist() == [[1, -1], [1, -1]]
