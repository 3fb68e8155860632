"""Steps written with numpy, with `random`, and with torch between them, have the right law, exactly; the wrong ones have not, which takes less than a second."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from specprops import verify_chain
from specverify.contracts import Case, array_of
from specverify.exact import exact_law
from specverify.law import Law, product_law
from specverify.subjects.replies import Explored
from specverify.subjects.source import from_path
from specverify.subjects.subject import Subject, load
from specverify.subjects.worker import Worker
from tests.exact.test_steps import law_over_drafts, rows

G = np.random.default_rng(1)
LEGACY = np.random.RandomState(1)
Sampler = Callable[[np.ndarray], int]


def choice(row: np.ndarray) -> int:
    return int(G.choice(len(row), p=row / row.sum()))


def legacy_choice(row: np.ndarray) -> int:
    return int(np.random.choice(len(row), p=row / row.sum()))


def inverse_cdf(row: np.ndarray) -> int:
    cdf = row.cumsum()
    return int(np.searchsorted(cdf, G.random() * cdf[-1], side="right"))


def exponential_race(row: np.ndarray) -> int:
    return int(np.argmax(row / LEGACY.exponential(size=len(row))))


def gumbel_race(row: np.ndarray) -> int:
    with np.errstate(divide="ignore"):
        return int((np.log(row) + G.gumbel(size=len(row))).argmax())


def multinomial(row: np.ndarray) -> int:
    return int(np.random.multinomial(1, row / row.sum()).argmax())


def choices(row: np.ndarray) -> int:
    return random.choices(range(len(row)), row.tolist())[0]


def by_hand(row: np.ndarray) -> int:
    left = random.random() * sum(row.tolist())
    for token, x in enumerate(row.tolist()):
        if left < x:
            return token
        left -= x
    return int(np.flatnonzero(row)[-1])


def by_torch(row: np.ndarray) -> int:
    return int(torch.multinomial(torch.from_numpy(row), 1))


def residual(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    rest = np.maximum(p - q, 0)
    return rest if rest.sum() > 0 else p


def one_by_one(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[[], float]) -> list[int]:
    for i, x in enumerate(draft):
        if not coin() * q[i, x] < p[i, x]:
            return [*draft[:i], draw(residual(p[i], q[i]))]
    return [*draft, draw(p[-1])]


def all_coins_at_once(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[..., np.ndarray]) -> list[int]:
    at = np.arange(len(draft))
    rejected = coin(len(draft)) * q[at, draft] >= p[at, draft]
    n = int(rejected.argmax()) if rejected.any() else len(draft)
    return [*draft[:n], draw(residual(p[n], q[n]) if n < len(draft) else p[n])]


def torch_coin() -> float:
    return torch.rand((), dtype=torch.float64).item()


STEPS: dict[str, tuple[Callable, Sampler, Callable]] = {
    "choice": (one_by_one, choice, lambda: G.random()), "inverse CDF": (one_by_one, inverse_cdf, lambda: G.random()), "module functions": (one_by_one, legacy_choice, lambda: np.random.rand()), "multinomial": (all_coins_at_once, multinomial, lambda n: np.random.random(n)),
    "exponential race": (one_by_one, exponential_race, lambda: LEGACY.random_sample()), "Gumbel race": (all_coins_at_once, gumbel_race, lambda n: G.random(n)), "random.choices": (one_by_one, choices, lambda: random.random()), "by hand": (one_by_one, by_hand, lambda: random.uniform(0, 1)),
    "numpy's coins, torch's tokens": (all_coins_at_once, by_torch, lambda n: G.random(n)), "torch's coins, random's tokens": (one_by_one, choices, torch_coin),
}  # fmt: skip


def of_arrays(step: Callable, coin: Callable) -> Callable:
    """Called with tensors, as the steps of torch are."""

    def verify(p: Tensor, q: Tensor, draft: Tensor, draw: Sampler) -> list[int]:
        return step(p.double().numpy(), q.double().numpy(), draft.tolist(), draw, coin)

    return verify


SIZES = [(2, 2), *(pytest.param(v, gamma, marks=pytest.mark.slow) for v, gamma in ((2, 1), (3, 1), (4, 1), (3, 2), (2, 3), (3, 3), (4, 2), (4, 3)))]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(("v", "gamma"), SIZES)
def test_right_steps_are_right(name: str, v: int, gamma: int) -> None:
    step, draw, coin = STEPS[name]
    p, q = rows(gamma + 1, v, 1), rows(gamma, v, 2)
    found, tolerance = law_over_drafts(of_arrays(step, coin), draw, p, q)
    assert found.total_variation(product_law(p.double().tolist())) <= max(tolerance, 1e-6)


def residual_from_p(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[[], float]) -> list[int]:
    for i, x in enumerate(draft):
        if not coin() * q[i, x] < p[i, x]:
            return [*draft[:i], draw(p[i])]
    return [*draft, draw(p[-1])]


def bonus_from_q(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[[], float]) -> list[int]:
    tokens = one_by_one(p, q, draft, draw, coin)
    return tokens if len(tokens) <= len(draft) else [*draft, draw(q[-1])]


def shared_coin(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[[], float]) -> list[int]:
    u = coin()
    return one_by_one(p, q, draft, draw, lambda: u)


def reseeded_coin(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[[], float]) -> list[int]:
    return one_by_one(p, q, draft, draw, lambda: np.random.default_rng(0).random())


def wrong_row(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[[], float]) -> list[int]:
    for i, x in enumerate(draft):
        if not coin() * q[i, x] < p[i, x]:
            return [*draft[:i], draw(residual(p[-1], q[0]))]
    return [*draft, draw(p[-1])]


def inverted_ratio(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[[], float]) -> list[int]:
    return one_by_one(q if len(q) == len(p) else np.vstack([q, p[-1:]]), p[:-1], draft, draw, coin)


def lenient(p: np.ndarray, q: np.ndarray, draft: list[int], draw: Sampler, coin: Callable[[], float]) -> list[int]:
    return one_by_one(p, q, draft, draw, lambda: coin() / 1.0001)


FAULTS = [residual_from_p, bonus_from_q, shared_coin, reseeded_coin, wrong_row, inverted_ratio, lenient]
STYLES = ["choice", "module functions", "exponential race", "torch's coins, random's tokens"]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("style", ["random.choices", *(pytest.param(style, marks=pytest.mark.slow) for style in STYLES)])
def test_wrong_steps_are_wrong(fault: Callable, style: str) -> None:
    _, draw, coin = STEPS[style]
    p, q = rows(3, 3, 1), rows(2, 3, 2)
    law_over_drafts(of_arrays(one_by_one, coin), draw, p[:2], q[:1])  # what is loaded at first use
    start = time.process_time()
    found, tolerance = law_over_drafts(of_arrays(fault, coin), draw, p, q)
    assert found.total_variation(product_law(p.double().tolist())) > 3 * tolerance
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("coin", "bits"),
    [
        (lambda: G.random(dtype=np.float32), 24),
        (lambda: G.random(1, dtype=np.float32)[0], 24),
        *((coin, 53) for coin in (lambda: G.random(), lambda: np.random.rand(), lambda: random.random())),
    ],
)
def test_acceptance_at_zero_is_found_with_its_probability(coin: Callable, bits: int) -> None:
    law = exact_law(lambda p: bool(coin() <= p[0] / p[1]), np.array([0.0, 1.0]))
    comparison = law.compare(Law({False: 1.0}))
    assert comparison.impossible == {True: 2.0**-bits}
    assert comparison.verdict == "grid"
    ((label, _, chance),) = law.path(True).steps
    assert "test_numpy_steps.py" in label
    assert chance == 2.0**-bits


@pytest.mark.parametrize("coin", [lambda: G.random(3), lambda: G.random(3, dtype=np.float32), lambda: random.random()])
def test_without_a_grid_uniforms_are_real_numbers(coin: Callable) -> None:
    p = np.array([0.0, 0.25, 1.0])
    law = exact_law(lambda: (coin() <= p).tolist(), grid=False)
    assert sum(mass for outcome, mass in law.probabilities.items() if outcome[0]) == 0
    assert sum(mass for outcome, mass in law.probabilities.items() if outcome[2]) == pytest.approx(1)
    assert sum(mass for outcome, mass in law.probabilities.items() if outcome[1]) == pytest.approx(0.25)


def test_a_token_of_no_mass_that_numpy_draws_is_seen() -> None:
    """multinomial gives the last token what the others leave: 2^-25 too much where a row of single precision sums to less than 1."""
    row = np.array([0.5, 0.5 - 2.0**-25, 0.0], np.float32)
    assert exact_law(lambda: int(np.random.multinomial(1, row).argmax()))[2] == 2.0**-25


SUBJECTS = """
import random
from random import choices
import numpy as np
from numpy.random import rand
import specverify as sv

RNG = np.random.default_rng(0)

def excess(p, q):
    rest = np.maximum(np.asarray(p) - q, 0)
    return rest if rest.sum() > 0 else np.asarray(p)

@sv.subject("verify_chain", arrays="numpy")
def numpy_arrays(p, q, draft, coin=RNG):
    for i, x in enumerate(draft):
        if not coin.random() * q[i, x] < p[i, x]:
            rest = excess(p[i], q[i]).astype(float)
            return np.array([*draft[:i], coin.choice(len(rest), p=rest / rest.sum())])
    row = p[-1].astype(float)
    return np.append(draft, RNG.choice(len(row), p=row / row.sum()))

@sv.subject("verify_chain", arrays="list")
def lists(p, q, draft):
    for i, x in enumerate(draft):
        if not random.random() * q[i][x] < p[i][x]:
            return [*draft[:i], choices(range(len(p[i])), [max(a - b, 0) for a, b in zip(p[i], q[i])] if p[i] != q[i] else p[i])[0]]
    return [*draft, choices(range(len(p[-1])), p[-1])[0]]

@sv.subject("verify_chain", arrays="numpy", seed="int")
def seeded(p, q, draft, seed):
    rng = np.random.default_rng(seed)
    coins = rng.random(len(draft) + 1)
    n = 0
    while n < len(draft) and coins[n] * q[n, draft[n]] < p[n, draft[n]]:
        n += 1
    row = (excess(p[n], q[n]) if n < len(draft) else p[n]).astype(float)
    cdf = row.cumsum()
    return [*draft[:n].tolist(), int(np.searchsorted(cdf, coins[-1] * cdf[-1], side="right"))]

@sv.subject("verify_chain", arrays="list")
def bonus_of_the_draft(p, q, draft):
    tokens = lists(p, q, draft)
    return tokens if len(tokens) <= len(draft) else [*draft, int(rand() * len(p[0]))]
"""


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Subject]]:
    file = tmp_path_factory.mktemp("numpy") / "specverify_subjects.py"
    file.write_text(SUBJECTS)
    worker = Worker(from_path(str(Path(file))))
    yield {one.name: Subject(one.name, one, worker) for one in load(worker)[0]}
    worker.close()


def cases(subject: Subject) -> list[Case]:
    return [case for case in verify_chain.first(subject.description) if array_of(case, "q").shape[0] < 3]


@pytest.mark.parametrize("name", ["lists", "bonus_of_the_draft", *(pytest.param(name, marks=pytest.mark.slow) for name in ("numpy_arrays", "seeded"))])
def test_subjects_without_torch(subjects: dict[str, Subject], name: str) -> None:
    subject = subjects[name]
    wrong = 0
    for case in cases(subject):
        (told,) = subject.laws([case])
        assert isinstance(told, Explored), told
        masses: dict = {}
        for outcome, mass in told.law.probabilities.items():
            masses[outcome[2]] = masses.get(outcome[2], 0.0) + mass
        wrong += Law(masses).total_variation(product_law(array_of(case, "p").rows())) > 1e-6
    assert bool(wrong) == (name == "bonus_of_the_draft")
