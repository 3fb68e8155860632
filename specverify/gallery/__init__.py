"""Subject files for published packages and for checkouts of repositories, as package data; the worker runs one in the interpreter that has what it imports.

An entry is a file NAME.py. One that is too large for that is a folder NAME: its `specverify_subjects.py` declares, and imports how that is called from the parts beside it, as
`specverify.gallery.NAME.PART`, a name that nothing in a checkout hides. Parts declare nothing, so that entries may share them.
"""

from __future__ import annotations

from typing import NamedTuple


class Checkout(NamedTuple):
    """A repository that is no package: its name, the commit that the entry was written for, and the folder in it from which its modules are imported."""

    repository: str
    commit: str
    root: str = "."


PACKAGES = {
    "transformers": ("transformers==5.24.0",),
    "whisper": ("transformers==5.24.0",),
    "lucidrains": ("speculative-decoding==0.2.0",),
    "economize": ("economize==0.3.2", "transformers==5.24.0"),
    "flashspec": ("flashspec==0.3.1", "transformers==5.24.0"),
    "rest": ("transformers==5.24.0",),
    "llmspeculativesampling": ("transformers==5.24.0",),
    "pearl": ("transformers==5.24.0", "accelerate"),
    "lmflow": ("transformers==5.24.0",),
    "ems_sd": (),
    "rest_generate": ("transformers==5.24.0",),
}
"""The entries, and what the environment of each must have installed, beside torch and numpy, in the versions that its verdict speaks of."""

CHECKOUTS = {
    "rest": Checkout("FasterDecoding/REST", "50a5fc1"),
    "llmspeculativesampling": Checkout("feifeibear/LLMSpeculativeSampling", "59a209d"),
    "pearl": Checkout("smart-lty/ParallelSpeculativeDecoding", "5a6f369"),
    "lmflow": Checkout("OptimalScale/LMFlow", "f3597db", "src"),
    "rest_generate": Checkout("FasterDecoding/REST", "50a5fc1"),
    "ems_sd": Checkout("niyunsheng/EMS-SD", "51b8603", "examples/pytorch/gpt"),
}
"""Entries that import from the user's own checkout, `--checkout PATH`."""
