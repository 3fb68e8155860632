"""Correct twins of caches, recurrent states and sessions as engines have them: gradients left on, rows hidden instead of removed, results in odd forms.

Written from the mathematics alone (shared/spec/contracts.md). The first line of each says what is unusual and why it is lawful.
"""

import numpy as np
import torch
from torch import nn

import specverify as sv


@sv.subject("recurrent_state", conventions={"vocabulary": 4})
class rec_gru_with_gradients:
    """A GRU cell, and nobody switched gradients off; a snapshot for each token of the last block."""

    def __init__(self):
        torch.manual_seed(3)
        self.embed, self.cell = nn.Embedding(4, 5), nn.GRUCell(5, 6)
        self.snaps, self.start = [torch.zeros(1, 6)], 0

    def advance(self, tokens):
        self.start += len(self.snaps) - 1
        self.snaps = [self.snaps[-1]]
        for t in tokens:
            self.snaps.append(self.cell(self.embed(t[None]), self.snaps[-1]))

    def rollback(self, to_length):
        del self.snaps[to_length - self.start + 1 :]

    def state(self):
        return self.snaps[-1]


@sv.subject("recurrent_state")
class rec_prompt_unsaved:
    """A prompt, which nobody takes back, is read without snapshots; rounds behind it with one for each token."""

    def __init__(self):
        self.h, self.length, self.saved = torch.zeros(4), 0, None

    def step(self, t):
        self.h = torch.tanh(self.h.roll(1) * 0.9 + t - 1)

    def advance(self, tokens):
        self.saved = [] if self.length else None
        for t in tokens:
            if self.saved is not None:
                self.saved.append((self.length, self.h))
            self.step(t)
            self.length += 1

    def rollback(self, to_length):
        if to_length == self.length:
            return
        self.length, self.h = self.saved[to_length - self.length]

    def state(self):
        return self.h


@sv.subject("recurrent_state")
class rec_none_at_first:
    """Has no state before its first token, as nn.GRU takes None."""

    def __init__(self):
        g = torch.Generator().manual_seed(1)
        self.w = torch.randn(4, 3, generator=g)
        self.h, self.hist = None, [None]

    def advance(self, tokens):
        for t in tokens:
            self.h = self.w[t] if self.h is None else 0.5 * self.h + self.w[t]
            self.hist.append(self.h)

    def rollback(self, to_length):
        del self.hist[to_length + 1 :]
        self.h = self.hist[-1]

    def state(self):
        return self.h


@sv.subject("recurrent_state")
class rec_ring:
    """A ring of eight snapshots by position; a gated delta rule over a matrix, chunked."""

    def __init__(self):
        g = torch.Generator().manual_seed(1)
        self.k, self.v = torch.nn.functional.normalize(torch.randn(4, 3, generator=g), dim=-1), torch.randn(4, 3, generator=g)
        self.ring, self.n = torch.zeros(8, 3, 3), 0

    def advance(self, tokens):
        for t in tokens.tolist():
            s = self.ring[self.n % 8]
            k, v = self.k[t], self.v[t]
            self.ring[(self.n + 1) % 8] = 0.9 * (s - torch.outer(s @ k, k)) + torch.outer(v, k)
            self.n += 1

    def rollback(self, to_length):
        self.n = to_length

    def state(self):
        return self.ring[self.n % 8]


@sv.subject("recurrent_state", dtypes=("bfloat16",))
class rec_half:
    """A bfloat16 state, rounded at each token."""

    def __init__(self):
        self.h, self.all = torch.zeros(4, dtype=torch.bfloat16), []

    def advance(self, tokens):
        self.all = [self.h]
        for t in tokens:
            self.all.append((self.all[-1].float() * 0.9 + t).bfloat16())
        self.h, self.n = self.all[-1], getattr(self, "n", 0) + len(tokens)

    def rollback(self, to_length):
        self.all = self.all[: len(self.all) - (self.n - to_length)]
        self.h, self.n = self.all[-1], to_length

    def state(self):
        return {"h": self.h}["h"]


@sv.subject("recurrent_state", supports=("history",))
class rec_inverse:
    """Unreads tokens by the inverse of a unimodular update, in whole numbers."""

    def __init__(self):
        self.a, self.b, self.text = 0, 1, []

    def advance(self, tokens):
        for t in tokens.tolist():
            self.a, self.b = self.b, (self.a + (t + 1) * self.b) % 10007
            self.text.append(t)

    def rollback(self, to_length):
        while len(self.text) > to_length:
            t = self.text.pop()
            self.a, self.b = (self.b - (t + 1) * self.a) % 10007, self.a

    def state(self):
        return self.a, self.b


@sv.subject("kv_cache", supports=("select", "reset"))
class kvc_hidden_by_a_mask:
    """Rejected rows stay and are hidden by a mask until a slot is needed; order is kept by positions."""

    def __init__(self, capacity):
        self.k = self.v = None
        self.pos = torch.full((capacity,), -1)

    def n(self):
        return int((self.pos >= 0).sum())

    def append(self, k, v):
        free = (self.pos < 0).nonzero()[:, 0]
        if len(free) < len(k):
            raise RuntimeError("cache is full")
        if self.k is None:
            self.k, self.v = (torch.zeros(len(self.pos), k.shape[1], dtype=k.dtype) for _ in range(2))
        slots = free.flip(0)[: len(k)]
        start = self.n()
        self.k[slots], self.v[slots] = k, v
        self.pos[slots] = torch.arange(start, start + len(k))

    def length(self):
        return self.n()

    def rollback(self, to_length):
        self.pos[self.pos >= to_length] = -1

    def select(self, kept):
        new = torch.full_like(self.pos, -1)
        for i, row in enumerate(kept):
            new[self.pos == row] = i
        self.pos = new

    def reset(self):
        self.pos.fill_(-1)

    def rows(self):
        if self.k is None:
            return torch.zeros(0, 2), torch.zeros(0, 2)
        order = self.pos.argsort()[len(self.pos) - self.n() :]
        return self.k[order], self.v[order]


@sv.subject("kv_cache", dtypes=("float32",), supports=("reset",))
class kvc_bf16_inside(nn.Module):
    """A module with buffers in bfloat16, heads first, doubled when full, up to the capacity."""

    def __init__(self, capacity):
        super().__init__()
        self.capacity = capacity
        self.register_buffer("kv", torch.empty(2, 1, 1, 0, dtype=torch.bfloat16))
        self.end = 0

    def append(self, k, v):
        need = self.end + k.shape[0]
        assert need <= self.capacity, "overflow"
        if self.kv.shape[-1] == 0:
            self.kv = torch.empty(2, 1, k.shape[1], 1, dtype=torch.bfloat16)
        while self.kv.shape[-1] < need:
            self.kv = torch.cat([self.kv, torch.empty_like(self.kv)], -1)
        self.kv[:, 0, :, self.end : need] = torch.stack([k, v]).mT.bfloat16()
        self.end = need

    def length(self):
        return self.end

    def rollback(self, to_length):
        self.end = min(self.end, to_length)

    def reset(self):
        self.end = 0

    def rows(self):
        kv = self.kv[:, 0, :, : self.end].mT.float()
        return kv[0], kv[1]


class Node:
    __slots__ = ("depth", "parent", "row")

    def __init__(self, row, parent):
        self.row, self.parent, self.depth = row, parent, 1 + (parent.depth if parent else 0)


@sv.subject("kv_cache", supports=("select", "reset"), conventions={"full": "grows"})
class kvc_radix:
    """A chain of immutable nodes shared with whoever forked from it."""

    def __init__(self, capacity):
        self.tip = None

    def append(self, k, v):
        for row in zip(k.clone(), v.clone(), strict=True):
            self.tip = Node(row, self.tip)

    def length(self):
        return self.tip.depth if self.tip else 0

    def rollback(self, to_length):
        while self.tip and self.tip.depth > to_length:
            self.tip = self.tip.parent

    def path(self):
        out, node = [], self.tip
        while node:
            out.append(node.row)
            node = node.parent
        return out[::-1]

    def select(self, kept):
        rows = self.path()
        self.tip = None
        for i in kept:
            self.tip = Node(rows[i], self.tip)

    def reset(self):
        self.tip = None

    def rows(self):
        p = self.path()
        return torch.stack([k for k, _ in p]) if p else torch.empty(0), torch.stack([v for _, v in p]) if p else torch.empty(0)


@sv.subject("kv_cache", supports=("reset",))
class kvc_inference:
    """Inference tensors."""

    @torch.inference_mode()
    def __init__(self, capacity):
        self.capacity, self.k, self.v = capacity, [], []

    @torch.inference_mode()
    def append(self, k, v):
        if sum(map(len, self.k)) + len(k) > self.capacity:
            raise torch.OutOfMemoryError("no blocks are left")
        self.k.append(k * 1)
        self.v.append(v * 1)

    def length(self):
        return sum(map(len, self.k))

    @torch.inference_mode()
    def rollback(self, to_length):
        k, v = self.rows()
        self.k, self.v = [k[:to_length]], [v[:to_length]]

    def reset(self):
        self.k, self.v = [], []

    @torch.inference_mode()
    def rows(self):
        return (torch.cat(self.k), torch.cat(self.v)) if self.k else (torch.zeros(0, 2), torch.zeros(0, 2))


@sv.subject("kv_cache")
class kvc_learned:
    """A projection with a weight of one, and gradients on: its rows are no leaves."""

    def __init__(self, capacity):
        self.capacity, self.w = capacity, nn.Parameter(torch.ones(()))
        self.kv = None

    def append(self, k, v):
        new = torch.stack([k, v]) * self.w
        if self.length() + len(k) > self.capacity:
            raise ValueError
        self.kv = new if self.kv is None else torch.cat([self.kv, new], 1)

    def length(self):
        return 0 if self.kv is None else self.kv.shape[1]

    def rollback(self, to_length):
        self.kv = None if self.kv is None else self.kv[:, :to_length]

    def rows(self):
        return ([], []) if self.kv is None else self.kv.unbind()


def point(model, ids):
    row = model(ids)
    return int(row.argmax()) if hasattr(row, "argmax") else row.index(max(row))


class Plain:
    def __init__(self, model):
        self.model = model

    def begin(self, prompt):
        self.text = [int(t) for t in prompt]

    def drafted(self, gamma):
        self.ahead = []
        for _ in range(gamma):
            self.ahead.append(point(self.model, [*self.text, *self.ahead]))
        return self.ahead

    def accept(self, n, token):
        self.text += [*self.ahead[:n], int(token)]

    def state(self):
        return self.text


@sv.subject("session", arrays="numpy")
class ses_numpy_ints(Plain):
    """Gives a tuple of numpy ints."""

    def draft(self, gamma):
        return tuple(np.int64(t) for t in self.drafted(gamma))


@sv.subject("session")
class ses_tensor_scalars(Plain):
    """Gives a tuple of tensors without axes."""

    def draft(self, gamma):
        return tuple(torch.tensor(t) for t in self.drafted(gamma))


@sv.subject("session")
class ses_none_at_times(Plain):
    """Gives None where it drafts nothing: behind an even text."""

    def draft(self, gamma):
        found = self.drafted(gamma if len(self.text) % 2 else 0)
        return found or None


@sv.subject("session")
class ses_empty_and_q(Plain):
    """Gives (ids, rows), both empty at times."""

    def draft(self, gamma):
        found = self.drafted(gamma if len(self.text) % 2 else 0)
        return torch.tensor(found, dtype=torch.long), torch.eye(4)[found]
