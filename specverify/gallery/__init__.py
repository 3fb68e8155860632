"""Subject files for published packages, as package data; the worker runs one in the interpreter that has the package."""
