"""A prompt as a model hears it: features (1, mels, frames), each frame of which tells one id. Standard library only."""

from __future__ import annotations

import itertools

from specverify.contracts.arrays import Array, array
from specverify.contracts.table_models import Prefix
from specverify.contracts.weights import VOCABULARY

MELS = VOCABULARY
"""One for each id."""
FRAMES = 16
"""As many as a small real model hears; there are more where a prompt has more ids."""


def heard(prompt: Prefix) -> Array:
    """Frame i is 1 at the prompt's id i, and 0 behind its end."""
    frames = [*prompt, *itertools.repeat(None, FRAMES - len(prompt))]
    return array("float32", (1, MELS, len(frames)), [float(told == mel) for mel in range(MELS) for told in frames])
