"""How much memory a subject may take beyond what the worker has mapped. Runs in the subject's interpreter."""

from __future__ import annotations

import resource
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

MAPPED = Path("/proc/self/statm")


def mapped(process: int | None = None) -> int:
    """Bytes of the address space of a process, this one by default."""
    told = MAPPED if process is None else Path(f"/proc/{process}/statm")
    return int(told.read_text().split()[0]) * resource.getpagesize()


def limit_memory(size: int, *, asked: bool, others: Collection[int] = ()) -> None:
    """Limit the address space to `size` bytes beyond what is mapped now, of other processes too; where the system does not tell, or none is asked for, there is no limit."""
    if not asked or not MAPPED.exists():
        return
    for process in (None, *others):
        _set(mapped(process) + size, process)


def _set(wanted: int, process: int | None = None) -> None:
    _, hard = resource.prlimit(process or 0, resource.RLIMIT_AS)
    resource.prlimit(process or 0, resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


@contextmanager
def unlimited_memory() -> Iterator[None]:
    """What is mapped inside does not count against the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or not MAPPED.exists():
        yield
        return
    before = mapped()
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        _set(soft + max(0, mapped() - before))
