"""How an outcome is shown: a glyph and a word, never colour alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """A glyph for the eye, a word for everybody, and a tone: good, bad, open or quiet."""

    glyph: str
    word: str
    tone: str


STATUSES = {
    "ok": Mark("✓", "ok", "good"),
    "failed": Mark("✗", "FAILED", "bad"),
    "grid": Mark("≈", "grid effect", "open"),
    "advisory": Mark("!", "advisory", "quiet"),
    "unconfirmed": Mark("?", "not confirmed", "open"),
    "inconclusive": Mark("?", "inconclusive", "open"),
    "lost": Mark("?", "lost", "open"),
    "blocked": Mark("?", "blocked", "open"),
    "not applicable": Mark("–", "not applicable", "quiet"),
}
"""Of a property on a subject, in the order in which they are counted."""
UNREACHED = Mark("–", "not reached", "quiet")

VERDICTS = {0: Mark("✓", "upheld", "good"), 1: Mark("✗", "broken", "bad")}
OPEN = Mark("?", "not decided", "open")


def verdict_mark(exit_code: int) -> Mark:
    """Of a subject, by the exit code that it would give alone."""
    return VERDICTS.get(exit_code, OPEN)
