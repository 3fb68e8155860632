"""Planted faults of `retriever`. Each is a subject; the catalogue says what is wrong with it. They search without an index, and load no torch."""

import random
from collections import Counter

import specverify as sv

Ids = tuple[int, ...]
Rows = list[list[int]]
Found = list[tuple[Ids, int]]

FIRST = 5_000
"""Hits that the released code looks at."""
GUESS = 100
"""What it proposes where nothing is found."""


def _following(corpus: Rows, suffix: list[int]) -> Rows:
    """What follows each occurrence, to the end of its document."""
    n = len(suffix)
    return [row[i + n :] for row in corpus for i in range(len(row) - n) if row[i : i + n] == suffix]


def _longest(corpus: Rows, context: list[int], n_min: int, n_max: int) -> Rows:
    for n in range(min(n_max, len(context)), n_min - 1, -1):
        if found := _following(corpus, context[-n:]):
            return found
    return []


def _weights(found: Rows, m: int) -> "Counter[Ids]":
    return Counter(tuple(ids[:depth]) for ids in found for depth in range(1, min(m, len(ids)) + 1))


def _heaviest(weights: "Counter[Ids]", budget: int) -> Found:
    return sorted(weights.items(), key=lambda one: (-one[1], len(one[0]), one[0]))[:budget]


def _right(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _heaviest(_weights(_longest(corpus, context, n_min, n_max), m), budget)


@sv.subject("retriever", name="root-among-the-candidates")
def root_among_the_candidates(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    found = _longest(corpus, context, n_min, n_max)
    return [((), len(found)), *_heaviest(_weights(found, m), budget - 1)] if found else []


@sv.subject("retriever", name="documents-joined")
def documents_joined(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _right([[token for row in corpus for token in row]], context, n_min, n_max, m, budget)


@sv.subject("retriever", name="shortest-match")
def shortest_match(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _right(corpus, context, n_min, min(n_min, n_max), m, budget)


@sv.subject("retriever", name="n-max-ignored")
def n_max_ignored(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _right(corpus, context, n_min, max(n_max, len(context)), m, budget)


@sv.subject("retriever", name="n-min-ignored")
def n_min_ignored(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _right(corpus, context, min(n_min, 1), n_max, m, budget)


@sv.subject("retriever", name="end-of-a-document-matches")
def end_of_a_document_matches(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    for n in range(min(n_max, len(context)), n_min - 1, -1):
        suffix = context[-n:]
        if any(row[i : i + n] == suffix for row in corpus for i in range(len(row) - n + 1)):
            return _heaviest(_weights(_following(corpus, suffix), m), budget)
    return []


@sv.subject("retriever", name="continuation-one-long")
def continuation_one_long(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _right(corpus, context, n_min, n_max, m + 1, budget)


@sv.subject("retriever", name="continuation-one-short")
def continuation_one_short(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _right(corpus, context, n_min, n_max, max(m - 1, 1), budget)


@sv.subject("retriever", name="weights-of-a-sample")
def weights_of_a_sample(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    found = _longest(corpus, context, n_min, n_max)
    seen = _weights(found[::2], m)
    return [(ids, max(seen[ids], 1)) for ids, _ in _heaviest(_weights(found, m), budget)]


@sv.subject("retriever", name="overlaps-skipped")
def overlaps_skipped(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    for n in range(min(n_max, len(context)), n_min - 1, -1):
        found: Rows = []
        for row in corpus:
            i = 0
            while i < len(row) - n:
                hit = row[i : i + n] == context[-n:]
                found.extend([row[i + n :]] * hit)
                i += n if hit else 1
        if found:
            return _heaviest(_weights(found, m), budget)
    return []


@sv.subject("retriever", name="ties-not-cut")
def ties_not_cut(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    weights = _weights(_longest(corpus, context, n_min, n_max), m)
    least = min((weight for _, weight in _heaviest(weights, budget)), default=0)
    return [(ids, weight) for ids, weight in weights.items() if weight >= least]


@sv.subject("retriever", name="deeper-before-shallower")
def deeper_before_shallower(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    weights = _weights(_longest(corpus, context, n_min, n_max), m)
    return sorted(weights.items(), key=lambda one: (-one[1], -len(one[0]), one[0]))[:budget]


@sv.subject("retriever", name="longest-paths-dropped")
def longest_paths_dropped(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    weights = _weights(_longest(corpus, context, n_min, n_max), m)
    return sorted(weights.items(), key=lambda one: (len(one[0]), -one[1], one[0]))[:budget]


@sv.subject("retriever", name="lightest-kept")
def lightest_kept(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    weights = _weights(_longest(corpus, context, n_min, n_max), m)
    ranked = sorted(weights.items(), key=lambda one: (len(one[0]), one[1], one[0]))
    kept: dict[Ids, int] = {}
    for ids, weight in ranked:
        if len(kept) < budget and (len(ids) == 1 or ids[:-1] in kept):
            kept[ids] = weight
    return list(kept.items())


@sv.subject("retriever", name="unseen-id-raises")
def unseen_id_raises(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    known = {token: i for i, token in enumerate(sorted({token for row in corpus for token in row}))}
    names = list(known)
    found = _right([[known[token] for token in row] for row in corpus], [known[token] for token in context], n_min, n_max, m, budget)
    return [(tuple(names[i] for i in ids), weight) for ids, weight in found]


@sv.subject("retriever", name="guess-where-nothing-is-found")
def guess_where_nothing_is_found(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _right(corpus, context, n_min, n_max, m, budget) or [((GUESS,), 1)]


@sv.subject("retriever", name="ids-in-16-bits")
def ids_in_16_bits(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _right([[token % 65_536 for token in row] for row in corpus], [token % 65_536 for token in context], n_min, n_max, m, budget)


@sv.subject("retriever", name="first-hits-of-the-sorted")
def first_hits_of_the_sorted(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    return _heaviest(_weights(sorted(_longest(corpus, context, n_min, n_max))[:FIRST], m), budget)


@sv.subject("retriever", name="ties-by-a-random-hash")
def ties_by_a_random_hash(corpus: Rows, context: list[int], n_min: int, n_max: int, m: int, budget: int) -> Found:
    weights = _weights(_longest(corpus, context, n_min, n_max), m)
    salt = {ids: random.random() for ids in weights}
    return sorted(weights.items(), key=lambda one: (-one[1], len(one[0]), salt[one[0]]))[:budget]
