"""A worker process: started, asked, limited, killed and started again. The tool's side of the pipe."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specverify.errors import SpecverifyError, Unloadable, accepted
from specverify.subjects.frames import BrokenPipe, read_frame, write_frame
from specverify.subjects.source import Source

BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
MEMORY = 2 * 2**30
"""Address space beyond what importing the source took: builds of torch differ in what they map, a few rows need little."""
START_SECONDS = 120.0
"""Importing transformers from a cold disk took 40 s on two shared cores."""
MARK = "SPECVERIFY_WORKER"
"""Set in a worker's environment: its children inherit it, those too that leave its session."""
OUTPUT_KEPT = 64 * 1024
POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Limits:
    """Of one worker: address space in bytes beyond its imports (0 is no limit), seconds per call."""

    memory: int = MEMORY
    call_seconds: float = 10.0


class WorkerGone(Exception):
    """The process ended during a request."""

    def __init__(self, how: str, output: str) -> None:
        super().__init__(how)
        self.how, self.output = how, output


class Overdue(Exception):
    """No answer in time; the process was killed."""


class Worker:
    """One process that holds the subjects of one source. It starts at the first request, and again after it died."""

    def __init__(self, source: Source, limits: Limits | None = None) -> None:
        self.source = source
        self.limits = limits or Limits()
        self.starts = 0
        self.users: set[object] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def describe(self) -> dict[str, Any]:
        """Start, load the source, and return its descriptions.

        Raises:
            SpecverifyError: the source does not load, or the process does not live.
        """
        self.close()
        return self._start()

    def request(self, message: Mapping[str, object], seconds: float) -> dict[str, Any]:
        """Ask and wait.

        Raises:
            WorkerGone: the process ended.
            Overdue: no answer within `seconds`; the process was killed.
        """
        if self._process is None:
            self._start()
        self.users.add(message.get("subject"))
        return self._ask(message, seconds)

    def close(self) -> None:
        """End the process and every child of it, those too that left its session."""
        process, self._process = self._process, None
        self.users = set()
        if process is None:
            return
        for stream in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                stream.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _end_marked(self._mark)
        self._output.join(timeout=1)

    def output(self) -> str:
        """The end of what the process printed."""
        return self._output.text() if self._process is not None else ""

    def _start(self) -> dict[str, Any]:
        """Load the source; a larger declared `memory` is told to the worker, which sets its limit only after that."""
        self.starts += 1
        self._spawn()
        try:
            self._receive(START_SECONDS)
            described = self._ask({"do": "describe", "source": self.source.message(), "memory": self.limits.memory}, START_SECONDS)
        except Overdue:
            raise Unloadable(
                f"{self.source.shown} did not load within {START_SECONDS:g} s.",
                hint="Its import, of a program its first call, must end; the worker was killed.",
            ) from None
        except WorkerGone as event:
            last = event.output.strip()[-300:]
            raise Unloadable(f"{self.source.shown} could not be loaded: its process {event.how}.", hint=last or "`--python` picks the interpreter.") from None
        try:
            return accepted(described)
        except SpecverifyError:
            self.close()
            raise

    def _spawn(self) -> None:
        child_reads, we_write = os.pipe()
        we_read, child_writes = os.pipe()
        self._mark = secrets.token_hex(16)
        environment = {**os.environ, MARK: self._mark, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [self.source.python, str(BOOTSTRAP), str(child_reads), str(child_writes)]
        try:
            self._process = subprocess.Popen(  # noqa: S603  the interpreter is the user's choice
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                pass_fds=(child_reads, child_writes), start_new_session=True, env=environment,
            )  # fmt: skip
        except OSError as error:
            for fd in (we_write, we_read):
                os.close(fd)
            raise Unloadable(
                f"{self.source.python} is no interpreter that starts: {error.strerror}.", hint="`--python` takes the path of a Python 3.10 or later."
            ) from error
        finally:
            os.close(child_reads)
            os.close(child_writes)
        self._requests = os.fdopen(we_write, "wb")
        self._replies = os.fdopen(we_read, "rb", buffering=0)
        self._output = Output(self._process.stdout)

    def _ask(self, message: Mapping[str, object], seconds: float) -> dict[str, Any]:
        name = secrets.token_hex(8)
        try:
            write_frame(self._requests, {**message, "id": name})
        except OSError:
            raise self._gone() from None
        reply = self._receive(seconds)
        if reply.pop("id", None) != name:
            self._process_wrote_into_the_pipe()
        return reply

    def _process_wrote_into_the_pipe(self) -> None:
        """A frame that is not the answer to our request: the subject has found the pipe, and nothing that comes out of it counts."""
        output = self.output()
        self.close()
        raise WorkerGone("wrote into the worker's own pipe", output)

    def _receive(self, seconds: float) -> dict[str, Any]:
        assert self._process is not None
        reader = _Deadline(self._replies.fileno(), self._process, time.monotonic() + seconds)
        try:
            return read_frame(reader)  # type: ignore[arg-type, return-value]
        except BrokenPipe:
            raise self._gone() from None
        except TimeoutError:
            self.close()
            raise Overdue(f"no answer within {seconds:g} s") from None

    def _gone(self) -> WorkerGone:
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        code = process.poll()
        self.close()
        return WorkerGone(_how(code), self._output.text())


def _end_marked(mark: str) -> None:
    """End what still carries a worker's mark; a system without /proc does not tell."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)


class Output:
    """What a process prints, drained by a thread; the last 64 kB are kept."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._kept, self._lock = stream, b"", threading.Lock()
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()
        self.join = self._thread.join

    def _drain(self) -> None:
        with self._stream:
            while part := self._stream.read1(OUTPUT_KEPT):
                with self._lock:
                    self._kept = (self._kept + part)[-OUTPUT_KEPT:]

    def text(self) -> str:
        """The end of the output, as text."""
        with self._lock:
            return self._kept.decode(errors="replace")


class _Deadline:
    """A reader of a pipe that gives up at a time, and sees that the process ended even where a child holds the pipe open."""

    def __init__(self, fd: int, process: subprocess.Popen[bytes], end: float) -> None:
        self._fd, self._process, self._end = fd, process, end

    def read(self, size: int) -> bytes:
        while True:
            left = self._end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready, _, _ = select.select([self._fd], [], [], min(left, POLL_SECONDS))
            if ready:
                return os.read(self._fd, min(size, 2**20))
            if self._process.poll() is not None:
                return b""


def _how(code: int | None) -> str:
    if code is None:
        return "closed its pipe"
    if code < 0:
        try:
            return f"died of {signal.Signals(-code).name}"
        except ValueError:
            return f"died of signal {-code}"
    return f"exited with code {code}"
