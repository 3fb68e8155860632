"""Verifying a batch of trees by a rule: arguments checked, uniforms drawn, the rule applied."""

from __future__ import annotations

import torch
from torch import Tensor

from specref._rows import check_device, check_rows, check_tokens, ignoring
from specref.draws import Generators, check_generators, coins_and_last
from specref.rules.tree_verdict import TreeRound, TreeRule, TreeVerdict
from specref.trees import NONE, Trees


def verify_tree(rule: TreeRule, p: Tensor, q: Tensor | None, trees: Trees, generator: Generators, *, check: bool = True) -> TreeVerdict:
    """Accept a path of each tree, and emit one token more.

    Nothing is written into any argument. With `check=False` and one generator nothing waits for the device.

    Args:
        rule: how; see `specref.rules`.
        p: rows of the target, (B, N + 1, V): row 0 after the context, row i + 1 after node i.
        q: the laws that the children of the context and of each node were drawn from, (B, N + 1, V), or none for a rule that does not read them.
        trees: the drafts, from `specref.trees.pack`.
        generator: source of all draws, on the device of `p`; or one for each row, and then a row's tokens depend on nobody else's.
        check: whether the arguments' values are looked at.

    Returns:
        Tokens, (B, D + 1), and nodes of the path, (B, D), filled up with PAD, and the number of accepted ones, (B,).

    Raises:
        ValueError: shapes or devices that do not fit, rows that are no probabilities, tokens out of range.
    """
    _check_shapes(rule, p, q, trees)
    check_generators(generator, len(trees.tokens))
    nodes = trees.tokens.shape[1]
    if check:
        _check_values(p, q if rule.needs_q else None, trees)
    coins, last = coins_and_last(trees.sizes, nodes, generator)
    return rule(TreeRound(p, q if rule.needs_q else None, trees, coins, last))


def _check_shapes(rule: TreeRule, p: Tensor, q: Tensor | None, trees: Trees) -> None:
    rows, nodes = trees.tokens.shape
    if p.dim() != 3 or p.shape[:2] != (rows, nodes + 1):  # noqa: PLR2004
        raise ValueError(f"{rows} trees of up to {nodes} nodes need p of shape ({rows}, {nodes + 1}, V), not {tuple(p.shape)}")
    if rule.needs_q and q is None:
        raise ValueError(f"{type(rule).__name__} needs the draft's rows q, (B, N + 1, V)")
    if q is not None and q.shape != p.shape:
        raise ValueError(f"q must have shape {tuple(p.shape)}, not {tuple(q.shape)}: both models need one vocabulary")
    for name, other in (("q", q), ("trees", trees.tokens)):
        if other is not None:
            check_device("p", p, name, other)


def _check_values(p: Tensor, q: Tensor | None, trees: Trees) -> None:
    places = torch.arange(p.shape[1], device=p.device)
    check_rows("p", ignoring(p, places > trees.sizes[:, None]))
    check_tokens("tokens", trees.tokens, p.shape[-1], trees.drafted)
    if q is not None:
        check_rows("q", ignoring(q, (trees.children == NONE).all(-1)))
