"""gallery:flashspec: the verification steps and the residual of PyPI's `flashspec`, its PyTorch path.

Written from signatures, docstrings and by trial.
"""

import torch
from flashspec.sampling.greedy import greedy_step
from flashspec.sampling.rejection import rejection_step, rejection_step_onehot, residual_distribution
from torch import Tensor

import specverify as sv

sv.subject("residual", name="flashspec.residual_distribution", batch=True, dtypes=("float32", "float64"), conventions={"eps": 1e-9})(residual_distribution)


def tokens(draft: Tensor, step: Tensor) -> list[int]:
    """Its steps return the accepted length and the next token, for a batch of one."""
    n, token = step.reshape(-1).tolist()
    return [*draft[:n].tolist(), token]


@sv.subject("verify_chain", name="flashspec.rejection_step", rule="standard", seed="generator")
def chain(p: Tensor, q: Tensor, draft: Tensor, generator: torch.Generator) -> list[int]:
    """It takes log-probabilities, a row more for the target."""
    return tokens(draft, rejection_step(draft[None], q.log()[None], p.log()[None], generator=generator))


@sv.subject("verify_deterministic_draft", name="flashspec.rejection_step_onehot", rule="standard", seed="generator")
def onehot(p: Tensor, draft: Tensor, generator: torch.Generator) -> list[int]:
    """The same for a draft that was looked up."""
    return tokens(draft, rejection_step_onehot(draft[None], p.log()[None], generator=generator))


@sv.subject("verify_chain_greedy", name="flashspec.greedy_step", dtypes=("float32", "float64"))
def greedy(logits: Tensor, draft: Tensor) -> list[int]:
    """It takes the argmax of each row."""
    return tokens(draft, greedy_step(draft[None], logits.argmax(-1)[None]))
