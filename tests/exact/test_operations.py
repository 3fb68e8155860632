"""Every operation that is followed gives the law that an execution at each point of a coarse grid gives."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from specverify.exact import NotExact, exact_law

P = torch.tensor([0.5, 0.25, 0.25])
ROWS = torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]])
rand, tensor = torch.rand, torch.tensor


def token():
    return torch.multinomial(P, 1)


def in_place():
    u = rand(3)
    u.mul_(2).sub_(1).add_(0.25)
    u[1] = 0.5
    return u > 0


def filled():
    u = torch.zeros(2, 2)
    u[0].uniform_()
    u[1, 1] = u[0, 1]
    return u < 0.3


def scattered():
    x = torch.zeros(4, dtype=torch.long)
    x.scatter_(0, tensor([1, 3]), torch.multinomial(P, 2, replacement=True))
    return x


def put():
    x = torch.zeros(3, dtype=torch.long)
    x[tensor([2, 0])] = torch.multinomial(P, 2, replacement=True)
    return x


def indexed_by_a_draw():
    return P[token()[0]] > 0.3


def in_a_loop():
    return [int(t) for t in torch.multinomial(ROWS, 1)[:, 0]]


def resized():
    x = torch.multinomial(P, 1)
    x.resize_(2)[1] = 7
    return x


def stopped_in_the_middle():
    seen = []
    for u in rand(4):
        if u < 0.5:
            break
        seen.append(1)
    return len(seen)


OPERATIONS = {
    "lt": lambda: rand(2) < P[:2], "le": lambda: rand(2) <= P[:2], "gt": lambda: rand(2) > 0.3, "ge": lambda: rand(2) >= 0.5,
    "eq": lambda: rand(1) == 0.25, "ne": lambda: rand(1) != 0.25, "eq token": lambda: token() == 1, "turned": lambda: tensor(0.3) < rand(2),
    "add": lambda: rand(1) + 0.1 < 0.5, "sub": lambda: rand(1) - P < 0.1, "rsub": lambda: 1 - rand(2) <= P[:2], "mul": lambda: rand(3) * ROWS[0] < ROWS[1],
    "div": lambda: rand(2) / P[:2] < 1, "divided": lambda: 0.2 / rand(1) < 0.5, "neg": lambda: -rand(1) < -0.3, "reciprocal": lambda: rand(1).reciprocal() > 3,
    "log": lambda: rand(2).log() < P[:2].log(), "log1p": lambda: torch.log1p(-rand(1)) < -0.3, "exp": lambda: rand(1).exp() < 1.3, "expm1": lambda: torch.expm1(rand(1)) < 1,
    "sqrt": lambda: rand(1).sqrt() < 0.5, "rsqrt": lambda: rand(1).rsqrt() > 2, "pow": lambda: rand(1) ** 3 < 0.3, "square": lambda: rand(1).square() < 0.3,
    "based": lambda: 2 ** rand(1) < 1.5, "sigmoid": lambda: rand(1).sigmoid() < 0.6, "tanh": lambda: rand(1).tanh() < 0.4, "clamp": lambda: rand(1).clamp(0.2, 0.6) < 0.6,
    "clamp_min": lambda: rand(1).clamp_min(0.5) <= 0.5, "relu": lambda: (rand(1) - 0.5).relu() > 0, "abs": lambda: rand(1).abs() < 0.4, "floor": lambda: (rand(2) * 3).floor(),
    "ceil": lambda: (rand(1) * 3).ceil(), "round": lambda: (rand(1) * 2).round(), "trunc": lambda: (rand(1) * 3).trunc(), "long": lambda: (rand(2) * 3).long(),
    "minimum": lambda: torch.minimum(rand(1), tensor(0.4)) < 0.4, "to double": lambda: rand(1).double() < 0.3, "to half": lambda: rand(1).half() < 0.3,
    "dtypes meet": lambda: rand(2) < P[:2].double() / 3, "exponential": lambda: torch.empty(2).exponential_() < 0.7, "randn": lambda: torch.randn(2) < 0.5,
    "normal_": lambda: torch.empty(1).normal_(1, 2) > 0, "uniform_": lambda: torch.empty(1).uniform_(0.5, 2) < 1, "rand_like": lambda: torch.rand_like(P) < P,
    "not": lambda: ~(rand(2) < 0.4), "and": lambda: (rand(2) < 0.4) & (rand(2) < 0.7), "or": lambda: (rand(2) < 0.4) | tensor([True, False]),
    "xor": lambda: (rand(1) < 0.4) ^ (rand(1) < 0.6), "logical": lambda: torch.logical_and(rand(2) < 0.5, tensor([True, False])),
    "all": lambda: (rand(3) < 0.6).all(), "any": lambda: (rand(3) < 0.3).any(), "any along": lambda: (rand(2, 2) < 0.3).any(1), "sum": lambda: (rand(3) < 0.5).sum(),
    "sum along": lambda: (rand(2, 2) < 0.5).sum(0), "cumsum": lambda: (rand(3) < 0.5).cumsum(0), "cumprod": lambda: (rand(3) < 0.6).int().cumprod(0),
    "accepted length": lambda: (rand(3) < 0.6).long().cumprod(0).sum(), "rows of lengths": lambda: (rand(2, 2) < 0.6).long().cumprod(1).sum(1), "prod": lambda: (rand(3) < 0.7).int().prod(),
    "argmax of a mask": lambda: (rand(3) < 0.4).int().argmax(), "max of tokens": lambda: torch.multinomial(ROWS, 1).max(), "amax": lambda: torch.multinomial(ROWS, 1).amax(),
    "argmin of tokens": lambda: torch.multinomial(ROWS, 1).argmin(), "max along": lambda: torch.multinomial(ROWS, 2, replacement=True).max(1), "nonzero": lambda: (rand(2) < 0.4).nonzero(),
    "count": lambda: (rand(2) < 0.4).count_nonzero(), "sorted tokens": lambda: torch.multinomial(ROWS, 1)[:, 0].sort().values, "unique": lambda: torch.multinomial(ROWS, 1).unique(),
    "multinomial": token, "rows": lambda: torch.multinomial(ROWS, 1), "replaced": lambda: torch.multinomial(P, 2, replacement=True), "not replaced": lambda: torch.multinomial(P, 2),
    "categorical": lambda: torch.distributions.Categorical(probs=ROWS).sample(), "bernoulli": lambda: torch.bernoulli(P), "bernoulli_": lambda: torch.empty(2).bernoulli_(0.25),
    "bernoulli_ of tensor": lambda: torch.empty(3).bernoulli_(P), "default bernoulli_": lambda: torch.empty(2).bernoulli_(), "randint": lambda: torch.randint(2, 5, (2,)),
    "random_": lambda: torch.empty(1, dtype=torch.long).random_(3), "random_ from": lambda: torch.empty(1, dtype=torch.long).random_(3, 6), "randperm": lambda: torch.randperm(3), "randperm of one": lambda: [torch.randperm(1), token()],
    "dropout": lambda: F.dropout(torch.ones(2), 0.25, training=True), "shifted token": lambda: (token() * 2 + 1) % 3, "token of a token": lambda: torch.multinomial(ROWS[int(token()) % 2], 1),
    "where": lambda: torch.where(rand(3) < P, tensor([1, 2, 3]), -1), "where of draws": lambda: torch.where(tensor([True, False]), rand(2), rand(1)) < 0.4,
    "where by a draw": lambda: torch.where(rand(2) < 0.5, rand(2), 0.9) < 0.6, "masked_fill": lambda: tensor([1, 2]).masked_fill(rand(2) < 0.3, 0),
    "masked_fill of draws": lambda: rand(2).masked_fill(tensor([True, False]), 0) > 0, "cat": lambda: torch.cat([token(), tensor([5])]), "stack": lambda: torch.stack([token(), token()]),
    "cat of dtypes": lambda: torch.cat([rand(1), P.double()]) < 0.3, "gather": lambda: rand(2, 2).gather(1, tensor([[1], [0]])) < 0.4, "index": lambda: rand(3)[tensor([2, 0])] < 0.4,
    "index_select": lambda: rand(3).index_select(0, tensor([1])) < 0.2, "mask": lambda: rand(3)[tensor([True, False, True])] < 0.6, "flip": lambda: token().flip(0), "roll": lambda: torch.multinomial(ROWS, 1).roll(1),
    "pad": lambda: F.pad(token(), (1, 2), value=-1), "repeat": lambda: token().repeat(2), "expand": lambda: token().expand(3), "tril": lambda: (rand(1, 2) < 0.5).tril(),
    "view": lambda: rand(4).view(2, 2)[1] < 0.4, "transpose": lambda: rand(1, 2).t() < 0.4, "chunk": lambda: rand(2).chunk(2)[1] < 0.4, "unbind": lambda: [u < 0.4 for u in rand(2)],
    "searchsorted": lambda: torch.searchsorted(P.cumsum(0), rand(2), right=True), "searchsorted rows": lambda: torch.searchsorted(ROWS.cumsum(1), rand(2, 1)),
    "searchsorted in a row that is drawn": lambda: torch.searchsorted(torch.where(rand(1) < 0.3, P, P.flip(0)).cumsum(0), rand(2), right=True),
    "bucketize": lambda: torch.bucketize(rand(1), P.cumsum(0)), "inverse CDF": lambda: (P.cumsum(0) <= rand(1)).sum(), "first above": lambda: (P.cumsum(0) > rand(1)).int().argmax(),
    "item": lambda: rand(1).item() < 0.4, "number": lambda: 1 - rand(1).item() * 2 < 0.4, "quotient": lambda: 0.3 / (1 + rand(()).item()) < 0.2, "number in a tensor": lambda: torch.tensor(rand(1).item()) < 0.4,
    "number beside a tensor": lambda: rand(1).item() < P, "int of a number": lambda: int(rand(1).item() * 3), "int": lambda: int(rand(1) * 3), "math.log": lambda: math.log(1 + rand(1).item()) < 0.4,
    "floor of a number": lambda: math.floor(rand(1).item() * 3), "tolist": lambda: [u < 0.4 for u in rand(2).tolist()], "tokens as a list": lambda: torch.multinomial(ROWS, 1).tolist(),
    "numpy": lambda: torch.multinomial(ROWS, 1).numpy().sum(), "truth": lambda: "yes" if rand(1) < 0.3 else "no", "in": lambda: 1 in torch.multinomial(ROWS, 1), "equal": lambda: torch.equal(token(), token()),
    "embedding": lambda: F.embedding(token(), ROWS.t()) > 0.3, "one_hot": lambda: F.one_hot(token(), 3), "matmul": lambda: F.one_hot(token(), 3).float() @ P,
    "lazily": lambda: (rand(2) < 0.5)[int(token()) % 2], "raises": lambda: 1 // int(token()), "index error": lambda: [1, 2][int(token())],
    "in place": in_place, "filled": filled, "scattered": scattered, "put": put, "indexed by a draw": indexed_by_a_draw, "in a loop": in_a_loop, "resized": resized,
    "stopped in the middle": stopped_in_the_middle, "checked": lambda: (u := rand(1)).isfinite() & ~u.isnan() & ~u.isinf() & (u < 0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_law_equals_an_execution_at_every_point(everywhere: Callable, name: str) -> None:
    found, right = exact_law(OPERATIONS[name]), everywhere(OPERATIONS[name])
    assert found.kind == "exact"
    assert found.probabilities.keys() == right.keys()
    assert all(math.isclose(found[outcome], mass, abs_tol=1e-12) for outcome, mass in right.items())


@pytest.mark.parametrize("scale", [1.0, 2.0, 0.5])
def test_what_a_distribution_is_given_tells_its_draws_apart(scale: float) -> None:
    """Laws of races are kept; those of other rates, widths or factors, drawn on the same line, are others."""

    def clocks() -> torch.Tensor:
        return torch.stack([torch.empty(()).exponential_(rate) for rate in (1.0, scale)]).argmin()

    def noise() -> torch.Tensor:
        return torch.add(P.log(), -torch.empty(3).exponential_().log(), alpha=scale).argmax()

    powers = P.double() ** (1 / scale)
    assert exact_law(clocks)[1] == pytest.approx(scale / (1 + scale))
    assert exact_law(noise)[0] == pytest.approx(float(powers[0] / powers.sum()))


def test_masked_tokens_come_behind_all_others() -> None:
    """Gumbels in order, -inf where there is no mass: two of the three others, by Plackett and Luce; a third one of two is no question of draws."""
    rows = tensor([0.5, 0.25, 0.0, 0.25])

    def first(k: int) -> torch.Tensor:
        return (rows.log() - torch.empty(4).exponential_().log()).topk(k).indices

    law = exact_law(first, 2)
    assert law.probabilities.keys() == {(0, 1), (0, 3), (1, 0), (1, 3), (3, 0), (3, 1)}
    assert law[1, 0] == pytest.approx(0.25 * 0.5 / 0.75)
    with pytest.raises(NotExact, match="no closed form"):
        exact_law(first, 4)


def test_an_outcome_that_floating_point_cannot_reach_is_none() -> None:
    """Its mass is far below that of any point of a generator's grid: nobody is told of a token of probability zero."""
    law = exact_law(lambda: (torch.empty(2).exponential_() / torch.tensor([1.0, 1e-38])).argmin())
    assert law.probabilities == {0: 1.0}
