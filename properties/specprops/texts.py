"""Whole loops as cases: tables of target and draft by prefix, prompts, numbers; and the texts and laws that must come out (theory S3, S10)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from specprops import rows
from specverify.contracts import Array, Case, array
from specverify.contracts.generate import number, prompts, room, tables
from specverify.contracts.table_models import Prefix, Table
from specverify.law import Law, Outcome

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Line = tuple[float, ...]
Lines = Sequence[Line]
PROMPT = [1, 0]
OTHER = [0, 1, 1]
"""A prompt of another length, for the call before."""
DEPTH = 2
"""Tokens behind the prompt up to which every prefix has a row of its own; behind longer ones rows come again, as a hash of the whole prefix chooses."""
LONG = 48
"""Tokens of a long text: a dozen rounds of three drafts, each of which may leave a cache wrong."""
TRIPLES = sum(3**depth for depth in range(DEPTH + 1))


class Shape(NamedTuple):
    """Whole weights of the target and of the draft by prefix, repeated as often as they are needed, tokens to draft in a round, and new tokens."""

    target: Lines
    draft: Lines
    gamma: int
    most: int


P2, Q2 = ((1, 1), (1, 3), (3, 1), (5, 3), (1, 7)), ((3, 1), (1, 1), (1, 3))
"""Over two tokens: five rows and three, so that a prefix has another pair than its neighbours."""
P3, Q3 = ((4, 3, 1), (1, 6, 1), (1, 2, 5), (5, 1, 2), (0, 4, 4)), ((1, 2, 5), (4, 2, 2), (1, 6, 1))
SLOW = ("transformers", "seq2seq", "whisper")
"""Forms of models whose loops take milliseconds a text."""
TWO = Shape(P2, Q2, 1, 2)
SMALL = (
    Shape(P2, Q2, 2, 3),
    Shape(P3, Q3, 2, 3),
    Shape(P2, P2, 2, 4),
    Shape(((3, 0, 1), (1, 0, 3)), ((0, 1, 0),), 2, 3),
    Shape(P2, ((1, 0), (0, 1), (1, 0)), 3, 4),
    Shape(P3, Q3, 1, 2),
)
"""Rows that overlap, over two tokens and three; equal rows; rows that share no token; drafts that are no random choice. Two rounds at least, but for luck; and one of three tokens that can be explored,
since a residual of two tells more than one of a single token."""
FEW = (Shape(P2, Q2, 1, 3), SMALL[1], SMALL[4])
"""For loops whose calls take milliseconds: the first law can be explored in seconds, the others are drawn."""


def case(subject: Description, shape: Shape, **more: object) -> Case:
    """The case of a shape, its parameters neutral but for those given."""
    width = len(shape.target[0])
    count = sum(width**depth for depth in range(DEPTH + 1))
    target, draft = (_table(dtype_of(subject), list(itertools.islice(itertools.cycle(lines), count))) for lines in (shape.target, shape.draft))
    return {
        "target": target, "draft": draft, "prompts": [PROMPT], "gamma": shape.gamma, "max_new_tokens": shape.most, "temperature": 1.0, "top_k": width, "top_p": 1.0,
        "eos": None, **_context(subject), **more,
    }  # fmt: skip


def _context(subject: Description) -> dict[str, object]:
    """The limit that the subject declares, if there is one."""
    return {name: value for name, value in subject.conventions.items() if name == "context"}


def _table(dtype: str, lines: Lines) -> Array:
    found = [rows.normalised(line, dtype) for line in lines]
    return array(dtype, (len(found), len(found[0])), itertools.chain(*found))


def dtype_of(subject: Description) -> str:
    """The first of those with 24 bits or more, if there is one."""
    return (rows.wide(subject) or subject.dtypes)[0]


def shapes(subject: Description) -> tuple[Shape, ...]:
    """As many as there is time for."""
    return FEW if subject.models in SLOW else SMALL


def first(subject: Description) -> list[Case]:
    """The small loops."""
    return [case(subject, shape) for shape in shapes(subject)]


def drawn(subject: Description) -> st.SearchStrategy[Case]:
    """Any loops; of models whose calls take milliseconds a small one."""
    return st.just(first(subject)[0]) if subject.models in SLOW else anything(subject)


@st.composite
def anything(draw: st.DrawFn, subject: Description) -> Case:
    """One to three drafts over two tokens or three, in few enough cells; each prefix has a pair of rows of its own."""
    v, dtype = draw(st.sampled_from((2, 3))), dtype_of(subject)
    most = draw(st.integers(1, 4 if v == 2 else 3))  # noqa: PLR2004
    pairs = [draw(rows.pair(v, dtype)) for _ in range(1 + v)]
    return case(subject, Shape([p for p, _ in pairs], [q for _, q in pairs], draw(st.integers(1, 3)), most))


def with_end(subject: Description) -> list[Case]:
    """Loops that may end early: the end has mass in both tables, so that it is drafted, accepted, rejected and drawn at every place."""
    return [case(subject, shape, eos=len(shape.target[0]) - 1) for shape in shapes(subject)[:2]]


def hot(subject: Description, temperature: float) -> list[Case]:
    """Loops at another temperature."""
    return [case(subject, shape, temperature=temperature) for shape in shapes(subject)[:2]]


# Texts that are sure


def sure(subject: Description, gamma: int, most: int, drafter: str = "half", prompts: Sequence[Sequence[int]] = (PROMPT,)) -> Case:
    """Each row of the target is a point; the draft's are the same (`right`), all other points (`wrong`), or every second one (`half`)."""
    return {**_long(subject, (1, 0, 0), gamma, most, drafter), "temperature": coldest(subject), "prompts": [list(one) for one in prompts]}


PAGES = 64, 128
"""Ids of a page of keys and values, or of two: sizes that engines have beside those that a long text crosses."""
AROUND = 4
"""Ids of a text before the border of a page, and behind it: more than a round's drafts."""


def across_pages(subject: Description) -> list[Case]:
    """Sure texts that begin before the border of a page and end behind it, as far as there is room."""
    limit = int(str(subject.conventions.get("context", max(PAGES) + AROUND)))
    prompts = [[(place * place + place // 3) % 3 for place in range(page - AROUND)] for page in PAGES if page + AROUND <= limit]
    return [sure(subject, 3, 2 * AROUND, drafter, [prompt]) for prompt in prompts for drafter in ("wrong", "half")]


def turns(subject: Description) -> list[Case]:
    """A second prompt that is the first with its answer and an id more, as in a chat. The answer's rows are chosen by a hash, since no text is as long as that prompt."""
    base, most = sure(subject, 3, 12), 12
    answer = right_text({**base, "prompts": [PROMPT, [END] * (len(PROMPT) + most + 1)]}, tuple(PROMPT))
    second = [*PROMPT, *answer, 1]
    return [{**base, "prompts": [PROMPT, second]}] if len(second) < int(str(base.get("context", LONG))) else []


def greedy(subject: Description, gamma: int, most: int, drafter: str = "half", weights: Line = (5, 3, 1)) -> Case:
    """Temperature 0 on rows whose likeliest token is ahead."""
    return {**_long(subject, weights, gamma, most, drafter), "temperature": 0.0}


def _long(subject: Description, weights: Line, gamma: int, most: int, drafter: str) -> Case:
    wrong: Callable[[int], int] = {"right": lambda _: 0, "wrong": lambda _: 1, "half": lambda row: row % 2}[drafter]
    target = [_turned(weights, row // DEPTH) for row in range(TRIPLES)]
    return case(subject, Shape(target, [_turned(line, wrong(row)) for row, line in enumerate(target)], gamma, most))


def points() -> list[Line]:
    """Rows of three tokens that are sure of one, another behind every second row."""
    return [_turned((1, 0, 0), row // DEPTH) for row in range(TRIPLES)]


def _turned(line: Line, by: int) -> Line:
    return tuple(line[(place - by) % len(line)] for place in range(len(line)))


def coldest(subject: Description) -> float:
    """Temperature 1, or 0 of a loop that is greedy alone."""
    return 0.0 if subject.claim == "greedy-exact" else 1.0


def lengths(subject: Description) -> list[Case]:
    """As many tokens as fewer than a round gives, as one gives, and more."""
    return [sure(subject, gamma, most, drafter) for gamma in (1, 2, 3, 4) for most in range(1, gamma + 3) for drafter in ("right", "wrong")]


def ends(subject: Description) -> list[Case]:
    """A sure text with an end at each place of two blocks of three drafts: drafted and accepted, not drafted, or drafted alone, where the text goes on."""
    found: list[Case] = []
    for place in range(ENDS):
        text = [*[token % 2 for token in range(place)], END, *[0] * (ENDS - place - 1)]
        missed = [0 if token == END else token for token in text]
        found += [_along(subject, *both) for both in ((text, text), (text, missed), (missed, text))]
    return found


ENDS, END = 6, 2


def _along(subject: Description, text: Sequence[int], drafted: Sequence[int]) -> Case:
    """Points along a text; the target has another token off it, the draft its token at each place whatever came before."""
    prefixes = [one for depth in range(len(text)) for one in itertools.product(range(3), repeat=depth)]
    target = [text[len(one)] if one == tuple(text[: len(one)]) else (text[len(one)] + 1) % 3 for one in prefixes]
    both = {name: _table(dtype_of(subject), [_turned((1, 0, 0), token) for token in tokens])
            for name, tokens in (("target", target), ("draft", [drafted[len(one)] for one in prefixes]))}  # fmt: skip
    return {**case(subject, Shape(((1, 0, 0),), ((1, 0, 0),), 3, len(text)), eos=END, temperature=coldest(subject)), **both}


# What must come out


def right_text(one: Case, prompt: Prefix | None = None) -> Prefix:
    """The likeliest tokens, one by one, behind a prompt; the last, if none is told."""
    target, text = tables(one)[0], tuple[int, ...]()
    while not ended(one, text, prompt):
        line = warped(one, target, text, prompt)
        text = (*text, line.index(max(line)))
    return text


def ended(one: Case, text: Prefix, prompt: Prefix | None = None) -> bool:
    """Whether nothing follows."""
    return len(text) == room(one, prompts(one)[-1] if prompt is None else prompt) or (one["eos"] is not None and text[-1:] == (one["eos"],))


def right_law(one: Case, prompt: Prefix | None = None) -> Law:
    """Of the new tokens behind a prompt, as plain decoding has it; the last, if none is told."""
    return Law.of(dict(_endings(one, tables(one)[0], (), 1.0, prompt)))


def _endings(one: Case, target: Table, text: Prefix, mass: float, prompt: Prefix | None) -> Iterator[tuple[Outcome, float]]:
    if ended(one, text, prompt):
        yield text, mass
        return
    for token, chance in enumerate(warped(one, target, text, prompt)):
        if chance > 0:
            yield from _endings(one, target, (*text, token), mass * chance, prompt)


def warped(one: Case, table: Table, text: Prefix, prompt: Prefix | None = None) -> list[float]:
    """The row behind a prompt and a text at the case's temperature, cut by its filters; rows here have no ties at a border, and all orders of the filters agree on them."""
    line, temperature = table.line((*(table.text if prompt is None else prompt), *text)), float(str(one["temperature"]))
    powers = [(x / max(line)) ** (1 / temperature) for x in line] if temperature else [float(x == max(line)) for x in line]
    order = sorted(range(len(line)), key=lambda token: -powers[token])
    heads = list(itertools.accumulate((powers[token] / math.fsum(powers) for token in order), initial=0.0))
    kept = {token for place, token in enumerate(order) if place < number(one, "top_k") and heads[place] < float(str(one["top_p"]))}
    left = [x if token in kept else 0.0 for token, x in enumerate(powers)]
    return [x / math.fsum(left) for x in left]


# Prompts side by side, a context limit, all filters at once

SHORT, MIDDLE = [2], [1, 0, 2, 1]
"""Beside `PROMPT` and the long one."""
FAR = [0, 1, 1, 0, 1, 0, 2]


def beside(subject: Description) -> list[list[list[int]]]:
    """Batches of prompts, short and long, each of both before the other; of one length for a loop that declares no side on which they are filled up."""
    if "padding" not in subject.conventions:
        return [[PROMPT, [0, 1]], [[0, 1], [1, 1], PROMPT]]
    return [[FAR, PROMPT], [PROMPT, FAR], [SHORT, FAR, MIDDLE]]


def batches(subject: Description) -> list[Case]:
    """Sure texts of prompts side by side."""
    return [{**sure(subject, gamma, most, drafter), "prompts": [batch]}
            for batch in beside(subject) for gamma, most, drafter in ((1, 4, "half"), (3, 24, "half"), (3, 24, "right"))]  # fmt: skip


APART = 6
"""New tokens between the ends of two rows: more than a round of three drafts gives."""


def ends_apart(subject: Description) -> list[Case]:
    """Pairs of prompts of which one text ends rounds before the other, with an end of its own or none; the first and the second in turns. No prompt holds the end."""
    base = {**sure(subject, 3, 16, "half"), "eos": 1}
    found: dict[bool, Case] = {}
    for pair in itertools.permutations(itertools.product((0, 2), repeat=3), 2):
        one = {**base, "prompts": [[[*pair[0]], [*(pair[1] if "padding" not in subject.conventions else pair[1][1:])]]]}
        first, second = (len(right_text(one, prompt)) for prompt in prompts(one))
        if abs(first - second) >= APART:
            found.setdefault(first < second, one)
    return list(found.values())


def pair_of_rows(subject: Description) -> list[Case]:
    """A small law for each of two prompts."""
    return [case(subject, TWO, prompts=[[[0, 1] if "padding" not in subject.conventions else [1, 1, 0], PROMPT]])]


def at_the_limit(subject: Description) -> list[Case]:
    """Texts for which there is room for as many tokens as fewer than a round gives, as one gives, and more; and for fewer than that."""
    limit = int(str(subject.conventions.get("context", LONG)))
    prompt = [token % 2 for token in range(max(1, limit - 2 * 4))]
    return [{**sure(subject, gamma, LONG, drafter), "prompts": [prompt[: len(prompt) - less] or [1]]}
            for gamma in (1, 2, 3, 4) for less in range(min(gamma + 1, len(prompt))) for drafter in ("right", "wrong", "half")]  # fmt: skip


FILTERED = Shape(((4, 3, 2), (1, 2, 30), (3, 2, 4), (30, 1, 2)), Q3, 2, 3)
"""Rows of which top-k 2 cuts one token that top-p 0.87 would keep, and rows of which top-p cuts two; at temperature 0.5, and in every order of the three."""


def filtered(subject: Description) -> list[Case]:
    """All parameters at once."""
    return [case(subject, FILTERED, temperature=0.5, top_k=2, top_p=0.87)]


def open_rows(subject: Description) -> list[Case]:
    """A text whose every row is the same, and the draft's too, so that how many drafts are accepted is known: three in four."""
    return [case(subject, Shape(((5, 2, 1),), ((3, 4, 1),), 3, 24))]


def calls_expected(one: Case) -> tuple[float, float]:
    """Mean and variance of the rounds of a text by the standard rule, where all rows are alike: n drafts are accepted with a^n (1 - a), a = sum min(p, q), and all with a^gamma (theory S5)."""
    (p, q), gamma = (table.lines[0] for table in tables(one)), number(one, "gamma")
    accepted = math.fsum(map(min, p, q))
    chances = [*((1 - accepted) * accepted**n for n in range(gamma)), accepted**gamma]
    first, second = [0.0], [0.0]  # moments of the rounds that are needed, by the tokens that are left
    for left in range(1, room(one, prompts(one)[-1]) + 1):
        behind = [max(0, left - n - 1) for n in range(gamma + 1)]
        first.append(math.fsum(x * (1 + first[rest]) for x, rest in zip(chances, behind, strict=True)))
        second.append(math.fsum(x * (1 + 2 * first[rest] + second[rest]) for x, rest in zip(chances, behind, strict=True)))
    return first[-1], second[-1] - first[-1] ** 2
