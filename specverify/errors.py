"""The one error root. Every instance says in one sentence what is wrong, and in another what to do."""

from collections.abc import Iterable
from typing import Any


class SpecverifyError(Exception):
    """Something that a person has to mend: a bad argument, a subject that does not load, a broken record.

    Args:
        message: one sentence that names what is wrong.
        hint: one sentence that says what to do about it.
    """

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}"


class Unloadable(SpecverifyError):
    """A subject's source does not import, or its process does not live."""


def unknown(what: str, word: str, choices: Iterable[str]) -> SpecverifyError:
    """The error for a word that is none of the known ones, with the nearest as its hint."""
    import difflib  # here, so that `import specverify` takes milliseconds

    known = sorted(choices)
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
    return SpecverifyError(f"There is no {what} {word!r}.", hint=hint)


def accepted(reply: dict[str, Any]) -> dict[str, Any]:
    """A worker's reply, or the error that it carries."""
    error = reply.get("error")
    if error is None:
        return reply
    kind = Unloadable if error["kind"] == "load" else SpecverifyError
    raise kind(error["message"], hint=error["hint"])
