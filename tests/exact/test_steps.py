"""Ten steps, written in as many ways, have the right law, exactly; the wrong ones have not. Every draft, rows that differ by position."""

import itertools
import math
import warnings
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from specverify.exact import exact_law
from specverify.law import ExactLaw, Law, product_law

Sampler = Callable[[Tensor], Tensor]


def multinomial(row: Tensor) -> Tensor:
    return torch.multinomial(row, 1)[0]


def exponential_race(row: Tensor) -> Tensor:
    return (row / torch.empty_like(row).exponential_()).argmax()


def gumbel(row: Tensor) -> Tensor:
    return (row.log() - torch.log(-torch.log(torch.rand_like(row)))).argmax()


def inverse_cdf(row: Tensor) -> Tensor:
    return torch.searchsorted(row.cumsum(0), torch.rand(1) * row.sum(), right=True)[0].clamp(max=int(row.nonzero()[-1]))


def residual(p: Tensor, q: Tensor) -> Tensor:
    rest = (p - q).clamp(min=0)
    return rest / rest.sum() if rest.sum() > 0 else p


def one_by_one(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    for i, x in enumerate(draft):
        if not torch.rand(()) * q[i, x] < p[i, x]:
            return [*draft[:i], draw(residual(p[i], q[i]))]
    return [*draft, draw(p[-1])]


def with_numbers(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    for i, x in enumerate(draft.tolist()):
        if torch.rand(1).item() >= p[i, x].item() / q[i, x].item():
            return [*draft[:i], draw(residual(p[i], q[i]))]
    return [*draft, draw(p[-1])]


def all_coins_at_once(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    at = torch.arange(len(draft))
    accepted = torch.rand(len(draft)) * q[at, draft] < p[at, draft]
    n = int(accepted.long().cumprod(0).sum())
    return [*draft[:n], draw(residual(p[n], q[n]) if n < len(draft) else p[n])]


def by_rejection(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    for i, x in enumerate(draft):
        if torch.rand(()) * q[i, x] < p[i, x]:
            continue
        for _ in range(3):
            y = draw(p[i])
            if torch.rand(()) * p[i, y] < p[i, y] - q[i, y]:
                return [*draft[:i], y]
        return [*draft[:i], draw(residual(p[i], q[i]))]
    return [*draft, draw(p[-1])]


def _scripted(p: Tensor, q: Tensor, draft: Tensor) -> list[Tensor]:
    tokens: list[Tensor] = []
    for i in range(draft.size(0)):
        x = draft[i]
        if float(torch.rand([1]) * q[i][x] < p[i][x]) == 0.0:
            rest = (p[i] - q[i]).clamp(min=0.0)
            tokens.append(torch.multinomial(rest / rest.sum(), 1)[0])
            return tokens
        tokens.append(x)
    tokens.append(torch.multinomial(p[-1], 1)[0])
    return tokens


def sample_and_match(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    tokens = []
    for i in range(len(p)):
        tokens.append(draw(p[i]))
        if i < len(draft) and tokens[-1] != draft[i]:
            break
    return tokens


def block(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    """Block verification (arXiv 2403.10444; theory 1c)."""
    gamma, weight, tau, kept = len(draft), 1.0, 0, 1.0
    for i, x in enumerate(draft.tolist()):
        weight = min(weight * float(p[i, x] / q[i, x]), 1.0)
        mass = float((weight * p[i + 1] - q[i + 1]).clamp(min=0).sum()) if i + 1 < gamma else 0.0
        h = weight if i + 1 == gamma else mass / (mass + 1 - weight) if mass + 1 - weight > 0 else 1.0
        if torch.rand(1, dtype=torch.float64) < h:
            tau, kept = i + 1, weight
    if tau == gamma:
        return [*draft, draw(p[-1])]
    rest = (kept * p[tau] - q[tau]).clamp(min=0)
    return [*draft[:tau], draw(rest / rest.sum() if rest.sum() > 0 else p[tau])]


def batch_of_two(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    """The request and a neighbour, verified together; the neighbour's result is thrown away."""
    pp, qq, dd = torch.stack([p, p.flip(1)]), torch.stack([q, q.flip(1)]), torch.stack([draft, p.shape[1] - 1 - draft])
    accepted = torch.rand(dd.shape) * qq.gather(2, dd[..., None])[..., 0] < pp[:, :-1].gather(2, dd[..., None])[..., 0]
    n = accepted.long().cumprod(1).sum(1)[0]
    rest = residual(p[n], q[n]) if n < len(draft) else p[n]
    return [*draft[:n], draw(rest)]


STEPS: dict[str, tuple[Callable, Sampler]] = {
    "textbook": (one_by_one, multinomial), "exponential race": (one_by_one, exponential_race), "Gumbel": (all_coins_at_once, gumbel), "inverse CDF": (one_by_one, inverse_cdf),
    "all coins at once": (all_coins_at_once, multinomial), "rejection loop": (by_rejection, multinomial), "batch of two": (batch_of_two, multinomial),
    "lazy numbers": (with_numbers, multinomial), "sample and match": (sample_and_match, multinomial), "block": (block, multinomial),
}  # fmt: skip


def rows(n: int, v: int, shift: int) -> Tensor:
    """Rows that differ by position, with small denominators; some tokens have no mass."""
    weights = torch.tensor([[(3 * i + 2 * j + shift * (i + j * j + 1)) % 5 for j in range(v)] for i in range(n)]).float()
    weights += weights.sum(1, keepdim=True) == 0
    return weights / weights.sum(1, keepdim=True)


def law_over_drafts(step: Callable, draw: Sampler, p: Tensor, q: Tensor) -> tuple[Law, float]:
    """The law of the tokens completed from p, the draft drawn from q; the largest tolerance beside it."""
    found, tolerance = {}, 0.0
    for draft in itertools.product(range(q.shape[1]), repeat=len(q)):
        chance = math.prod(float(q[i, x]) for i, x in enumerate(draft))
        if chance == 0:
            continue
        law = exact_law(lambda p, q, d: step(p, q, d, draw), p, q, torch.tensor(draft), probe=1)
        assert law.kind.startswith("exact"), law
        tolerance = max(tolerance, law.tolerance)
        for tokens, mass in law.probabilities.items():
            for rest in itertools.product(range(p.shape[1]), repeat=len(p) - len(tokens)):
                whole = (*tokens, *rest)
                found[whole] = found.get(whole, 0.0) + chance * mass * math.prod(float(p[len(tokens) + i, x]) for i, x in enumerate(rest))
    return Law({tokens: mass for tokens, mass in found.items() if mass > 0}), tolerance


SIZES = [(2, 1), (2, 2), (3, 1), (3, 2), (2, 3), (4, 1), *(pytest.param(v, gamma, marks=pytest.mark.slow) for v, gamma in ((3, 3), (4, 2), (4, 3)))]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(("v", "gamma"), SIZES)
def test_right_steps_are_right(name: str, v: int, gamma: int) -> None:
    step, draw = STEPS[name]
    p, q = rows(gamma + 1, v, 1), rows(gamma, v, 2)
    found, tolerance = law_over_drafts(step, draw, p, q)
    assert found.total_variation(product_law(p.double().tolist())) <= max(tolerance, 1e-6)


def test_a_scripted_step_is_right() -> None:
    p, q = rows(3, 3, 1), rows(2, 3, 2)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        scripted = torch.jit.script(_scripted)
    found, _ = law_over_drafts(lambda p, q, d, _: scripted(p, q, d), multinomial, p, q)
    assert found.total_variation(product_law(p.double().tolist())) < 1e-6


def residual_from_p(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    for i, x in enumerate(draft):
        if not torch.rand(()) * q[i, x] < p[i, x]:
            return [*draft[:i], draw(p[i])]
    return [*draft, draw(p[-1])]


def shared_coin(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    u = torch.rand(())
    for i, x in enumerate(draft):
        if not u * q[i, x] < p[i, x]:
            return [*draft[:i], draw(residual(p[i], q[i]))]
    return [*draft, draw(p[-1])]


def lenient(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[Tensor]:
    for i, x in enumerate(draft):
        if not torch.rand(()) * q[i, x] < 1.0001 * p[i, x]:
            return [*draft[:i], draw(residual(p[i], q[i]))]
    return [*draft, draw(p[-1])]


@pytest.mark.parametrize("step", [residual_from_p, shared_coin, lenient], ids=lambda step: step.__name__)
def test_wrong_steps_are_wrong(step: Callable) -> None:
    p, q = rows(3, 3, 1), rows(2, 3, 2)
    found, tolerance = law_over_drafts(step, multinomial, p, q)
    assert found.total_variation(product_law(p.double().tolist())) > 3 * tolerance


def test_acceptance_at_zero_is_found_with_its_probability() -> None:
    law = exact_law(lambda p: bool(torch.rand(1) <= p[0] / p[1]), torch.tensor([0.0, 1.0]))
    comparison = law.compare(Law({False: 1.0}))
    assert comparison.impossible == {True: 2.0**-24}
    assert comparison.verdict == "grid"
    ((label, told, chance),) = law.path(True).steps
    assert "rand at" in label
    assert "test_steps.py" in label
    assert told == "in [0, 5.96046e-08)"
    assert chance == 2.0**-24


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_without_a_grid_uniforms_are_real_numbers(dtype: torch.dtype) -> None:
    """Neither 0 nor 1, so that `<` and `<=` are one; and as likely below a number as it says."""
    p = torch.tensor([0.0, 0.3, 1.0], dtype=dtype)
    law = exact_law(lambda: torch.rand(1, dtype=dtype) <= p, grid=False)
    assert law.probabilities == pytest.approx({(False, True, True): float(p[1]), (False, False, True): 1 - float(p[1])}, abs=torch.finfo(dtype).eps)
    assert exact_law(whole, rows(2, 3, 1), rows(1, 3, 2), grid=False).compare(product_law(rows(2, 3, 1).double().tolist())).tv < 1e-7


def whole(p: Tensor, q: Tensor) -> list[Tensor]:
    """A step with its draft, and the rest drawn from p."""
    tokens = one_by_one(p, q, torch.cat([torch.multinomial(row, 1) for row in q]), multinomial)
    return [*tokens, *(multinomial(row) for row in p[len(tokens) :])]


def test_coins_that_round_up_are_found() -> None:
    """A double within 2^-25 of 1 is 1 in float32: an id outside of the vocabulary, which no inverse of the formula shows."""
    law = exact_law(lambda: int(torch.rand(1, dtype=torch.float64).float() * 3))
    assert law[3] == 2.0**-25
    assert math.isclose(law[2], 1 / 3, abs_tol=2.0**-23)


def test_sums_of_rows_make_no_difference() -> None:
    def f(row: Sequence[float]) -> int:
        return int(torch.multinomial(torch.tensor(row), 1))

    assert exact_law(f, [2.0, 1.0, 1.0]).probabilities == {0: 0.5, 1: 0.25, 2: 0.25}


@pytest.mark.parametrize("draw", [lambda row: torch.multinomial(row / row.sum(), 1), lambda row: torch.multinomial(row.double(), 1), exponential_race])
def test_rounding_of_a_row_is_no_difference(draw: Sampler) -> None:
    """Also where the one draw is returned, so that nothing is cut: the sums of such rows miss 1 by what single precision leaves."""
    for row in ([1 / 3] * 3, [0.1] * 10, [1 / 7] * 7, [0.7, 0.1, 0.2]):
        given = torch.tensor(row)
        law = exact_law(lambda row: int(draw(row)), given)
        assert law.compare(Law.of(dict(enumerate(given.double().tolist())))).verdict in {"equal", "rounding"}


def test_sums_of_doubles_are_no_difference() -> None:
    """A law that nothing decides has no tolerance, and the tool's own completions sum to 1 but for 2^-53."""
    law = exact_law(lambda: 1)
    assert law.tolerance == 0
    assert ExactLaw({1: 1 - 2.0**-53, 2: 2.0**-53}).compare(Law({1: 1.0, 2: 0.0 + 2.0**-52})).verdict == "equal"
