"""Correct twins of positions, caches and other state: other hands' styles, each lawful, each tempting.

Written from the mathematics alone (2104.09864, shared/spec/contracts.md). The first line of each says what is unusual and why it is lawful.
"""

import numpy as np
import torch

import specverify as sv

FLOATS = ("float32", "float64", "bfloat16")


@sv.subject("rotate_half", dtypes=FLOATS)
def rth_interleaved(x):
    """Pairs neighbours and does not say so: one pairing is as good as the other."""
    return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)


@sv.subject("rotate_half", arrays="numpy", conventions={"pairing": "split"})
def rth_product(x):
    """Multiplies by a matrix of signs."""
    half = x.shape[-1] // 2
    return x @ np.block([[np.zeros((half, half)), np.eye(half)], [-np.eye(half), np.zeros((half, half))]]).astype(x.dtype)


@sv.subject("rotary", dtypes=FLOATS)
def rot_in_single_precision(q, k, cos, sin, positions):
    """Rotates in single precision whatever the dtype, and rounds at the end, as many kernels do."""
    c, s = (table[positions][:, None].to(torch.promote_types(q.dtype, torch.float32)) for table in (cos, sin))

    def turn(x):
        a, b = x.to(c.dtype).chunk(2, -1)
        half = c.shape[-1] // 2
        return torch.cat([a * c[..., :half] - b * s[..., :half], b * c[..., half:] + a * s[..., half:]], -1).to(x.dtype)

    return turn(q), turn(k)


@sv.subject("rotary", conventions={"pairing": "interleaved"}, mutates=("q", "k"))
def rot_complex_in_place(q, k, cos, sin, positions):
    """Multiplies complex numbers made of neighbours, in place, and says both."""
    half = cos.shape[-1] // 2
    turn = torch.complex(cos[:, :half], sin[:, :half])[positions][:, None]
    for x in (q, k):
        x.copy_(torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (half, 2)).contiguous()) * turn).flatten(-2))
    return q, k


@sv.subject("rotary", arrays="numpy", dtypes=("float64",))
def rot_by_loops(q, k, cos, sin, positions):
    """Turns every pair by itself."""
    half, found = cos.shape[-1] // 2, (q.copy(), k.copy())
    for x, given in zip(found, (q, k), strict=True):
        for b, h, t, i in np.ndindex(*x.shape[:3], half):
            c, s = cos[positions[b, t], i], sin[positions[b, t], i]
            x[b, h, t, i] = given[b, h, t, i] * c - given[b, h, t, i + half] * s
            x[b, h, t, i + half] = given[b, h, t, i + half] * c + given[b, h, t, i] * s
    return found


@sv.subject("repeat_kv", dtypes=FLOATS)
def rkv_view(kv, n):
    """Gives a view that shares memory between heads, and the argument itself for n = 1."""
    batch, heads, length, width = kv.shape
    return kv if n == 1 else kv[:, :, None].expand(batch, heads, n, length, width).reshape(batch, heads * n, length, width)


@sv.subject("repeat_kv", arrays="numpy")
def rkv_index(kv, n):
    """Picks heads by number."""
    return kv[:, np.arange(kv.shape[1] * n) // n]
