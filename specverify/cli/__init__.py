"""The command line: one module per verb. Errors are one sentence and a hint, never a traceback unless --debug."""

from __future__ import annotations

import sys

from specverify.errors import SpecverifyError

USAGE = 2


def main() -> None:
    """Entry point of the command `specverify`."""
    from specverify.cli.app import app

    debug = "--debug" in sys.argv
    try:
        app()
    except SpecverifyError as error:
        if debug:
            raise
        print(f"error: {error.message}\n  hint: {error.hint}", file=sys.stderr)  # noqa: T201
        sys.exit(USAGE)
