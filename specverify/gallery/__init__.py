"""Subject files for published packages, as package data; the worker runs one in the interpreter that has the package."""

PACKAGES = {
    "transformers": ("transformers==5.24.0",),
    "lucidrains": ("speculative-decoding==0.2.0",),
    "economize": ("economize==0.3.2", "transformers==5.24.0"),
    "flashspec": ("flashspec==0.3.1", "transformers==5.24.0"),
}
"""What an entry's environment must have installed, beside torch and numpy, in the versions that its verdict speaks of."""
