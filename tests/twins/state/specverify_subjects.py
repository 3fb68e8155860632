"""Correct twins of positions, caches and other state: other hands' styles, each lawful, each tempting.

Written from the mathematics alone (2104.09864, shared/spec/contracts.md). The first line of each says what is unusual and why it is lawful.
"""

import random
from collections import deque

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


@sv.subject("kv_cache", supports=("select", "reset"), conventions={"full": "grows"})
class kvc_list_of_tensors:
    """Keeps the rows that it was given as they are, views of the caller's tensors, and has no capacity."""

    def __init__(self, capacity):
        self.pairs = []

    def append(self, k, v):
        self.pairs += zip(k, v, strict=True)

    def length(self):
        return len(self.pairs)

    def rollback(self, to_length):
        del self.pairs[to_length:]

    def select(self, kept):
        self.pairs = [self.pairs[row] for row in kept]

    def reset(self):
        self.pairs.clear()

    def rows(self):
        return [k for k, _ in self.pairs], [v for _, v in self.pairs]


@sv.subject("kv_cache", dtypes=("float32", "bfloat16"), supports=("select", "reset"), refuses=True, conventions={"rows": "views"})
class kvc_one_buffer:
    """Takes its memory at the first append, which tells dtype and width; writes in place, and gives views: says so."""

    def __init__(self, capacity):
        self.capacity, self.end, self.data = capacity, 0, None

    def append(self, k, v):
        if self.data is None:
            self.data = torch.full((2, self.capacity, k.shape[1]), torch.nan, dtype=k.dtype)
        if self.end + len(k) > self.capacity:
            raise IndexError("full")
        self.data[0, self.end : self.end + len(k)] = k
        self.data[1, self.end : self.end + len(v)] = v
        self.end += len(k)

    def length(self):
        return torch.tensor(self.end)

    def rollback(self, to_length):
        if to_length not in range(self.end + 1):
            raise IndexError(to_length)
        self.end = to_length

    def select(self, kept):
        if any(row >= self.end for row in kept):
            raise IndexError(kept)
        self.data[:, : len(kept)] = self.data[:, kept]
        self.end = len(kept)

    def reset(self):
        self.end = 0

    def rows(self):
        return (None, None) if self.data is None else (self.data[0, : self.end], self.data[1, : self.end])


@sv.subject("kv_cache", arrays="numpy", dtypes=("float32", "float64"))
class kvc_views:
    """Makes a new array at every append, and gives views of it; an old view never changes, since nothing is written in place. Has neither select nor reset."""

    def __init__(self, capacity):
        self.capacity, self.both = capacity, None

    def append(self, k, v):
        new = np.stack([k, v])
        grown = new if self.both is None else np.concatenate([self.both, new], 1)
        if grown.shape[1] > self.capacity:
            raise MemoryErrorOfTheCache
        self.both = grown

    def length(self):
        return 0 if self.both is None else self.both.shape[1]

    def rollback(self, to_length):
        self.both = None if self.both is None else self.both[:, :to_length]

    def rows(self):
        return np.zeros((2, 0)) if self.both is None else self.both


class MemoryErrorOfTheCache(Exception):
    """An exception of the cache's own."""


BLOCK = 2


@sv.subject("kv_cache", supports=("select", "reset"), conventions={"full": "refuses"})
class kvc_blocks:
    """Pages of two rows out of a pool that all caches of the process share, given back when they are not needed: no two caches hold one page."""

    pool, free = torch.full((256, 2, BLOCK, 2), torch.nan), deque(range(256))

    def __init__(self, capacity):
        self.capacity, self.end, self.table = capacity, 0, []

    def __del__(self):
        self.rollback(0)

    def append(self, k, v):
        if self.end + len(k) > self.capacity:
            raise ValueError("no room")
        for row in zip(k, v, strict=True):
            if self.end == BLOCK * len(self.table):
                self.table.append(self.free.popleft())
            self.pool[self.table[-1], :, self.end % BLOCK] = torch.stack(row)
            self.end += 1

    def length(self):
        return self.end

    def rollback(self, to_length):
        self.end = min(self.end, max(0, to_length))
        while BLOCK * (len(self.table) - 1) >= self.end and self.table:
            self.free.append(self.table.pop())

    def select(self, kept):
        k, v = self.rows()
        self.reset()
        self.append(k[kept], v[kept])

    def reset(self):
        self.rollback(0)

    def rows(self):
        pages = [self.pool[page] for page in self.table]
        found = torch.cat(pages, 1)[:, : self.end] if pages else torch.zeros(2, 0, 2)
        return found[0], found[1]


@sv.subject("kv_cache", supports=("reset",), dtypes=("float32",))
def kvc_function(capacity):
    """A function that makes an object; layers and heads as in a model, the sequence on axis 2; rolls back as late as it can: at the next append."""
    return Layers(capacity)


class Layers:
    def __init__(self, capacity):
        self.capacity, self.end = capacity, 0
        self.layers = [[None, None] for _ in range(3)]

    def append(self, k, v):
        if self.end + len(k) > self.capacity:
            raise ValueError("full")
        for layer in self.layers:
            for i, new in enumerate((k, v)):
                heads = new[None, None].expand(1, 2, -1, -1)
                layer[i] = heads if layer[i] is None else torch.cat([layer[i][:, :, : self.end], heads], 2)
        self.end += len(k)

    def length(self):
        return self.end

    def rollback(self, to_length):
        self.end = to_length

    def reset(self):
        self.__init__(self.capacity)

    def rows(self):
        if self.end == 0:
            return [], []
        return tuple(self.layers[-1][i][0, 1, : self.end] for i in range(2))


@sv.subject("kv_cache", arrays="list", dtypes=("float64",), supports=("select",), conventions={"rows": "views"})
class kvc_lists:
    """Plain lists, which it hands out themselves and says so; what is forgotten is marked, and removed when rows are asked for."""

    def __init__(self, capacity):
        self.capacity, self.k, self.v, self.keep = capacity, [], [], []

    def append(self, k, v):
        if self.length() + len(k) > self.capacity:
            raise OverflowError
        self.k += k
        self.v += v
        self.keep += [True] * len(k)

    def length(self):
        return sum(self.keep)

    def rollback(self, to_length):
        standing = [i for i, keep in enumerate(self.keep) if keep]
        for i in standing[to_length:]:
            self.keep[i] = False

    def select(self, kept):
        standing = [i for i, keep in enumerate(self.keep) if keep]
        wanted = {standing[row] for row in kept}
        self.keep = [i in wanted for i in range(len(self.keep))]

    def rows(self):
        for i in reversed([i for i, keep in enumerate(self.keep) if not keep]):
            del self.k[i], self.v[i], self.keep[i]
        return self.k, self.v


@sv.subject("recurrent_state", supports=("history",))
class rec_text:
    """Keeps the text and reads it anew whenever it is asked."""

    def __init__(self):
        self.text = []

    def advance(self, tokens):
        self.text += tokens.tolist()

    def rollback(self, to_length):
        del self.text[to_length:]

    def state(self):
        h = torch.zeros(3)
        for token in self.text:
            h = torch.tanh(h.roll(1) + token - 0.5)
        return h


@sv.subject("recurrent_state", arrays="numpy", conventions={"vocabulary": 2})
class rec_scan:
    """Linear: reads a block as one product of sums, so that it rounds otherwise than token by token; keeps the states of the last block alone."""

    def __init__(self):
        self.h, self.length = np.zeros(2, np.float32), 0

    def advance(self, tokens):
        steps = np.arange(len(tokens) + 1, dtype=np.float32)
        inputs = np.stack([tokens + 1, 2 * tokens - 1], 1).astype(np.float32)
        gathered = np.concatenate([np.zeros((1, 2), np.float32), np.cumsum(inputs / 0.7 ** steps[1:, None], 0)])
        self.start, self.states = self.length, 0.7 ** steps[:, None] * (self.h + gathered)
        self.h, self.length = self.states[-1], self.length + len(tokens)

    def rollback(self, to_length):
        self.h, self.length = self.states[to_length - self.start], to_length

    def state(self):
        return self.h


@sv.subject("recurrent_state")
class rec_in_place:
    """A convolution's window and a sum, both written in place and handed out as they are, several parts in a list; the accepted tokens are read again from the state before."""

    def __init__(self):
        self.window, self.total, self.length = torch.zeros(2), torch.zeros(()), 0

    def advance(self, tokens):
        self.before, self.tokens = (self.window.clone(), self.total.clone(), self.length), tokens
        for token in tokens:
            self.window[:] = torch.stack([self.window[1], token.float() + 1])
            self.total.mul_(0.5).add_(self.window.prod())
            self.length += 1

    def rollback(self, to_length):
        window, total, length = self.before
        self.window.copy_(window)
        self.total.copy_(total)
        self.length = length
        self.advance(self.tokens[: to_length - length])

    def state(self):
        return [self.window, self.total]


# Sessions of drafters --------------------------------------------------------------------------------------------------------


@sv.subject("session", arrays="numpy")
class ses_reads_anew:
    """Keeps the text alone, reads all of it for each draft, and accepts by cutting what it has drafted."""

    def __init__(self, model):
        self.model = model

    def begin(self, prompt):
        self.text = prompt.tolist()

    def draft(self, gamma):
        self.drafted = list(self.text)
        while len(self.drafted) < len(self.text) + gamma:
            self.drafted.append(int(np.argmax(self.model(self.drafted))))
        return np.array(self.drafted[len(self.text) :])

    def accept(self, n, token):
        self.text = [*self.drafted[: len(self.text) + n], token]

    def state(self):
        return np.array(self.text)


@sv.subject("session", models="module")
class ses_draws_and_tells_q:
    """Draws its drafts, gives them as a batch of one beside the rows of q, one fewer after a rejection, and keeps them in the text until it hears of them."""

    def __init__(self, model):
        self.model, self.rejected = model, False

    def begin(self, prompt):
        self.ids, self.length = prompt[None], len(prompt)

    def draft(self, gamma):
        rows = []
        for _ in range(max(1, gamma - self.rejected)):
            rows.append(self.model(self.ids)[0, -1].softmax(-1))
            self.ids = torch.cat([self.ids, torch.multinomial(rows[-1], 1)[None]], 1)
        return self.ids[:, self.length :], torch.stack(rows)

    def accept(self, n, token):
        self.rejected = self.ids.shape[1] > self.length + n
        self.ids = torch.cat([self.ids[:, : self.length + n], torch.tensor([[token]])], 1)
        self.length += n + 1

    def state(self):
        return self.ids[0]


@sv.subject("session", arrays="list")
class ses_remembers_rows:
    """Keeps every row that it has ever asked for, by its prefix, over beginnings too, and stops drafting at token 3."""

    def __init__(self, model):
        self.model, self.known = model, {}

    def begin(self, prompt):
        self.text = tuple(prompt)

    def draft(self, gamma):
        self.ahead = ()
        while len(self.ahead) < gamma and 3 not in self.ahead:
            prefix = self.text + self.ahead
            row = self.known.setdefault(prefix, self.model(prefix))
            self.ahead += (row.index(max(row)),)
        return self.ahead

    def accept(self, n, token):
        self.text += (*self.ahead[:n], token)

    def state(self):
        return self.text


@sv.subject("session", conventions={"model": "own"})
class ses_recurrent_head:
    """A head of its own over a recurrent state, with the states of its drafts kept, so that an acceptance goes back to one of them."""

    def __init__(self, model):
        generator = torch.Generator().manual_seed(5)
        self.embed, self.out = torch.randn(64, 8, generator=generator, dtype=torch.float64), torch.randn(8, 4, generator=generator, dtype=torch.float64)

    def read(self, h, token):
        return torch.tanh(h.roll(1) * 0.9 + self.embed[token])

    def begin(self, prompt):
        self.text, self.states = prompt.tolist(), [torch.zeros(8, dtype=torch.float64)]
        for token in self.text:
            self.states = [self.read(self.states[-1], token)]

    def draft(self, gamma):
        self.drafts = []
        for _ in range(gamma):
            self.drafts.append(int((self.states[-1] @ self.out).argmax()))
            self.states.append(self.read(self.states[-1], self.drafts[-1]))
        return torch.tensor(self.drafts)

    def accept(self, n, token):
        self.text += [*self.drafts[:n], token]
        self.states = [self.read(self.states[n], token)]

    def state(self):
        return self.text


@sv.subject("session", arrays="list", conventions={"model": "own"})
class ses_looks_up:
    """No model: what followed the last token before, in the text itself; nothing where it is new."""

    def __init__(self, model):
        pass

    def begin(self, prompt):
        self.text = prompt

    def draft(self, gamma):
        at = [i for i, token in enumerate(self.text[:-1]) if token == self.text[-1]]
        self.found = self.text[at[-1] + 1 :][:gamma] if at else []
        return self.found

    def accept(self, n, token):
        self.text = [*self.text, *self.found[:n], token]

    def state(self):
        return self.text


@sv.subject("session", arrays="list", conventions={"model": "own"})
class ses_guesses:
    """Draws what it drafts at random, whatever the text."""

    def __init__(self, model):
        pass

    def begin(self, prompt):
        self.text = list(prompt)

    def draft(self, gamma):
        self.drafts = [random.randrange(4) for _ in range(gamma)]
        return self.drafts

    def accept(self, n, token):
        self.text += [*self.drafts[:n], token]

    def state(self):
        return self.text
