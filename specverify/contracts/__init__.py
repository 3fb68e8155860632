"""What a subject may fill: one module per contract, and the table of them."""

from specverify.contracts import pad_path, positive_part, sample, verify_chain
from specverify.contracts.arrays import Array, array
from specverify.contracts.base import Case, Contract, Malformed, Parameter, Stream, array_of, digest
from specverify.contracts.families import Family, expand
from specverify.errors import unknown

CONTRACTS: dict[str, Contract] = {module.CONTRACT.name: module.CONTRACT for module in (positive_part, sample, pad_path, verify_chain)}
"""Every contract that can be declared, by name."""


def contract(name: str) -> Contract:
    """The contract of that name, or SpecverifyError with the nearest one."""
    if name not in CONTRACTS:
        raise unknown("contract", name, CONTRACTS)
    return CONTRACTS[name]


__all__ = ["CONTRACTS", "Array", "Case", "Contract", "Family", "Malformed", "Parameter", "Stream", "array", "array_of", "contract", "digest", "expand"]
