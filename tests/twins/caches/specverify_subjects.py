"""Correct twins of loops that keep what was rejected in a cache of transformers and hide it, or that read a tree in one pass: each lawful, each tempting.

Written from the mathematics alone (shared/spec/theory.md 1a, 1d). The first line of each says what is unusual and why it is lawful. They need transformers, and are none without it.
"""

import importlib.util

import torch

import specverify as sv


def shaped(logits, temperature, top_k, top_p):
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
    new = new[: new.index(eos) + 1] if eos in new else new
    return new[:most], eos in new or len(new) >= most


def accept(p, q, drafted):
    n = 0
    while n < len(drafted) and float(torch.rand((), dtype=torch.float64)) * q[n][drafted[n]] < p[n][drafted[n]]:
        n += 1
    left = (p[n] - q[n]).clamp(min=0) if n < len(drafted) else p[n]
    return n, one(left if left.sum() > 0 else p[n])


def drafts(draft, text, gamma, *how):
    drafted, q = [], []
    for _ in range(gamma):
        q.append(shaped(draft(input_ids=torch.tensor([[*text, *drafted]]), use_cache=False, logits_to_keep=1).logits[0, -1], *how))
        drafted.append(one(q[-1]))
    return drafted, q


def down(p, chains):
    """Nodes of one of two chains that are accepted as points, numbered from 1 behind the root's row 0, and the id behind them."""
    path, gamma = [], len(chains[0])
    for depth in range(gamma + 1):
        row = p[path[-1] if path else 0].clone()
        nodes = [1, 1 + gamma] if not path else [path[-1] + 1]
        for node in nodes if depth < gamma else []:
            x = chains[(node - 1) // gamma][depth]
            if float(torch.rand((), dtype=torch.float64)) < row[x] / row.sum():
                path.append(node)
                break
            row[x] = 0
        else:
            break
    return path, one(row)


if importlib.util.find_spec("transformers"):
    from transformers import DynamicCache

    @sv.subject("generate", models="transformers")
    @torch.no_grad()
    def gen_hidden_by_a_mask(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        """Never crops: what was rejected stays in the cache behind a 2-D mask, with position_ids of its own."""
        how = (temperature, top_k, top_p)
        cache, new, over, seen = DynamicCache(), [], False, []
        while not over:
            text = [*prompt.tolist(), *new]
            drafted, q = drafts(draft, text, gamma, *how)
            held = sum(seen)
            feed = [*text, *drafted][held:]
            mask = torch.tensor([[*seen, *[1] * len(feed)]])
            out = target(
                input_ids=torch.tensor([feed]),
                attention_mask=mask,
                position_ids=torch.arange(held, held + len(feed))[None],
                past_key_values=cache,
                use_cache=True,
            )
            n, last = accept(shaped(out.logits[0, len(text) - 1 - held :], *how), q, drafted)
            seen += [1] * (len(feed) - gamma + n) + [0] * (gamma - n)
            new, over = ended([*new, *drafted[:n], last], max_new_tokens, eos)
        return new

    @sv.subject("generate", models="transformers")
    @torch.no_grad()
    def gen_one_less(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        """Keeps one accepted id less than it could, and reads that again."""
        how = (temperature, top_k, top_p)
        cache, new, over = DynamicCache(), [], False
        while not over:
            text = [*prompt.tolist(), *new]
            drafted, q = drafts(draft, text, gamma, *how)
            held = cache.get_seq_length()
            out = target(torch.tensor([[*text, *drafted][held:]]), past_key_values=cache, use_cache=True)
            n, last = accept(shaped(out.logits[0, len(text) - 1 - held :], *how), q, drafted)
            cache.crop(n - gamma - 1)
            new, over = ended([*new, *drafted[:n], last], max_new_tokens, eos)
        return new

    @sv.subject("generate", models="transformers", batch=True, conventions={"padding": "left"}, sentinel=0)
    @torch.no_grad()
    def gen_ragged_batch(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        """One forward pass for all rows; rows accept different amounts, holes are hidden by a mask of keys and positions count tokens; ended rows go on with padding."""
        how = (temperature, top_k, top_p)
        ids, lengths = prompt
        texts = [ids[b, ids.shape[1] - n :].tolist() for b, n in enumerate(lengths.tolist())]
        news, overs, cache = [[] for _ in texts], [False] * len(texts), DynamicCache()
        mask = torch.zeros(len(texts), 0, dtype=torch.long)
        fed = [0] * len(texts)
        while not all(overs):
            plans = []
            for b, t in enumerate(texts):
                text = [*t, *news[b]]
                drafted, q = drafts(draft, text, gamma, *how) if not overs[b] else ([], [])
                plans.append((text, drafted, q, [*text, *drafted][fed[b] :] if not overs[b] else []))
            width = max(len(f) for *_, f in plans)
            feed = torch.tensor([[0] * (width - len(f)) + f for *_, f in plans])
            fresh = torch.tensor([[0] * (width - len(f)) + [1] * len(f) for *_, f in plans])
            whole = torch.cat([mask, fresh], 1)
            positions = (whole.cumsum(1) - 1).clamp(min=0)[:, -width:]
            logits = target(input_ids=feed, attention_mask=whole, position_ids=positions, past_key_values=cache, use_cache=True).logits
            for b, (text, drafted, q, _) in enumerate(plans):
                if overs[b]:
                    continue
                p = shaped(logits[b, width - gamma - 1 :], *how)
                n, last = accept(p, q, drafted)
                if n < gamma:
                    fresh[b, width - gamma + n :] = 0
                fed[b] = len(text) + n
                news[b], overs[b] = ended([*news[b], *drafted[:n], last], max_new_tokens, eos)
            mask = torch.cat([mask, fresh], 1)
        longest = max(map(len, news))
        return torch.tensor([n + [0] * (longest - len(n)) for n in news])

    @sv.subject("generate", models="transformers")
    @torch.no_grad()
    def gen_two_chains_as_a_tree(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
        """Two chains of likeliest ids in one pass, under a mask that is added, then keeps rows of the cache by number; each id is tried as a point (theory S8)."""
        how = (temperature, top_k, top_p)
        cache, new, over = DynamicCache(), [], False
        while not over:
            text, held = [*prompt.tolist(), *new], cache.get_seq_length()
            chains = [[first] for first in draft(torch.tensor([text])).logits[0, -1].topk(2).indices.tolist()]
            for chain in chains:
                while len(chain) < gamma:
                    chain.append(int(draft(torch.tensor([[*text, *chain]])).logits[0, -1].argmax()))
            root = len(text) - held - 1
            fed = torch.tensor([[*text[held:], *chains[0], *chains[1]]])
            seen = torch.ones(fed.shape[1], fed.shape[1]).tril().bool()
            seen[root + 1 + gamma :, root + 1 : root + 1 + gamma] = False
            seen = torch.cat([torch.ones(fed.shape[1], held, dtype=torch.bool), seen], 1)
            mask = torch.zeros(seen.shape).masked_fill(~seen, -torch.inf)[None, None]
            places = torch.tensor([[*range(held, len(text)), *range(len(text), len(text) + gamma), *range(len(text), len(text) + gamma)]])
            logits = target(input_ids=fed, attention_mask=mask, position_ids=places, past_key_values=cache, use_cache=True).logits[0]
            path, last = down(shaped(logits[root:], *how), chains)
            kept = torch.tensor([*range(held + root + 1), *(held + root + node for node in path)])
            for layer in cache.layers:
                layer.keys, layer.values = layer.keys[:, :, kept], layer.values[:, :, kept]
            new, over = ended([*new, *(int(fed[0, root + node]) for node in path), last], max_new_tokens, eos)
        return new
