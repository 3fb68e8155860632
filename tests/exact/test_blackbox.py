"""Opaque code that takes its draws: laws of compiled C samplers and of batched kernels, near-exact; faults planted in them."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from specverify.exact import Categorical, Exponential, Gumbel, NotExact, Uniform, inject, inject_rows
from specverify.law import ExactLaw, Law, product_law

C = r"""
#ifndef ACCEPT
#define ACCEPT u[i] * q[i * v + x] < p[i * v + x]
#endif
#ifndef ROW
#define ROW i
#endif
#ifndef LAST
#define LAST u[gamma]
#endif
#ifndef BONUS
#define BONUS p + gamma * v
#endif
#ifndef TOTAL
#define TOTAL total
#endif
static int inverse(const double *w, int v, double total, double u) {
    double sum = 0;
    int last = 0;
    for (int t = 0; t < v; t++) {
        if (w[t] > 0) last = t;
        sum += w[t];
        if (u * total < sum) return t;
    }
    return last;
}
int verify(const double *p, const double *q, const long *draft, int gamma, int v, const double *u, long *out) {
    double rest[64];
    for (int i = 0; i < gamma; i++) {
        long x = draft[i];
        if (!(ACCEPT)) {
            double total = 0;
            for (int t = 0; t < v; t++) {
                double gap = p[(ROW) * v + t] - q[i * v + t];
                total += rest[t] = gap > 0 ? gap : 0;
            }
            out[i] = inverse(rest, v, TOTAL, LAST);
            return i + 1;
        }
        out[i] = x;
    }
    double total = 0;
    const double *bonus = BONUS;
    for (int t = 0; t < v; t++) total += bonus[t];
    out[gamma] = inverse(bonus, v, total, LAST);
    return gamma + 1;
}
int race(const double *w, int v, const double *e) {
    int best = -1;
    for (int t = 0; t < v; t++) if (w[t] > 0 && (best < 0 || e[t] * w[best] < e[best] * w[t])) best = t;
    return best;
}
int gumbel(const double *logw, int v, const double *g) {
    int best = 0;
    for (int t = 1; t < v; t++) if (logw[t] + g[t] > logw[best] + g[best]) best = t;
    return best;
}
"""
NEAR = 1e-9


def rows(n: int, v: int, shift: int = 0) -> np.ndarray:
    """Rows that differ by position, some entries zero."""
    weights = np.array([[(3 * i + 2 * j + i * j + shift) % (v + 1) for j in range(v)] for i in range(n)], dtype=float)
    return weights / weights.sum(1, keepdims=True)


def step_law(p: Sequence, q: Sequence, draft: Sequence[int]) -> Law:
    """What a step emits given its draft (2211.17192, algorithm 1)."""
    law, reached = {}, 1.0
    for i, x in enumerate(draft):
        accepted = min(1.0, p[i][x] / q[i][x])
        gaps = [max(0.0, a - b) for a, b in zip(p[i], q[i], strict=True)]
        for token, gap in enumerate(gaps):
            if gap > 0 and accepted < 1:
                law[(*draft[:i], token)] = reached * (1 - accepted) * gap / sum(gaps)
        reached *= accepted
    law.update({(*draft, token): reached * x for token, x in enumerate(p[len(draft)])})
    return Law.of({outcome: float(mass) for outcome, mass in law.items()})


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ctypes.CDLL]:
    """The C file as a library, with macros that plant a fault."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("c")
    (folder / "sampler.c").write_text(C)
    made: dict[tuple[str, ...], ctypes.CDLL] = {}

    def build(*macros: str) -> ctypes.CDLL:
        if macros not in made:
            target = folder / f"sampler{len(made)}.so"
            subprocess.run([compiler, "-O1", "-shared", "-fPIC", *(f"-D{one}" for one in macros), str(folder / "sampler.c"), "-o", str(target)], check=True)
            made[macros] = ctypes.CDLL(str(target))
        return made[macros]

    return build


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def c_step(library: ctypes.CDLL, p: np.ndarray, q: np.ndarray, draft: Sequence[int]) -> Callable[[Sequence[float]], tuple[int, ...]]:
    """A verify step in C, of one list of coins."""
    tokens, out = np.array(draft, dtype=np.int64), np.zeros(len(draft) + 1, dtype=np.int64)
    fixed = (pointer(p), pointer(q), pointer(tokens), len(draft), p.shape[1])
    kind = ctypes.c_double * (len(draft) + 1)

    def step(coins: Sequence[float], alive: object = (tokens, p, q)) -> tuple[int, ...]:
        return tuple(out[: library.verify(*fixed, kind(*coins), pointer(out))].tolist())

    return step


def telling(p: np.ndarray, q: np.ndarray) -> list[int]:
    """At each position the draft token whose acceptance is least sure."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return [int(np.nanargmin(np.abs(a / b - 0.5))) for a, b in zip(p, q, strict=False)]


def tv(law: ExactLaw, right: Law) -> float:
    return law.compare(right).tv


@pytest.mark.parametrize(("v", "gamma"), [(4, 2), (8, 4)])
def test_a_step_in_c(compiled: Callable, v: int, gamma: int) -> None:
    p, q = rows(gamma + 1, v), rows(gamma, v, 2)
    draft = telling(p, q)
    law = inject(c_step(compiled(), p, q, draft), [Uniform()] * (gamma + 1))
    assert law.kind == "near-exact"
    assert law.open_mass == 0
    assert tv(law, step_law(p, q, draft)) <= NEAR
    assert law.runs < 40_000


P0, Q0 = np.array([[0.25, 0.25, 0, 0.5], [0.125, 0.5, 0.125, 0.25], [0.25, 0.125, 0.5, 0.125]]), np.array([[0.5, 0.125, 0.375, 0], [0.25, 0.125, 0.125, 0.5]])
FAULTS = {
    "<=": (("ACCEPT=u[i] * q[i * v + x] <= p[i * v + x]",), [2, 3], "grid"),
    "the row behind": (("ROW=i + 1",), [0, 3], "different"),
    "bonus from q": (("BONUS=q + (gamma - 1) * v",), [0, 1], "different"),
    "not normalised": (("TOTAL=1.0",), [2, 3], "different"),
    "a coin used again": (("LAST=u[0]",), [0, 3], "different"),
    "lenient by 1e-6": (("ACCEPT=u[i] * q[i * v + x] < p[i * v + x] * (1 + 1e-6)",), [0, 3], "different"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_in_c(compiled: Callable, name: str) -> None:
    macros, draft, verdict = FAULTS[name]
    law = inject(c_step(compiled(*macros), P0, Q0, draft), [Uniform()] * 3)
    assert law.compare(step_law(P0, Q0, draft)).verdict == verdict
    assert inject(c_step(compiled(), P0, Q0, draft), [Uniform()] * 3).compare(step_law(P0, Q0, draft)).verdict in {"equal", "rounding"}


def test_a_coin_used_again_is_named(compiled: Callable) -> None:
    notes = inject(c_step(compiled("LAST=u[0]"), P0, Q0, [0, 3]), [Uniform()] * 3).notes
    assert any("uniform #0 decides places 0" in note or "uniform #0 decides places 1" in note for note in notes), notes
    assert "uniform #2 is never read" in notes


WEIGHTS = np.array([0.0, 3, 1e-5, 2, 0.5, 0, 7, 1])


@pytest.mark.parametrize("kind", [Exponential, Gumbel])
def test_races_in_c(compiled: Callable, kind: type) -> None:
    library, v = compiled(), len(WEIGHTS)
    with np.errstate(divide="ignore"):
        logs = np.log(WEIGHTS)
    given = (pointer(WEIGHTS), library.race) if kind is Exponential else (pointer(logs), library.gumbel)
    law = inject(lambda draws: given[1](given[0], v, (ctypes.c_double * v)(*draws[0])), [kind(v)])
    assert tv(law, Law.of(dict(enumerate(WEIGHTS)))) <= NEAR
    assert law.idealised
    shifted = inject(lambda draws: given[1](given[0], v - 1, (ctypes.c_double * v)(*draws[0])), [kind(v)])
    assert shifted.compare(Law.of(dict(enumerate(WEIGHTS)))).verdict == "different"


def test_a_step_with_its_draft_and_a_race() -> None:
    """Drafts as categorical draws, the replacement by a race: completed from p, the tokens follow p."""
    p, q = rows(3, 4), rows(2, 4, 2)

    def step(draws: list) -> tuple:
        *drafts, a, b, race = draws
        for i, x in enumerate(drafts):
            if not (a, b)[i] * q[i, x] < p[i, x]:
                rest = np.maximum(p[i] - q[i], 0)
                return (*drafts[:i], min((e / w, t) for t, (e, w) in enumerate(zip(race, rest, strict=True)) if w > 0)[1])
        return (*drafts, min((e / w, t) for t, (e, w) in enumerate(zip(race, p[2], strict=True)) if w > 0)[1])

    law = inject(step, [Categorical(q[0]), Categorical(q[1]), Uniform(), Uniform(), Exponential(4)], grid=16)
    whole: dict = {}
    for tokens, mass in law.probabilities.items():
        for rest, share in product_law(p[len(tokens) :]).probabilities.items():
            whole[tokens + rest] = whole.get(tokens + rest, 0.0) + mass * share
    assert tv(ExactLaw(whole), product_law(p)) <= NEAR


def numpy_kernel(p: np.ndarray, q: np.ndarray, draft: Sequence[int], fault: str = "") -> Callable[[np.ndarray], list]:
    """A batched verify kernel of ours: a row of coins for each step of the batch."""
    gamma, places = len(draft), np.arange(len(draft))
    rest = np.maximum(p[:gamma] - q, 0)
    rest = np.vstack([p[:gamma] if fault == "residual not subtracted" else rest, p[gamma:]])
    sums = rest.cumsum(1)

    def kernel(coins: np.ndarray) -> list:
        coin = coins[:, :1] if fault == "one coin for all" else coins[:, :gamma]
        bar = p[places, draft] * (1.001 if fault == "lenient" else 1)
        passed = coin * q[places, draft] < bar
        n = np.cumprod(passed, 1).sum(1)
        total = np.ones(len(n)) if fault == "not normalised" else sums[n, -1]
        token = (sums[n] <= coins[:, gamma, None] * total[:, None]).sum(1).clip(max=p.shape[1] - 1)
        return [(*draft[:m], t) for m, t in zip(n.tolist(), token.tolist(), strict=True)]

    return kernel


@pytest.mark.parametrize("fault", ["", "residual not subtracted", "one coin for all", "lenient", "not normalised"])
def test_a_batched_kernel_in_numpy(fault: str) -> None:
    p, q = rows(4, 8), rows(3, 8, 2)
    draft = telling(p, q)
    law = inject_rows(numpy_kernel(p, q, draft, fault), [Uniform()] * 4)
    seen = law.compare(step_law(p, q, draft))
    assert (seen.tv <= NEAR) == (fault == "")
    assert law.runs <= 60


def torch_kernel(p: torch.Tensor, q: torch.Tensor, draft: torch.Tensor) -> Callable[[np.ndarray], list]:
    """The same in torch, in single precision."""

    def kernel(matrix: np.ndarray) -> list:
        coins = torch.from_numpy(matrix).float()
        at = torch.arange(len(draft))
        n = (coins[:, :-1] * q[at, draft] < p[at, draft]).int().cumprod(1).sum(1)
        sums = torch.cat([(p[:-1] - q).clamp(min=0), p[-1:]]).cumsum(1)[n]
        token = torch.searchsorted(sums, coins[:, -1:] * sums[:, -1:], right=True)[:, 0]
        return [(*draft[:m].tolist(), t) for m, t in zip(n.tolist(), token.tolist(), strict=True)]

    return kernel


def test_a_batched_kernel_in_torch() -> None:
    """Single precision: coins on its grid, and a law within the tolerance that it is granted."""
    p, q = torch.tensor(rows(4, 8), dtype=torch.float32), torch.tensor(rows(3, 8, 2), dtype=torch.float32)
    draft = telling(p.numpy(), q.numpy())
    law = inject_rows(torch_kernel(p, q, torch.tensor(draft)), [Uniform(bits=24)] * 4, eps=2.0**-23)
    seen = law.compare(step_law(p.double().tolist(), q.double().tolist(), draft))
    assert seen.verdict == "rounding"
    assert seen.tv < 1e-6


def sibling_kernel(p: np.ndarray, q: np.ndarray, children: Sequence[int], *, shared: bool, naive: bool = False) -> Callable[[np.ndarray], list]:
    """Children of one node drawn with replacement from q: each is tried against what is left of p; a coin each, or one for all that is stretched anew."""
    v = len(p)

    def one(coins: np.ndarray) -> tuple[int, int]:
        rest, u = p.copy(), float(coins[0])
        for i, x in enumerate(children):
            u = u if shared else float(coins[i])
            bar = min(1.0, rest[x] / q[x])
            if u < bar:
                return i, x
            if shared and not naive:
                u = (u - bar) / (1 - bar)
            rest = np.maximum(rest - q, 0)
            rest /= rest.sum()
        return -1, min(int((rest.cumsum() <= coins[-1]).sum()), v - 1)

    return lambda matrix: [one(row) for row in matrix]


def sibling_law(p: np.ndarray, q: np.ndarray, children: Sequence[int]) -> Law:
    """Recursive rejection, given the children: (which child, or -1; token)."""
    law, reached, rest = {}, 1.0, p
    for i, x in enumerate(children):
        accepted = min(1.0, rest[x] / q[x])
        law[i, x] = reached * accepted
        reached *= 1 - accepted
        rest = np.maximum(rest - q, 0) / np.maximum(rest - q, 0).sum()
    law.update({(-1, token): reached * x for token, x in enumerate(rest)})
    return Law.of({outcome: float(mass) for outcome, mass in law.items()})


@pytest.mark.parametrize(("shared", "naive"), [(False, False), (True, False), (True, True)])
def test_siblings_of_a_tree_with_a_coin_each_or_one_for_all(*, shared: bool, naive: bool) -> None:
    """One coin for all siblings is lawful where it is stretched to what is left, and wrong where it is not: then no other sibling has a chance of its own."""
    p, q = np.array([0.3, 0.05, 0.05, 0.2, 0.1, 0.1, 0.06, 0.14]), np.array([0.1, 0.3, 0.2, 0.05, 0.15, 0.1, 0.05, 0.05])
    law = inject_rows(sibling_kernel(p, q, [1, 6, 7], shared=shared, naive=naive), [Uniform()] * (2 if shared else 4))
    assert (tv(law, sibling_law(p, q, [1, 6, 7])) <= NEAR) == (not naive)


def test_code_that_reads_behind_its_coins_is_told(compiled: Callable) -> None:
    """In one launch the next row lies there, and poison behind the last."""
    library, p, q, draft = compiled("LAST=u[gamma + 1]"), P0, Q0, np.array([1, 1])
    out = np.zeros(3, dtype=np.int64)

    def kernel(matrix: np.ndarray) -> list:
        return [tuple(out[: library.verify(pointer(p), pointer(q), pointer(draft), 2, 4, pointer(row), pointer(out))].tolist()) for row in matrix]

    with pytest.raises(NotExact, match="behind those it was given") as told:
        inject_rows(kernel, [Uniform()] * 3)
    assert told.value.hidden
    with pytest.raises(NotExact, match="The same draws"):
        inject_rows(lambda m: [bool(np.lib.stride_tricks.as_strided(m, (1, 2))[0, 1] < 0.3) for _ in m], [Uniform()])
