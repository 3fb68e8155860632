"""Reading what speaks of a draft tree's nodes: parents, tokens, paths, as a case carries them and as a subject gives them."""

from __future__ import annotations

from collections.abc import Sequence

from specverify.contracts.arrays import Array
from specverify.contracts.base import Case, Convention, Malformed, array_of, kind_of, outside, token_list
from specverify.law import Outcome

LARGEST_ID = 2**31 - 1
"""Engines hold ids as int32 or int64."""
ROOT = -1
"""The parent of a child of the context, which is no node."""
ORDERS = ("breadth-first", "depth-first", "parents first")
CONVENTIONS = {
    "order": Convention("how the nodes must stand, breadth-first if nothing is declared; siblings stand in the order in which they are tried", ORDERS),
    "pad": Convention("the token, below 0, of slots behind the last node that hold none; their parent is -1. Without it no tree has such slots"),
}
"""What a step on trees leaves free."""


def is_int(value: object) -> bool:
    """Whether a plain value is a whole number; a truth value is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def are_ids(value: object) -> bool:
    """Whether a plain value is a list of token ids."""
    return isinstance(value, list) and all(is_int(item) and 0 <= item <= LARGEST_ID for item in value)


def listed(value: object) -> object:
    """Arrays as nested lists, those in lists too."""
    if isinstance(value, Array):
        return value.nested()
    return [listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def ints(what: str, value: object) -> tuple[int, ...]:
    """A plain result as a flat tuple of ints, or Malformed; an empty array may have any dtype."""
    found = listed(value)
    if not isinstance(found, list) or not all(map(is_int, found)):
        raise Malformed(f"{what} came as {kind_of(value)}, not as a flat list of ints")
    return tuple(found)


def parts(what: Sequence[str], value: object, least: int) -> list[object]:
    """A result of several parts as a list of at least `least` of them, or Malformed."""
    if not isinstance(value, (list, tuple)) or not least <= len(value) <= len(what):
        raise Malformed(f"the result is no tuple ({', '.join(what[:least])}) but {kind_of(value)}")
    return list(value)


def check_nodes(contract: str, case: Case, width: int) -> int:
    """The number of nodes of `parents` and `tokens`; refuses what is no tree. A slot whose token is none of the vocabulary is a pad, and hangs nowhere."""
    parents, tokens = case["parents"], case["tokens"]
    if not all(isinstance(one, Array) and one.dtype == "int64" and len(one.shape) == 1 for one in (parents, tokens)) or parents.shape != tokens.shape:  # type: ignore[attr-defined]
        raise outside(contract, "parents and tokens must be int64, both of shape (n,)")
    for node, (parent, token) in enumerate(zip(numbers(case, "parents"), numbers(case, "tokens"), strict=True)):
        if not ROOT <= parent < node or (parent != ROOT and token not in range(width)):
            raise outside(contract, "parents must be -1 or a node before, and -1 where the token is none of the vocabulary")
    return len(parents.values)  # type: ignore[attr-defined]


def numbers(case: Case, name: str) -> tuple[int, ...]:
    """An argument that is an array of ints."""
    return tuple(int(x) for x in array_of(case, name).values)


def path_and_token(result: object, nodes: int, width: int) -> Outcome:
    """A result as (path, next token): node numbers without the pads behind them, which are below 0; or Malformed."""
    first, second = parts(("path", "next token"), result, 2)
    path, token = list(ints("the path", first)), token_list(second)
    while path and path[-1] < 0:
        path.pop()
    if not all(node in range(nodes) for node in path):
        raise Malformed(f"the path {path} is not of the {nodes} nodes 0 … {nodes - 1}; a pad below 0 may follow the last")
    if len(token) != 1 or token[0] not in range(width):
        raise Malformed(f"the next token is {token}, not one id of 0 … {width - 1}")
    return tuple(path), token[0]
