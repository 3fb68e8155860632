"""Planted faults of `verify_tree_greedy`. Each is a subject; the catalogue says what is wrong with it."""

from torch import Tensor

import specverify as sv

Step = tuple[list[int], int]
NONE = -1


def walk(best: list[int], parents: list[int], tokens: list[int]) -> list[int]:
    """The right path: from the context to the child that is the argmax, while there is one."""
    path: list[int] = []
    place = NONE
    while True:
        found = [node for node, parent in enumerate(parents) if parent == place and tokens[node] == best[place + 1]]
        if not found:
            return path
        place = found[0]
        path.append(place)


def branches(parents: list[int]) -> list[list[int]]:
    """From the context down to each node."""
    found: list[list[int]] = []
    for node, parent in enumerate(parents):
        found.append([*(found[parent] if parent != NONE else []), node])
    return found


def agreeing(best: list[int], parents: list[int], tokens: list[int]) -> list[bool]:
    """Whether each node is the argmax of the row above it."""
    return [token == best[parent + 1] for parent, token in zip(parents, tokens, strict=True)]


def whole_rows(logits: Tensor, parents: Tensor, tokens: Tensor) -> tuple[list[int], list[int], list[int]]:
    """The argmax of each row, and the arguments as lists."""
    return logits.argmax(-1).tolist(), parents.tolist(), tokens.tolist()


@sv.subject("verify_tree_greedy", name="tree-taken-for-a-chain")
def tree_taken_for_a_chain(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, _, drafted = whole_rows(logits, parents, tokens)
    n = 0
    while n < len(drafted) and drafted[n] == best[n]:
        n += 1
    return list(range(n)), best[n]


@sv.subject("verify_tree_greedy", name="path-from-the-leaf-up")
def path_from_the_leaf_up(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    path = walk(best, above, drafted)
    return path[::-1], best[path[-1] + 1 if path else 0]


@sv.subject("verify_tree_greedy", name="agrees-by-itself")
def agrees_by_itself(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    fitting = [branch for branch, agrees in zip(branches(above), agreeing(best, above, drafted), strict=True) if agrees]
    path = max(fitting, key=len, default=[])
    return path, best[path[-1] + 1 if path else 0]


@sv.subject("verify_tree_greedy", name="agreements-counted")
def agreements_counted(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    agrees = agreeing(best, above, drafted)
    path = max((branch[: sum(agrees[node] for node in branch)] for branch in branches(above)), key=len, default=[])
    return path, best[path[-1] + 1 if path else 0]


@sv.subject("verify_tree_greedy", name="judged-by-its-own-row")
def judged_by_its_own_row(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    fits = [token == best[node + 1] for node, token in enumerate(drafted)]
    path = max((branch for branch in branches(above) if all(fits[node] for node in branch)), key=len, default=[])
    return path, best[path[-1] + 1 if path else 0]


@sv.subject("verify_tree_greedy", name="next-token-of-the-last-node")
def next_token_of_the_last_node(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    path = walk(best, above, drafted)
    return path, best[-1] if path else best[0]


@sv.subject("verify_tree_greedy", name="next-token-of-the-depth")
def next_token_of_the_depth(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    path = walk(best, above, drafted)
    return path, best[len(path)]


def ragged(best: list[int], parents: list[int], tokens: list[int], pad_agrees: list[bool]) -> Step:
    """Branches as rows filled up with -1, compared place by place; whether a pad agrees depends on the row above it."""
    rows = [branch for node, branch in enumerate(branches(parents)) if node not in parents]
    longest = max(map(len, rows), default=0)
    agrees = agreeing(best, parents, tokens)
    taken: tuple[int, list[int]] = (0, [])
    for row in rows:
        padded, n = row + [NONE] * (longest - len(row)), 0
        while n < longest and (agrees[padded[n]] if padded[n] != NONE else pad_agrees[(padded[n - 1] if n else NONE) + 1]):
            n += 1
        taken = max(taken, (n, padded), key=lambda one: one[0])
    n, padded = taken
    return padded[:n], best[padded[n - 1] + 1 if n and padded[n - 1] != NONE else -1 if n else 0]


@sv.subject("verify_tree_greedy", name="ragged-branches-read-token-0")
def ragged_branches_read_token_0(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    return ragged(best, above, drafted, [token == 0 for token in best])


@sv.subject("verify_tree_greedy", name="ragged-branches-read-the-last-token")
def ragged_branches_read_the_last_token(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    return ragged(best, above, drafted, (logits[:, NONE] == logits.amax(-1)).tolist())


@sv.subject("verify_tree_greedy", name="pads-clamped-to-token-0", conventions={"pad": NONE})
def pads_clamped_to_token_0(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens.clamp(min=0))
    path = walk(best, above, drafted)
    return path, best[path[-1] + 1 if path else 0]


@sv.subject("verify_tree_greedy", name="pads-read-from-the-end", conventions={"pad": NONE})
def pads_read_from_the_end(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens % logits.shape[1])
    path = walk(best, above, drafted)
    return path, best[path[-1] + 1 if path else 0]


@sv.subject("verify_tree_greedy", name="next-token-of-the-last-slot", conventions={"pad": NONE})
def next_token_of_the_last_slot(logits: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    best, above, drafted = whole_rows(logits, parents, tokens)
    path = walk(best, above, drafted)
    last = path[-1] if path else NONE
    held = [node for node, token in enumerate(drafted) if token != NONE]
    at_the_end = bool(path) and last == held[-1]
    return path, best[-1 if at_the_end else last + 1]
