"""gallery:lucidrains: helper functions and the sampler of PyPI's `speculative-decoding`.

Written from signatures and by trial. The package rebinds its submodule's name to a function, so the module is taken from `sys.modules`.
"""

import sys

import speculative_decoding  # noqa: F401
from torch import Tensor

import specverify as sv

package = sys.modules["speculative_decoding.speculative_decoding"]


@sv.subject("first_rejection", name="lucidrains.find_first_true_index", batch=True)
def find_first_true_index(accepted: Tensor) -> Tensor:
    """It finds the first True, so it gets the rejections."""
    result: Tensor = package.find_first_true_index(~accepted)
    return result


@sv.subject("ratio", name="lucidrains.safe_div", dtypes=("float32", "float64"), conventions={"eps": 1e-10})
def safe_div(num: Tensor, den: Tensor) -> Tensor:
    """Its guard is an argument, 1e-10 by default."""
    result: Tensor = package.safe_div(num, den)
    return result


@sv.subject("keep_fraction", name="lucidrains.top_k", batch=True, dtypes=("float32", "float64"))
def top_k(logits: Tensor, thres: float) -> Tensor:
    """Takes the same parameters."""
    result: Tensor = package.top_k(logits, thres)
    return result


@sv.subject("sample", name="lucidrains.gumbel_sample", batch=True, dtypes=("float32", "float64"))
def gumbel_sample(probs: Tensor) -> Tensor:
    """It takes logits, so it gets the logarithms of the rows."""
    result: Tensor = package.gumbel_sample(probs.log())
    return result
