"""Verify steps made by mutating the reference by hand, with the planted fault that each is a case of; "" where the catalogue has none.

The reference's step on one chain (`specref.rules.chain`), written out, and one thing in it changed at a time. None is the catalogue's own function: where a
fault has a parameter, it has other values here.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from specref.draws import inverse_cdf

Mutant = Callable[[Tensor, Tensor, Tensor], list[int]]
MUTANTS: list[tuple[str, str, Mutant]] = []
"""What was changed, the fault, the step."""


def verified(  # noqa: PLR0913  each part can be changed
    p: Tensor,
    q: Tensor,
    draft: Tensor,
    *,
    coins: Callable[[int], Tensor] = lambda gamma: torch.rand(gamma, dtype=torch.float64),
    holds: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda u, p_x, q_x: u * q_x < p_x,
    count: Callable[[Tensor], Tensor] = lambda passed: passed.long().cumprod(0).sum(),
    left: Callable[[Tensor, Tensor, int], Tensor] = lambda p, q, n: (p[n] - q[n]).clamp(min=0),
    bonus: Callable[[Tensor, Tensor], Tensor] = lambda p, _: p[-1],
    last: Callable[[Tensor, int], Tensor] = lambda _u, _n: torch.rand((), dtype=torch.float64),
    rows: Callable[[Tensor], Tensor] = lambda p: p[:-1],
    cut: int = 0,
) -> list[int]:
    """The reference's step; with the defaults it is right."""
    gamma, x = len(draft), draft[:, None]
    u = coins(gamma)
    n = int(count(holds(u, rows(p).gather(1, x)[:, 0], q.gather(1, x)[:, 0])))
    weights = left(p, q, n) if n < gamma else bonus(p, q)
    weights = weights if weights.sum() > 0 else p[n]
    return [*draft[:n].tolist(), int(inverse_cdf(weights, last(u, n)))][: gamma + 1 - cut]


def mutate(what: str, fault: str, **parts: object) -> None:
    """Register a mutant by the parts that are changed."""
    MUTANTS.append((what, fault, lambda p, q, draft: verified(p, q, draft, **parts)))  # type: ignore[arg-type]


def over(weights: Tensor) -> Tensor:
    """Rows over their sums."""
    return weights / weights.sum(-1, keepdim=True)


def point(row: Tensor) -> Tensor:
    """One at the argmax."""
    return torch.nn.functional.one_hot(row.argmax(-1), row.shape[-1]).double()


def kept(row: Tensor, floor: float) -> Tensor:
    """min-p."""
    return over(row * (row >= floor * row.amax(-1, keepdim=True)))


def forced(place: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The test of one place always passes."""

    def holds(u: Tensor, p_x: Tensor, q_x: Tensor) -> Tensor:
        return (u * q_x < p_x).index_fill(0, torch.tensor([place % len(u)]), True)

    return holds


mutate("p and q change places in the test", "inverted-ratio", holds=lambda u, p_x, q_x: u * p_x < q_x)
mutate("the test is gone", "always-accept", holds=lambda u, p_x, q_x: torch.ones(len(u), dtype=torch.bool))
mutate("cumprod is gone", "acceptances-counted", count=lambda passed: passed.long().sum())
mutate("the row of p behind is gathered", "accept-row-late", rows=lambda p: p[1:])
mutate("the first test passes", "first-draft-token-accepted", holds=forced(0))
mutate("the last test passes", "last-draft-token-accepted", holds=forced(-1))
mutate("a test passes at 0.1 at least", "acceptance-floor-of-a-step", holds=lambda u, p_x, q_x: u < (p_x / q_x).clamp(min=0.1))
mutate("the ratio to the power 0.65", "ratio-softened", holds=lambda u, p_x, q_x: u < (p_x / q_x) ** 0.65)
mutate("a second chance by a draw of the target", "two-chances", holds=lambda u, p_x, q_x: (u * q_x < p_x) | (torch.rand(len(u), dtype=torch.float64) < p_x))
mutate("one coin, expanded", "one-uniform-for-all", coins=lambda gamma: torch.rand(1, dtype=torch.float64).expand(gamma))
mutate("the coin that failed draws the token", "reused-uniform", last=lambda u, n: u[n] if n < len(u) else torch.rand((), dtype=torch.float64))
mutate("left over: p", "residual-from-p", left=lambda p, q, n: p[n])
mutate("left over: q", "residual-from-q", left=lambda p, q, n: q[n])
mutate("left over: q - p", "residual-reversed-in-a-step", left=lambda p, q, n: (q[n] - p[n]).clamp(min=0))
mutate("left over: abs for clamp", "residual-absolute", left=lambda p, q, n: (p[n] - q[n]).abs())
mutate("left over: row 0", "residual-row-zero", left=lambda p, q, n: (p[0] - q[0]).clamp(min=0))
mutate("left over: rows n + 1", "residual-row-late", left=lambda p, q, n: (p[n + 1] - q[min(n + 1, len(q) - 1)]).clamp(min=0))
mutate("left over: the last row of p", "residual-last-row", left=lambda p, q, n: p[-1])
mutate("left over: row n + 1 of p", "replacement-row-late", left=lambda p, q, n: p[n + 1])
mutate("left over: softmax of it", "residual-through-softmax", left=lambda p, q, n: (p[n] - q[n]).clamp(min=0).softmax(-1))
mutate("left over: its argmax", "residual-argmax", left=lambda p, q, n: point((p[n] - q[n]).clamp(min=0)))
mutate("left over: 0.003 added", "residual-lifted-in-a-step", left=lambda p, q, n: (p[n] - q[n]).clamp(min=0) + 0.003)
mutate("left over: 0.03 added", "residual-lifted-in-a-step", left=lambda p, q, n: (p[n] - q[n]).clamp(min=0) + 0.03)
mutate("left over: at temperature 0.8", "residual-at-another-temperature", left=lambda p, q, n: (p[n] - q[n]).clamp(min=0) ** 1.25)
mutate("left over: at temperature 1.25", "residual-at-another-temperature", left=lambda p, q, n: (p[n] - q[n]).clamp(min=0) ** 0.8)
mutate("bonus from q", "bonus-from-q", bonus=lambda p, q: q[-1])
mutate("bonus from row -2", "bonus-from-previous-row", bonus=lambda p, q: p[-2])
mutate("bonus: argmax", "bonus-greedy", bonus=lambda p, q: point(p[-1]))
mutate("bonus: min-p 0.45", "bonus-row-filtered-alone", bonus=lambda p, q: kept(p[-1], 0.45))
mutate("no bonus", "bonus-missing", cut=1)
for mild in (0.9, 0.7, 0.6):
    mutate(
        f"lenience {mild}",
        "lenience",
        holds=lambda u, p_x, q_x, mild=mild: u * q_x * mild < p_x,
        left=lambda p, q, n, mild=mild: (p[n] - mild * q[n]).clamp(min=0),
    )
for mild in (0.9, 0.7):
    mutate(f"the test alone is lenient, {mild}", "lenient-acceptance", holds=lambda u, p_x, q_x, mild=mild: u * q_x * mild < p_x)
mutate("q is not read in the test", "", holds=lambda u, p_x, q_x: u < p_x)
mutate("the token's coin is the first one where all is accepted", "", last=lambda u, n: u[0] if n == len(u) else torch.rand((), dtype=torch.float64))
mutate("left over: its square", "", left=lambda p, q, n: (p[n] - q[n]).clamp(min=0).square())
mutate("left over: mirrored", "", left=lambda p, q, n: (p[n] - q[n]).clamp(min=0).flip(-1))
mutate("the failed coin, mirrored, draws the token", "", last=lambda u, n: 1 - u[n] if n < len(u) else torch.rand((), dtype=torch.float64))


def rewritten(what: str, fault: str, of: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
    """Register the right step on other rows."""
    MUTANTS.append((what, fault, lambda p, q, draft: verified(*of(p, q), draft)))


def heated(rows: Tensor, temperature: float) -> Tensor:
    """Rows at a temperature."""
    return over(rows ** (1 / temperature))


for t in (0.9, 0.7, 1.3):
    rewritten(f"q scored at temperature {t}", "draft-scored-at-another-temperature", lambda p, q, t=t: (p, heated(q, t)))
for t in (0.8, 1.35):
    rewritten(f"p at temperature {t}", "target-at-another-temperature", lambda p, q, t=t: (heated(p, t), q))
    rewritten(f"the verified rows at temperature {t}", "verified-rows-at-another-temperature", lambda p, q, t=t: (torch.cat([heated(p[:-1], t), p[-1:]]), q))
for share in (0.2, 0.05):
    rewritten(f"{share} of q is uniform", "draft-scored-with-a-flatter-row", lambda p, q, share=share: (p, (1 - share) * q + share / q.shape[1]))
rewritten("p with min-p 0.45", "target-filtered", lambda p, q: (kept(p, 0.45), q))
rewritten("rows of p rolled", "p-row-late", lambda p, q: (torch.cat([p[1:], p[-1:]]), q))
rewritten("rows of q rolled forward", "q-row-late", lambda p, q: (p, torch.cat([q[1:], q[-1:]])))
rewritten("rows of q rolled back", "q-row-early", lambda p, q: (p, torch.cat([q[:1], q[:-1]])))
rewritten("the vocabulary of q mirrored", "", lambda p, q: (p, q.flip(-1)))


def mutant(what: str, fault: str) -> Callable[[Mutant], Mutant]:
    """Register a step that is written out."""

    def register(step: Mutant) -> Mutant:
        MUTANTS.append((what, fault, step))
        return step

    return register


@mutant("sample and match, the mismatch drawn again", "mismatch-thrown-away")
def drawn_again(p: Tensor, _q: Tensor, draft: Tensor) -> list[int]:
    """SampleAndMatch, whose draw is not what it emits."""
    own = inverse_cdf(p[:-1], torch.rand(len(draft), dtype=torch.float64))
    n = int((own == draft).long().cumprod(0).sum())
    return [*draft[:n].tolist(), int(inverse_cdf(p[n], torch.rand((), dtype=torch.float64)))]


@mutant("the largest entry of p for q", "ratio-over-the-maximum")
def over_the_maximum(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    """The test reads p alone."""
    return verified(p, q, draft, holds=lambda u, p_x, _: u * p[:-1].amax(-1) < p_x)


@mutant("the refused token struck from p", "residual-without-the-draft")
def without_the_refused(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    """DeterministicDraft's replacement behind the ratio test."""
    return verified(p, q, draft, left=lambda p, _, n: p[n].index_fill(0, draft[n], 0.0))


@mutant("u is not scaled by the residual's mass", "residual-not-normalised")
def not_scaled(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    """The inverse CDF of weights that do not sum to 1, clamped."""

    def left(p: Tensor, q: Tensor, n: int) -> Tensor:
        weights = (p[n] - q[n]).clamp(min=0)
        return torch.cat([weights[:-1], 1 - weights[:-1].sum()[None]])

    return verified(p, q, draft, left=left)


@mutant("argmax for every draw", "greedy-step")
def all_greedy(p: Tensor, _q: Tensor, draft: Tensor) -> list[int]:
    """Greedy verification of a sampled draft."""
    best = p.argmax(-1)
    n = int((best[:-1] == draft).long().cumprod(0).sum())
    return [*draft[:n].tolist(), int(best[n])]


@mutant("typical acceptance with epsilon 0.2 and delta 0.1", "typical-acceptance")
def typical(p: Tensor, _q: Tensor, draft: Tensor) -> list[int]:
    """Typical with other numbers."""
    threshold = (0.1 * torch.exp(-torch.special.entr(p[:-1]).sum(-1))).clamp(max=0.2)
    n = int((p[:-1].gather(1, draft[:, None])[:, 0] > threshold).long().cumprod(0).sum())
    return [*draft[:n].tolist(), int(p[n].argmax())]


@mutant("block verification with the token's residual", "block-residual-of-the-token")
def block_by_the_token(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    """Block, whose weight is left out behind the test."""
    w = [1.0]
    for i, x in enumerate(draft.tolist()):
        w.append(min(1.0, w[-1] * float(p[i, x] / q[i, x])))
    mass = [float((w[i] * p[i] - q[i]).clamp(min=0).sum()) for i in range(len(draft))]
    h = [*(m / (m + 1 - a) if m + 1 > a else 1.0 for m, a in zip(mass[1:], w[1:], strict=False)), w[-1]]
    passed = torch.rand(len(draft), dtype=torch.float64) < torch.tensor(h, dtype=torch.float64)
    n = max([0, *(i + 1 for i, ok in enumerate(passed.tolist()) if ok)])
    left = (p[n] - q[n]).clamp(min=0) if n < len(draft) else p[-1]
    return [*draft[:n].tolist(), int(inverse_cdf(left if left.sum() > 0 else p[n], torch.rand((), dtype=torch.float64)))]


@mutant("one step in five, the replacement from p", "residual-from-p")
def now_and_then(p: Tensor, q: Tensor, draft: Tensor) -> list[int]:
    """A rare path: most steps are right."""
    rare = bool(torch.rand((), dtype=torch.float64) < 0.2)
    return verified(p, q, draft, left=lambda p, q, n: p[n] if rare else (p[n] - q[n]).clamp(min=0))
