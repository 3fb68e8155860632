"""Two ranks of a program that exchange tensors, in one process: threads of which one runs at a time, each with random generators of its own, and what they ask of an accelerator."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

COUNT = 2
"""Ranks."""


class Ended(RuntimeError):
    """A rank waits for one that has ended."""


class Ranks:
    """Plays a function as both ranks.

    Args:
        play: called with the accelerator of each rank.
    """

    def __init__(self, play: Callable[[Accelerator], Any]) -> None:
        self._play = play
        self._turns = [threading.Semaphore(0) for _ in range(COUNT)]
        self._sent: list[list[Any]] = [[] for _ in range(COUNT)]
        self._states: list[Any] = [_generators() for _ in range(COUNT)]
        self._ended = [False] * COUNT
        self._results: list[Any] = [None] * COUNT
        self._errors: list[BaseException] = []

    def run(self) -> Any:
        """What the first rank returns.

        Raises:
            BaseException: the first that any rank raised.
        """
        threads = [threading.Thread(target=self._live, args=(rank,), daemon=True) for rank in range(COUNT)]
        for thread in threads:
            thread.start()
        self._turns[0].release()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """The values that all ranks sent at this place of the program.

        Raises:
            Ended: another rank ended before it came here.
        """
        place, other = len(self._sent[rank]), 1 - rank
        self._sent[rank].append(value)
        if len(self._sent[other]) <= place:
            self._wait_for(other)
        if len(self._sent[other]) <= place:
            raise Ended(f"rank {rank} waits at exchange {place}, and rank {other} has ended")
        return [sent[place] for sent in self._sent]

    def _wait_for(self, other: int) -> None:
        rank = 1 - other
        if not self._ended[other]:
            self._states[rank] = _generators()
            self._turns[other].release()
            self._turns[rank].acquire()
            _set_generators(self._states[rank])

    def _live(self, rank: int) -> None:
        self._turns[rank].acquire()
        _set_generators(self._states[rank])
        try:
            self._results[rank] = self._play(Accelerator(self, rank))
        except BaseException as error:  # noqa: BLE001  handed over to who runs the ranks
            self._errors.append(error)
        self._ended[rank] = True
        self._turns[1 - rank].release()


class Accelerator:
    """What a rank asks: who it is, and to exchange tensors with the other.

    Args:
        ranks: all of them.
        rank: 0 is the main one.
    """

    num_processes = COUNT
    device = torch.device("cpu")

    def __init__(self, ranks: Ranks, rank: int) -> None:
        self._ranks = ranks
        self.process_index = self.local_process_index = rank
        self.is_main_process = self.is_local_main_process = rank == 0

    def gather(self, tensor: Tensor) -> Tensor:
        """Both ranks' tensors, one behind the other along the first axis; numbers without axes become one row."""
        return torch.cat([torch.atleast_1d(one) for one in self._ranks.exchange(self.process_index, tensor.clone())])  # type: ignore[no-untyped-call]

    gather_for_metrics = gather

    def reduce(self, tensor: Tensor, reduction: str = "sum") -> Tensor:
        """The sum, or the mean, of both ranks' tensors."""
        total: Tensor = torch.stack(self._ranks.exchange(self.process_index, tensor.clone())).sum(0)
        return total / COUNT if reduction == "mean" else total

    def wait_for_everyone(self) -> None:
        """Go on when both are here."""
        self._ranks.exchange(self.process_index, None)

    def print(self, *_: Any, **_rest: Any) -> None:
        """Nothing is shown."""


def _generators() -> tuple[Any, ...]:
    return random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002  the global one, which programs draw from


def _set_generators(states: tuple[Any, ...]) -> None:
    python, numpy, of_torch = states
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    torch.set_rng_state(of_torch)
