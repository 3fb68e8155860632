"""What happened in each round, and how well it went."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class RoundOfRow:
    """One row in one call of the target.

    Attributes:
        row: its number in the batch.
        drafted: tokens that were proposed.
        accepted: how many of them the rule accepted.
        emitted: tokens that the text got: accepted ones and one more, unless an end of the text cut them.
        uniforms: the verifier's draws, one per drafted token and one for the emitted one, where they were asked for.
    """

    row: int
    drafted: tuple[int, ...]
    accepted: int
    emitted: tuple[int, ...]
    uniforms: tuple[float, ...] = ()


@dataclass
class Trace:
    """All rounds of a generation, and the figures that the paper judges by (2211.17192, sections 3.1 to 3.3)."""

    rounds: list[RoundOfRow] = field(default_factory=list)
    target_calls: int = 0

    def acceptance_by_position(self) -> list[float]:
        """Of the drafts that reached a position, how many were accepted there; the first position comes first."""
        longest = max((len(one.drafted) for one in self.rounds), default=0)
        reached = [[one for one in self.rounds if len(one.drafted) > i and one.accepted >= i] for i in range(longest)]
        return [sum(one.accepted > i for one in ones) / len(ones) if ones else 0.0 for i, ones in enumerate(reached)]

    @property
    def acceptance(self) -> float:
        """The acceptance rate alpha: accepted tokens over those that were judged (a token behind a rejected one is not)."""
        judged = sum(min(one.accepted + 1, len(one.drafted)) for one in self.rounds)
        return sum(one.accepted for one in self.rounds) / judged if judged else 0.0

    @property
    def block_efficiency(self) -> float:
        """Tokens per row and call of the target; 1 in plain decoding, at most gamma + 1."""
        return sum(len(one.emitted) for one in self.rounds) / len(self.rounds) if self.rounds else 0.0
