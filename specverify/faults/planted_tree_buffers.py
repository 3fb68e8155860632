"""Planted faults of `tree_buffers`. Each is a subject; the catalogue says what is wrong with it."""

from collections.abc import Callable, Hashable, Iterable, Sequence

import specverify as sv

Paths = list[list[int]]
Mask = list[list[bool]]
Buffers = tuple[Mask, list[int], list[list[int]]]
NONE = -1
STALE: dict[tuple[int, int], bool] = {}
"""What a mask's buffer was once set to."""


def trie(paths: Iterable[Iterable[int]]) -> list[tuple[int, ...]]:
    """Every distinct beginning, shorter ones first."""
    whole = [tuple(path) for path in paths]
    return sorted({path[: depth + 1] for path in whole for depth in range(len(path))}, key=lambda node: (len(node), node))


def parents_of(nodes: Sequence[tuple[int, ...]]) -> list[int]:
    """Each node's parent."""
    return [nodes.index(node[:-1]) if len(node) > 1 else NONE for node in nodes]


def branch_of(parents: list[int], node: int) -> list[int]:
    """From the context down to a node."""
    return [*(branch_of(parents, parents[node]) if parents[node] != NONE else []), node]


def mask_of(parents: list[int]) -> Mask:
    """Ancestor or self."""
    return [[j in branch_of(parents, i) for j in range(len(parents))] for i in range(len(parents))]


def branches_of(parents: list[int]) -> list[list[int]]:
    """One for each leaf."""
    return [branch_of(parents, node) for node in range(len(parents)) if node not in parents]


def rows_of(parents: list[int], pad: int = NONE) -> list[list[int]]:
    """Branches, then pads."""
    found = branches_of(parents)
    longest = max(map(len, found), default=0)
    return [branch + [pad] * (longest - len(branch)) for branch in found]


def positions_of(parents: list[int]) -> list[int]:
    """Depth, from 1."""
    return [len(branch_of(parents, node)) for node in range(len(parents))]


def buffers(parents: list[int]) -> Buffers:
    """The right ones of a tree."""
    return mask_of(parents), positions_of(parents), rows_of(parents)


def keyed(paths: Paths, key: Callable[[list[int]], Hashable]) -> list[int]:
    """Parents of a tree in which beginnings with one key are one node."""
    seen: dict[Hashable, int] = {}
    parents: list[int] = []
    for path in paths:
        above = NONE
        for depth in range(1, len(path) + 1):
            name = key(path[:depth])
            if name not in seen:
                seen[name] = len(parents)
                parents.append(above)
            above = seen[name]
    return parents


@sv.subject("tree_buffers", name="mask-transposed")
def mask_transposed(paths: Paths) -> Buffers:
    mask, positions, rows = buffers(parents_of(trie(paths)))
    return [list(column) for column in zip(*mask, strict=True)], positions, rows


@sv.subject("tree_buffers", name="first-children-see-each-other")
def first_children_see_each_other(paths: Paths) -> Buffers:
    parents = parents_of(trie(paths))
    mask, positions, rows = buffers(parents)
    return [[sees or parents[i] == parents[j] == NONE for j, sees in enumerate(row)] for i, row in enumerate(mask)], positions, rows


@sv.subject("tree_buffers", name="mask-without-grandparents")
def mask_without_grandparents(paths: Paths) -> Buffers:
    parents = parents_of(trie(paths))
    return [[j in (i, parents[i]) for j in range(len(parents))] for i in range(len(parents))], positions_of(parents), rows_of(parents)


@sv.subject("tree_buffers", name="stale-bits-in-the-mask")
def stale_bits_in_the_mask(paths: Paths) -> Buffers:
    mask, positions, rows = buffers(parents_of(trie(paths)))
    for i, row in enumerate(mask):
        for j, sees in enumerate(row):
            STALE[i, j] = STALE.get((i, j), False) or sees
    return [[STALE[i, j] for j in range(len(mask))] for i in range(len(mask))], positions, rows


@sv.subject("tree_buffers", name="mask-in-a-word")
def mask_in_a_word(paths: Paths) -> Buffers:
    mask, positions, rows = buffers(parents_of(trie(paths)))
    words = [sum(sees << j for j, sees in enumerate(row)) % 2**32 for row in mask]
    return [[bool(word >> j & 1) for j in range(len(mask))] for word in words], positions, rows


@sv.subject("tree_buffers", name="position-is-the-index")
def position_is_the_index(paths: Paths) -> Buffers:
    mask, _, rows = buffers(parents_of(trie(paths)))
    return mask, list(range(1, len(mask) + 1)), rows


@sv.subject("tree_buffers", name="positions-from-zero")
def positions_from_zero(paths: Paths) -> Buffers:
    mask, positions, rows = buffers(parents_of(trie(paths)))
    return mask, [position - 1 for position in positions], rows


@sv.subject("tree_buffers", name="position-of-the-last-parent")
def position_of_the_last_parent(paths: Paths) -> Buffers:
    nodes = sorted(trie(paths))  # depth first
    parents = parents_of(nodes)
    mask, _, rows = buffers(parents)
    last = [0] * len(nodes)
    for node, parent in enumerate(parents):
        last[node] = (last[node - 1] if node and parent != NONE else 0) + 1
    return mask, last, rows


@sv.subject("tree_buffers", name="equal-tokens-merged")
def equal_tokens_merged(paths: Paths) -> Buffers:
    return buffers(keyed(paths, lambda begun: (len(begun), begun[-1])))


@sv.subject("tree_buffers", name="repeated-paths-kept")
def repeated_paths_kept(paths: Paths) -> Buffers:
    once = trie(paths)
    again = [tuple(path) for i, path in enumerate(paths) if path in paths[:i]]
    parents = parents_of(once)
    for path in again:
        parents.append(once.index(path[:-1]) if len(path) > 1 else NONE)
    return buffers(parents)


@sv.subject("tree_buffers", name="merged-with-the-path-before")
def merged_with_the_path_before(paths: Paths) -> Buffers:
    parents: list[int] = []
    before: list[tuple[int, int]] = []
    for path in paths:
        shared = next((d for d, (token, node) in enumerate(zip(path, before, strict=False)) if token != node[0]), min(len(path), len(before)))
        branch = before[:shared]
        for token in path[shared:]:
            parents.append(branch[-1][1] if branch else NONE)
            branch.append((token, len(parents) - 1))
        before = branch
    return buffers(parents)


@sv.subject("tree_buffers", name="nodes-by-16-bit-ids")
def nodes_by_16_bit_ids(paths: Paths) -> Buffers:
    return buffers(keyed(paths, lambda begun: tuple(token % 2**16 for token in begun)))


@sv.subject("tree_buffers", name="branches-cut-to-the-shortest")
def branches_cut_to_the_shortest(paths: Paths) -> Buffers:
    parents = parents_of(trie(paths))
    shortest = min(map(len, branches_of(parents)), default=0)
    return mask_of(parents), positions_of(parents), [branch[:shortest] for branch in branches_of(parents)]


@sv.subject("tree_buffers", name="fails-at-depth-one")
def fails_at_depth_one(paths: Paths) -> Buffers:
    deeper = [node for node in trie(paths) if len(node) > 1]
    if not deeper:
        raise IndexError("no node below the first level")
    return buffers(parents_of(trie(paths)))


@sv.subject("tree_buffers", name="branches-padded-with-zero")
def branches_padded_with_zero(paths: Paths) -> Buffers:
    parents = parents_of(trie(paths))
    return mask_of(parents), positions_of(parents), rows_of(parents, 0)


@sv.subject("tree_buffers", name="branches-padded-with-the-leaf")
def branches_padded_with_the_leaf(paths: Paths) -> Buffers:
    parents = parents_of(trie(paths))
    found = branches_of(parents)
    longest = max(map(len, found), default=0)
    return mask_of(parents), positions_of(parents), [branch + branch[-1:] * (longest - len(branch)) for branch in found]
