"""The switch of a stand-in: which planted fault it shows, if any."""

import os


def wrong(fault: str) -> bool:
    """Whether the environment asks for that fault."""
    return os.environ.get("STANDIN_FAULT") == fault
