"""The command line: one module per verb. Errors are one sentence and a hint, never a traceback unless --debug."""

from __future__ import annotations

import sys
import traceback

from specverify.errors import SpecverifyError

USAGE, UNDECIDED = 2, 4
DEBUG = "--debug"


def main() -> None:
    """Entry point of the command `specverify`."""
    from specverify.cli.app import app

    debug = DEBUG in sys.argv
    sys.argv = [word for word in sys.argv if word != DEBUG]  # so that every verb takes it
    try:
        app()
    except Exception as error:  # noqa: BLE001  all are told
        if debug:
            traceback.print_exc()
        sys.exit(_told(error))


def _told(error: Exception) -> int:
    """One sentence and a hint on the error stream, and the exit code."""
    if isinstance(error, SpecverifyError):
        message, hint, code = error.message, error.hint, USAGE
    elif isinstance(error, OSError):
        message, hint, code = f"{error.filename}: {error.strerror}.", "Choose another place, or make this one usable.", USAGE
    else:
        message, hint, code = f"specverify itself failed: {type(error).__name__}: {error}", "--debug shows where; please report it.", UNDECIDED
    print(f"error: {message}\n  hint: {hint}", file=sys.stderr)  # noqa: T201
    return code
