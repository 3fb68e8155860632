"""What happened in each round, and how well it went."""

from __future__ import annotations

from dataclasses import dataclass, field

from specref.efficiency import best_gamma, speedup


@dataclass(frozen=True)
class RoundOfRow:
    """One row in one call of the target.

    Attributes:
        row: its number in the batch.
        drafted: tokens that were proposed.
        accepted: how many of them the rule accepted.
        emitted: tokens that the text got: accepted ones and one more, unless an end of the text cut them.
        uniforms: the verifier's draws, one per drafted token and one for the emitted one, where they were asked for.
        depth: how many tokens in a row were proposed: all of a chain, the longest branch of a tree.
    """

    row: int
    drafted: tuple[int, ...]
    accepted: int
    emitted: tuple[int, ...]
    uniforms: tuple[float, ...] = ()
    depth: int = 0


@dataclass
class Trace:
    """All rounds of a generation, and the figures that the paper judges by (2211.17192, section 3).

    Attributes:
        gamma: tokens that a round may draft.
        rounds: of all rows.
        target_calls: calls of the target, for all rows at once.
        draft_steps: tokens drafted one after the other, for all rows at once.
        target_seconds: time of reading and verifying.
        draft_seconds: time of drafting.
    """

    gamma: int = 0
    rounds: list[RoundOfRow] = field(default_factory=list)
    target_calls: int = 0
    draft_steps: int = 0
    target_seconds: float = 0.0
    draft_seconds: float = 0.0

    def acceptance_by_position(self) -> list[float]:
        """Of the drafts that reached a position, how many were accepted there; the first position comes first."""
        longest = max((one.depth for one in self.rounds), default=0)
        reached = [[one for one in self.rounds if one.depth > i and one.accepted >= i] for i in range(longest)]
        return [sum(one.accepted > i for one in ones) / len(ones) if ones else 0.0 for i, ones in enumerate(reached)]

    @property
    def acceptance(self) -> float:
        """The acceptance rate alpha: accepted tokens over those that were judged (a token behind a rejected one is not)."""
        judged = sum(min(one.accepted + 1, one.depth) for one in self.rounds)
        return sum(one.accepted for one in self.rounds) / judged if judged else 0.0

    @property
    def block_efficiency(self) -> float:
        """Tokens per row and call of the target; 1 in plain decoding, at most gamma + 1."""
        return self.tokens / len(self.rounds) if self.rounds else 0.0

    @property
    def tokens(self) -> int:
        """New tokens of all rows."""
        return sum(len(one.emitted) for one in self.rounds)

    @property
    def cost(self) -> float:
        """c, the time of a draft step in calls of the target."""
        if not self.draft_steps or not self.target_seconds:
            return 0.0
        return self.draft_seconds / self.draft_steps / (self.target_seconds / self.target_calls)

    @property
    def predicted_speedup(self) -> float:
        """By theorem 3.8, from the measured acceptance and cost."""
        return speedup(self.acceptance, self.gamma, self.cost)

    @property
    def best_gamma(self) -> int:
        """The gamma that would be fastest at the measured acceptance and cost (section 3.5)."""
        return best_gamma(self.acceptance, self.cost)

    def measured_speedup(self, plain: Trace) -> float:
        """Time per token of plain decoding over that of this generation."""
        return plain.seconds / plain.tokens / (self.seconds / self.tokens)

    @property
    def seconds(self) -> float:
        """Time of all rounds."""
        return self.target_seconds + self.draft_seconds
