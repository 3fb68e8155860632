"""Correct twins of draft trees: other hands' styles, each lawful, each tempting.

Written from the mathematics alone (shared/spec/theory.md 1c, 1d). The first line of each says what is unusual and why it is lawful.
"""

import itertools
import random

import numpy as np
import torch

import specverify as sv

# tree_buffers ----------------------------------------------------------------------------------------------------------------


@sv.subject("tree_buffers")
def trb_depth_first(paths):
    """Numbers nodes depth first, tells their tokens, and fills rows up to a fixed width: any order is right, and pads may be many."""
    tokens, parents, depths, rows = [], [], [], []

    def grow(parent, depth, tails):
        heads = dict.fromkeys(tail[0] for tail in tails if tail)
        for head in heads:
            node = len(tokens)
            tokens.append(head)
            parents.append(parent)
            depths.append(depth)
            grow(node, depth + 1, [tail[1:] for tail in tails if tail and tail[0] == head])
        if not heads and parent >= 0:
            rows.append(parent)

    grow(-1, 1, paths)
    mask = torch.eye(len(tokens))
    for node, parent in enumerate(parents):
        if parent >= 0:
            mask[node] += mask[parent]
    retrieve = torch.full((len(rows), 8), -1, dtype=torch.int32)
    for i, leaf in enumerate(rows):
        branch = mask[leaf].nonzero()[:, 0]
        retrieve[i, : len(branch)] = branch
    return mask, mask.sum(-1).int(), retrieve, torch.tensor(tokens, dtype=torch.int32)


@sv.subject("tree_buffers", conventions={"pad": -100})
def trb_sorted_paths(paths):
    """Sorts paths and shares beginnings with the one before; numpy, and a pad of its own that is declared."""
    nodes = sorted({tuple(path[:n]) for path in paths for n in range(1, len(path) + 1)})
    mask = np.array([[a[: len(b)] == b for b in nodes] for a in nodes], dtype=np.int8).reshape(len(nodes), len(nodes))
    leaves = [a for a in nodes if not any(b[:-1] == a for b in nodes)]
    deepest = max(map(len, leaves), default=0)
    rows = np.full((len(leaves), deepest), -100)
    for row, leaf in zip(rows, leaves, strict=True):
        row[: len(leaf)] = [nodes.index(leaf[:n]) for n in range(1, len(leaf) + 1)]
    return mask, mask.sum(1, dtype=np.int64), rows


@sv.subject("tree_buffers")
def trb_context_cut_off(paths):
    """Builds the tree with a node for the context, as Medusa's buffers have it, and cuts that off; a matrix power closes the relation."""
    nodes = [(), *sorted({tuple(path[:n]) for path in paths for n in range(1, len(path) + 1)}, key=len)]
    step = torch.tensor([[bool(a) and a[:-1] == b for b in nodes] for a in nodes]).double()
    mask = (torch.eye(len(nodes)).double() + step).matrix_power(len(nodes)) > 0
    leaves = (step.sum(0) == 0).nonzero()[:, 0].tolist()
    rows = [[i for i in range(len(nodes)) if mask[leaf, i]] for leaf in leaves]
    rows = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    return mask[1:, 1:], mask.sum(1)[1:] - 1, rows[:, 1:] - 1


@sv.subject("tree_buffers")
def trb_row_for_each_path(paths):
    """Keeps a row for each path given, the repeated ones and those that begin another too: wasteful, and right for who compares argmaxes. Rows are ragged."""
    numbers = {}
    for path, n in itertools.product(paths, range(1, 9)):
        numbers.setdefault(tuple(path[:n]), len(numbers)) if n <= len(path) else None
    found = list(numbers)
    mask = [[a[: len(b)] == b for b in found] for a in found]
    return mask, [len(a) for a in found], [[numbers[tuple(path[:n])] for n in range(1, len(path) + 1)] for path in paths]


# verify_tree_greedy ----------------------------------------------------------------------------------------------------------


@sv.subject("verify_tree_greedy", dtypes=("float64", "float32", "float16", "bfloat16"), conventions={"pad": -7})
def trg_branches_compared_at_once(logits, parents, tokens):
    """Rows of branches filled up with -1, all compared at once; pads are masked out before anything is looked up. The path keeps its pads."""
    n = len(tokens)
    rows = []
    for leaf in range(n):
        branch, node = [], leaf
        while node >= 0:
            branch, node = [node, *branch], int(parents[node])
        if leaf not in parents.tolist():
            rows.append(branch)
    if not rows:
        return [], int(logits[0].argmax())
    longest = max(map(len, rows))
    nodes = torch.tensor([row + [-1] * (longest - len(row)) for row in rows])
    real = nodes >= 0
    above = torch.cat([torch.zeros(len(rows), 1, dtype=torch.long), nodes[:, :-1].clamp(min=0) + 1], 1)
    agrees = real & (tokens[nodes.clamp(min=0)] == logits.argmax(-1)[above])
    lengths = agrees.long().cumprod(1).sum(1)
    best = int(lengths.argmax())
    path = torch.where(torch.arange(longest) < lengths[best], nodes[best], -1)
    last = int(path[lengths[best] - 1]) + 1 if lengths[best] else 0
    return path, logits[last].argmax()


@sv.subject("verify_tree_greedy", arrays="list", conventions={"order": "depth-first"})
def trg_any_of_equal_argmaxes(logits, parents, tokens):
    """Lists and recursion; follows any child that ties with the argmax, and emits the last of equals: each token is an argmax."""

    def below(place):
        row = logits[place + 1]
        for node, parent in enumerate(parents):
            if parent == place and row[tokens[node]] == max(row):
                path, token = below(node)
                return [node, *path], token
        return [], len(row) - 1 - row[::-1].index(max(row))

    return below(-1)


@sv.subject("verify_tree_greedy", arrays="numpy", dtypes=("float64", "float32"), conventions={"order": "parents first", "pad": -1})
def trg_flags_from_the_top(logits, parents, tokens):
    """numpy, one pass over nodes in any order that has parents first: a flag for each node; the last flag that is set wins, equal depths do not matter."""
    best = logits.argmax(1)
    depth = np.zeros(len(tokens) + 1, dtype=int)
    depth[0] = 1
    for node, (parent, token) in enumerate(zip(parents, tokens, strict=True)):
        if depth[parent + 1] and token == best[parent + 1]:
            depth[node + 1] = depth[parent + 1] + 1
    place, path = int(depth.argmax()), []
    while depth[place] > 1:
        path.append(place - 1)
        place = int(parents[place - 1]) + 1
    return np.array(path[::-1], dtype=np.int32), best[path[0] + 1 if path else 0]


@sv.subject("verify_tree_greedy", mutates=("logits",))
def trg_first_child_alone(logits, parents, tokens):
    """Tries the first child of each node alone, and writes into the logits, which it declares: slower than it could be, and right."""
    place, path = -1, []
    while True:
        row = logits[place + 1]
        token = int(row.argmax())
        row.fill_(0)
        first = next((node for node, parent in enumerate(parents.tolist()) if parent == place), None)
        if first is None or tokens[first] != token:
            return path, token
        place = first
        path.append(first)


@sv.subject("verify_tree_greedy")
def trg_refuses_equal_siblings(logits, parents, tokens):
    """A dict from (parent, token) to node, which refuses equal siblings and trees without nodes: trees of merged paths have neither."""
    best, child = logits.argmax(-1).tolist(), {}
    for node, key in enumerate(zip(parents.tolist(), tokens.tolist(), strict=True)):
        if key in child:
            raise ValueError(f"node {node} is node {child[key]} again")
        child[key] = node
    if not child:
        raise ValueError("no node")
    path = []
    while (path[-1] if path else -1, best[path[-1] + 1 if path else 0]) in child:
        path.append(child[path[-1] if path else -1, best[path[-1] + 1 if path else 0]])
    return tuple(path), best[path[-1] + 1 if path else 0]


# verify_tree -----------------------------------------------------------------------------------------------------------------


def down(p, parents, visit):
    """From the context down: visit(place, children) gives the child that is accepted or None, and the token after the path where none is."""
    path = []
    while True:
        place = path[-1] + 1 if path else 0
        found, token = visit(place, [node for node, parent in enumerate(parents) if parent == place - 1])
        if found is None:
            return path, token
        path.append(found)


@sv.subject("verify_tree", siblings="with-replacement", rule="sample-and-match", conventions={"pad": -1})
def tre_matches_a_draw(p, q, parents, tokens):
    """Draws from p at each node, once, and goes to the first child that equals it; q is not read, so how the children were drawn does not matter."""

    def visit(place, below):
        drawn = torch.multinomial(p[place], 1)[0]
        return next((node for node in below if tokens[node] == drawn), None), int(drawn)

    return down(p, parents.tolist(), visit)


@sv.subject("verify_tree", siblings="without-replacement", rule="standard", seed="generator")
def tre_weights_never_normalised(p, q, parents, tokens, generator):
    """Recursive rejection on weights: what is left of p and of q is compared by cross multiplication, and nothing is divided."""

    def visit(place, below):
        left, drawn = p[place], q[place].clone()
        for node in below:
            x = tokens[node]
            if torch.rand((), generator=generator) * drawn[x] * left.sum() < left[x] * drawn.sum():
                return node, None
            rest = (left * drawn.sum() - drawn * left.sum()).clamp(min=0)
            left = rest if rest.sum() > 0 else left
            drawn[x] = 0
        return None, int(torch.multinomial(left, 1, generator=generator))

    return down(p, parents.tolist(), visit)


@sv.subject("verify_tree", siblings="deterministic", rule="standard", arrays="list", conventions={"order": "depth-first"})
def tre_one_uniform_for_all_siblings(p, q, parents, tokens):
    """Lists and one number of `random` at each place: it falls on a child, in their order, or on what is left of the row behind them."""

    def visit(place, below):
        u, row = random.random() * sum(p[place]), list(p[place])
        for node in below:
            weight, row[tokens[node]] = row[tokens[node]], 0.0
            if u < weight:
                return node, None
            u -= weight
        return None, next((token for token, weight in enumerate(itertools.accumulate(row)) if u < weight), p[place].index(max(p[place])))

    return down(p, parents, visit)


@sv.subject("verify_tree", siblings="with-replacement", rule="standard", arrays="numpy", dtypes=("float64", "float32"), conventions={"pad": -1})
def tre_numpy_recursive(p, q, parents, tokens):
    """numpy's own generator; a child is refused by a comparison of uniforms made ahead, one for each node."""
    coins = np.random.random(len(tokens) + 1)

    def visit(place, below):
        left = p[place].astype(np.float64)
        for node in below:
            if tokens[node] < 0:
                continue
            if coins[node] * q[place, tokens[node]] < left[tokens[node]]:
                return node, None
            rest = np.maximum(left - q[place], 0)
            left = rest / rest.sum() if rest.sum() > 0 else left
        return None, np.random.choice(len(left), p=left / left.sum())

    return down(p, parents.tolist(), visit)


# build_tree ------------------------------------------------------------------------------------------------------------------


@sv.subject("build_tree")
def trb_relation_closed(parents, selected):
    """Closes the parent relation of all candidates by a matrix power, cuts out those chosen, and reads links off it; positions stand behind a context of 1,000."""
    n = len(parents)
    step = torch.eye(n + 1).double()
    step[torch.arange(1, n + 1), parents + 1] = 1
    chosen = torch.cat([torch.zeros(1, dtype=torch.long), selected + 1])
    mask = (step.matrix_power(n + 1) > 0)[chosen][:, chosen]
    children = (step > 0)[chosen][:, chosen].T.clone().fill_diagonal_(False)
    found = [row.nonzero()[:, 0].tolist() for row in children]
    first = [row[0] if row else -1 for row in found]
    following = {a: b for row in found for a, b in itertools.pairwise(row)}
    return mask, 999 + mask.sum(-1), first, [following.get(slot, -1) for slot in range(len(chosen))]


@sv.subject("build_tree", conventions={"mask": "packed", "word": 8, "bits": "high first", "end": 255, "unused": 7})
def trb_bytes_high_first(parents, selected):
    """128 slots in bytes, the first slot in the highest bit, as numpy packs them; lists end with 255, and unused slots hold 7: all declared. Unused rows hold noise."""
    chosen, slots = selected.tolist(), 128
    at = {-1: 0, **{node: slot for slot, node in enumerate(chosen, 1)}}
    mask = np.random.default_rng(0).random((slots, slots)) < 0.5
    positions, first, sibling = np.full(slots, 7), np.full(slots, 7), np.full(slots, 7)
    used = len(chosen) + 1
    mask[:used], positions[:used], first[:used], sibling[:used] = False, 0, 255, 255
    mask[0, 0], last = True, {}
    for slot, node in enumerate(chosen, 1):
        parent = at[int(parents[node])]
        mask[slot], positions[slot] = mask[parent], positions[parent] + 1
        mask[slot, slot] = True
        if parent in last:
            sibling[last[parent]] = slot
        else:
            first[parent] = slot
        last[parent] = slot
    return np.packbits(mask, axis=1), positions, first, sibling


@sv.subject("build_tree", conventions={"mask": "full", "siblings": "any"})
def trb_last_child_first(parents, selected):
    """Hangs each node before its siblings, so that lists run backwards, which is declared; a mask over a cache of three and floats; random numbers in unused slots."""
    chosen, slots = selected.tolist(), len(selected) + 1 + random.randrange(4)
    numbers = [random.randrange(-9, 99) for _ in range(3 * slots)]
    positions, first, sibling = numbers[:slots], numbers[slots : 2 * slots], numbers[2 * slots :]
    mask = torch.full((slots, 3 + slots), float("nan"))
    for slot, node in enumerate([None, *chosen]):
        parent = 0 if node is None or parents[node] < 0 else chosen.index(parents[node]) + 1
        mask[slot] = torch.cat([torch.ones(3), torch.zeros(slots)]) if node is None else mask[parent]
        mask[slot, 3 + slot] = 1
        positions[slot], first[slot], sibling[slot] = (0, -1, -1) if node is None else (positions[parent] + 1, -1, first[parent])
        if node is not None:
            first[parent] = slot
    return mask, positions, first, sibling


@sv.subject("build_tree", conventions={"mask": "packed"})
def trb_signed_words(parents, selected):
    """Words of 64 bits as int64, so that the highest bit makes them negative."""
    chosen = selected.tolist()
    above = [None, *(0 if parents[node] < 0 else chosen.index(parents[node]) + 1 for node in chosen)]
    rows, children = [1], [[] for _ in above]
    for slot, parent in enumerate(above[1:], 1):
        rows.append(rows[parent] | 1 << slot)
        children[parent].append(slot)
    words = [[(row >> 64 * w) % 2**64 for w in range(1 + len(above) // 64)] for row in rows]
    mask = torch.tensor([[word - 2**64 * (word >> 63) for word in row] for row in words])
    sibling = [next(iter(children[above[s]][children[above[s]].index(s) + 1 :]), -1) if s else -1 for s in range(len(above))]
    return mask, [row.bit_count() for row in rows], [row[0] if row else -1 for row in children], sibling
