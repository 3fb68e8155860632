"""specverify: does this speculative decoder output exactly what its target model would, and if not, why?

The face is what a subjects file needs; it imports the standard library alone and works in any interpreter from Python 3.10.
"""

from specverify.errors import SpecverifyError
from specverify.subjects.declare import subject
from specverify.subjects.domain import floats, ints, lists, tensors

__all__ = ["SpecverifyError", "__version__", "floats", "ints", "lists", "subject", "tensors"]
__version__ = "0.1.0"
