import torch


def rotate_half(x):
    left, right = x.chunk(2, -1)
    return torch.cat((-right, left), -1)


def apply_rotary_pos_emb(q, k, cos, sin, position_ids):
    cos, sin = cos[0, 0][position_ids][:, None], sin[0, 0][position_ids][:, None]
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def repeat_kv(hidden_states, n_rep):
    return hidden_states.repeat_interleave(n_rep, 1)
