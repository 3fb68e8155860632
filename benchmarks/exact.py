"""`python -m benchmarks.exact`: the exact engine beside the bars of the page on exact laws: executions, distance to the right law, time, and the ratio to a plain call."""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

import specverify.faults.planted_sample
import specverify.faults.planted_verify_chain
import specverify.faults.planted_verify_deterministic_draft  # noqa: F401
from specverify.contracts import contract
from specverify.contracts.verify_tree import row_of
from specverify.exact import exact_law
from specverify.law import ExactLaw, Law, Outcome, product_law
from specverify.subjects.declare import DECLARED
from specverify.subjects.explore import _law as explored_case
from specverify.subjects.trial import Bound

PLAIN_CALLS = 300
TREE_TOKENS = 3
"""Two levels, and one token more."""


@dataclass(frozen=True)
class Line:
    """One row of the table; each law executes the function once more than its runs, to see that nothing else than its draws decides."""

    what: str
    bar: str
    runs: int
    leaves: int
    tv: float
    seconds: float
    plain: float
    laws: int = 1

    def __str__(self) -> str:
        ratio = self.seconds / self.plain / (self.runs + self.laws)
        return f"{self.what:<58} {self.runs:>6} {self.leaves:>7} {self.tv:>8.1e} {self.seconds:>8.3f} {1e3 * self.plain:>8.3f} {ratio:>7.1f}   {self.bar}"


HEAD = f"{'what':<58} {'runs':>6} {'leaves':>7} {'TV':>8} {'s':>8} {'plain ms':>8} {'x/run':>7}   bar"


def rows(n: int, v: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Rows that differ by position, no zeros."""
    weights = torch.tensor([[1 + (3 * i + 2 * j + i * j) % (v + 1) for j in range(v)] for i in range(n)], dtype=dtype)
    return weights / weights.sum(1, keepdim=True)


def step(p: Tensor, q: Tensor, draft: Tensor) -> list[Tensor]:
    """The textbook step (2211.17192, algorithm 1)."""
    for i, x in enumerate(draft):
        if not torch.rand((), dtype=p.dtype) * q[i, x] < p[i, x]:
            return [*draft[:i], torch.multinomial((p[i] - q[i]).clamp(min=0), 1)[0]]
    return [*draft, torch.multinomial(p[-1], 1)[0]]


def whole(p: Tensor, q: Tensor) -> list[Tensor]:
    """With its drafts drawn inside, and completed from p."""
    tokens = step(p, q, torch.cat([torch.multinomial(row, 1) for row in q]))
    return [*tokens, *(torch.multinomial(row, 1)[0] for row in p[len(tokens) :])]


PARENTS = (-1, -1, 0)
"""A tree of two levels and three nodes."""


def whole_tree(p: Tensor, q: Tensor) -> tuple[int, ...]:
    """A step on that tree with replacement, its nodes drawn inside, and completed from p; `row_of` says which row of p and q follows a prefix."""
    v = p.shape[1]
    prefixes: list[tuple[int, ...]] = []
    for parent in PARENTS:
        above = prefixes[parent] if parent >= 0 else ()
        prefixes.append((*above, _draw(q[row_of(above, v)])))
    tokens: tuple[int, ...] = ()
    at: int | None = -1
    while at is not None:
        children = [(node, prefixes[node][-1]) for node, parent in enumerate(PARENTS) if parent == at]
        token, at = _tried(p[row_of(tokens, v)], q[row_of(tokens, v)], children)
        tokens = (*tokens, token)
    while len(tokens) < TREE_TOKENS:
        tokens = (*tokens, _draw(p[row_of(tokens, v)]))
    return tokens


def _draw(row: Tensor) -> int:
    return int(torch.multinomial(row, 1))


def _tried(p: Tensor, q: Tensor, children: Sequence[tuple[int, int]]) -> tuple[int, int | None]:
    """The token of the first child accepted, and that child; else one of what is left of p, and none."""
    for node, token in children:
        if torch.rand((), dtype=p.dtype) * q[token] < p[token]:
            return token, node
        p = (p - q).clamp(min=0)
        p = p / p.sum()
    return _draw(p), None


def tree_line(v: int, bar: str) -> Line:
    """The whole step on a tree, nodes drawn inside."""
    p, q = rows(1 + v + v * v, v, torch.float64), rows(1 + v + v * v, v, torch.float64).flip(1)
    law, seconds = timed(lambda: exact_law(whole_tree, p, q, probe=0, max_seconds=120))
    right = {tokens: math.prod(float(p[row_of(tokens[:i], v), x]) for i, x in enumerate(tokens)) for tokens in itertools.product(range(v), repeat=TREE_TOKENS)}
    name = f"step on a tree, drafts inside, V{v}, two levels, three nodes"
    return Line(name, bar, law.runs, len(law.probabilities), law.compare(Law(right)).tv, seconds, plain_seconds(lambda: whole_tree(p, q)))


def plain_seconds(function: Callable[[], object]) -> float:
    """Of one plain call."""
    start = time.perf_counter()
    for _ in range(PLAIN_CALLS):
        function()
    return (time.perf_counter() - start) / PLAIN_CALLS


def timed(function: Callable[[], ExactLaw]) -> tuple[ExactLaw, float]:
    """Its result, and the seconds that it took."""
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def whole_step(v: int, gamma: int, bar: str, dtype: torch.dtype = torch.float32) -> Line:
    """The whole step, drafts inside."""
    p, q = rows(gamma + 1, v, dtype), rows(gamma, v, dtype).flip(1)
    law, seconds = timed(lambda: exact_law(whole, p, q, probe=0, max_seconds=120))
    tv = law.compare(product_law(p.double().tolist())).tv
    name = f"textbook step, drafts inside, V{v} gamma {gamma}, {str(dtype).removeprefix('torch.')}"
    return Line(name, bar, law.runs, len(law.probabilities), tv, seconds, plain_seconds(lambda: whole(p, q)))


def given_drafts(v: int, gamma: int, bar: str, drafts: Sequence[tuple[int, ...]]) -> Line:
    """The verify step alone, for some drafts."""
    p, q = rows(gamma + 1, v), rows(gamma, v).flip(1)
    return over_drafts("verify step", step, p, q, drafts, bar)


Step = Callable[[Tensor, Tensor, Tensor], Any]


def over_drafts(what: str, verify: Step, p: Tensor, q: Tensor, drafts: Sequence[tuple[int, ...]], bar: str) -> Line:
    """A step for each of these drafts; the distance of its law, completed from p, where they are all that q draws. Impossible mass stands with the bar."""
    (gamma, v), laws = q.shape, 0
    found: dict[tuple[int, ...], float] = {}
    runs, seconds = 0, 0.0
    for draft, weight in ((draft, math.prod(float(q[i, x]) for i, x in enumerate(draft))) for draft in drafts):
        if weight == 0:
            continue
        law, took = timed(lambda draft=draft: exact_law(verify, p, q, torch.tensor(draft), probe=0))
        runs, seconds, laws = runs + law.runs, seconds + took, laws + 1
        for tokens, mass in law.probabilities.items():
            found[tokens] = found.get(tokens, 0.0) + mass * weight
    everything = len(drafts) == v**gamma
    seen = completed(found, p).compare(product_law(p.double().tolist())) if everything else None
    strange = math.fsum(seen.impossible.values()) if seen is not None else 0.0
    name = f"{what}, {'all' if everything else len(drafts)} drafts given, V{v} gamma {gamma}"
    told = f"{bar}; impossible tokens {strange:.1e}" if strange else bar
    return Line(name, told, runs, len(found), seen.tv if seen else math.nan, seconds, plain_seconds(lambda: verify(p, q, torch.tensor(drafts[0]))), laws)


def completed(found: dict[tuple[int, ...], float], p: Tensor) -> ExactLaw:
    """The law of len(p) tokens: what a step emits, and the rest drawn from p."""
    law: dict[Outcome, float] = {}
    for tokens, mass in found.items():
        for rest in itertools.product(range(p.shape[1]), repeat=len(p) - len(tokens)):
            chance = mass * math.prod(float(p[len(tokens) + i, x]) for i, x in enumerate(rest))
            law[(*tokens, *rest)] = law.get((*tokens, *rest), 0.0) + chance
    return ExactLaw({tokens: mass for tokens, mass in law.items() if mass > 0})


def own_lines() -> list[Line]:
    """The step of this file."""
    return [
        whole_step(3, 2, "20 runs, 39 leaves, 0.05 - 0.1 s, 3e-8"), whole_step(3, 2, "3e-17 in doubles", torch.float64),
        given_drafts(8, 4, "at most 5 runs, < 10 ms", [(0, 1, 2, 3)]),
        whole_step(4, 3, "0.37 s"), whole_step(5, 3, "0.66 s"), whole_step(8, 2, "0.24 s"), whole_step(8, 3, "2.6 s"),
        given_drafts(4, 3, "0.7 s", list(itertools.product(range(4), repeat=3))), given_drafts(8, 3, "4 s", list(itertools.product(range(8), repeat=3))),
        tree_line(3, "< 1 s"),
    ]  # fmt: skip


def others_lines() -> list[Line]:
    """The same step through numpy's generator, and through `random`."""
    numbers = np.random.default_rng(0)

    def numpy_step(p: Any, q: Any, draft: Any) -> list[int]:
        for i, x in enumerate(draft):
            if not numbers.random() * q[i, x] < p[i, x]:
                rest = np.maximum(p[i] - q[i], 0)
                return [*draft[:i], numbers.choice(len(rest), p=rest / rest.sum())]
        return [*draft, numbers.choice(p.shape[1], p=p[-1])]

    def plain_step(p: Any, q: Any, draft: Any) -> list[int]:
        for i, x in enumerate(draft):
            if not random.random() * q[i, x] < p[i, x]:
                return [*draft[:i], random.choices(range(p.shape[1]), np.maximum(p[i] - q[i], 0))[0]]
        return [*draft, random.choices(range(p.shape[1]), p[-1])[0]]

    every = list(itertools.product(range(4), repeat=3))
    p, q = rows(4, 4, torch.float64), rows(3, 4, torch.float64).flip(1)
    steps = {"numpy's step": numpy_step, "step through random": plain_step}
    return [over_drafts(name, _of_arrays(verify), p, q, every, "0.7 s, as torch's") for name, verify in steps.items()]


def _of_arrays(verify: Callable[[Any, Any, Any], Any]) -> Step:
    return lambda p, q, draft: verify(p.numpy(), q.numpy(), draft.tolist())


def transformers_lines() -> list[Line]:
    """The step of Hugging Face transformers, through its gallery entry."""
    try:
        from specverify.gallery.transformers import speculative_sampling
    except ImportError:
        return []
    return [
        over_drafts(
            "transformers' step", speculative_sampling, sparse(gamma + 1, v, 1), sparse(gamma, v, 2), list(itertools.product(range(v), repeat=gamma)), "TV 4e-8"
        )
        for v in (2, 3, 4)
        for gamma in (1, 2, 3)
    ]


def sparse(n: int, v: int, shift: int) -> Tensor:
    """Rows that differ by position, with small denominators; some tokens have no mass."""
    weights = torch.tensor([[(3 * i + 2 * j + shift * (i + j * j + 1)) % 5 for j in range(v)] for i in range(n)]).float()
    weights += weights.sum(1, keepdim=True) == 0
    return weights / weights.sum(1, keepdim=True)


def generation_line() -> list[Line]:
    """Hugging Face transformers' generate with an assistant: tiny Llamas made here, 5 tokens, 3 new ones, against the law that their logits give."""
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        return []
    v, new, prompt = 5, 3, torch.tensor([[1, 2]])

    def tiny(seed: int) -> Any:
        torch.manual_seed(seed)
        config = LlamaConfig(vocab_size=v, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
                             max_position_embeddings=32, bos_token_id=None, eos_token_id=None, pad_token_id=0)  # fmt: skip
        model = LlamaForCausalLM(config).eval()
        for weights in (one for one in model.parameters() if one.dim() > 1):
            weights.data.mul_(20)  # so that the rows are far from uniform
        return model

    target, draft = tiny(1), tiny(2)
    draft.generation_config.update(num_assistant_tokens=2, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0)

    @torch.no_grad()
    def generate() -> Tensor:
        ids = target.generate(prompt.clone(), assistant_model=draft, do_sample=True, top_k=0, max_new_tokens=new, attention_mask=torch.ones_like(prompt))
        return ids[0, prompt.shape[1] :]

    @torch.no_grad()
    def right(tokens: tuple[int, ...]) -> float:
        rows_ = target(torch.cat([prompt, torch.tensor([tokens])], 1)).logits[0].double().softmax(-1)
        return math.prod(float(rows_[1 + i, x]) for i, x in enumerate(tokens))

    law, seconds = timed(lambda: exact_law(generate, probe=0, max_seconds=600))
    wanted = Law({tokens: right(tokens) for tokens in itertools.product(range(v), repeat=new)})
    name = f"transformers' generate(assistant_model=), V{v}, {new} new tokens"
    start = time.perf_counter()
    generate()
    return [Line(name, "537 runs, 12 - 31 s, 1e-6", law.runs, len(law.probabilities), law.compare(wanted).tv, seconds, time.perf_counter() - start)]


def faults() -> list[str]:
    """Each planted fault of the random contracts on the small cases of its property, until one shows it."""
    from specprops import sample, verify_chain, verify_deterministic_draft

    modules = {"sample": sample, "verify_chain": verify_chain, "verify_deterministic_draft": verify_deterministic_draft}
    told = []
    for declared in [one for one in DECLARED if one.contract in modules]:
        bound = Bound(declared, contract(declared.contract)).settle()
        start = time.perf_counter()
        shown = next((line for case in modules[declared.contract].first(declared) if (line := _wrong(bound, case))), "by two calls in a row, or not on these")  # type: ignore[attr-defined]
        told.append(f"{declared.name:<32} {time.perf_counter() - start:>7.3f} s   {shown}")
    return told


def _wrong(bound: Bound, case: dict[str, object]) -> str:
    told = explored_case(bound, case, spans=1, seconds=10.0, probe=2)
    if told["is"] != "law":
        return ""
    masses: dict[object, float] = {}
    for outcome, mass in told["law"]:  # type: ignore[attr-defined]
        masses[_outcome(outcome)] = masses.get(_outcome(outcome), 0.0) + mass
    law = ExactLaw(masses, tolerance=float(told["tolerance"]))  # type: ignore[arg-type]
    rows_ = [list(row) for row in case["p" if "p" in case else "probs"].rows()]  # type: ignore[attr-defined]
    seen = law.compare(product_law(rows_))
    return f"TV {seen.tv:.3g}, impossible {math.fsum(seen.impossible.values()):.3g}" if seen.verdict in ("different", "grid") else ""


def _outcome(outcome: object) -> object:
    """The tokens of a step's outcome; one token as a tuple."""
    if isinstance(outcome, tuple) and len(outcome) == 3 and isinstance(outcome[2], tuple):
        return outcome[2]
    return outcome if isinstance(outcome, tuple) else (outcome,)


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    exact_law(whole, rows(2, 2), rows(1, 2))  # what is loaded at first use
    print(HEAD)
    for line in own_lines() + others_lines() + transformers_lines() + generation_line():
        print(line, flush=True)
    if not any(declared.contract == "sample" for declared in DECLARED):
        return
    print("\nplanted faults of the random contracts, two replays for every set of choices")
    print("\n".join(faults()))
    sys.exit(0)


if __name__ == "__main__":
    main()
