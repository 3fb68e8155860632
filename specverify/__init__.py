"""specverify: does this speculative decoder output exactly what its target model would, and if not, why?

The face is what a subjects file needs; it imports the standard library alone and works in any interpreter from Python 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specverify.errors import SpecverifyError
from specverify.subjects.declare import subject
from specverify.subjects.domain import floats, ints, lists, tensors

if TYPE_CHECKING:
    from specverify.exact import NotExact, exact_law

__all__ = ["NotExact", "SpecverifyError", "__version__", "exact_law", "floats", "ints", "lists", "subject", "tensors"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """The exact engine needs torch, which takes seconds to import: it is loaded when it is asked for."""
    if name not in {"NotExact", "exact_law"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import specverify.exact

    return getattr(specverify.exact, name)
