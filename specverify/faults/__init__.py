"""Planted faults: known ways to be wrong, each audited by `fault:NAME`, so that the suite is tested as well; and not-bugs, which it must pass."""

from specverify.faults.catalogue import FAULTS, fault
from specverify.faults.fault import Fault
from specverify.faults.not_bugs import NOT_BUGS, NotBug, not_bug

__all__ = ["FAULTS", "NOT_BUGS", "Fault", "NotBug", "fault", "not_bug"]
