"""Stand-in: rotary positions and shared heads."""

import torch
from standin import wrong


def rotate_half(x):
    """(a, b) to (-b, a), halves apart."""
    a, b = x.chunk(2, -1)
    return torch.cat((b, -a) if wrong("turned-back") else (-b, a), -1)


def apply_rotary_pos_emb(q, k, cos, sin, position_ids):
    """Tables (1, 1, S, D), positions (B, S)."""
    rows = position_ids[:1].expand_as(position_ids) if wrong("positions-of-the-first-row") else position_ids
    cos, sin = (table[0, 0][rows][:, None] for table in (cos, sin))
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def repeat_kv(hidden_states, n_rep):
    """Each head n times."""
    if wrong("heads-in-turn"):
        return hidden_states.repeat(1, n_rep, 1, 1)
    return hidden_states.repeat_interleave(n_rep, 1)
