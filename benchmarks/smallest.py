"""`python -m benchmarks.smallest` writes `specverify/faults/smallest.json`: for each planted fault with a law the first small table that shows it.

Tables come in the order of the suite's scope, rows with small denominators; a table shows a fault where the law of the emitted tokens, completed from p, is off, or for
a fault that leaves them right that of the accepted length with them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import msgspec
import numpy as np

from specprops import scope
from specverify.faults import FAULTS, Fault
from specverify.faults.laws import LAWS, right_law
from specverify.faults.smallest import TARGET
from specverify.faults.steps import Rows
from specverify.law import Outcome

SHOWS = 1e-3
"""Total variation of what is shown: far beyond rounding, and small beside what such tables give, 1/16 and more."""
SCOPES = ("small", "large")
Case = dict[str, list[object]]


def cases(contract: str) -> Iterator[tuple[Case, Rows, Rows]]:
    """Small cases of a contract, smallest first, each with p and q as the laws take them."""
    of = {"verify_chain": chains, "verify_deterministic_draft": given, "sample": samples}[contract]
    for gamma, v, largest in itertools.chain.from_iterable(scope.SIZES[name] for name in SCOPES):
        yield from of(gamma, v, largest)


def chains(gamma: int, v: int, largest: int) -> Iterator[tuple[Case, Rows, Rows]]:
    """P and q of a step."""
    for p, q in scope.tables(gamma, v, largest):
        yield {"p": numbers(p), "q": numbers(q)}, np.array(p, float), np.array(q, float)


def given(gamma: int, v: int, largest: int) -> Iterator[tuple[Case, Rows, Rows]]:
    """P and a draft; q is one-hot."""
    for p in itertools.product(scope.lines(v, largest), repeat=gamma + 1):
        for draft in itertools.product(range(v), repeat=gamma):
            yield {"p": numbers(p), "draft": list(draft)}, np.array(p, float), np.eye(v)[list(draft)]


def samples(rows: int, v: int, largest: int) -> Iterator[tuple[Case, Rows, Rows]]:
    """As many rows as there would be drafts."""
    for p in itertools.product(scope.lines(v, largest), repeat=rows):
        yield {"probs": numbers(p)}, np.array(p, float), np.empty((0, v))


def numbers(rows: tuple[tuple[Fraction, ...], ...]) -> list[object]:
    """Nested lists of floats."""
    return [[float(x) for x in row] for row in rows]


def off(fault: Fault, p: Rows, q: Rows, project: Callable[[Outcome], Outcome]) -> float:
    """Total variation of a fault's law from the right one, of a function of the outcome."""
    wrong, right = LAWS[fault.contract][fault.law](p, q), right_law(fault.contract, p, q)
    return wrong.project(project).total_variation(right.project(project))


def whole(outcome: Outcome) -> Outcome:
    """Of (n, tokens) both, of a sample its tokens."""
    return outcome


def tokens(outcome: Outcome) -> Outcome:
    """Of (n, tokens), or of a sample."""
    return outcome[-1] if isinstance(outcome[-1], tuple) else outcome


def smallest(fault: Fault) -> Case | None:
    """The first case that shows a fault by its tokens; by the accepted length where these never are off; or none."""
    shows = (case for project in (tokens, whole) for case, p, q in cases(fault.contract) if off(fault, p, q, project) > SHOWS)
    return next(shows, None)


def text() -> bytes:
    """The file's bytes."""
    found = {name: smallest(fault) for name, fault in FAULTS.items() if fault.law}
    return b"{\n" + b",\n".join(msgspec.json.encode(name) + b": " + msgspec.json.encode(case) for name, case in found.items() if case) + b"\n}\n"


if __name__ == "__main__":
    TARGET.write_bytes(text())
