"""A program in another language as subjects: started, asked over a pipe of its own, and ended with the worker. Runs in the worker."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from specverify.contracts import contract, recast
from specverify.errors import SpecverifyError, Unloadable
from specverify.subjects.adapt import Elsewhere
from specverify.subjects.declare import DECLARED, Declaration, subject
from specverify.subjects.frames import BrokenPipe, Ended, read_frame, write_frame
from specverify.subjects.trial import Bound

PROTOCOL = 1
ARRAYS = "plain"
"""The kind of arrays that are handed over as they stand in a case: bytes, for a frame."""
UNFOLLOWED = "it is a program of its own, whose draws cannot be followed"
OPTIONS = ("claim", "rule", "dtypes", "seed", "rng", "siblings", "refuses", "conventions", "supports", "sentinel")
"""What a program may say of a subject beside its name and contract; the other options of `subject` are of Python's world."""
ELSEWHERE = (
    "helper",
    "seeding",
    "retriever",
    "verify_packed",
    "verify_tree_lcrs",
    "draft_and_verify",
    "drafter",
    "generate",
    "grammar_mask",
    "kv_cache",
    "prefill",
    "recurrent_state",
    "session",
)
"""Contracts whose ranges, arguments or state are objects of Python."""
PAGE = "docs/protocol.md says what a program is asked and answers."
STARTED = "It must be there and be executable: exec:./path/to/program, or a name on PATH."
BROKEN = 76
"""Exit code of a worker whose program has left the protocol: EX_PROTOCOL of sysexits.h."""
LAST_SECONDS = 2.0
"""For a program that closed its pipe to end."""


class Left(Exception):
    """A program has ended, or left the protocol: what it does, as the end of a sentence; its exit code, if it ended; what to do."""

    def __init__(self, what: str, *, code: int | None = None, hint: str = PAGE) -> None:
        super().__init__(what)
        self.what, self.code, self.hint = what, code, hint


class Program:
    """One process. A copy of this worker has one of its own, so that laws are explored beside it; one that ended is started again."""

    def __init__(self, shown: str, command: Sequence[str]) -> None:
        self.shown, self.command = shown, command
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Mapping[str, Any]:
        """Start it, and return what it says of itself."""
        self.close()
        (child_reads, we_write), (we_read, child_writes) = os.pipe(), os.pipe()
        command = [*self.command, str(child_reads), str(child_writes)]
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(child_reads, child_writes))  # noqa: S603  the user's choice
        except OSError as error:
            raise Left(f"cannot be started: {error.strerror}", hint=STARTED) from None
        finally:
            os.close(child_reads)
            os.close(child_writes)
        self._requests, self._replies, self._owner = os.fdopen(we_write, "wb"), os.fdopen(we_read, "rb"), os.getpid()
        if self._read().get("protocol") != PROTOCOL:
            raise Left(f"does not begin with protocol {PROTOCOL}")
        return self.ask({"do": "describe"})

    @property
    def runs(self) -> bool:
        """Whether it is there, and this process's own."""
        return self.process is not None and self._owner == os.getpid() and self.process.poll() is None

    def close(self) -> None:
        """End it; what a copy of the worker has inherited belongs to the worker."""
        if self.process is None:
            return
        for stream in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                stream.close()
        if self.runs:
            self.process.kill()
            self.process.wait()
        self.process = None

    def ask(self, request: Mapping[str, object]) -> Mapping[str, Any]:
        """The reply to one request."""
        name = secrets.token_hex(8)
        try:
            write_frame(self._requests, {**request, "id": name})
        except OSError:
            raise self._ended() from None
        reply = self._read()
        if reply.get("id") != name:
            raise Left("answers with an id that is not the request's")
        if "error" in reply:
            raise Left(f"refuses the request {request['do']!r}: {reply['error']}")
        return reply

    def _read(self) -> Mapping[str, Any]:
        try:
            reply = read_frame(self._replies)
        except Ended:
            raise self._ended() from None
        except BrokenPipe as error:
            raise Left(f"writes {error}") from None
        if not isinstance(reply, dict):
            raise Left("writes a frame that is no JSON object")
        return reply

    def _ended(self) -> Left:
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=LAST_SECONDS)
        code = self.process.poll()
        if code is None:
            return Left("closes its pipe")
        return Left(f"dies of {signal.Signals(-code).name}" if code < 0 else f"ends with exit code {code}", code=code)


@dataclass(frozen=True)
class Asked:
    """A subject of a program: called like a function, it asks."""

    program: Program
    name: str
    parameters: tuple[str, ...]

    def __call__(self, *values: object, **options: object) -> object:
        """The value that comes back, or the program's exception; where the program ends, so does this process."""
        try:
            if not self.program.runs:
                self.program.start()
            return self.ask(*values, **options)
        except Left as event:
            _end(self.program.shown, event)

    def ask(self, *values: object, **options: object) -> object:
        """The same of a program that runs; its end is raised."""
        case = dict(zip(self.parameters, values, strict=True))
        match self.program.ask({"do": "call", "subject": self.name, "cases": [{"case": case, **options}]}):
            case {"replies": [{"is": "value", "value": value}]}:
                return value
            case {"replies": [{"is": "raised", "type": str()} as raised]}:
                raise Elsewhere(raised)
            case _:
                raise Left("answers a call with neither one value nor one exception")


def _end(shown: str, event: Left) -> NoReturn:
    """End as the program did, so that the tool tells it of the subject and starts both again."""
    print(f"{shown} {event.what}.", flush=True)  # noqa: T201  what the worker prints is shown
    if event.code is not None and event.code < 0:
        signal.signal(-event.code, signal.SIG_DFL) if -event.code != signal.SIGKILL else None
        os.kill(os.getpid(), -event.code)
    os._exit(BROKEN if event.code is None else event.code)


_LOADED: list[tuple[Program, Mapping[str, Any]]] = []
"""The program of this worker, and what it said of itself; or none."""


def processes() -> list[int]:
    """Its process id, if there is one."""
    return [program.process.pid for program, _ in _LOADED if program.process is not None]


def versions() -> dict[str, str]:
    """What it says that it was made with."""
    return {str(name): str(version) for _, told in _LOADED for name, version in told.get("versions", {}).items()}


def load(shown: str, command: Sequence[str]) -> None:
    """Start a program, declare what it describes, and call each subject once.

    Raises:
        Unloadable: it does not start, or does not keep to the protocol.
    """
    program = Program(shown, command)
    try:
        told = program.start()
        _LOADED[:] = [(program, told)]
        for one in _described(told):
            _try(_declared(program, one))
    except Left as event:
        program.close()
        raise Unloadable(f"{shown} {event.what}.", hint=event.hint) from None


def _described(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    subjects, made_with = told.get("subjects"), told.get("versions", {})
    if not isinstance(subjects, list) or not all(isinstance(one, dict) for one in subjects) or not isinstance(made_with, dict):
        raise Left("describes no list of subjects")
    return subjects


def _declared(program: Program, told: Mapping[str, Any]) -> Declaration:
    name, of = str(told.get("name")), str(told.get("contract"))
    foreign = sorted(told.keys() - {"name", "contract", *OPTIONS})
    if foreign:
        raise Left(f"says {foreign[0]!r} of {name}, which is none of name, contract, {', '.join(OPTIONS)}")
    if told.get("rng", "coins") != "coins" or told.get("seed", "int") != "int":
        raise Left(f"says of {name} that it takes generators; a program takes coins, seeds of calls, or neither")
    if of in ELSEWHERE:
        raise SpecverifyError(f"A program cannot fill {of}.", hint=f"It takes and gives data; {', '.join(ELSEWHERE)} need objects of Python.")
    asked = Asked(program, name, tuple(one.name for one in contract(of).parameters))
    options: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items() if key in OPTIONS}
    subject(of, name=name, arrays="list", **options)(asked)
    DECLARED[-1] = replace(DECLARED[-1], arrays=ARRAYS)
    return DECLARED[-1]


def _try(declaration: Declaration) -> None:
    """One dull call: what it gives is judged later, that it answers is not."""
    bound, rng = Bound(declaration, contract(declaration.contract)), random.Random(0)
    case = {name: recast(value, declaration.dtypes[0]) for name, value in bound.contract.smoke.items()}
    coins, _ = bound.coins(case, rng)
    assert isinstance(declaration.function, Asked)
    with contextlib.suppress(Elsewhere):
        declaration.function.ask(*bound.arguments(case), **bound.options(rng, None, coins))
