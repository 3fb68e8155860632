"""gallery:rest_generate: the whole loop of FasterDecoding/REST, on a checkout. Its pieces are in gallery:rest.

Written from signatures, shapes and what they return alone. What the loop reads of its object is not described, and assumed here: `base_model`, with `config`, `device`, `dtype` and a
`model` on which the tree's mask is left; `tokenizer`, `token_spans` and `num_draft`. This entry wants its first run on a checkout. The datastore is the repository's own, by its Writer
and Reader, so that `draftretriever` must be installed.
"""

from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import torch
from rest.model import rest_model
from torch import Tensor

import specverify as sv
from specverify.gallery.rest.datastore import reader
from specverify.gallery.rest.posterior import NUCLEUS

NO_MASS = -1e4
"""The logit of a token without mass, finite so that no arithmetic on it gives NaN."""
ROOM = 256
"""Positions that a cache has room for: 48 tokens, a prompt and a tree."""
SPANS = (3, 2, 1)
"""Lengths of a text's end that are looked for, the longest first."""
CONFIG = {"num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "hidden_size": 1, "head_dim": 1, "max_position_embeddings": ROOM}
Model = Any
"""Prefix -> (V,) of probabilities."""

FIND = rest_model.generate_candidates_and_draft_buffer
TREE_AXES = 4
"""Of the mask of a tree, (1, 1, n, n)."""


def here(*given: Any, **named: Any) -> Any:
    """On the CPU, whatever device is named."""
    return FIND(*given, **{**named, "device": "cpu"})


rest_model.generate_candidates_and_draft_buffer = here


class Letters:
    """A tokenizer whose ids are letters; it leaves out none.

    Args:
        eos: the id that ends a text; -1 is none.
    """

    def __init__(self, eos: int) -> None:
        self.eos_token_id = eos

    def decode(self, ids: Any, *_: Any, **_rest: Any) -> str:
        """A letter for each id."""
        return "".join(chr(ord("a") + int(one)) for one in torch.as_tensor(ids).reshape(-1))


class Rest(rest_model.RestModel):  # type: ignore[misc]
    """Its loop over a table; the cache holds ids and positions in the place of keys and values."""

    def forward(self, input_ids: Tensor, past_key_values: Any = None, position_ids: Tensor | None = None, **_rest: Any) -> tuple[Any, Tensor]:
        """(Outputs, logits (1, T, V)); a query sees what the cache held before, and of the new ids those that the tree's mask shows, or those before it."""
        keys, values = past_key_values[0]
        known, n = int(keys.shape[2]), input_ids.shape[1]
        positions = torch.arange(known, known + n) if position_ids is None else position_ids.reshape(-1)
        ids = keys.cat(input_ids.reshape(1, 1, n, 1).float()).flatten().long().tolist()
        places = values.cat(positions.reshape(1, 1, n, 1).float()).flatten().long().tolist()
        seen = self._mask(n)
        rows = [text([*range(known), *(known + j for j in range(n) if seen[i, j])], ids, places) for i in range(n)]
        return (None,), torch.stack([self.rows(one).log().clamp(min=NO_MASS) for one in rows])[None]

    def _mask(self, n: int) -> Tensor:
        left = [one for one in vars(self.base_model.model).values() if isinstance(one, Tensor) and one.dim() == TREE_AXES and one.shape[-1] == n]
        return left[0][0, 0].bool() if left else torch.ones(n, n).tril().bool()


def text(seen: list[int], ids: list[int], places: list[int]) -> tuple[int, ...]:
    """Ids by position; where positions do not follow each other, all ids twice, which equals no text."""
    known = sorted((places[i], ids[i]) for i in seen)
    found = tuple(token for _, token in known)
    return found if [place for place, _ in known] == list(range(len(known))) else found + found


def model_of(target: Model, eos: int | None) -> Rest:
    """An object that was not set up."""
    model = Rest.__new__(Rest)
    torch.nn.Module.__init__(model)
    model.rows, model.token_spans, model.num_draft = target, list(SPANS), 8
    model.tokenizer = Letters(-1 if eos is None else eos)
    model.base_model = SimpleNamespace(config=SimpleNamespace(**CONFIG), device=torch.device("cpu"), dtype=torch.float32, model=SimpleNamespace())
    return model


@lru_cache(maxsize=64)
def stored(documents: tuple[tuple[int, ...], ...], width: int) -> Any:
    """A store of these documents, whose file is gone by now."""
    with reader(documents, width) as found:
        return found


def documents(prompt: Sequence[int], draft: Model, most: int) -> tuple[tuple[int, ...], ...]:
    """What the draft model takes for likeliest behind the prompt; and one in which every id follows every other, so that trees have branches."""
    likely = list(prompt)
    for _ in range(most + 1):
        likely.append(int(draft(likely).argmax()))
    return tuple(likely), tuple(token for a in range(draft.width) for b in range(draft.width) for token in (a, b))


def written(prompt: Tensor, target: Model, draft: Model, most: int, temperature: float, eos: int | None) -> list[int]:
    """The first new ids of the last text; a step gives one at least. Rows here have no token of so little mass as the nucleus leaves out."""
    found = stored(documents(prompt.tolist(), draft, most), target.width)
    told: Any = {}
    for told in model_of(target, eos).rest_generate(prompt[None], found, temperature=temperature, top_p=NUCLEUS, max_steps=most):
        if len(letters(told)) >= most + len(prompt):
            break
    return letters(told)[:most]


def letters(told: dict[str, Any]) -> list[int]:
    """Ids of the one text in what a step tells."""
    (found,) = [one for one in told.values() if isinstance(one, str)]
    return [ord(letter) - ord("a") for letter in found]


@sv.subject("generate", name="rest.RestModel.rest_generate (greedy)", claim="greedy-exact", models="callable", supports=("greedy", "eos"))
def greedy(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> list[int]:
    """At temperature 0."""
    return written(prompt, target, draft, most, 0.0, eos)


@sv.subject("generate", name="rest.RestModel.rest_generate (sampled)", models="callable", supports=("temperature", "eos"))
def sampled(prompt: Tensor, target: Model, draft: Model, gamma: int, most: int, temperature: float, top_k: int, top_p: float, eos: int | None) -> list[int]:
    """Above 0, from the whole nucleus."""
    return written(prompt, target, draft, most, temperature, eos)
