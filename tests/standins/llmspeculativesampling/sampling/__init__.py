"""Stand-in: the package rebinds the names of its submodules to functions."""

from sampling.autoregressive_sampling import autoregressive_sampling
from sampling.speculative_sampling import speculative_sampling, speculative_sampling_v2

__all__ = ["autoregressive_sampling", "speculative_sampling", "speculative_sampling_v2"]
