"""gallery:lmflow: `SpeculativeInferencer` of OptimalScale/LMFlow, on a checkout.

Written from signatures, shapes and what they return alone. Its file is run by itself: the package around it and the heavy modules that it names are stood in for.
"""

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

import specverify as sv

BOTH = ("float32", "float64")
FILE = "lmflow/pipeline/inferencer.py"
HEAVY = {"lmflow", "accelerate", "deepspeed", "wandb", "datasets", "peft", "tqdm"}
"""Packages that the file names at its top and the functions below do not use, where they are not installed."""
Model = Any
"""Prefix -> (V,), as `draft_and_verify` hands it over."""


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Found last, for what is not installed: modules whose every name is an empty class."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:  # noqa: ARG002
        """Of heavy packages alone."""
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] in HEAVY else None

    def exec_module(self, module: ModuleType) -> None:
        """Any name that is no module's own attribute."""
        module.__getattr__ = self._name  # type: ignore[method-assign]

    def _name(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def inferencer() -> ModuleType:
    """The file alone, from the first folder of the path that has it."""
    found = next((Path(folder, FILE) for folder in sys.path if Path(folder, FILE).exists()), None)
    if found is None:
        raise ModuleNotFoundError(f"the checkout has no {FILE}")
    sys.modules["lmflow"] = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("lmflow", StandIns(), is_package=True))
    StandIns().exec_module(sys.modules["lmflow"])
    sys.meta_path.append(StandIns())
    spec = importlib.util.spec_from_file_location("lmflow_inferencer", found)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lmflow_inferencer"] = module
    spec.loader.exec_module(module)
    return module


Inferencer = inferencer().SpeculativeInferencer


@sv.subject("warp", name="lmflow.score_to_prob", batch=True, dtypes=BOTH)
def score_to_prob(logits: Tensor, temperature: float, top_k: int, top_p: float) -> Tensor:
    """It has no top-k, which is taken before."""
    width = logits.shape[-1]
    border = logits.topk(min(top_k, width), -1).values[..., -1:]
    rows = logits.masked_fill(logits < border, -torch.inf)
    probs: Tensor = Inferencer.score_to_prob(rows.reshape(-1, width), temperature=temperature, top_p=top_p)
    return probs.reshape(logits.shape)


@sv.subject("sample", name="lmflow.sample", batch=True, dtypes=BOTH)
def sample(probs: Tensor) -> Tensor:
    """It tells the token, its probability, and all of them."""
    token: Tensor = Inferencer.sample(probs.reshape(-1, probs.shape[-1]))["sampled_token"]
    return token.reshape(probs.shape[:-1])


class Wrapped:
    """A model as it wraps one: `inference(ids).scores` has the logits behind all ids, texts are ids written out."""

    device = torch.device("cpu")

    def __init__(self, rows: Model) -> None:
        self.rows = rows

    def inference(self, ids: Tensor, *_: Any, **_rest: Any) -> SimpleNamespace:
        """Logits (1, S, V)."""
        (row,) = ids.tolist()
        return SimpleNamespace(scores=torch.stack([self.rows(row[: i + 1]).log().clamp(min=-1e4) for i in range(len(row))])[None])

    def get_backend_model(self) -> "Wrapped":
        """Itself."""
        return self

    def encode(self, text: str, **_rest: Any) -> Any:
        """Ids (1, S)."""
        return torch.tensor([[int(word) for word in text.split()]])

    def decode(self, ids: Any, **_rest: Any) -> str:
        """The ids in words."""
        return " ".join(str(int(one)) for one in torch.as_tensor(ids).reshape(-1))


def written(target: Model, draft: Model, prefix: Sequence[int], gamma: int, most: int = 1, temperature: float = 1.0) -> list[int]:
    """The ids of the text that it returns."""
    decoder = Inferencer.__new__(Inferencer)
    text = decoder.inference(Wrapped(target), Wrapped(draft), " ".join(map(str, prefix)), temperature=temperature, gamma=gamma, max_new_tokens=most)
    return [int(word) for word in text.split()]


@functools.cache
def with_text() -> bool:
    """Whether the text that it is given comes first in what it returns: one draft gives two ids at most, and this text has four."""
    sure = torch.tensor([1.0])
    return len(written(lambda _: sure, lambda _: sure, (0, 0, 0, 0), 1)) > len("ab")


@sv.subject("draft_and_verify", name="lmflow.inference", rule="standard", conventions={"drafting": "rows"})
def inference(target: Model, draft: Model, prefix: tuple[int, ...], gamma: int) -> tuple[list[int], Tensor]:
    """One round, asked for one token more, at temperature 1."""
    ids = written(target, draft, prefix, gamma)
    asked = sorted({one for one in draft.asked if len(one) >= len(prefix)}, key=len)[:gamma]
    q = torch.stack([draft[one] for one in asked]) if asked else torch.empty(0, draft.width)
    return ids[len(prefix) * with_text() :], q


HEEDS = ("greedy", "temperature")


@sv.subject("generate", name="lmflow.inference (text)", models="callable", supports=HEEDS)
def texts(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: None) -> list[int]:
    """Over several rounds; the first ids of what it returns, which may be more."""
    ids = written(target, draft, prompt.tolist(), gamma, most, temperature)
    return ids[len(prompt) * with_text() :][:most]


@sv.subject("generate", name="lmflow.autoregressive_sampling", models="callable", supports=HEEDS)
def plain(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: None) -> Tensor:
    """The loop without a draft model: the new ids are the whole of the first thing that it returns, or what follows the prompt there."""
    made = Inferencer.__new__(Inferencer).autoregressive_sampling(prompt[None], Wrapped(target), temperature=temperature, num_new_tokens=most)
    ids = torch.as_tensor(next(iter(made.values())) if isinstance(made, dict) else made[0] if isinstance(made, tuple) else made).reshape(-1)
    return ids[-most:]
