"""How much memory a subject may take beyond what the worker has mapped. Runs in the subject's interpreter."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAPPED = Path("/proc/self/statm")


def mapped() -> int:
    """Bytes of this process's address space."""
    return int(MAPPED.read_text().split()[0]) * resource.getpagesize()


def limit_memory(size: int, *, asked: bool) -> None:
    """Limit the address space to `size` bytes beyond what is mapped now; where the system does not tell, or none is asked for, there is no limit."""
    if not asked or not MAPPED.exists():
        return
    _set(mapped() + size)


def _set(wanted: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


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
