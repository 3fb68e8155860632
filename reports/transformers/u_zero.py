"""Stand-alone: transformers' speculative sampling step emits a token of target probability zero when its uniform draw is exactly 0.

Needs torch and transformers, nothing of specverify. torch.rand gives 0.0 in float32 with probability 2^-24; the script
finds such a place in the stream of an ordinary seed, moves the generator there, and calls the step once.
"""

import inspect
from collections import Counter

import torch
import transformers
from transformers.generation.utils import _speculative_sampling


def step() -> list[int]:
    """One draft token, 0, drawn from q = (1, 0); the target is p = (0, 1), then (1, 0)."""
    q, p = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    arguments = {
        "candidate_input_ids": torch.tensor([[0]]),
        "candidate_logits": q.log()[None],
        "candidate_length": 1,
        "new_logits": p.log()[None],
        "is_done_candidate": False,
    }
    takes = inspect.signature(_speculative_sampling).parameters
    tokens, _ = _speculative_sampling(**{name: value for name, value in arguments.items() if name in takes})
    return tokens[0].tolist()


def place_of_zero(seed: int, length: int = 2**26) -> int:
    """How many draws of torch.rand after this seed come before one that is exactly 0."""
    torch.manual_seed(seed)
    zeros = (torch.rand(length) == 0).nonzero()
    return int(zeros[0])


def main() -> None:
    """Show the step at an ordinary place of the stream, and at that one."""
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    torch.manual_seed(0)
    ordinary = [tuple(step()) for _ in range(20_000)]
    print(f"20,000 ordinary draws: {Counter(ordinary)}; right is (1,) always")
    seed = 0
    place = place_of_zero(seed)
    torch.manual_seed(seed)
    torch.rand(place)
    print(f"seed {seed}, after {place:,} draws: emits {step()}; token 0 has target probability 0")


if __name__ == "__main__":
    main()
