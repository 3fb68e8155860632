"""Functions that once had a wrong law, without a word: each has the right one now, or is refused."""

import copy
import itertools
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from specverify.exact import NotExact, exact_law
from specverify.law import Law

P = torch.tensor([0.5, 0.25, 0.25])
rand, tensor = torch.rand, torch.tensor


def token():
    return torch.multinomial(P, 1)


def behind_a_bare_except():
    try:
        return float(rand(1)) < 0.3
    except:  # noqa: E722
        return True


def a_member_before_its_race():
    noise = torch.empty(3).exponential_()
    winner = (P / noise).argmax()
    return noise[0] < 1, winner


def strengths():
    """Gumbel races that differ by a keyword alone."""
    return [torch.add(-torch.log(-torch.log(rand(3))), P.log(), alpha=alpha).argmax() for alpha in (1, 3)]


def rates():
    """Races that differ by the parameter of a draw alone."""
    return [torch.cat([torch.empty(1).exponential_(rate), torch.empty(1).exponential_(1.0)]).argmin() for rate in (1.0, 3.0)]


RACES = {
    "alpha": (strengths, {(i, j): float(P[i]) * float(P[j] ** 3 / (P**3).sum()) for i in range(3) for j in range(3)}),
    "rate": (rates, {(i, j): 0.5 * (0.75, 0.25)[j] for i in range(2) for j in range(2)}),
}


@pytest.mark.parametrize("name", RACES)
def test_races_of_other_laws_are_told_apart(name: str) -> None:
    function, right = RACES[name]
    assert exact_law(function, probe=0).probabilities == pytest.approx(right, abs=1e-7)


def written_not_returned():
    drawn = token()
    torch._foreach_add_([drawn], 1)
    return drawn


def squeezed_in_place():
    u = rand(2, 1)
    u.squeeze_(1).unsqueeze_(0).t_()
    return u < 0.3


def set_to_another():
    x = torch.empty(0)
    x.set_(rand(2))
    return x < 0.3


ALIKE: dict[str, Callable] = {
    "log of negative numbers": lambda: torch.log(rand(1) - 0.5) < -1, "root of negative numbers": lambda: torch.sqrt(rand(1) - 0.25) > 0.4,
    "no number on both sides": lambda: torch.logit(rand(1) * 2 - 0.5) < 0,
    "truth of whole numbers": lambda: ((rand(1) * 4).floor() - 2).bool(), "truth of a draw": lambda: (rand(1) - 0.25).bool(),
    "not": lambda: torch.logical_not((rand(1) * 4).long() - 2), "and": lambda: torch.logical_and(rand(1) - 0.5, tensor([True])),
    "power of -1": lambda: (-1.0) ** (rand(1) * 3).floor(), "bytes that wrap": lambda: (rand(1) * 4).floor().to(torch.int32).mul(100).to(torch.uint8),
    "whole numbers that wrap": lambda: (rand(1) * 4).to(torch.int8) * 100, "quotient by minus zero": lambda: 0.5 / -torch.log(1 - rand(1)) < 0.6,
    "views in place": squeezed_in_place, "set": set_to_another, "deep copy": lambda: copy.deepcopy(rand(1)) < 0.3, "deep copy of a token": lambda: copy.deepcopy([token()]),
    "counts": lambda: torch.repeat_interleave(tensor([5, 6]), torch.multinomial(P, 2, replacement=True)),
    "pickled": lambda: pickle.loads(pickle.dumps(token())),
    "written, not returned": written_not_returned, "dtypes of a table": lambda: torch.bernoulli(P) / 3 == tensor(1 / 3, dtype=torch.float64),
    "tables searched out of order": lambda: torch.searchsorted(tensor([0.9, 0.25, 0.5]), torch.bernoulli(P[:1]) * 0.7, sorter=tensor([1, 2, 0])),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_law_equals_an_execution_at_every_point(everywhere: Callable, name: str) -> None:
    assert exact_law(ALIKE[name], probe=0).probabilities == pytest.approx(everywhere(ALIKE[name]), abs=1e-12)


@dataclass
class Drawn:
    token: torch.Tensor


def nested() -> bool:
    first = bool(rand(1) < 0.5)
    return first and exact_law(lambda: bool(rand(1) < 0.5)).lower(True) == 0.5 and bool(rand(1) < 0.5)


REFUSED: dict[str, tuple[Callable, str]] = {
    "weights too small for their dtype": (lambda: (tensor([0.0, 1e-45]) / torch.empty(2).exponential_()).argmax(), "hardly tells them apart"),
    "a bare except": (behind_a_bare_except, "continuous"),
    "a law inside of a law": (nested, "inside of an exploration"),
    "a dataclass": (lambda: Drawn(token()), "returns a Drawn"),
    "a set": (lambda: {int(token())}, "returns a set"),
    "searched out of order": (lambda: torch.searchsorted(tensor([0.9, 0.2, 0.5]), rand(1), sorter=tensor([1, 2, 0])), "searchsorted"),
    "bytes of a draw that wrap": (lambda: (rand(1) * 600).to(torch.uint8), "do not fit"),
    "a draw returned before the race it is in": (a_member_before_its_race, "once more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_its_reason(name: str) -> None:
    function, reason = REFUSED[name]
    with pytest.raises(NotExact, match=reason):
        exact_law(function, probe=0)


def until_another() -> int:
    return next(n for n in itertools.count() if int(torch.multinomial(P, 1)) != 0)


def until_the_last() -> int:
    return next(n for n in itertools.count() if int(torch.randint(0, 4, (1,))) == 3)


def until_the_unlikely() -> int:
    return next(n for n in itertools.count() if torch.rand(1) >= 1 - 2.0**-20)


@pytest.mark.parametrize(("function", "chance"), [(until_another, 0.5), (until_the_last, 0.25)])
def test_loops_that_go_on_at_the_likeliest_choice_end(function: Callable, chance: float) -> None:
    law = exact_law(function, probe=0, min_path=2.0**-20, max_runs=300)
    assert law.lower(0) == chance
    assert 0 < law.open_mass < 0.4
    assert law.open_mass + sum(law.probabilities.values()) == pytest.approx(1)


def test_a_loop_that_hardly_ever_ends_is_left_in_time() -> None:
    law = exact_law(until_the_unlikely, max_seconds=0.5)
    assert law.kind == "bounds"
    assert law.open_mass + sum(law.probabilities.values()) == pytest.approx(1)


def test_an_argument_given_twice_stays_one() -> None:
    generator = torch.Generator().manual_seed(1)

    def f(one: torch.Generator, other: dict[str, torch.Generator]) -> list[int]:
        return [int(torch.multinomial(P, 1, generator=g)) for g in (one, other["generator"])]

    right = {(i, j): float(P[i] * P[j]) for i in range(3) for j in range(3)}
    assert exact_law(f, generator, {"generator": generator}).probabilities == right


def test_arguments_that_cannot_be_copied_are_no_outcome() -> None:
    with pytest.raises(NotExact, match="cannot be copied"):
        exact_law(lambda _: token(), threading.Lock())


def test_leaves_that_need_gradients_do_in_every_execution() -> None:
    def f(logits: torch.Tensor) -> bool:
        (logits.exp() * (rand(2) < 0.5)).sum().backward()
        return bool((logits.grad == 0).all())

    assert exact_law(f, torch.zeros(2, requires_grad=True)).probabilities == {True: 0.25, False: 0.75}


RESULTS: dict[str, tuple[Callable, Callable]] = {
    "dict": (lambda: {"token": token()}, lambda i: (("token", (i,)),)),
    "array": (lambda: token().numpy(), lambda i: (i,)),
    "arrays": (lambda: [token().numpy(), None], lambda i: ((i,), None)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_other_types(name: str) -> None:
    function, outcome = RESULTS[name]
    assert exact_law(function).probabilities == {outcome(i): float(P[i]) for i in range(3)}


def staged() -> int:
    """A read behind what is watched, of a token that is hardly ever another."""
    buffer = torch.zeros(1, dtype=torch.long)
    seen = buffer.numpy()
    buffer.copy_(torch.multinomial(tensor([0.999, 0.001]), 1))
    return int(seen[0])


def aliased() -> torch.Tensor:
    plain = torch.zeros(1)
    torch.from_numpy(plain.numpy()).uniform_()
    return plain < 0.999


@pytest.mark.parametrize(("function", "probe"), [(staged, 1), (aliased, 20)])
def test_replays_stand_where_a_secret_read_is_seen(function: Callable, probe: int) -> None:
    with pytest.raises(NotExact, match="a replay gives"):
        exact_law(function, probe=probe)


def test_the_callers_generators_are_left_alone() -> None:
    torch.manual_seed(5)
    right = rand(2)
    torch.manual_seed(5)
    drawn = rand(1)
    exact_law(token)
    assert [drawn, rand(1)] == list(right)


def test_explorations_in_two_threads_wait_for_each_other() -> None:
    before, found = torch.Tensor.item, []
    threads = [threading.Thread(target=lambda: found.extend(exact_law(token).lower((0,)) for _ in range(4))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0.5] * 8
    assert torch.Tensor.item is before


@pytest.mark.parametrize("read", [bool, torch.clone], ids=["decided", "undecided"])
def test_rounding_is_allowed_for_where_the_result_is_undecided(read: Callable) -> None:
    law = exact_law(lambda: [read(rand(1) < tensor([1 / 3]))], project=lambda result: bool(result[0]))
    assert law.compare(Law({True: 1 / 3, False: 2 / 3})).verdict == "rounding"
