"""gallery:ems_sd: the batched greedy loops of niyunsheng/EMS-SD, on a checkout.

Written from signatures, shapes and what they return alone. Which files have the loops is not described: each file of the folder that defines one of the names is bound, and names
its subject. What a gpt is asked is not described either, and assumed here (`Gpt`), as are the names of the arguments that stand behind the first of `gpt_LLMA`, and that a length
counts the end token: this entry wants its first run on a checkout.
"""

import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import torch
from torch import Tensor

import specverify as sv

FOLDER = "utils"
NAMES = ("gpt_speculative_decoding", "gpt_LLMA")
CHECKED = 1
"""Ids of a text's end that `gpt_LLMA` looks for before: texts here are short."""
NO_MASS = -1e4
"""The logit of a token without mass, finite so that no arithmetic on it gives NaN."""
Model = Any
"""Prefix -> (V,) of probabilities."""
Loop = Callable[..., Any]


class Idle(ModuleType):
    """A module, and all that is named in it, that does nothing: false, called, entered and left."""

    def __getattr__(self, name: str) -> Self:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **_rest: Any) -> Self:
        """Itself."""
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to leave."""

    def __bool__(self) -> bool:
        return False


def modules() -> Iterator[ModuleType]:
    """Files that define a loop; what they use of many devices is stood in for."""
    for name in ("comm", "profiler"):
        sys.modules[f"{FOLDER}.{name}"] = idle = Idle(f"{FOLDER}.{name}")
        setattr(importlib.import_module(FOLDER), name, idle)
    torch.cuda.synchronize = lambda *_, **_rest: None
    folder = next((Path(one, FOLDER) for one in sys.path if Path(one, FOLDER).is_dir() and any(defining(Path(one, FOLDER)))), None)
    if folder is None:
        raise ModuleNotFoundError(f"no file of {FOLDER} defines {' or '.join(NAMES)}")
    for file in defining(folder):
        yield importlib.import_module(f"{FOLDER}.{file.stem}")


def defining(folder: Path) -> Iterator[Path]:
    """Files with one of the names at the start of a function's."""
    pattern = re.compile(rf"^def ({'|'.join(NAMES)})", re.MULTILINE)
    yield from (file for file in sorted(folder.glob("*.py")) if pattern.search(file.read_text(encoding="utf-8")))


class Gpt:
    """A table as a gpt, as it is assumed to be asked: hidden states number the prefixes that were seen, keys are ids.

    Args:
        rows: a prefix to the row (V,) behind it.
    """

    def __init__(self, rows: Model) -> None:
        self.rows, self.seen = rows, list[tuple[int, ...]]()

    def context_decoder(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG002  as it is called
        """Right-padded ids (B, S) to hidden states (B, S, 1) and a cache, whose slots are those of the ids."""
        return self.decoder(ids, torch.zeros(len(ids), dtype=torch.long), ids[:, :0])

    def decoder(self, ids: Tensor, lengths: Tensor, cache: Tensor, masked: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Ids (B, T) into the slots behind the first `lengths` (B,) of each row; hidden states (B, T, 1), and a cache with them.

        A query sees the slots before it that are not masked (B, slots), and itself.
        """
        width = ids.shape[1]
        grown = torch.nn.functional.pad(cache, (0, max(0, int(lengths.max()) + width - cache.shape[1])))
        for row, at in enumerate(lengths.tolist()):
            grown[row, at : at + width] = ids[row]
        hidden = [[self._number(grown[row], at + i, None if masked is None else masked[row]) for i in range(width)] for row, at in enumerate(lengths.tolist())]
        return torch.tensor(hidden, dtype=torch.float64)[..., None], grown

    def _number(self, slots: Tensor, last: int, masked: Tensor | None) -> int:
        hidden = [] if masked is None else masked.tolist()
        self.seen.append(tuple(token for i, token in enumerate(slots[: last + 1].tolist()) if i == last or not (i < len(hidden) and hidden[i])))
        return len(self.seen) - 1

    def lm_head(self, hidden: Tensor) -> Tensor:
        """Hidden states (…, 1) to logits (…, V)."""
        found = torch.stack([self.rows(self.seen[int(number)]).log().clamp(min=NO_MASS) for number in hidden.flatten()])
        return found.reshape(*hidden.shape[:-1], -1)


def padded(prompts: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Ids (B, S) and lengths (B,). The pad is an id of the vocabulary, so that reading it gives another text."""
    longest = max(map(len, prompts))
    return torch.tensor([[*one, *[0] * (longest - len(one))] for one in prompts]), torch.tensor([len(one) for one in prompts])


def first_text(loop: Loop, prompts: list[list[int]], most: int, eos: int | None) -> list[int]:
    """The ids of the first prompt's text as far as its length tells."""
    ids, lengths = padded(prompts)
    told = loop(input_token_ids=ids, input_lengths=lengths, gen_length=most, eos_token_id=eos)
    found: list[int] = told["output_token_ids"][0, 0, : int(told["output_lengths"][0])].tolist()
    return found


def speculative(function: Loop, target: Model, draft: Model, gamma: int) -> Loop:
    """With two models."""
    return functools.partial(function, gpt=Gpt(target), draft_gpt=Gpt(draft), draft_steps_max=gamma, vocab_size=target.width)


def copying(function: Loop, target: Model, _draft: Model, gamma: int) -> Loop:
    """With copies from the text for drafts."""
    return functools.partial(function, gpt=Gpt(target), check_length=CHECKED, copy_length=gamma, vocab_size=target.width)


def with_prompt(arranged: Callable[..., Loop], function: Loop) -> bool:
    """Whether the prompt comes first in what it returns: one token was asked for, and this prompt has four."""

    class Sure:
        width = 1

        def __call__(self, _: object) -> Tensor:
            return torch.ones(1)

    return len(first_text(arranged(function, Sure(), Sure(), 1), [[0, 0, 0, 0]], 1, None)) > len("ab")


def bind(name: str, arranged: Callable[..., Loop], function: Loop) -> None:
    """A batch of one, and one whose other prompts are shorter and longer."""
    leading = functools.cache(functools.partial(with_prompt, arranged, function))

    def text(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, eos: int | None, company: list[list[int]]) -> list[int]:
        found = first_text(arranged(function, target, draft, gamma), [prompt.tolist(), *company], most, eos)
        return found[len(prompt) * leading() :][:most]

    def alone(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> list[int]:
        return text(prompt, target, draft, gamma, most, eos, [])

    def batch(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> list[int]:
        return text(prompt, target, draft, gamma, most, eos, [[1], [*prompt.tolist(), 1, 0]])

    for how, called in (("", alone), (" (in a batch)", batch)):
        sv.subject("generate", name=name + how, claim="greedy-exact", models="callable", supports=("greedy", "eos"))(called)


for module in modules():
    stem = module.__name__.rpartition(".")[2]
    for label, loop in vars(module).items():
        if label.startswith(NAMES) and getattr(loop, "__module__", "") == module.__name__:
            bind(f"ems_sd.{stem}.{label}", speculative if label.startswith(NAMES[0]) else copying, loop)
