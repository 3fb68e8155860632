"""How xdist spreads properties over its workers: by subject, so that one worker process per subject serves them all, in order."""

from __future__ import annotations

import re
from typing import Any

ITEM = re.compile(r"\[(?P<label>.*)-(?P<prefix>[A-Z]{3})-\d{3}(?:-(?P<lane>\d+of\d+))?\]$")
"""The end of a property's node id, as the plugin makes it."""


def group(node_id: str) -> str:
    """Subject and contract of a property, or the slot that its subject shares with others; any other test is a group of its own."""
    match = ITEM.search(node_id)
    if match is None:
        return node_id.rpartition("@")[2] if node_id.rfind("@") > node_id.rfind("]") else node_id  # a group of the user's own, as xdist marks it
    return match["lane"] or f"{match['label']}-{match['prefix']}"


def by_subject(config: Any, log: Any) -> Any:
    """The scheduler: xdist's own one of scopes, with a subject as scope."""
    from xdist.scheduler import LoadScopeScheduling

    class BySubject(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return BySubject(config, log)
