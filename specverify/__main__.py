"""`python -m specverify` is the command `specverify`."""

from specverify.cli import main

main()
