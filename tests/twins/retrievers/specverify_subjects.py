"""Correct twins of the retriever: other hands' styles, each lawful, each tempting. They load no torch, so that they are judged in moments.

Written from the paper alone (2311.08252, algorithms 1 and 2). The first line of each says what is unusual and why it is lawful.
"""

import bisect
import collections
import functools
import heapq
import itertools
import random
import re
import typing

import numpy as np

import specverify as sv


def beginnings(continuations):
    """How many continuations begin with each."""
    return collections.Counter(tuple(ids[:n]) for ids in continuations for n in range(1, len(ids) + 1))


def lightest_popped(weights, budget, tie=lambda ids: (len(ids), ids)):
    """Algorithm 2: pop the lightest while there are more than the budget; of equal ones the last in the order of ties."""
    kept = sorted(weights, key=lambda ids: (-weights[ids], *tie(ids)))
    while len(kept) > budget:
        kept.pop()
    return [(ids, weights[ids]) for ids in kept]


def matches(corpus, context, n_min, n_max, m):
    """Continuations behind the longest suffix that goes on."""
    for n in range(n_max, n_min - 1, -1):
        if n > len(context):
            continue
        hits = [row[i : i + m] for row in corpus for i in range(n, len(row)) if row[i - n : i] == context[-n:]]
        if hits:
            return hits
    return []


@sv.subject("retriever")
def rtr_nested_dicts(corpus, context, n_min, n_max, m, budget):
    """A trie of nested dicts, opened breadth first; the result is a mapping, its order that of the trie."""
    root = {}
    for ids in matches(corpus, context, n_min, n_max, m):
        node = root
        for token in ids:
            node = node.setdefault(token, {None: 0})
            node[None] += 1
    found, waiting = {}, collections.deque([((), root)])
    while waiting:
        path, node = waiting.popleft()
        for token, child in node.items():
            if token is not None:
                found[(*path, token)] = child[None]
                waiting.append(((*path, token), child))
    return dict(lightest_popped(found, budget))


class SuffixArray:
    """Sorted places of a text whose documents end with -1; every query is an interval of them."""

    def __init__(self, corpus):
        self.text = [token for row in corpus for token in (*row, -1)]
        self.places = sorted(range(len(self.text)), key=lambda i: self.text[i : i + 64])

    def interval(self, query):
        """Suffixes that begin with the query and go on: those that end come first, since -1 is the least."""
        at = lambda i: self.text[i : i + len(query) + 1]
        return bisect.bisect_right(self.places, [*query, -1], key=at), bisect.bisect_left(self.places, [*query, 2**40], key=at)

    def search(self, context, n_min, n_max, m, budget):
        """Halves the length: where n ids are found, fewer are."""
        low, high, best = n_min, min(n_max, len(context)), (0, 0, 0)
        while low <= high:
            n = (low + high) // 2
            start, end = self.interval(context[len(context) - n :])
            low, high, best = (n + 1, high, (n, start, end)) if end > start else (low, n - 1, best)
        n, start, end = best
        rows = [self.text[i + n : i + n + m] for i in self.places[start:end]]
        return lightest_popped(beginnings([tuple(itertools.takewhile(lambda token: token >= 0, row)) for row in rows]), budget)


@sv.subject("retriever")
def rtr_suffix_array(corpus, context, n_min, n_max, m, budget):
    """A class that is built and searched."""
    return SuffixArray(corpus).search(context, n_min=n_min, n_max=n_max, m=m, budget=budget)


@functools.cache
def remembered(rows):
    return SuffixArray(rows)


@sv.subject("retriever")
def rtr_store_kept(corpus, context, n_min, n_max, m, budget):
    """One store for all searches in equal corpora, kept for ever."""
    return tuple(remembered(tuple(map(tuple, corpus))).search(context, n_min, n_max, m, budget))


@sv.subject("retriever", arrays="numpy")
def rtr_numpy(corpus, context, n_min, n_max, m, budget):
    """Windows of one array, documents ended by -1; ids are int32 arrays, weights numpy numbers."""
    text = np.array([token for row in corpus for token in (*row, *[-1] * m)] + [-1] * m, dtype=np.int32)
    for n in range(min(n_max, len(context)), n_min - 1, -1):
        windows = np.lib.stride_tricks.sliding_window_view(text, n + m) if len(text) >= n + m else np.empty((0, n + m), np.int32)
        hits = windows[(windows[:, :n] == context[-n:]).all(axis=1) & (windows[:, n] >= 0)][:, n:]
        if len(hits):
            break
    else:
        return np.empty((0, m), np.int32)
    found = []
    for depth in range(1, m + 1):
        rows, counts = np.unique(hits[hits[:, depth - 1] >= 0][:, :depth], axis=0, return_counts=True)
        found += list(zip(rows, counts, strict=True))
    order = np.argsort([-count for _, count in found], kind="stable")[:budget]
    return [found[i] for i in order]


@sv.subject("retriever")
def rtr_greatest_ids_first(corpus, context, n_min, n_max, m, budget):
    """Another rule of ties: the deepest chain of the greatest ids first, as far as it hangs together; the result in the order of its ids."""
    weights = beginnings(matches(corpus, context, n_min, n_max, m))
    return sorted(lightest_popped(weights, budget, tie=lambda ids: ([-token for token in ids],)))


@sv.subject("retriever")
def rtr_ties_drawn_once(corpus, context, n_min, n_max, m, budget):
    """Ties in an order that is drawn, from a generator of the arguments: the same each time."""
    rng = random.Random(repr((corpus, context, n_min, n_max, m)))
    weights = beginnings(matches(corpus, context, n_min, n_max, m))
    luck = {ids: rng.random() for ids in sorted(weights)}
    found = lightest_popped(weights, budget, tie=lambda ids: (len(ids), luck[ids]))
    random.shuffle(found)  # the order of the result is free
    return found


@sv.subject("retriever", conventions={"prefixes": "leaves"})
def rtr_longest_paths(corpus, context, n_min, n_max, m, budget):
    """Only the leaves of the kept tree come back, as declared."""
    kept = dict(lightest_popped(beginnings(matches(corpus, context, n_min, n_max, m)), budget))
    inner = {ids[:-1] for ids in kept}
    return [(list(ids), kept[ids]) for ids in kept if ids not in inner]


@sv.subject("retriever", conventions={"prefixes": "leaves", "weights": "none"})
def rtr_bare_paths(corpus, context, n_min, n_max, m, budget):
    """Bare paths without weights, as declared; None where nothing is found."""
    kept = dict(lightest_popped(beginnings(matches(corpus, context, n_min, n_max, m)), budget))
    return [ids for ids in kept if not any(other[: len(ids)] == ids and other != ids for other in kept)] or None


@sv.subject("retriever", conventions={"weights": "none"})
def rtr_shares(corpus, context, n_min, n_max, m, budget):
    """Shares in the place of counts; declared as no weights, and not judged."""
    hits = matches(corpus, context, n_min, n_max, m)
    return [(ids, weight / len(hits)) for ids, weight in lightest_popped(beginnings(hits), budget)]


@sv.subject("retriever", conventions={"cap": 3})
def rtr_capped(corpus, context, n_min, n_max, m, budget):
    """Looks at three occurrences, evenly spaced, as declared."""
    hits = matches(corpus, context, n_min, n_max, m)
    return lightest_popped(beginnings(hits if len(hits) <= 3 else hits[:: -(-len(hits) // 3)]), budget)


@sv.subject("retriever")
def rtr_ties_dropped(corpus, context, n_min, n_max, m, budget):
    """Where not all of a weight fit, none of them is kept, but for the first of all: less than the budget allows, an advisory."""
    found = lightest_popped(beginnings(matches(corpus, context, n_min, n_max, m)), budget + 1)
    if len(found) <= budget:
        return found
    return [one for one in found if one[1] > found[-1][1]] or found[:1]


class Draft(typing.NamedTuple):
    """A pair with names."""

    ids: list
    weight: float


@sv.subject("retriever")
def rtr_bytes(corpus, context, n_min, n_max, m, budget):
    """Finds bytes in bytes, four to an id, document by document; weights are whole floats."""
    pack = lambda ids: b"".join(token.to_bytes(4, "big") for token in ids)
    hits = []
    for n in range(min(n_max, len(context)), n_min - 1, -1):
        sought = pack(context[-n:])
        for row in corpus:
            text, at = pack(row), -1
            while (at := text.find(sought, at + 1)) >= 0:
                if at % 4 == 0 and at + len(sought) < len(text):
                    hits.append(row[at // 4 + n :][:m])
        if hits:
            break
    return [Draft(list(ids), float(weight)) for ids, weight in lightest_popped(beginnings(hits), budget)]


@sv.subject("retriever")
def rtr_regular_expression(corpus, context, n_min, n_max, m, budget):
    """Ids are characters, occurrences that overlap are found by looking ahead; an empty corpus is refused."""
    if not any(corpus):
        raise ValueError("nothing to search in")
    texts = ["".join(map(chr, row)) for row in corpus]
    for n in range(min(n_max, len(context)), n_min - 1, -1):
        sought = re.escape("".join(map(chr, context[-n:])))
        hits = [found[1] for text in texts for found in re.finditer(f"(?={sought}(.{{1,{m}}}))", text, re.DOTALL)]
        if hits:
            return lightest_popped(beginnings([tuple(map(ord, text)) for text in hits]), budget)
    return []


@sv.subject("retriever")
def rtr_corpus_emptied(corpus, context, n_min, n_max, m, budget):
    """Takes the corpus apart while it indexes all suffixes of up to n_max ids in a dict, undeclared: bad manners, the result is right."""
    index = collections.defaultdict(list)
    while corpus:
        row = corpus.pop()
        for i in range(1, len(row)):
            for n in range(n_min, min(n_max, i) + 1):
                index[tuple(row[i - n : i])].append(row[i : i + m])
    keys = (tuple(context[-n:]) for n in range(min(n_max, len(context)), n_min - 1, -1))
    return lightest_popped(beginnings(next((index[key] for key in keys if key in index), [])), budget)


@sv.subject("retriever")
def rtr_best_first(corpus, context, n_min, n_max, m, budget):
    """Opens the heaviest beginning first, from a heap: ties as they come, the parent before its child."""
    hits = matches(corpus, context, n_min, n_max, m)
    heap, found, pushed = [(-len(hits), 0, (), hits)], [], itertools.count(1)
    while heap and len(found) <= budget:
        weight, _, path, inside = heapq.heappop(heap)
        found.append((path, -weight))
        groups = collections.defaultdict(list)
        for ids in inside:
            if len(ids) > len(path):
                groups[ids[len(path)]].append(ids)
        for token, group in groups.items():
            heapq.heappush(heap, (-len(group), next(pushed), (*path, token), group))
    return found[1:]
