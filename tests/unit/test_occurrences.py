"""What is right for a retriever, by hand; and that the searched cases meet what they are searched for."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specprops import corpora
from specprops.corpora import AMPLE, made
from specprops.occurrences import Query, beginnings
from specref.rest import Rest, build
from specverify.contracts import CONTRACTS, Case
from specverify.subjects.subject import Description

ANYBODY = Description("x", "retriever", "lossless")


@pytest.mark.parametrize(
    ("case", "matched", "weights"),
    [
        (made([[1, 2], [3, 4]], [2]), 0, {}),
        (made([[1, 2, 3], [2, 4]], [1, 2]), 2, {(3,): 1}),
        (made([[1, 2], [2, 3]], [1, 2]), 1, {(3,): 1}),
        (made([[1, 1, 1, 1]], [1, 1]), 2, {(1,): 2, (1, 1): 1}),
        (made([[1, 2]], [1], (2, 4)), 0, {}),
    ],
)
def test_matches_and_weights(case: Case, matched: int, weights: dict) -> None:
    assert (Query.of(case).matched, dict(Query.of(case).weights)) == (matched, weights)


def test_what_ties_leave_free_is_not_required() -> None:
    """Of weights 2, 1, 1 a budget of 2 keeps the first, and one of the others."""
    case = made([[1, 0], [1, 2], [1, 2], [1, 3]], [1], m=1)
    assert [Query.of({**case, "budget": budget}).required for budget in (1, 2, 3)] == [{(2,)}, {(2,)}, {(0,), (2,), (3,)}]
    assert beginnings([(1, 2), (1,)]) == {(1,), (1, 2)}


@pytest.mark.parametrize("strategy", [corpora.found, corpora.pressed, corpora.lost, corpora.widened, corpora.ended, corpora.behind_unseen])
def test_searched_cases_are_lawful_and_small(strategy: st.SearchStrategy) -> None:
    @settings(max_examples=30, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy(ANYBODY))
    def search(case: Case) -> None:
        CONTRACTS["retriever"].check(case)
        assert len(Query.of(case).weights) <= AMPLE
        assert strategy is not corpora.lost or not Query.of(case).matched

    search()


def test_first_cases_are_lawful_and_meet_what_they_are_for() -> None:
    groups = {name: [Query.of(case) for case in getattr(corpora, name)(ANYBODY)] for name in ("plain", "tight", "at_the_end", "unmatched", "wide", "many")}
    assert all(query.matched for name, queries in groups.items() for query in queries if name != "unmatched")
    assert not any(query.matched for query in groups["unmatched"])
    assert [bool(query.matched) for query in map(Query.of, corpora.unseen(ANYBODY))] == [True, False, True, False]
    assert all(query.ended for query in groups["at_the_end"])
    assert all(len(query.weights) > query.budget for query in groups["tight"])
    assert len(groups["many"][0].continuations) > 5_000


def test_the_reference_finds_the_same(tmp_path) -> None:
    """Two derivations, on twenty random searches."""
    rng = random.Random(4)
    for number in range(20):
        corpus = [[rng.randrange(3) for _ in range(rng.randint(1, 8))] for _ in range(4)]
        query = Query.of(made(corpus, [rng.randrange(3) for _ in range(4)], (1, 4), 3, 5))
        with build(tmp_path / str(number), corpus, 3) as store:
            found = Rest(store, 4, 1, 3, 5).retrieve(query.context)
        assert (found.matched, found.occurrences) == (query.matched, len(query.continuations))
        assert all(query.weights[ids] == weight for ids, weight in found.prefixes)
        assert query.required <= {ids for ids, _ in found.prefixes}
