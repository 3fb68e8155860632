"""Which tokens a grammar allows at each row of a step: the grammar is a finite automaton, a row sees the state behind its own tokens (faults: L19)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from specref.trees import NONE

DEAD = -1
"""No state: behind a token that was forbidden."""


@dataclass(frozen=True)
class Automaton:
    """A deterministic finite automaton; it holds no state, so that nothing needs to be taken back.

    Attributes:
        transitions: the next state by state and token, (S, V) int64; DEAD where the token is forbidden.

    Raises:
        ValueError: another shape, or an entry that is neither DEAD nor a state.
    """

    transitions: Tensor

    def __post_init__(self) -> None:
        table = self.transitions
        if table.dim() != 2 or bool(((table < DEAD) | (table >= table.shape[0])).any()):  # noqa: PLR2004
            raise ValueError("transitions must have shape (S, V), and hold states or -1")

    def states(self, state: int, tokens: Tensor, parents: Tensor) -> Tensor:
        """The state behind the context and behind each node, (n + 1,) int64; DEAD behind a forbidden token.

        Args:
            state: behind the context.
            tokens: of the nodes, (n,).
            parents: the node above each, before it; NONE is the context, (n,).
        """
        found = [state]
        for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True):
            above = found[parent - NONE]
            found.append(DEAD if above == DEAD else int(self.transitions[above, token]))
        return torch.tensor(found, dtype=torch.int64)

    def mask(self, state: int, tokens: Tensor, parents: Tensor) -> Tensor:
        """Which tokens may follow the context and each node, (n + 1, V) bool; none behind a forbidden token."""
        states = self.states(state, tokens, parents)
        return (self.transitions[states] != DEAD) & (states != DEAD)[:, None]
