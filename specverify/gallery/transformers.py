"""gallery:transformers: the speculative sampling step of Hugging Face transformers, `generation.utils._speculative_sampling`.

Written from its signature and docstring, and by trial. Arguments are bound by name, since they differ between versions.
"""

import inspect

import torch
from torch import Tensor
from transformers.generation.utils import _speculative_sampling

import specverify as sv

TAKES = inspect.signature(_speculative_sampling).parameters


@sv.subject("verify_chain", name="transformers._speculative_sampling", rule="standard", dtypes=("float32", "float64"))
def speculative_sampling(p: Tensor, q: Tensor, draft: Tensor) -> Tensor:
    """It takes logits, so it gets the logarithms of the rows; a batch of one, the drafts as the tail of the ids."""
    arguments = {
        "candidate_input_ids": draft[None],
        "candidate_logits": q.log()[None],
        "candidate_length": len(draft),
        "new_logits": p.log()[None],
        "is_done_candidate": False,
    }
    tokens, _ = _speculative_sampling(**{name: value for name, value in arguments.items() if name in TAKES})
    return torch.as_tensor(tokens[0])
