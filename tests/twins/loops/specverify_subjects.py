"""Correct twins of whole loops: other hands' styles, each lawful, each tempting.

Written from the mathematics alone (shared/spec/theory.md 1a, 1d, 1f). The first line of each says what is unusual and why it is lawful.
"""

import importlib.util
import random

import numpy as np
import torch

import specverify as sv


def shaped(logits, temperature, top_k, top_p):
    """Rows of logits to probabilities; the one-hot argmax at temperature 0."""
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).double()
    rows = logits.double() / temperature
    rows = rows.masked_fill(rows < rows.topk(top_k).values[..., -1:], -torch.inf).softmax(-1)
    order = rows.argsort(dim=-1, descending=True)
    before = rows.gather(-1, order).cumsum(-1) - rows.gather(-1, order)
    rows = rows * torch.zeros_like(rows, dtype=torch.bool).scatter(-1, order, before < top_p)
    return rows / rows.sum(-1, keepdim=True)


def one(row):
    return int(torch.multinomial(row, 1))


def ended(new, most, eos):
    """What stays of new ids, and whether the text is over."""
    new = new[: new.index(eos) + 1] if eos in new else new
    return new[:most], eos in new or len(new) >= most


@sv.subject("generate", models="module")
def gen_recompute(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
    """Reads the whole text anew in every call, always drafts gamma tokens though fewer are left, cuts what is too long, and gives (1, n)."""
    text, over = prompt[None], False
    while not over:
        ids, q = text, []
        for _ in range(gamma):
            q.append(shaped(draft(ids)[0, -1], temperature, top_k, top_p))
            ids = torch.cat([ids, torch.multinomial(q[-1], 1)[None]], 1)
        p = shaped(target(ids)[0, text.shape[1] - 1 :], temperature, top_k, top_p)
        n = 0
        while n < gamma and torch.rand((), dtype=torch.float64) * q[n][x := ids[0, text.shape[1] + n]] < p[n][x]:
            n += 1
        left = (p[n] - q[n]).clamp(min=0) if n < gamma else p[n]
        last = torch.multinomial(left if left.sum() > 0 else p[n], 1)[None]
        text = torch.cat([ids[:, : text.shape[1] + n], last], 1)
        new, over = ended(text[0, len(prompt) :].tolist(), max_new_tokens, eos)
    return torch.tensor([new])


class Context:
    """A row function behind a cache that somebody wrote by hand: a list that is extended and cut."""

    def __init__(self, model):
        self.model, self.ids = model, []

    def upto(self, ids):
        """The row behind ids: cuts where they part from what it has, reads the rest."""
        same = next((i for i, (a, b) in enumerate(zip(self.ids, ids, strict=False)) if a != b), min(len(self.ids), len(ids)))
        del self.ids[same:]
        self.ids += ids[same:]
        return self.model(self.ids)


@sv.subject("generate", arrays="list", supports=("eos", "greedy"))
def gen_cache_by_hand(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
    """Both caches are cut to the common prefix; drafts are the draft's likeliest tokens, so that q is one-hot; it takes neither temperatures nor filters."""
    target, draft, new, over = Context(target), Context(draft), [], False
    while not over:
        text = [*prompt, *new]
        drafted = []
        for _ in range(min(gamma, max_new_tokens - len(new) - 1)):
            row = draft.upto([*text, *drafted])
            drafted.append(row.index(max(row)))
        emitted = []
        for x in [*drafted, None]:
            row = list(target.upto([*text, *emitted]))
            row = [float(token == row.index(max(row))) for token in range(len(row))] if temperature == 0 else row
            if x is not None and random.random() < row[x]:
                emitted.append(x)
                continue
            emitted += random.choices(range(len(row)), [0.0 if token == x else y for token, y in enumerate(row)])
            break
        new, over = ended(new + emitted, max_new_tokens, eos)
    return new


@sv.subject("generate", models="module", seed="generator")
def gen_sample_and_match(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos, generator):
    """Draws the target's own token at each place and emits it, be it the draft or not; looks at greedy drafts alone and never reads q."""
    new, over = [], False
    while not over:
        ids = torch.cat([prompt, torch.tensor(new, dtype=torch.long)])[None]
        begin = ids.shape[1]
        for _ in range(gamma):
            ids = torch.cat([ids, draft(ids)[:, -1:].argmax(-1)], 1)
        rows = shaped(target(ids)[0, begin - 1 :], temperature, top_k, top_p)
        drawn = torch.multinomial(rows, 1, generator=generator)[:, 0]
        same = (drawn[:-1] == ids[0, begin:]).long().cumprod(0).sum()
        new, over = ended(new + drawn[: same + 1].tolist(), max_new_tokens, eos)
    return torch.tensor(new)


@sv.subject("generate", arrays="numpy", seed="int")
def gen_numpy(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos, seed):
    """A numpy Generator for each call; q is left as the draft gives it, whatever the temperature, since it is drawn from and judged by as it is."""
    rng, text, length = np.random.default_rng(seed), [*prompt], len(prompt) + max_new_tokens

    def shape(row):
        if temperature == 0:
            return (np.arange(len(row)) == row.argmax()).astype(float)
        powers = row.astype(float) ** (1 / temperature)
        order = np.argsort(-powers)
        before = np.cumsum(powers[order]) - powers[order]
        reach = top_p * powers[order[:top_k]].sum()
        powers[order[(np.arange(len(order)) >= top_k) | (before >= reach)]] = 0
        return powers / powers.sum()

    while len(text) < length and (len(text) == len(prompt) or text[-1] != eos):
        drafted, q = [], []
        while len(drafted) < min(gamma, length - len(text)) and (not drafted or drafted[-1] != eos):
            q.append(draft([*text, *drafted]).astype(float))
            q[-1] /= q[-1].sum()
            drafted.append(int(rng.choice(len(q[-1]), p=q[-1])))
        for x, row in zip(drafted, q, strict=True):
            p = shape(target(text))
            if rng.random() * row[x] < p[x]:
                text.append(x)
                continue
            left = np.maximum(p - row, 0)
            text.append(int(rng.choice(len(p), p=left / left.sum())))
            break
    return np.array(text[len(prompt) :])


@sv.subject("generate", models="module")
def gen_one_at_a_time(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
    """Drafts one token a round, whatever gamma is, and draws the target's row from the same number that a rejection leaves: u is uniform above the ratio."""
    text, new = prompt.tolist(), []
    while not ended(new, max_new_tokens, eos)[1]:
        q = shaped(draft(torch.tensor([text]))[0, -1], temperature, top_k, top_p)
        x = one(q)
        p = shaped(target(torch.tensor([[*text, x]]))[0, -2:], temperature, top_k, top_p)
        accept = min(1.0, float(p[0, x] / q[x]))
        u = float(torch.rand((), dtype=torch.float64))
        if u < accept:
            emitted = [x, one(p[1])]
        else:
            left = (p[0] - q).clamp(min=0).cumsum(0)
            within = (u - accept) / (1 - accept) * left[-1]
            emitted = [int((left <= within).sum().clamp(max=len(left) - 1))]
        new = ended(new + emitted, max_new_tokens, eos)[0]
        text = [*prompt.tolist(), *new]
    return new


@sv.subject("generate", arrays="list")
def gen_stale_drafts(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
    """Its draft model reads a text with all that was ever rejected, and q is what it gives there: slow, and lawful, since q is the law that was drawn from (theory S7)."""
    stale, new, over = [*prompt], [], False
    while not over:
        drafted, q, emitted = [], [], []
        for _ in range(gamma):
            q.append(shaped(torch.tensor(draft(stale)).log(), temperature, top_k, top_p))
            drafted.append(one(q[-1]))
            stale.append(drafted[-1])
        for x, row in zip(drafted, q, strict=True):
            p = shaped(torch.tensor(target([*prompt, *new, *emitted])).log(), temperature, top_k, top_p)
            if float(torch.rand((), dtype=torch.float64)) * row[x] < p[x]:
                emitted.append(x)
                continue
            left = (p - row).clamp(min=0)
            emitted.append(one(left if left.sum() > 0 else p))
            break
        stale.append(emitted[-1])
        new, over = ended(new + emitted, max_new_tokens, eos)
    return [new]


@sv.subject("generate", models="module", batch=True, conventions={"padding": "right", "pad": 1})
def gen_rows_kept_level(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
    """All rows of a batch keep as many drafts as the row that keeps fewest, each with its own next token behind them; a length that the others' draws decide moves no law."""
    ids, lengths = prompt
    texts = [row[:length].tolist() for row, length in zip(ids, lengths, strict=True)]
    news, over = [[] for _ in texts], [False] * len(texts)
    while not all(over):
        going = [b for b in range(len(texts)) if not over[b]]
        blocks = []
        for b in going:
            text, q = [*texts[b], *news[b]], []
            for _ in range(gamma):
                q.append(shaped(draft(torch.tensor([text]))[0, -1], temperature, top_k, top_p))
                text.append(one(q[-1]))
            p = shaped(target(torch.tensor([text]))[0, -gamma - 1 :], temperature, top_k, top_p)
            drafted, block = text[-gamma:], []
            for x, mine, theirs in zip(drafted, q, p, strict=False):
                if float(torch.rand((), dtype=torch.float64)) * mine[x] >= theirs[x]:
                    left = (theirs - mine).clamp(min=0)
                    block.append(one(left if left.sum() > 0 else theirs))
                    break
                block.append(x)
            blocks.append(block if len(block) < gamma or block != drafted else [*block, one(p[-1])])
        level = min(map(len, blocks))
        for b, block in zip(going, blocks, strict=True):
            news[b], over[b] = ended(news[b] + block[:level], max_new_tokens, eos)
    return news


@sv.subject("generate", models="module", batch=True, conventions={"padding": "left"}, supports=("eos", "greedy"), sentinel=0)
def gen_matrix_of_rows(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
    """Plain decoding in step; what has ended is written on in the matrix and overwritten with the id 0 at the end. No draft is looked at."""
    ids, lengths = prompt
    texts = [row[-length:] for row, length in zip(ids, lengths.tolist(), strict=True)]
    for _ in range(max_new_tokens):
        texts = [torch.cat([text, torch.multinomial(shaped(target(text[None])[0, -1:], temperature, top_k, top_p), 1)[0]]) for text in texts]
    new = torch.stack([text[-max_new_tokens:] for text in texts])
    if eos is not None:
        behind = (new == eos).long().cumsum(1) - (new == eos).long() > 0
        new = new.masked_fill(behind, 0)[:, : int((~behind).sum(1).max())]
    return new


@sv.subject("generate", arrays="list", conventions={"context": 20}, supports=("eos", "greedy"))
def gen_within_a_context(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
    """Drafts beyond the limit too, and cuts; drafts are likeliest tokens, matched against the target's own draws."""
    new, over, room = [], False, min(max_new_tokens, 20 - len(prompt))
    while not over:
        drafted, emitted = [], []
        for _ in range(gamma):
            row = draft([*prompt, *new, *drafted])
            drafted.append(row.index(max(row)))
        for x in [*drafted, None]:
            row = list(target([*prompt, *new, *emitted]))
            emitted += [row.index(max(row))] if temperature == 0 else random.choices(range(len(row)), row)
            if emitted[-1] != x:
                break
        new, over = ended(new + emitted, room, eos)
    return new


if importlib.util.find_spec("transformers"):

    @sv.subject("generate", models="transformers", supports=("greedy", "temperature", "eos"))
    @torch.no_grad()
    def gen_cropped_cache(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        """A cache of the library, cropped by its own method; the draft model has none."""
        from transformers import DynamicCache

        cache, new, over = DynamicCache(), [], False
        while not over:
            text = [*prompt.tolist(), *new]
            drafted, q = [], []
            for _ in range(gamma):
                q.append(shaped(draft(input_ids=torch.tensor([[*text, *drafted]])).logits[0, -1], temperature, top_k, top_p))
                drafted.append(one(q[-1]))
            held = cache.get_seq_length()
            logits = target(input_ids=torch.tensor([[*text, *drafted][held:]]), past_key_values=cache, use_cache=True).logits[0]
            p = shaped(logits[len(text) - 1 - held :], temperature, top_k, top_p)
            n = 0
            while n < gamma and float(torch.rand((), dtype=torch.float64)) * q[n][drafted[n]] < p[n][drafted[n]]:
                n += 1
            left = (p[n] - q[n]).clamp(min=0) if n < gamma else p[n]
            new, over = ended([*new, *drafted[:n], one(left if left.sum() > 0 else p[n])], max_new_tokens, eos)
            if n < gamma:
                cache.crop(n - gamma)
        return new

    @sv.subject("generate", models="transformers")
    @torch.no_grad()
    def gen_plain_transformers(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        """Plain decoding by the library: it looks at no drafts at all."""
        how = {"do_sample": True, "temperature": temperature, "top_k": top_k, "top_p": top_p} if temperature else {"do_sample": False}
        ids = target.generate(prompt[None].clone(), attention_mask=torch.ones_like(prompt)[None], max_new_tokens=max_new_tokens, **how)
        return ids[:, len(prompt) :]

    @sv.subject("generate", models="transformers", batch=True, conventions={"padding": "left"}, sentinel=0)
    @torch.no_grad()
    def gen_plain_batches_of_transformers(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        """Plain decoding of a batch by the library, filled up on the left, its ended rows with the id 0."""
        ids, lengths = prompt
        mask = (torch.arange(ids.shape[1])[None] >= ids.shape[1] - lengths[:, None]).long()
        how = {"do_sample": True, "temperature": temperature, "top_k": top_k, "top_p": top_p} if temperature else {"do_sample": False}
        return target.generate(ids.clone(), attention_mask=mask, max_new_tokens=max_new_tokens, pad_token_id=0, **how)[:, ids.shape[1] :]
