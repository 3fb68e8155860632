"""What every packed batch of trees must keep to: claims of each request's draws, and the laws of requests alone and of two together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from specprops import rows
from specprops.tree_cases import prefixes, right_law
from specprops.trees import Prefix, children
from specprops.trial import Trial
from specprops.verify_chain import Draw
from specverify.contracts import Case, array_of
from specverify.contracts.nodes import numbers
from specverify.contracts.verify_tree import row_of
from specverify.contracts.verify_tree_lcrs import requests
from specverify.law import Law, Outcome

Claim = Callable[[Case], Callable[[Draw], bool]]
"""Of a request as a case of `verify_tree`: whether one draw keeps to it, its draft the tokens of its nodes."""
View = tuple[Law, Callable[[Outcome], Outcome]]


def each_request(trial: Trial, case: Case, claim: Claim, message: str, *, fresh: int | None = None) -> None:
    """No draw of any request may violate the claim."""
    own = [claim(one) for one in requests(case)]

    def holds(outcome: Outcome) -> bool:
        return all(kept(Draw(*drawn)) for kept, drawn in zip(own, outcome, strict=True))

    trial.holds(case, holds, message, fresh=fresh)


def follows_a_path(tree: Case) -> Callable[[Draw], bool]:
    """Theory A3: the tokens before the last lead from the context down."""
    parents = numbers(tree, "parents")
    return lambda d: d.tokens[: d.n] in {(), *prefixes(parents, d.draft)}


def keeps_support(tree: Case) -> Callable[[Draw], bool]:
    """Theory S12c."""
    return lambda d: _impossible(tree, d) is None


def keeps_both(tree: Case) -> Callable[[Draw], bool]:
    """Theory A3, S12c."""
    path, support = follows_a_path(tree), keeps_support(tree)
    return lambda d: path(d) and support(d)


def replaces_the_refused(tree: Case) -> Callable[[Draw], bool]:
    """Theory S12b: the last token is that of no child which was tried there; equal siblings may both be where the path ends."""
    parents = numbers(tree, "parents")
    below = children(parents)

    def replaces(d: Draw) -> bool:
        ends = [node for node, prefix in zip(below, [(), *prefixes(parents, d.draft)], strict=True) if prefix == d.tokens[: d.n]]
        return not ends or any(d.tokens[d.n] not in [d.draft[child] for child in below[end]] for end in ends)

    return replaces


def _impossible(tree: Case, d: Draw) -> int | None:
    """The first emitted token of target probability zero; behind what is no path nothing is known."""
    lines = _lines(tree, d)
    emitted = d.tokens[: d.n + 1]
    return next((t for place, t in enumerate(emitted) if (line := lines.get(emitted[:place])) is not None and line[t] == 0), None)


def _lines(tree: Case, d: Draw) -> Mapping[Prefix, Sequence[float]]:
    """Rows of the target by the tokens before them."""
    found = [(), *prefixes(numbers(tree, "parents"), d.draft)]
    if "target" not in tree:
        return dict(zip(found, array_of(tree, "p").rows(), strict=True))
    table, width = list(array_of(tree, "target").rows()), array_of(tree, "target").shape[-1]
    return {prefix: table[row_of(prefix, width)] for prefix in found}


def law(trial: Trial, case: Case) -> None:
    """All requests together where the law has few cells, else each of them, and neighbours two at a time."""
    right = [right_law(one) for one in requests(case)]
    places = range(len(right))
    groups = [tuple(places)] if math.prod(len(one.probabilities) for one in right) <= rows.CELLS else [*((b,) for b in places), *itertools.pairwise(places)]
    trial.laws(case, [_view(right, group) for group in groups])


def _view(right: Sequence[Law], places: tuple[int, ...]) -> View:
    """As many leading tokens of each request as have few cells together; of one alone all of them."""
    mine = [right[b] for b in places]
    longest = max(len(next(iter(one.probabilities))) for one in mine)
    shown = [n for n in range(1, longest + 1) if math.prod(len(leading.probabilities) for leading in _leading(mine, n)) <= rows.CELLS]
    n = max(shown, default=1) if len(places) > 1 else longest
    return together(list(_leading(mine, n))), lambda outcome: tuple(token for b in places for token in Draw(*outcome[b]).tokens[:n])


def _leading(laws: Sequence[Law], n: int) -> Iterator[Law]:
    return (one.project(lambda tokens: tokens[:n]) for one in laws)


def together(laws: Sequence[Law]) -> Law:
    """Of independent tokens, one behind the other."""
    masses: dict[Outcome, float] = {(): 1.0}
    for one in laws:
        masses = {(*a, *b): x * y for (a, x), (b, y) in itertools.product(masses.items(), one.probabilities.items())}
    return Law(masses)


def twice(trial: Trial, case: Case) -> None:
    """The tokens of two calls are independent."""
    right = [right_law(one) for one in requests(case)]
    trial.law(case, together([*right, *right]), lambda outcome: tuple(token for one in outcome for drawn in one for token in Draw(*drawn).tokens), spans=2)


def impossible(case: Case) -> Callable[[Outcome], str | None]:
    """The first token of target probability zero in the rows of a call, in words, or none."""
    mine = requests(case)

    def told(outcome: Outcome) -> str | None:
        drawn = (Draw(numbers(one, "tokens"), len(row) - 1, row) for one, row in zip(mine, outcome, strict=True))
        found = [_impossible(one, d) for one, d in zip(mine, drawn, strict=True)]
        return next((f"token {token} of target probability zero is emitted by request {b}" for b, token in enumerate(found) if token is not None), None)

    return told
