"""The signatures of all contracts that are still to come, settled as data: names, prefixes, parameters, outcome. Nothing here is callable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """What a contract will look like.

    Attributes:
        name: of the contract.
        prefix: of its properties' ids.
        parameters: names, in the order of the call.
        returns: the outcome, as text with its shape.
        part: A pieces, B steps, C trees, D state, F generation.
    """

    name: str
    prefix: str
    parameters: tuple[str, ...]
    returns: str
    part: str


def _of(part: str, name: str, prefix: str, parameters: str, returns: str) -> Signature:
    return Signature(name, prefix, tuple(parameters.split()), returns, part)


PLANNED: dict[str, Signature] = {one.name: one for one in (_of("D", "prefill", "PRE", "model tokens chunks", "logits (T, V)"),)}
"""By name. Declaring one is refused with the sentence that it is not in this version."""
