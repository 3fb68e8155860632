"""A worker without a process: the subject runs in this one, so that a debugger reaches it. No isolation, no limits; for debugging only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specverify.errors import SpecverifyError, accepted
from specverify.subjects.serve import answer
from specverify.subjects.source import Source
from specverify.subjects.trial import Bound
from specverify.subjects.worker import Limits


class InProcess:
    """Answers the requests of a worker by calling its loop's body here."""

    def __init__(self, source: Source, limits: Limits | None = None) -> None:
        self.source, self.limits = source, limits or Limits()
        self._bound: dict[str, Bound] = {}

    def describe(self) -> dict[str, Any]:
        """Load the source into this process and return its descriptions."""
        if self.source.command:
            raise SpecverifyError("A program has a process of its own.", hint="Leave --in-process out; attach its debugger to the process.")
        described = answer({"do": "describe", "source": self.source.message()}, self._bound)
        return accepted(described)

    def request(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:  # noqa: ARG002  no limit here
        """Ask; nothing stops a subject that hangs."""
        if not self._bound:
            self.describe()
        return answer(message, self._bound)

    def close(self) -> None:
        """Nothing to end."""

    def output(self) -> str:
        """It printed where this process prints."""
        return ""
