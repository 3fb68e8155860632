"""Planted faults of `recurrent_state`. Each is a subject; the catalogue says what is wrong with it."""

import specverify as sv

Ids = list[int]


class State:
    """A number that every token changes, with the states of the last block: what the faults below change one part of."""

    def __init__(self) -> None:
        self.now, self.end = 0.5, 0
        self.start, self.saved = 0, [self.now]

    def read(self, token: int) -> None:
        self.now = (self.now + token + 1) / (3 + token)
        self.end += 1

    def advance(self, tokens: Ids) -> None:
        self.start, self.saved = self.end, [self.now]
        for token in tokens:
            self.read(token)
            self.saved.append(self.now)

    def rollback(self, to_length: int) -> None:
        self.now, self.end = self.saved[to_length - self.start], to_length

    def state(self) -> float:
        return self.now


@sv.subject("recurrent_state", arrays="list", name="state-saved-behind-the-drafts")
class SavedBehindTheDrafts(State):
    def rollback(self, to_length: int) -> None:
        self.now, self.end = self.saved[-1], to_length


@sv.subject("recurrent_state", arrays="list", name="state-one-token-too-far-back")
class OneTokenTooFarBack(State):
    def rollback(self, to_length: int) -> None:
        self.now, self.end = self.saved[max(0, to_length - self.start - 1)], to_length


@sv.subject("recurrent_state", arrays="list", name="state-of-the-block-where-none-is-accepted")
class StateOfTheBlockWhereNoneIsAccepted(State):
    def rollback(self, to_length: int) -> None:
        self.now, self.end = self.saved[1:][to_length - self.start - 1], to_length


@sv.subject("recurrent_state", arrays="list", name="a-lone-token-leaves-the-slots")
class ALoneTokenLeavesTheSlots(State):
    def advance(self, tokens: Ids) -> None:
        if len(tokens) == 1 and self.end:
            self.start = self.end
            self.read(tokens[0])
        else:
            super().advance(tokens)


@sv.subject("recurrent_state", arrays="list", name="slots-of-all-requests")
class SlotsOfAllRequests(State):
    slots: list[float] = [0.0] * 64

    def advance(self, tokens: Ids) -> None:
        super().advance(tokens)
        self.slots[: len(self.saved)] = self.saved

    def rollback(self, to_length: int) -> None:
        self.now, self.end = self.slots[to_length - self.start], to_length
