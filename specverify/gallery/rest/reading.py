"""How a model is asked: a model in the repository's form, a prompt and a tree read with it."""

from collections.abc import Sequence
from typing import Any

import torch
from rest.model import utils
from torch import Tensor

from specverify.gallery.rest.trees import branches, padded, path_to


class Reader:
    """A model in the repository's form, on one that is asked for prefixes: a row of logits behind each id, in both parts of the pair that it returns.

    Its cache has a slot for each position. An id sees what stands above it, which the repository tells its model apart from these functions: of a prompt all before it, if nothing is told.
    """

    def __init__(self, model: Any, prompt: Sequence[int] = (), above: Sequence[int] = ()) -> None:
        self.model, self.read, self.above = model, dict(enumerate(prompt)), above

    def __call__(self, ids: Tensor, *_: Any, position_ids: Tensor | None = None, **_rest: Any) -> tuple[Tensor, Tensor]:
        """Rows (1, T, V); a slot that nobody wrote into holds id 0."""
        places = range(ids.numel()) if position_ids is None else position_ids.reshape(-1).tolist()
        seen: list[dict[int, int]] = []
        for above, place, token in zip(self.above or range(-1, ids.numel() - 1), places, ids.reshape(-1).tolist(), strict=True):
            seen.append({**(seen[above] if above >= 0 else self.read), place: token})
        rows = torch.stack([self.model([slots.get(place, 0) for place in range(max(slots) + 1)]) for slots in seen]).log()[None]
        return rows, rows


def initialize_logits(model: Any, tokens: Tensor, chunks: list[int], parents: Tensor) -> Any:
    """A prompt whose cache is empty."""
    return utils.initialize_logits(tokens[None], Reader(model), [])


def tree_decoding(model: Any, tokens: Tensor, chunks: list[int], parents: Tensor) -> Tensor:
    """The prompt's last token is the root; the rows before it come from the model. An error where branches have different rows of one node."""
    start = len(tokens) - len(parents) - 1
    above, rows = branches(parents)
    depths = torch.tensor([len(path_to(node, above)) - 1 for node in range(len(above))])
    told = utils.tree_decoding(Reader(model, tokens[:start].tolist(), above), tokens[None, start:], [], depths, tokens[None, :start], padded(rows))[0]
    found: dict[int, Tensor] = {}
    for row, of_leaf in zip(rows, told, strict=True):
        for node, logits in zip(row, of_leaf, strict=False):
            if not torch.equal(found.setdefault(node, logits), logits):
                raise AssertionError(f"branches have different rows of node {node}")
    return torch.stack([*(model(tokens[: end + 1]).log() for end in range(start)), *(found[node] for node in range(len(above)))])
