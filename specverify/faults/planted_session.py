"""Planted faults of `session`. Each is a subject; the catalogue says what is wrong with it."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import specverify as sv

Ids = list[int]
Model = Callable[[Ids], Sequence[float]]


class Session:
    """The committed text, and what the model has read: what the faults below change one part of."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.text, self.read, self.drafts = Ids(), Ids(), Ids()

    def begin(self, prompt: Ids) -> None:
        self.text, self.read = list(prompt), list(prompt)

    def draft(self, gamma: int) -> Ids:
        context, self.drafts = list(self.read), []
        for _ in range(gamma):
            row = self.model(context)
            self.drafts.append(max(range(len(row)), key=row.__getitem__))
            context.append(self.drafts[-1])
        return list(self.drafts)

    def accept(self, n: int, token: int) -> None:
        self.text += [*self.drafts[:n], token]
        self.read += [*self.drafts[:n], token]

    def state(self) -> Ids:
        return list(self.text)


@sv.subject("session", arrays="list", name="token-behind-the-drafts-not-read")
class TokenBehindTheDraftsNotRead(Session):
    def accept(self, n: int, token: int) -> None:
        self.text += [*self.drafts[:n], token]
        self.read += self.drafts[:n]


@sv.subject("session", arrays="list", name="rejected-drafts-committed")
class RejectedDraftsCommitted(Session):
    def accept(self, n: int, token: int) -> None:  # noqa: ARG002
        super().accept(len(self.drafts), token)


@sv.subject("session", arrays="list", name="rejected-drafts-stay-read")
class RejectedDraftsStayRead(Session):
    def accept(self, n: int, token: int) -> None:
        self.text += [*self.drafts[:n], token]
        self.read += [*self.drafts[: n + 1], token] if n < len(self.drafts) else [*self.drafts, token]


@sv.subject("session", arrays="list", name="accepted-drafts-from-the-end")
class AcceptedDraftsFromTheEnd(Session):
    def accept(self, n: int, token: int) -> None:
        self.text += [*self.drafts[-n:], token]
        self.read = list(self.text)


@sv.subject("session", arrays="list", name="last-draft-unread-where-all-are-accepted")
class LastDraftUnreadWhereAllAreAccepted(Session):
    def accept(self, n: int, token: int) -> None:
        self.text += [*self.drafts[:n], token]
        self.read += [*(self.drafts[:-1] if n == len(self.drafts) else self.drafts[:n]), token]


@sv.subject("session", arrays="list", name="text-before-kept-at-a-new-beginning")
class TextBeforeKeptAtANewBeginning(Session):
    def begin(self, prompt: Ids) -> None:
        self.text = list(prompt)
        self.read += prompt


@sv.subject("session", arrays="list", name="one-context-for-all-sessions")
class OneContextForAllSessions(Session):
    contexts: ClassVar[dict[str, Ids]] = {}

    def begin(self, prompt: Ids) -> None:
        self.text = self.contexts["read"] = list(prompt)
        self.read = self.text

    def draft(self, gamma: int) -> Ids:
        self.read = self.contexts["read"]
        return super().draft(gamma)

    def accept(self, n: int, token: int) -> None:
        self.contexts["read"] = self.text = [*self.text, *self.drafts[:n], token]
