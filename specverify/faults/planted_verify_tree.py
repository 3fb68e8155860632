"""Planted faults of `verify_tree`. Each is a subject; the catalogue says what is wrong with it."""

from collections.abc import Callable

import torch
from torch import Tensor

import specverify as sv

Step = tuple[list[int], int]
Visit = Callable[[int, list[int]], tuple[int | None, Tensor]]
"""What becomes of a place (the context's row 0, or a node's) and its children: the child that is accepted, or none, and the weights of the token after the path."""
NONE = -1


def walk(p: Tensor, parents: list[int], visit: Visit) -> Step:
    """From the context down, until no child is accepted; a leaf's token comes from its row."""
    path: list[int] = []
    while True:
        place = path[-1] + 1 if path else 0
        below = [node for node, parent in enumerate(parents) if parent == place - 1]
        found, left = visit(place, below) if below else (None, p[place])
        if found is None:
            return path, int(torch.multinomial(left if left.sum() > 0 else p[place], 1))
        path.append(found)


def chance() -> Tensor:
    """A uniform number; as a tensor, so that an exploration can follow what becomes of it."""
    return torch.rand(())


def residual(p: Tensor, q: Tensor) -> Tensor:
    """(p - q)+ over its sum; p where nothing is left."""
    left = (p - q).clamp(min=0)
    return left / left.sum() if left.sum() > 0 else p


def without(row: Tensor, token: int) -> Tensor:
    """A row with one token taken out, over its sum; zeros where nothing is left."""
    left = row.clone()
    left[token] = 0
    return left / left.sum() if left.sum() > 0 else left


def recursive(p: Tensor, q: Tensor, tokens: list[int], *, replacement: bool) -> Visit:
    """The right visit of drawn children: each against what the refused ones before it left (2305.09781; 2402.14160)."""

    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        left, drawn = p[place], q[place]
        for node in below:
            x = tokens[node]
            if chance() * drawn[x] < left[x]:
                return node, left
            left = residual(left, drawn)
            drawn = drawn if replacement else without(drawn, x)
        return None, left

    return visit


@sv.subject("verify_tree", name="siblings-against-the-whole-target", siblings="with-replacement")
def siblings_against_the_whole_target(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        left = p[place]
        for node in below:
            if chance() * q[place, tokens[node]] < p[place, tokens[node]]:
                return node, left
            left = residual(left, q[place])
        return None, left

    return walk(p, parents.tolist(), visit)


@sv.subject("verify_tree", name="residual-of-the-first-sibling", siblings="with-replacement")
def residual_of_the_first_sibling(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    right = recursive(p, q, tokens.tolist(), replacement=True)

    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        return right(place, below)[0], residual(p[place], q[place])

    return walk(p, parents.tolist(), visit)


@sv.subject("verify_tree", name="drawn-siblings-left-in-q", siblings="without-replacement")
def drawn_siblings_left_in_q(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    return walk(p, parents.tolist(), recursive(p, q, tokens.tolist(), replacement=True))


@sv.subject("verify_tree", name="drawn-siblings-taken-out-of-q", siblings="with-replacement")
def drawn_siblings_taken_out_of_q(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    return walk(p, parents.tolist(), recursive(p, q, tokens.tolist(), replacement=False))


@sv.subject("verify_tree", name="node-tried-for-each-branch", siblings="with-replacement")
def node_tried_for_each_branch(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    above = parents.tolist()
    right = recursive(p, q, tokens.tolist(), replacement=True)

    def leaves(node: int) -> int:
        return sum(leaves(child) for child, parent in enumerate(above) if parent == node) or 1

    return walk(p, above, lambda place, below: right(place, [node for node in below for _ in range(leaves(node) + (above.count(node) > 0))]))


@sv.subject("verify_tree", name="equal-siblings-tried-once", siblings="with-replacement")
def equal_siblings_tried_once(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    drafted = tokens.tolist()
    right = recursive(p, q, drafted, replacement=True)
    return walk(p, parents.tolist(), lambda place, below: right(place, list({drafted[node]: node for node in below[::-1]}.values())[::-1]))


@sv.subject("verify_tree", name="siblings-tried-by-probability", siblings="without-replacement")
def siblings_tried_by_probability(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    drafted = tokens.tolist()
    right = recursive(p, q, drafted, replacement=False)
    return walk(p, parents.tolist(), lambda place, below: right(place, sorted(below, key=lambda node: -float(p[place, drafted[node]]))))


@sv.subject("verify_tree", name="residual-of-the-context", siblings="with-replacement")
def residual_of_the_context(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    right = recursive(p, q, tokens.tolist(), replacement=True)

    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        return right(place, below)[0], residual(p[0], q[0])

    return walk(p, parents.tolist(), visit)


@sv.subject("verify_tree", name="rows-one-early", siblings="deterministic")
def rows_one_early(p: Tensor, q: None, parents: Tensor, tokens: Tensor) -> Step:  # noqa: ARG001  of the contract
    early = torch.cat([p[:1], p[:-1]])
    return walk(early, parents.tolist(), one_hot(early, tokens.tolist()))


def one_hot(p: Tensor, tokens: list[int]) -> Visit:
    """The right visit of given children: each with its probability in what the refused ones left (theory S8)."""

    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        left = p[place]
        for node in below:
            if chance() < left[tokens[node]]:
                return node, left
            left = without(left, tokens[node])
        return None, left

    return visit


@sv.subject("verify_tree", name="mismatch-in-a-tree-drawn-again", siblings="deterministic")
def mismatch_in_a_tree_drawn_again(p: Tensor, q: None, parents: Tensor, tokens: Tensor) -> Step:  # noqa: ARG001
    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        drawn = int(torch.multinomial(p[place], 1))
        return next((node for node in below if int(tokens[node]) == drawn), None), p[place]

    return walk(p, parents.tolist(), visit)


@sv.subject("verify_tree", name="a-draw-for-each-branch", siblings="deterministic")
def a_draw_for_each_branch(p: Tensor, q: None, parents: Tensor, tokens: Tensor) -> Step:  # noqa: ARG001
    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        for node in below:
            if int(torch.multinomial(p[place], 1)) == int(tokens[node]):
                return node, p[place]
        return None, p[place]

    return walk(p, parents.tolist(), visit)


@sv.subject("verify_tree", name="tree-verified-by-equality", siblings="deterministic")
def tree_verified_by_equality(p: Tensor, q: None, parents: Tensor, tokens: Tensor) -> Step:  # noqa: ARG001
    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        return next((node for node in below if int(tokens[node]) == int(p[place].argmax())), None), p[place]

    return walk(p, parents.tolist(), visit)


@sv.subject("verify_tree", name="token-0-taken-for-a-pad", siblings="with-replacement")
def token_0_taken_for_a_pad(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    right = recursive(p, q, tokens.tolist(), replacement=True)
    return walk(p, parents.tolist(), lambda place, below: right(place, [node for node in below if int(tokens[node]) != 0]))


@sv.subject("verify_tree", name="pads-tried-as-the-last-token", siblings="with-replacement", conventions={"pad": NONE})
def pads_tried_as_the_last_token(p: Tensor, q: Tensor, parents: Tensor, tokens: Tensor) -> Step:
    return walk(p, parents.tolist(), recursive(p, q, tokens.tolist(), replacement=True))


@sv.subject("verify_tree", name="pads-refuse-the-last-token", siblings="deterministic", conventions={"pad": NONE})
def pads_refuse_the_last_token(p: Tensor, q: None, parents: Tensor, tokens: Tensor) -> Step:  # noqa: ARG001
    held = [node for node, token in enumerate(tokens.tolist()) if token != NONE]
    right = one_hot(p, tokens.tolist())

    def visit(place: int, below: list[int]) -> tuple[int | None, Tensor]:
        found, left = right(place, [node for node in below if node in held])
        return found, without(left, NONE) if len(held) < len(below) or len(held) < len(tokens) else left

    return walk(p, parents.tolist(), visit)
