"""Lawful twins: right implementations in unusual styles, each of which might tempt the suite into a false alarm. None may fail.

Written from the mathematics alone (2211.17192; shared/spec/theory.md 1a, 1c). The first line of each says what is unusual and why it is lawful.
"""

import functools
import hashlib
import itertools
import math
import random
import secrets
from bisect import bisect_right
from fractions import Fraction

import numpy as np
import torch

import specverify as sv

TORCH = ("float64", "float32", "float16", "bfloat16")
NUMPY = ("float64", "float32", "float16")


def inverse(weights, u):
    """First token whose cumulative weight exceeds u times the total; rounding at the top falls to the last token with weight."""
    support = [t for t, w in enumerate(weights) if w > 0]
    cumulative = list(itertools.accumulate(weights[t] for t in support))
    return support[min(bisect_right(cumulative, u * cumulative[-1]), len(support) - 1)]


def excess(p, q, weight=1):
    """(weight p - q)+ as a list; p itself where rounding left nothing."""
    found = [max(weight * a - b, 0) for a, b in zip(p, q, strict=True)]
    return found if any(found) else p


def left(p, q):
    """(p - q)+ as a tensor; p itself where rounding left nothing."""
    found = (p - q).clamp(min=0)
    return found if found.sum() > 0 else p


def drawn(row, generator=None):
    """One token of a row of weights, as an int."""
    return int(torch.multinomial(row.double(), 1, generator=generator))


# positive_part ---------------------------------------------------------------------------------------------------------------


@sv.subject("positive_part", dtypes=TORCH, batch=True)
def pos_where(x):
    """Selects and divides in x's own dtype; NaN on rows without a positive entry, which the contract leaves free."""
    kept = torch.where(x > 0, x, torch.zeros_like(x))
    return kept / kept.sum(-1, keepdim=True)


@sv.subject("positive_part", dtypes=TORCH, batch=True, mutates=("x",))
def pos_in_place_declared(x):
    """Overwrites x and returns x itself; declared in mutates."""
    return x.relu_().div_(x.sum(-1, keepdim=True))


@sv.subject("positive_part", dtypes=TORCH, batch=True)
def pos_in_place_undeclared(x):
    """Overwrites x without declaring it: bad manners (an advisory), the value is right."""
    x[x < 0] = 0
    x /= x.sum(-1, keepdim=True)
    return x


@sv.subject("positive_part", arrays="numpy", dtypes=NUMPY, batch=True)
def pos_numpy_sorted_sum(x):
    """Sums in ascending order, in x's own dtype: any order of a sum of non-negative terms is within its rounding bound."""
    kept = np.maximum(x, 0)
    return kept / np.sort(kept, axis=-1).sum(axis=-1, keepdims=True)


@sv.subject("positive_part", arrays="list", dtypes=NUMPY, batch=True)
def pos_lists(x):
    """Recurses into nested lists, Python floats: doubles are wider than any declared dtype."""
    if isinstance(x[0], list):
        return [pos_lists(row) for row in x]
    total = math.fsum(a for a in x if a > 0)
    return [a / total if a > 0 else 0 for a in x] if total else [0.0] * len(x)


@sv.subject("positive_part", dtypes=TORCH, batch=True)
def pos_small_guard(x):
    """Adds 1e-10 to the sum: what that moves is far below what a law can show."""
    kept = torch.relu(x)
    return kept / (kept.sum(-1, keepdim=True) + 1e-10)


@sv.subject("positive_part", dtypes=("float64", "float32"), batch=True, conventions={"eps": 1e-5})
def pos_declared_guard(x):
    """Adds the guard that it declares, 1e-5: all entries of a row keep their ratios, so every sampler that normalises draws the right law."""
    kept = torch.relu(x)
    return kept / (kept.sum(-1, keepdim=True) + 1e-5)


@sv.subject("positive_part", dtypes=TORCH, batch=True)
def pos_double_inside(x):
    """Works in float64 and returns float64: more digits than asked for."""
    kept = x.double().clamp(min=0)
    return kept / kept.sum(-1, keepdim=True)


@sv.subject("positive_part", dtypes=("float64", "float32"), batch=True)
def pos_float32_inside(x):
    """Casts down to float32 and returns that: 24 bits; what float32 cannot hold (below 1e-45) counts as nothing."""
    kept = x.float().clamp(min=0)
    return kept / kept.sum(-1, keepdim=True)


@sv.subject("positive_part", dtypes=("float64", "float32"), batch=True)
def pos_reciprocal(x):
    """Multiplies by 1 / sum, which overflows only where the sum is below 2^-128, a rejection of that probability: never."""
    kept = x.clamp(min=0)
    return kept * kept.sum(-1, keepdim=True).reciprocal()


@sv.subject("positive_part", batch=True)
def pos_flushes_subnormals(x):
    """Arithmetic that flushes subnormal numbers to zero, as accelerators do; a mass below 2^-126 then counts as none."""
    torch.set_flush_denormal(True)
    try:
        kept = x.clamp(min=0) * 1.0
        return kept / kept.sum(-1, keepdim=True)
    finally:
        torch.set_flush_denormal(False)


@sv.subject("positive_part", dtypes=TORCH, batch=True)
def pos_half_of_sum_with_modulus(x):
    """x + |x| is exactly twice the positive part, and the two cancels."""
    twice = x + x.abs()
    return twice / twice.sum(-1, keepdim=True)


@sv.subject("positive_part", dtypes=("float64", "float32"), batch=True)
def pos_softmax_of_logs(x):
    """softmax(log x+): log 0 = -inf gives exactly 0, the rest differs by rounding of the logarithm."""
    return torch.softmax(x.clamp(min=0).log(), dim=-1)


@sv.subject("positive_part", dtypes=TORCH, batch=True)
def pos_only_batches(x):
    """Sums along dim=1, so it takes (B, V) only: the contract lets it insist on (1, V) for one row."""
    kept = x.clamp(min=0)
    return kept / kept.sum(dim=1)[:, None]


@sv.subject("positive_part", dtypes=("float64",), batch=True)
def pos_only_batches_of_doubles(x):
    """(B, V) only and float64 only, as declared: the sum is a product with a float64 column of ones."""
    kept = x.clamp(min=0)
    return kept / (kept @ torch.ones(x.shape[1], 1, dtype=torch.float64))


@sv.subject("positive_part", dtypes=TORCH, batch=True)
def pos_loop_over_rows(x):
    """A loop over the rows of (B, V); on (V,) it would not fail but see V rows of one number. It insists on (1, V), silently."""
    out = torch.empty_like(x)
    for i in range(x.shape[0]):
        kept = x[i].clamp(min=0)
        out[i] = kept / kept.sum()
    return out


@sv.subject("positive_part", arrays="list", batch=True)
def pos_lists_of_rows(x):
    """Lists, and rows of rows only: insists on (1, V) for one row."""
    totals = [sum(max(a, 0.0) for a in row) for row in x]
    return [[max(a, 0.0) / (total or 1.0) for a in row] for row, total in zip(x, totals, strict=True)]


@sv.subject("positive_part", arrays="numpy", dtypes=NUMPY)
def pos_list_of_numpy_scalars(x):
    """A comprehension over a numpy row: a list of numpy scalars, which are numbers like others."""
    total = sum(a for a in x if a > 0)
    return [a / total if a > 0 else a * 0 for a in x]


@sv.subject("positive_part", batch=True)
def pos_list_of_row_tensors(x):
    """A list of one tensor per row: rows of probabilities in another container."""
    parts = [row.clamp(min=0) for row in (x if x.dim() > 1 else x[None])]
    rows = [part / part.sum() for part in parts]
    return rows if x.dim() > 1 else rows[0]


@sv.subject("positive_part", arrays="numpy", dtypes=NUMPY, batch=True)
def pos_extended_precision(x):
    """numpy's longdouble inside and out: more digits than asked for."""
    kept = np.maximum(x.astype(np.longdouble), 0)
    return kept / kept.sum(axis=-1, keepdims=True)


BUFFER = torch.full((4, 40_000), float("nan"))


@sv.subject("positive_part", batch=True)
def pos_slice_of_reused_buffer(x):
    """Returns a strided slice of a buffer that every call overwrites: right until the next call, which is all a caller needs."""
    out = BUFFER[: x.numel() // x.shape[-1], : x.shape[-1]]
    out.copy_(x.reshape(out.shape)).clamp_(min=0)
    out /= out.sum(-1, keepdim=True)
    return out if x.dim() > 1 else out[0]


@sv.subject("positive_part", arrays="numpy", dtypes=NUMPY, batch=True)
def pos_reversed_view(x):
    """Works on the mirrored vocabulary and returns a view with a negative stride: the values are in their places."""
    kept = x[..., ::-1].clip(0, None)
    return (kept / kept.sum(-1, keepdims=True, dtype=np.float64))[..., ::-1]


class Normaliser(torch.nn.Module):
    """A module is a callable too."""

    def forward(self, x):
        """x+ over its sum, through a one-norm."""
        return torch.nn.functional.normalize(torch.nn.functional.relu(x), p=1.0, dim=-1, eps=1e-12)


sv.subject("positive_part", batch=True)(Normaliser())


def scripted(x: torch.Tensor) -> torch.Tensor:
    """Compiled by TorchScript, so no Python source and no plain signature."""
    kept = x.clamp(min=0)
    return kept / kept.sum(-1, keepdim=True)


sv.subject("positive_part", batch=True, name="pos_scripted")(torch.jit.script(scripted))


def over_sum(axis, x):
    """x+ over its sum along an axis."""
    return x.clamp(min=0) / x.clamp(min=0).sum(axis, keepdim=True)


def race(noise, probs):
    """argmin of e / p with exponential e: P(i) = p_i / sum p; 1 / p = inf where p = 0."""
    return (noise(probs) / probs).argmin(-1)


# Two callables without a name of their own, in one file: both are called "partial".
sv.subject("positive_part", batch=True)(functools.partial(over_sum, -1))
sv.subject("sample", batch=True)(functools.partial(race, lambda like: torch.empty_like(like).exponential_()))


# sample ----------------------------------------------------------------------------------------------------------------------


@sv.subject("sample", dtypes=TORCH, batch=True)
def smp_multinomial(probs):
    """Keeps multinomial's last axis of length one, in the rows' own dtype."""
    return torch.multinomial(probs, 1)


@sv.subject("sample", batch=True)
def smp_in_place_with_replacement(probs):
    """Normalises its argument in place, undeclared: an advisory; the tokens are right."""
    probs /= probs.sum(-1, keepdim=True)
    return torch.multinomial(probs, 1, replacement=True).squeeze(-1)


@sv.subject("sample", dtypes=TORCH, batch=True)
def smp_gumbel(probs):
    """Gumbel-max: argmax of log p + g has law p; the noise is float64 and kept off 0."""
    u = torch.rand(probs.shape, dtype=torch.float64).clamp_min(1e-300)
    return (probs.double().log() - (-u.log()).log()).argmax(-1)


@sv.subject("sample", batch=True)
def smp_gumbel_in_float32(probs):
    """The same in float32, unguarded: only u = 0 at every token of the support at once could go wrong, 2^-24 to the power of their number."""
    return (probs.log() - (-torch.rand_like(probs).log()).log()).argmax(-1)


@sv.subject("sample", dtypes=TORCH, batch=True, seed="generator")
def smp_exponential_race(probs, *, generator):
    """The largest p / e with exponential e; noise in float64, from the caller's generator."""
    noise = torch.empty(probs.shape, dtype=torch.float64).exponential_(generator=generator)
    return (probs / noise).argmax(dim=-1, keepdim=True)


@sv.subject("sample", dtypes=("bfloat16", "float16"), batch=True)
def smp_inverse_cdf_in_half(probs):
    """Everything in half precision: its law is as coarse as its dtype, and the strict comparison never lands on a token of probability zero."""
    cdf = probs.cumsum(-1)
    coin = torch.rand_like(probs[..., :1])
    return (cdf > coin * cdf[..., -1:]).int().argmax(-1)


@sv.subject("sample", dtypes=("float64", "float32"), batch=True)
def smp_inverse_cdf_by_rank(probs):
    """Inverse CDF over the tokens in descending order, from above (u in (0, 1]): any order of the tokens gives the law."""
    ranked, order = probs.double().sort(-1, descending=True)
    cdf = ranked.cumsum(-1)
    u = 1 - torch.rand(probs.shape[:-1], dtype=torch.float64)
    found = (cdf < (u * cdf[..., -1])[..., None]).sum(-1, keepdim=True)
    return order.gather(-1, found)[..., 0]


@sv.subject("sample", arrays="list")
def smp_choices(probs):
    """Python's own choices, weights need no sum of one."""
    return random.choices(range(len(probs)), weights=probs)[0]


@sv.subject("sample", arrays="numpy", dtypes=NUMPY)
def smp_numpy_choice(probs):
    """numpy's legacy choice, normalised in float64; returns a numpy scalar."""
    wide = probs.astype(np.float64)
    return np.random.choice(len(wide), p=wide / wide.sum())


@sv.subject("sample", arrays="numpy", batch=True)
def smp_unsigned_ids(probs):
    """Token ids as uint32, as token files store them: integers within the vocabulary."""
    rows = np.atleast_2d(probs).astype(np.float64)
    return np.array([np.random.multinomial(1, row / row.sum()).argmax() for row in rows], dtype=np.uint32)


@sv.subject("sample", batch=False)
def smp_rejection(probs):
    """Uniform proposals accepted with p / max p; after 200 refusals another exact method, which does not depend on what was refused."""
    bound = probs.max()
    for _ in range(200):
        where, height = torch.rand(2, dtype=torch.float64).tolist()
        token = int(where * len(probs))
        if height * bound < probs[token]:
            return token
    return drawn(probs)


@sv.subject("sample", seed="int")
def smp_seeded_random(probs, seed):
    """A Python generator per call, from the seed alone; stick-breaking token by token, the last with weight takes the rest."""
    rng, weights = random.Random(seed), probs.tolist()
    behind = [0.0, *itertools.accumulate(reversed(weights))][::-1]
    return next(t for t, w in enumerate(weights) if w > 0 and (behind[t + 1] == 0 or rng.random() * behind[t] < w))


@sv.subject("sample", seed="int", batch=True)
def smp_hashed_counter(probs, seed):
    """No generator at all: uniforms are hashes of (seed, row), 53 bits each."""
    rows = probs.reshape(-1, probs.shape[-1]).tolist()
    digests = [hashlib.blake2b(f"{seed}/{i}".encode(), digest_size=8).digest() for i in range(len(rows))]
    return [inverse(row, (int.from_bytes(d, "big") >> 11) / 2**53) for row, d in zip(rows, digests, strict=True)]


@functools.lru_cache(maxsize=64)
def alias_table(weights):
    """Columns of equal width: (own share, alias)."""
    share, alias = [w * len(weights) / math.fsum(weights) for w in weights], list(range(len(weights)))
    small, large = [t for t, s in enumerate(share) if s < 1], [t for t, s in enumerate(share) if s >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        alias[low], share[high] = high, share[high] - (1 - share[low])
        if share[high] < 1:
            small.append(large.pop())
    return share, alias


@sv.subject("sample", seed="generator")
def smp_alias_table(probs, generator=None):
    """Walker's alias table, kept between calls; a column of own share 0 always gives its alias."""
    share, alias = alias_table(tuple(probs.tolist()))
    where, coin = torch.rand(2, dtype=torch.float64, generator=generator).tolist()
    column = int(where * len(share))
    return column if coin < share[column] else alias[column]


@sv.subject("sample", dtypes=TORCH)
def smp_two_stages(probs):
    """First a block of three tokens by its mass, then a token within it: P(block) P(token | block) = p."""
    padded = torch.nn.functional.pad(probs.double(), (0, -len(probs) % 3)).reshape(-1, 3)
    block = drawn(padded.sum(-1))
    return 3 * block + drawn(padded[block])


@sv.subject("sample", dtypes=TORCH)
def smp_exact_integers(probs):
    """Probabilities as whole multiples of 2^-1074 and one randrange of their sum: no rounding anywhere."""
    ratios = [(t, w.as_integer_ratio()) for t, w in enumerate(probs.tolist()) if w > 0]
    cumulative = list(itertools.accumulate(n * (2**1074 // d) for _, (n, d) in ratios))
    return ratios[bisect_right(cumulative, random.randrange(cumulative[-1]))][0]


@sv.subject("sample", dtypes=("float64", "float32"), batch=True)
def smp_one_uniform_for_all_rows(probs):
    """Given the token, the place of u within its interval is uniform again: one double serves the rows in turn, independently."""
    u, tokens = random.random(), []
    for row in probs.reshape(-1, probs.shape[-1]).tolist():
        token = inverse(row, u)
        tokens.append(token)
        u = min(max((u * sum(row) - sum(row[:token])) / row[token], 0.0), 1 - 2**-53)
    return tokens


STATE = [secrets.randbits(128)]


@sv.subject("sample")
def smp_generator_of_its_own(probs):
    """A 128-bit congruential generator in a global, which no seeding reaches: draws are independent, only not repeatable."""
    STATE[0] = (STATE[0] * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) % 2**128
    return inverse(probs.tolist(), (STATE[0] >> 75) / 2**53)


@sv.subject("sample")
def smp_system_randomness(probs):
    """The operating system's entropy: nothing repeats, the law is right."""
    return torch.tensor([[inverse(probs.tolist(), secrets.SystemRandom().random())]], dtype=torch.int32)


AHEAD = {}


@sv.subject("sample")
def smp_tokens_ahead(probs):
    """Draws 8,192 tokens at once the first time a row is seen and hands them out: independent draws, made early."""
    ahead = AHEAD.setdefault(probs.numpy().tobytes(), [])
    if not ahead:
        cdf = probs.double().cumsum(0)
        found = torch.searchsorted(cdf, torch.rand(8192, dtype=torch.float64) * cdf[-1], right=True)
        ahead += found.clamp(max=int(probs.nonzero()[-1])).tolist()
    return ahead.pop()


@sv.subject("sample", batch=True)
def smp_categorical(probs):
    """torch's distribution object."""
    return torch.distributions.Categorical(probs=probs).sample()


@sv.subject("sample")
def smp_uniform_with_keyword(probs):
    """Fills a tensor by uniform_ with the bound as a keyword: the same draw in another spelling."""
    u = torch.empty(1, dtype=torch.float64).uniform_(0, to=1)
    return inverse(probs.tolist(), u.item())


@sv.subject("sample")
def smp_open_interval(probs):
    """Draws again while u is 0, to have u in (0, 1): ends with probability one, after one draw as a rule."""
    while (u := random.random()) == 0.0:
        pass
    return inverse(probs.tolist(), u)


@sv.subject("sample", batch=True, dtypes=TORCH)
def smp_only_batches(probs):
    """Rows of (B, V) only, one after another; returns a list of tensors."""
    return [torch.multinomial(probs[i, :], num_samples=1) for i in range(probs.shape[0])]


# verify_chain ----------------------------------------------------------------------------------------------------------------


@sv.subject("verify_chain", rule="standard", dtypes=TORCH, seed="generator")
def chn_standard_loop(p, q, draft, generator):
    """The paper's loop, float64 arithmetic, one generator."""
    p, q = p.double(), q.double()
    for i, x in enumerate(draft.tolist()):
        if torch.rand((), dtype=torch.float64, generator=generator) >= p[i, x] / q[i, x]:
            return [*draft[:i].tolist(), drawn(left(p[i], q[i]), generator)]
    return [*draft.tolist(), drawn(p[-1], generator)]


@sv.subject("verify_chain", rule="standard", dtypes=TORCH)
def chn_vectorised(p, q, draft):
    """All coins at once, no division, the rows' own dtype throughout; a zero row of q stands for the bonus position."""
    gamma = len(draft)
    pick = torch.arange(gamma), draft
    accepted = torch.rand_like(p[:gamma, 0]) * q[pick] < p[pick]
    n = int(accepted.int().cumprod(0).sum())
    rest = left(p[n], torch.cat([q, torch.zeros_like(p[:1])])[n])
    return torch.cat([draft[:n], torch.multinomial(rest.float(), 1)])


@sv.subject("verify_chain", rule="standard", arrays="list", dtypes=NUMPY)
def chn_lists(p, q, draft):
    """Python lists and random.random."""
    for i, x in enumerate(draft):
        if random.random() * q[i][x] >= p[i][x]:
            return draft[:i] + [inverse(excess(p[i], q[i]), random.random())]
    return draft + [inverse(p[-1], random.random())]


@sv.subject("verify_chain", rule="standard", arrays="numpy", dtypes=NUMPY, seed="int")
def chn_numpy_uniforms_up_front(p, q, draft, seed):
    """Draws every uniform that it might need before it looks at anything; unused ones do no harm."""
    coins = np.random.default_rng(seed).random(len(draft) + 1)
    at = np.arange(len(draft)), draft
    refused = np.flatnonzero(coins[:-1] * q[at].astype(float) >= p[at].astype(float))
    n = int(refused[0]) if len(refused) else len(draft)
    row = excess(p[n].tolist(), q[n].tolist()) if n < len(draft) else p[n].tolist()
    return np.append(draft[:n], inverse(row, coins[-1]))


@sv.subject("verify_chain", rule="standard", dtypes=TORCH, seed="generator")
def chn_race_in_residual(p, q, draft, *, generator=None):
    """Replacement and bonus by an exponential race, without a normaliser: it cancels in the argmax. Returns a tuple."""
    coins = torch.rand(len(draft), generator=generator)
    stop = next((i for i, x in enumerate(draft.tolist()) if not coins[i] < p[i, x].float() / q[i, x].float()), len(draft))
    rest = p[stop].double() if stop == len(draft) else left(p[stop].double(), q[stop].double())
    return (*draft[:stop], (rest / torch.empty_like(rest).exponential_(generator=generator)).argmax())


@sv.subject("verify_chain", rule="standard", dtypes=("float64", "float32"))
def chn_log_space(p, q, draft):
    """Accepts in logarithms: log u < log p - log q; log 0 = -inf accepts nothing, even at u = 0."""
    taken = torch.arange(len(draft)), draft
    coins = torch.rand(len(draft), dtype=torch.float64).log()
    refused = (~(coins < p[taken].log() - q[taken].log())).nonzero()
    n = int(refused[0]) if len(refused) else len(draft)
    return draft[:n].tolist() + [drawn(left(p[n], q[n]) if n < len(draft) else p[n])]


@sv.subject("verify_chain", rule="standard", dtypes=TORCH)
def chn_uniforms_without_zero(p, q, draft):
    """u in (0, 1] with <= in place of [0, 1) with <: the same law, and p = 0 is never accepted since u > 0."""
    coins = 1 - torch.rand(len(draft), dtype=p.dtype)
    for i, (u, x) in enumerate(zip(coins, draft, strict=True)):
        if not u <= p[i, x] / q[i, x]:
            return torch.stack([*draft[:i], torch.tensor(drawn(left(p[i], q[i])))])
    return torch.stack([*draft, torch.tensor(drawn(p[-1]))])


@sv.subject("verify_chain", rule="standard", arrays="list")
def chn_one_uniform(p, q, draft):
    """One double for the whole step: given the decision, u / a or (u - a) / (1 - a) is uniform again and independent of it."""
    u = random.random()
    for i, x in enumerate(draft):
        a = min(1.0, p[i][x] / q[i][x])
        if u >= a:
            return draft[:i] + [inverse(excess(p[i], q[i]), (u - a) / (1 - a))]
        u /= a
    return draft + [inverse(p[-1], u)]


@sv.subject("verify_chain", rule="standard", arrays="list", dtypes=NUMPY)
def chn_fractions(p, q, draft):
    """Exact rational arithmetic with 60-bit coins."""

    def coin():
        return Fraction(random.getrandbits(60), 2**60)

    for i, x in enumerate(draft):
        if coin() * Fraction(q[i][x]) >= Fraction(p[i][x]):
            rest = [(t, Fraction(a) - Fraction(b)) for t, (a, b) in enumerate(zip(p[i], q[i], strict=True)) if a > b]
            return draft[:i] + [rest[inverse([w for _, w in rest], coin())][0] if rest else inverse(p[i], coin())]
    return draft + [inverse(p[-1], coin())]


@sv.subject("verify_chain", rule="standard", dtypes=("float64", "float32"))
def chn_residual_by_rejection(p, q, draft):
    """Replacement by proposals from p kept with (1 - q / p)+: their law is the residual; after 500 refusals it is drawn directly."""
    for i, x in enumerate(draft.tolist()):
        if torch.rand(()) * q[i, x] < p[i, x]:
            continue
        for y in torch.multinomial(p[i].double(), 500, replacement=True).tolist():
            if torch.rand(()) * p[i, y] < p[i, y] - q[i, y]:
                return [*draft[:i].tolist(), y]
        return [*draft[:i].tolist(), drawn(left(p[i], q[i]))]
    return [*draft.tolist(), drawn(p[-1])]


@sv.subject("verify_chain", rule="standard", dtypes=TORCH)
def chn_normalises_rows(p, q, draft):
    """Normalises both rows once more: in half precision that moves both by their own rounding, and equal rows stay equal."""
    p, q = p.float() / p.float().sum(-1, keepdim=True), q.float() / q.float().sum(-1, keepdim=True)
    return chn_standard_loop(p, q, draft, None)


@sv.subject("verify_chain", rule="standard", dtypes=TORCH)
def chn_normalises_target_rows(p, q, draft):
    """Normalises p and leaves q as it was drawn from: in half precision p moves by its rounding, 2^-9, where no law is judged."""
    return chn_standard_loop(p.double() / p.double().sum(-1, keepdim=True), q, draft, None)


@sv.subject("verify_chain", rule="standard", dtypes=TORCH)
def chn_in_place_undeclared(p, q, draft):
    """Writes the residuals into p and the coins into q, undeclared: an advisory; every draw comes with fresh arguments."""
    gamma = len(draft)
    kept = [bool(torch.rand(()) * q[i, x] < p[i, x]) for i, x in enumerate(draft.tolist())] + [False]
    n = kept.index(False)
    if n < gamma:
        p[n] = left(p[n], q[n])
        q.zero_()
    return draft[:n].tolist() + [torch.multinomial(p[n].float(), 1)]


@sv.subject("verify_chain", rule="standard", mutates=("p", "q", "draft"))
def chn_in_place_declared(p, q, draft):
    """Declares that it writes into everything, and does: the draft's own tensor grows by one and carries the result."""
    n = int((torch.rand(len(draft)) * q.gather(1, draft[:, None])[:, 0] < p[:-1].gather(1, draft[:, None])[:, 0]).int().cumprod(0).sum())
    if n < len(draft):
        p[n] = left(p[n], q[n])
    draft.resize_(len(draft) + 1)[n] = torch.multinomial(p[n], 1)[0]
    return draft[: n + 1]


class Stepper:
    """Owns its buffers, as a kernel does."""

    out = torch.full((16,), -7, dtype=torch.int32)

    def step(self, p, q, draft):
        """A bound method that returns a slice of a reused int32 buffer: right until the next call."""
        tokens = chn_standard_loop(p, q, draft, None)
        self.out[: len(tokens)] = torch.tensor(tokens)
        return self.out[: len(tokens)]


sv.subject("verify_chain", rule="standard", name="chn_reused_output")(Stepper().step)


@sv.subject("verify_chain", rule="standard", arrays="numpy")
def chn_unsigned_ids(p, q, draft):
    """Token ids as uint16: V is below 65,536."""
    return np.array(chn_lists(p.tolist(), q.tolist(), draft.tolist()), dtype=np.uint16)


@sv.subject("verify_chain", arrays="list", seed="int")
def chn_recursive_and_hashed(p, q, draft, seed):
    """Recursion on the tail of the chain; the coins are hashes of (seed, position, purpose)."""
    at = len(p)
    u, v = (int.from_bytes(hashlib.blake2b(f"{seed}/{at}/{k}".encode(), digest_size=8).digest(), "big") / 2**64 for k in "ab")
    if not draft:
        return (inverse(p[0], v),)
    if u * q[0][draft[0]] < p[0][draft[0]]:
        return (draft[0], *chn_recursive_and_hashed(p[1:], q[1:], draft[1:], seed))
    return (inverse(excess(p[0], q[0]), v),)


COINS = []


@sv.subject("verify_chain", rule="standard")
def chn_coins_ahead(p, q, draft):
    """Takes uniforms from a global stock of 50,000, filled when it is empty: each is used once."""
    for i, x in enumerate([*draft.tolist(), -1]):
        if len(COINS) < 2:
            COINS.extend(torch.rand(50_000, dtype=torch.float64).tolist())
        if x < 0 or COINS.pop() * q[i, x].item() >= p[i, x].item():
            return [*draft[:i].tolist(), inverse((p[i] if x < 0 else left(p[i], q[i])).tolist(), COINS.pop())]
    return None


@sv.subject("verify_chain", rule="sample-and-match", dtypes=TORCH)
def chn_sample_and_match(p, q, draft):
    """Draws a token from each row of p and goes on while it equals the draft; what is emitted is always the drawn token (theory S9)."""
    tokens = []
    for i in range(len(p)):
        tokens.append(drawn(p[i]))
        if i < len(draft) and tokens[-1] != draft[i]:
            break
    return tokens


@sv.subject("verify_chain", dtypes=TORCH)
def chn_sample_and_match_undeclared(p, q, draft):
    """All rows drawn at once by Gumbel-max, then cut after the first mismatch; no rule declared."""
    noise = torch.rand(p.shape, dtype=torch.float64).clamp_min(1e-300)
    tokens = (p.double().log() - (-noise.log()).log()).argmax(-1)
    n = int((tokens[:-1] == draft).int().cumprod(0).sum())
    return tokens[: n + 1]


def block(p, q, draft):
    """Block verification (theory 1c), u < h so that h = 0 never passes; 0 / 0 means equal rows behind a weight of 1."""
    weight, tau, kept = 1.0, 0, 1.0
    for i, x in enumerate(draft):
        weight = min(weight * p[i][x] / q[i][x], 1.0)
        mass = sum(max(weight * a - b, 0.0) for a, b in zip(p[i + 1], q[i + 1], strict=True)) if i + 1 < len(draft) else 0.0
        h = weight if i + 1 == len(draft) else mass / (mass + (1 - weight)) if mass + (1 - weight) > 0 else 1.0
        if random.random() < h:
            tau, kept = i + 1, weight
    row = p[tau] if tau == len(draft) else excess(p[tau], q[tau], kept)
    return draft[:tau] + [inverse(row, random.random())]


@sv.subject("verify_chain", rule="block", arrays="list", dtypes=NUMPY)
def chn_block(p, q, draft):
    """Block verification: where it stops depends on later rows; exact, with longer blocks than the standard rule."""
    return block(p, q, draft)


@sv.subject("verify_chain", arrays="numpy", dtypes=NUMPY)
def chn_block_undeclared(p, q, draft):
    """The same without a declared rule: its replacement may have p < q, lawfully."""
    return block(p.tolist(), q.tolist(), draft.tolist())


@sv.subject("verify_chain", dtypes=TORCH)
def chn_plain_decoding(p, q, draft):
    """Ignores the draft and emits one token of the first row: slow, exact."""
    return torch.multinomial(p[0].float(), 1)


@sv.subject("verify_chain")
def chn_without_bonus(p, q, draft):
    """Emits no bonus when all is accepted: gamma tokens that end with the last draft token; the next step draws what is missing."""
    tokens = chn_standard_loop(p, q, draft, None)
    return tokens[: len(draft)]


@sv.subject("verify_chain")
def chn_only_first_draft_token(p, q, draft):
    """Verifies one draft token and forgets the others: a shorter chain is as exact."""
    return chn_standard_loop(p[:2], q[:1], draft[:1], None)


@sv.subject("verify_chain", arrays="list", dtypes=NUMPY)
def chn_lazy(p, q, draft):
    """Accepts with half of min(1, p / q) and replaces by p - min(p, q) / 2: another exact coupling, where a refused token may come back."""
    for i, x in enumerate(draft):
        if random.random() * 2 * q[i][x] >= min(p[i][x], q[i][x]):
            return draft[:i] + [inverse([a - min(a, b) / 2 for a, b in zip(p[i], q[i], strict=True)], random.random())]
    return draft + [inverse(p[-1], random.random())]


@sv.subject("verify_chain")
def chn_tosses_for_its_rule(p, q, draft):
    """A coin that knows nothing of the draft chooses between the standard rule and sample-and-match: a mixture of exact rules is exact."""
    return chn_standard_loop(p, q, draft, None) if random.random() < 0.5 else chn_sample_and_match(p, q, draft)


# pad_path --------------------------------------------------------------------------------------------------------------------


@sv.subject("pad_path")
def pad_concatenates(path, length, pad):
    """A new list; a negative repeat count is none, so that a long path is kept, undeclared: an advisory."""
    return path + [pad] * (length - len(path))


@sv.subject("pad_path")
def pad_extends_in_place(path, length, pad):
    """Grows the caller's list and returns it, undeclared: an advisory."""
    path.extend(pad for _ in range(length - len(path)))
    return path


@sv.subject("pad_path")
def pad_tuple(path, length, pad):
    """A tuple is a sequence of ints too."""
    return (*path, *itertools.repeat(pad, length - len(path)))


@sv.subject("pad_path")
def pad_tensor(path, length, pad):
    """An int32 tensor of the right length, the path written over pads; a longer path raises."""
    out = torch.full((length,), pad, dtype=torch.int32)
    out[: len(path)] = torch.tensor(path, dtype=torch.int32)
    return out


@sv.subject("pad_path")
def pad_list_of_numpy_ints(path, length, pad):
    """The list of a numpy array holds numpy ints, which index and compare like ints."""
    return list(np.pad(np.array(path, dtype=np.int64), (0, max(length - len(path), 0)), constant_values=pad))


@sv.subject("pad_path", conventions={"overlong": "refuse"})
def pad_refuses(path, length, pad):
    """Raises on a longer path, as declared."""
    if len(path) > length:
        raise OverflowError(f"{len(path)} nodes do not fit into {length}")
    return [path[i] if i < len(path) else pad for i in range(length)]


@sv.subject("pad_path", conventions={"overlong": "cut"})
def pad_cuts(path, length, pad):
    """An endless path of pads, cut at the length, as declared."""
    return list(itertools.islice(itertools.chain(path, itertools.repeat(pad)), length))


@sv.subject("pad_path", conventions={"overlong": "keep"}, mutates=("path",))
def pad_keeps(path, length, pad):
    """Pushes pads while the list is too short, in place, declared; a longer path is kept, declared."""
    while len(path) < length:
        path.append(pad)
    return path


@functools.cache
def padded(path, length, pad):
    """Remembered."""
    return [*path, *[pad] * (length - len(path))]


@sv.subject("pad_path")
def pad_remembers(path, length, pad):
    """Hands out the same list object for equal arguments: its value is right."""
    return padded(tuple(path), length, pad)
