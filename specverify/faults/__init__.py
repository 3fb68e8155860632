"""Planted faults: known ways to be wrong, each audited by `fault:NAME`, so that the suite is tested as well."""

from specverify.faults.catalogue import FAULTS, fault
from specverify.faults.fault import Fault

__all__ = ["FAULTS", "Fault", "fault"]
