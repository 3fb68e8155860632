"""Triton's counter-based generator as variables: a number is known by seed, offset and lane, and the same three are the same number."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specverify.exact.block import Array, Block, none_of, plain
from specverify.exact.chain import Chain
from specverify.exact.forms import bell
from specverify.exact.machine import Machine, here
from specverify.exact.nodes import Node, Opaque
from specverify.exact.space import Form, Stop
from specverify.exact.torch_random import FINE

BITS = 31
"""Of a Triton uniform number: 32 random bits, of which the negative ones are folded onto the others."""
SCALE = 4.6566127342e-10
"""What Triton multiplies the 31 bits by, in single precision, so that 1 is never reached."""
LANES = 4
"""32-bit numbers that the generator makes of one offset."""
PAIR = 2
"""Lanes that a normal number is made of."""
ROUNDS = 10
"""Triton's default."""


@dataclass
class Lane(Opaque):
    """A 32-bit whole number, followed as the uniform number that Triton makes of it and in no other way."""

    uniform: Chain | None = None


def whole(machine: Machine, genuine: Callable[..., Any], seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Any:
    """Of randint4x: four blocks of 32-bit numbers."""
    if not hasattr(offset, "handle"):
        return genuine(seed, offset, n_rounds)
    reason = f"it reads 32-bit whole numbers of Triton's generator, which are followed as uniform numbers alone, at {here()}"
    lanes = _drawn(machine, (seed, offset, n_rounds), LANES, "lane", _even())
    made = [[Lane(reason, chain) for chain in chains] for chains in lanes]
    values = [np.array([chain.base.at for chain in chains], dtype=np.uint32) for chains in lanes]
    return tuple(_tensor(machine, offset, one, nodes, "uint32") for one, nodes in zip(values, made, strict=True))


def uniform(machine: Machine, genuine: Callable[..., Any], x: Any) -> Any:
    """Of uint_to_uniform_float: of a lane its uniform number."""
    data = getattr(getattr(x, "handle", None), "data", None)
    if not isinstance(data, Block) or not all(isinstance(node, Lane) for node in data.nodes.flat):
        return genuine(x)
    chains = [node.uniform for node in data.nodes.flat]
    return _tensor(machine, x, _numbers(chains, np.float32), chains, "float32")


def normals(count: int) -> Callable[..., Any]:
    """Of randn and randn4x: ideal normal numbers."""

    def function(machine: Machine, genuine: Callable[..., Any], seed: Any, offset: Any, n_rounds: Any = ROUNDS) -> Any:
        if not hasattr(offset, "handle"):
            return genuine(seed, offset, n_rounds)
        machine.walk.idealised = True
        rows = _drawn(machine, (seed, offset, n_rounds), max(count, PAIR), "normal", bell(torch.float32, 0.0, 1.0, FINE))[:count]
        made = tuple(_tensor(machine, offset, _numbers(chains, np.float32), chains, "float32") for chains in rows)
        return made if count > 1 else made[0]

    return function


def _drawn(machine: Machine, asked: tuple[Any, Any, Any], lanes: int, kind: str, form: Form) -> list[list[Chain]]:
    """For each lane, the numbers at the offsets of a block."""
    if not machine.grids:
        raise Stop(f"the numbers of Triton's generator are explored on their grid alone, at {here()}")
    seed, offset, rounds = _one(asked[0]), asked[1], _one(asked[2])
    bits = max(32, offset.dtype.primitive_bitwidth)  # narrower offsets are widened with their sign
    places = [int(one) % 2**bits for one in np.ravel(plain(offset.handle.data))]
    return [[_number(machine, (seed % 2**64, place, rounds, lane), kind, form) for place in places] for lane in range(lanes)]


def _one(given: Any) -> int:
    """A number that a kernel hands over: plain, as a constant, or as a block of one."""
    if hasattr(given, "handle"):
        data = plain(given.handle.data)
        if data.size > 1:
            raise Stop(f"it draws with a block of seeds, at {here()}")
        return int(data.item())
    return int(getattr(given, "value", given))


def _number(machine: Machine, key: tuple[int, ...], kind: str, form: Form) -> Chain:
    name = repr(("triton", *key)).encode()
    known = machine.reused(name, kind)
    if known is None:
        known = Chain(machine.grid(f"tl.{'randn' if kind == 'normal' else 'rand'} at {here()}, offset {key[1]} lane {key[3]}", form), (), torch.float32)
        machine.drawn[name] = (kind, known)
    assert isinstance(known, Chain)
    return known


def _numbers(chains: Sequence[Any], dtype: type) -> Array:
    return np.array([chain.base.form.number(chain.base.at) for chain in chains], dtype=dtype)


def _tensor(machine: Machine, like: Any, values: Array, nodes: Sequence[Node | None], dtype: str) -> Any:
    """A tensor of Triton in the shape of another."""
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    scalar, shape = getattr(tl, dtype), like.handle.data.shape
    data: Any = values.reshape(shape)
    if machine.watched:
        marked = none_of(shape)
        marked.flat[:] = nodes
        data = Block(data, marked)
    return tl.tensor(TensorHandle(data, scalar), tl.block_type(scalar, like.type.shape) if like.type.is_block() else scalar)


@functools.cache
def _even() -> Form:
    scale = torch.tensor(SCALE, dtype=torch.float32)
    values: Callable[[Tensor], Tensor] = lambda k: k.to(torch.float32) * scale  # noqa: E731
    return Form(("triton", BITS), BITS, values, lambda u: u, lambda k: float(values(torch.tensor(k))))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"randint4x": whole, "uint_to_uniform_float": uniform, "randn": normals(1), "randn4x": normals(LANES)}
"""By name, what of Triton's generator is replaced."""
REFUSED = ("philox", "philox_impl")
"""What of it is refused."""
