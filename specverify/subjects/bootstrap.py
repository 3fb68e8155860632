"""First file of a worker: run by path in the subject's interpreter, where specverify need not be installed.

usage: bootstrap.py REQUEST_FD REPLY_FD. Everything before `serve` uses the standard library and nothing of ours.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).resolve().parent.parent


class OnlySpecverify(importlib.abc.MetaPathFinder):
    """Finds the package `specverify` in the tool's folder, and nothing else: the tool's site-packages stay out of sight."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /) -> ModuleSpec | None:  # noqa: ARG002
        """The spec of `specverify` itself; its submodules follow from its folder."""
        if fullname != "specverify":
            return None
        return importlib.util.spec_from_file_location(fullname, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)])


def end_with_parent(parent: int) -> None:
    """End this process once its parent is gone, however busy the subject is; a worker, which leads a group, takes along what it started."""
    while os.getppid() == parent:
        time.sleep(1)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def main() -> None:
    """Isolate, serve."""
    requests, replies = map(int, sys.argv[1:3])
    sys.argv = [sys.argv[0]]
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
    sys.meta_path.insert(0, OnlySpecverify())
    threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
    from specverify.subjects.serve import serve

    for fd in (requests, replies):
        os.set_inheritable(fd, False)
    with os.fdopen(requests, "rb") as incoming, os.fdopen(replies, "wb") as outgoing:
        serve(incoming, outgoing)


if __name__ == "__main__":
    main()
