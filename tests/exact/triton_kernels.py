"""Triton kernels of our own: a verify step, correct and with planted faults, and small ones that a law could be silently wrong of."""

import triton
import triton.language as tl


@triton.jit
def verify(p, q, draft, uniforms, out, count, seed, base, V, gamma: tl.constexpr, WIDTH: tl.constexpr, FAULT: tl.constexpr, GIVEN: tl.constexpr):
    """A chain of drafts accepted with min(1, p/q), a token of the residual or of the last row by inverse CDF; coins by seed and offset, or given."""
    at = tl.arange(0, WIDTH)
    inside = at < V
    n = 0
    going = True
    for i in range(gamma):
        if going:
            x = tl.load(draft + i)
            u = tl.load(uniforms + i) if GIVEN else tl.rand(seed, base + i)
            row = (i + 1 if FAULT == "row off by one" else i) * V
            px = tl.load(p + row + x)
            qx = tl.load(q + i * V + x)
            accepted = u * qx <= px if FAULT == "<=" else u * qx < px
            if accepted:
                tl.store(out + i, x)
                n += 1
            else:
                going = False
    rest = tl.load(p + n * V + at, mask=inside, other=0.0)
    if n < gamma and FAULT != "residual from p":
        rest = tl.maximum(rest - tl.load(q + n * V + at, mask=inside, other=0.0), 0.0)
    if n == gamma and FAULT == "bonus from q":
        rest = tl.load(q + (n - 1) * V + at, mask=inside, other=0.0)
    last = gamma - 1 if FAULT == "one offset for two decisions" else gamma
    u = tl.load(uniforms + last) if GIVEN else tl.rand(seed, base + last)
    cdf = tl.cumsum(rest, 0)
    tl.store(out + n, tl.sum((cdf <= u * tl.sum(rest, 0)).to(tl.int32), 0))
    tl.store(count, n + 1)


@triton.jit
def race(p, out, seed, offset, V: tl.constexpr):
    at = tl.arange(0, V)
    waits = -tl.log(tl.rand(seed, offset + at))
    tl.store(out, tl.argmax(tl.load(p + at) / waits, 0))


@triton.jit
def lanes(out, seed, offset):
    a, b, c, d = tl.rand4x(seed, offset)
    tl.store(out, (a < 0.5).to(tl.int32))
    tl.store(out + 1, (b < 0.25).to(tl.int32) + 2 * (tl.rand(seed, offset) < 0.25).to(tl.int32))


@triton.jit
def normal(out, seed, offset):
    tl.store(out, (tl.randn(seed, offset) > 0).to(tl.int32))


@triton.jit
def counted(out, seed, offset):
    tl.atomic_add(out, (tl.rand(seed, offset) < 0.25).to(tl.int32))
    tl.atomic_add(out, (tl.rand(seed, offset + 1) < 0.25).to(tl.int32))


@triton.jit
def masked(uniforms, out, n):
    at = tl.arange(0, 4)
    u = tl.load(uniforms + at, mask=at < n, other=tl.load(uniforms + 3))
    tl.store(out + at, (u < 0.25).to(tl.int32), mask=at != 2)


@triton.jit
def described(uniforms, out):
    block = tl.make_tensor_descriptor(uniforms, shape=[4], strides=[1], block_shape=[4])
    tl.store(out + tl.arange(0, 4), (block.load([0]) < 0.25).to(tl.int32))


@triton.jit
def own_reduction(out, seed, offset):
    hits = (tl.rand(seed, offset + tl.arange(0, 2)) < 0.25).to(tl.int32)
    tl.store(out, tl.reduce(hits, 0, _or))


@triton.jit
def _or(a, b):
    return a | b


@triton.jit
def masked_count(out, seed, offset):
    at = tl.arange(0, 2)
    tl.atomic_add(out + 5000 * at, (tl.rand(seed, offset + at) < 0.25).to(tl.int32), mask=at < 1)


@triton.jit
def waiting(out, seed, offset):
    n = 0
    while tl.rand(seed, offset + n) < 0.5 and n < 3:
        n += 1
    tl.store(out, n)


@triton.jit
def sum_of_draws(out, seed, offset):
    tl.store(out, (tl.sum(tl.rand(seed, offset + tl.arange(0, 2)), 0) < 1).to(tl.int32))


@triton.jit
def product_of_draws(out, seed, offset):
    tl.store(out, (tl.rand(seed, offset) * tl.rand(seed, offset + 1) < 0.5).to(tl.int32))


@triton.jit
def bits_of_a_draw(out, seed, offset):
    tl.store(out, tl.rand(seed, offset).to(tl.int32, bitcast=True) & 1)


@triton.jit
def whole_numbers(out, seed, offset):
    tl.store(out, (tl.randint(seed, offset) & 1).to(tl.int32))


@triton.jit
def philox_by_hand(out, seed, offset):
    zero = offset * 0
    a, b, c, d = tl.philox(seed, offset, zero, zero, zero)
    tl.store(out, (a & 1).to(tl.int32))


@triton.jit
def block_of_seeds(out, seed, offset):
    tl.store(out, (tl.sum((tl.rand(seed + tl.arange(0, 2), offset + tl.arange(0, 2)) < 0.5).to(tl.int32), 0)))


@triton.jit
def one_number_read_as_two(out, seed, offset):
    tl.store(out, ((tl.rand(seed, offset) < 0.5) & (tl.randn(seed, offset) < 0)).to(tl.int32))


@triton.jit
def past_the_end(out, seed, offset):
    tl.store(out, tl.load(out + 1000 + offset))


@triton.jit
def by_address(address, out, seed):
    tl.store(out, (tl.load(address.to(tl.pointer_type(tl.float32))) < 0.5).to(tl.int32))


@triton.jit
def as_integers(uniforms, out):
    tl.store(out, tl.load(uniforms.to(tl.pointer_type(tl.int32))) & 1)


@triton.jit
def the_draw_itself(out, seed, offset):
    tl.store(out, tl.rand(seed, offset))


@triton.jit
def halves(uniforms, out):
    tl.store(out, (tl.load(uniforms).to(tl.float32) < 0.5).to(tl.int32))


@triton.jit
def led_by_a_token(uniforms, table, out):
    token = (tl.load(uniforms) < 0.25).to(tl.int32)
    tl.store(out, tl.load(table + token))


@triton.jit
def numbers(bits, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.uint_to_uniform_float(tl.load(bits + at).to(tl.uint32, bitcast=True)))
