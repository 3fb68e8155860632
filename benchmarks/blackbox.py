"""`python -m benchmarks.blackbox`: near-exact laws of opaque code that takes its draws: calls or launches, seconds, distance to the right law."""

from __future__ import annotations

import argparse
import ctypes
import itertools
import math
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from specverify.exact import Exponential, Gumbel, Uniform, inject, inject_rows
from specverify.law import ExactLaw, Law

C = r"""
static int inverse(const double *w, int v, double u) {
    double total = 0, sum = 0;
    for (int t = 0; t < v; t++) total += w[t];
    for (int t = 0; t < v; t++) if (u * total < (sum += w[t])) return t;
    return v - 1;
}
int verify(const double *p, const double *q, const long *draft, int gamma, int v, const double *u, long *out) {
    double rest[64];
    for (int i = 0; i < gamma; i++) {
        if (!(u[i] * q[i * v + draft[i]] < p[i * v + draft[i]])) {
            for (int t = 0; t < v; t++) rest[t] = p[i * v + t] > q[i * v + t] ? p[i * v + t] - q[i * v + t] : 0;
            out[i] = inverse(rest, v, u[gamma]);
            return i + 1;
        }
        out[i] = draft[i];
    }
    out[gamma] = inverse(p + gamma * v, v, u[gamma]);
    return gamma + 1;
}
int race(const double *w, int v, const double *e) {
    int best = 0;
    for (int t = 1; t < v; t++) if (e[t] * w[best] < e[best] * w[t]) best = t;
    return best;
}
int gumbel(const double *logw, int v, const double *g) {
    int best = 0;
    for (int t = 1; t < v; t++) if (logw[t] + g[t] > logw[best] + g[best]) best = t;
    return best;
}
"""
HEAD = f"{'what':<44} {'calls':>8} {'s':>8} {'TV':>9}   bar"


@dataclass(frozen=True)
class Line:
    """One row of the table; of batched code the calls are launches."""

    what: str
    calls: int
    seconds: float
    tv: float
    bar: str

    def __str__(self) -> str:
        return f"{self.what:<44} {self.calls:>8,} {self.seconds:>8.3f} {self.tv:>9.1e}   {self.bar}"


def line(what: str, bar: str, law: Callable[[], ExactLaw], right: Law) -> Line:
    """A law, timed and held against the right one."""
    start = time.perf_counter()
    found = law()
    return Line(what, found.runs, time.perf_counter() - start, found.compare(right).tv, bar)


def rows(n: int, v: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rows that differ by position, no zeros."""
    weights = np.array([[1 + (3 * i + 2 * j + i * j) % (v + 1) for j in range(v)] for i in range(n)], dtype=float)
    return weights / weights.sum(1, keepdims=True)


def step_law(p: Any, q: Any, draft: Sequence[int]) -> Law:
    """What a step emits given its draft (2211.17192, algorithm 1)."""
    law, reached = {}, 1.0
    for i, x in enumerate(draft):
        accepted = min(1.0, p[i][x] / q[i][x])
        rest = np.maximum(p[i] - q[i], 0)
        law.update({(*draft[:i], t): reached * (1 - accepted) * float(w / rest.sum()) for t, w in enumerate(rest) if w > 0})
        reached *= accepted
    law.update({(*draft, t): reached * float(w) for t, w in enumerate(p[-1])})
    return Law.of(law)


def compiled() -> ctypes.CDLL:
    """The C code as a library."""
    folder = Path(tempfile.mkdtemp())
    (folder / "sampler.c").write_text(C)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", folder / "sampler.c", "-o", folder / "sampler.so"], check=True)  # noqa: S607
    return ctypes.CDLL(str(folder / "sampler.so"))


def address(array: Any) -> ctypes.c_void_p:
    """Of an array's numbers."""
    return ctypes.c_void_p(array.ctypes.data)


def steps_in_c(library: ctypes.CDLL) -> list[Line]:
    """The verify step."""
    told = []
    for v, gamma in itertools.product((4, 8), (2, 3, 4)):
        p, q, draft = rows(gamma + 1, v), np.ascontiguousarray(rows(gamma, v)[:, ::-1]), [(i + 1) % v for i in range(gamma)]
        tokens, out = np.array(draft, dtype=np.int64), np.zeros(gamma + 1, dtype=np.int64)
        kind = ctypes.c_double * (gamma + 1)

        def step(coins: list[float], *, p: Any = p, q: Any = q, tokens: Any = tokens, out: Any = out, kind: Any = kind) -> tuple[int, ...]:
            n = library.verify(address(p), address(q), address(tokens), len(tokens), p.shape[1], kind(*coins), address(out))
            return tuple(out[:n].tolist())

        bar = "5k - 30k calls, 0.1 - 0.5 s, TV 5e-14"
        told.append(
            line(f"verify step in C, V{v} gamma {gamma}", bar, lambda step=step, gamma=gamma: inject(step, [Uniform()] * (gamma + 1)), step_law(p, q, draft))
        )
    return told


def races_in_c(library: ctypes.CDLL, v: int = 8) -> list[Line]:
    """Exponential and Gumbel."""
    weights = rows(1, v)[0]
    logs = np.log(weights)
    right = Law.of(dict(enumerate(weights.tolist())))
    kind = ctypes.c_double * v
    exponential = lambda draws: library.race(address(weights), v, kind(*draws[0]))  # noqa: E731
    gumbel = lambda draws: library.gumbel(address(logs), v, kind(*draws[0]))  # noqa: E731
    return [
        line(f"exponential race in C, V{v}", "TV 1e-9, 5 s", lambda: inject(exponential, [Exponential(v)]), right),
        line(f"Gumbel race in C, V{v}", "TV 1e-9, 5 s", lambda: inject(gumbel, [Gumbel(v)]), right),
    ]


def batched(device: str, v: int = 8, gamma: int = 3) -> Line:
    """A verify kernel of coins in torch, double precision."""
    p, q, draft = rows(gamma + 1, v), np.ascontiguousarray(rows(gamma, v)[:, ::-1]), [(i + 1) % v for i in range(gamma)]
    there = [torch.tensor(x, device=device) for x in (p, q, draft)]
    at = torch.arange(gamma, device=device)

    def kernel(matrix: Any) -> list[tuple[int, ...]]:
        p_, q_, draft_ = there
        coins = torch.from_numpy(matrix).to(device)
        n = (coins[:, :-1] * q_[at, draft_] < p_[at, draft_]).int().cumprod(1).sum(1)
        sums = torch.cat([(p_[:-1] - q_).clamp(min=0), p_[-1:]]).cumsum(1)[n]
        token = torch.searchsorted(sums, coins[:, -1:] * sums[:, -1:], right=True)[:, 0]
        return [(*draft[:m], t) for m, t in zip(n.tolist(), token.tolist(), strict=True)]

    return line(
        f"batched kernel in torch, {device}, V{v} gamma {gamma}",
        "a few dozen launches, 5 s",
        lambda: inject_rows(kernel, [Uniform()] * (gamma + 1)),
        step_law(p, q, draft),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="of the batched kernel")
    given = parser.parse_args()
    torch.set_num_threads(1)
    library = compiled()
    print(HEAD)
    for one in [*steps_in_c(library), *races_in_c(library), batched(given.device)]:
        assert math.isfinite(one.tv)
        print(one, flush=True)


if __name__ == "__main__":
    main()
