"""Greedy loops over a cache of transformers: right ones in other shapes and dtypes, and ones with a fault that a table of one layer and one head hides, or that only long texts show."""

from copy import deepcopy

import torch
from transformers import DynamicCache

import specverify as sv


class Loop:
    """The textbook's greedy loop. The cache holds the text but for its last id; `kept` tells what a round has accepted."""

    def __init__(self, prompt, target, draft, gamma, most):
        self.text, self.first, self.target, self.drafter, self.gamma, self.most = prompt.tolist(), len(prompt), target, draft, gamma, most
        self.cache, self.rejected = DynamicCache(), []

    @torch.no_grad()
    def run(self):
        while len(self.text) < self.first + self.most:
            drafts = self.drafts()
            likeliest = self.rows(drafts)[-len(drafts) - 1 :].argmax(-1).tolist()
            n = next((i for i, token in enumerate(drafts) if not self.accepts(token, i, likeliest)), len(drafts))
            self.text += [*drafts[:n], likeliest[n]]
            if n < len(drafts):
                self.rollback(n - len(drafts))
        return self.text[self.first : self.first + self.most]

    def drafts(self):
        text = list(self.text)
        for _ in range(self.gamma):
            text.append(int(self.drafter(input_ids=torch.tensor([text])).logits[0, -1].argmax()))
        return text[len(self.text) :]

    def accepts(self, token, place, likeliest):
        return token == likeliest[place]

    def rows(self, drafts):
        """Behind the ids that the cache lacks."""
        held = self.cache.get_seq_length()
        ids = torch.tensor([[*self.text, *drafts][held:]])
        self.seen = self.target(input_ids=ids, past_key_values=self.cache, use_cache=True, **self.more(held, ids.shape[1])).logits[0]
        return self.seen

    def more(self, held, new):
        return {}

    def rollback(self, by):
        self.rejected.append(self.cache.get_seq_length() + by)
        for layer in self.cache.layers:
            layer.keys, layer.values = layer.keys[:, :, :by], layer.values[:, :, :by]


def subject(kind, **more):
    """Declares a loop under its class's name."""

    def generate(prompt, target, draft, gamma, most, *_):
        return kind(prompt, target, draft, gamma, most).run()

    sv.subject("generate", name=kind.__name__, models="transformers", claim="greedy-exact", supports=("greedy",), **more)(generate)
    return kind


@subject
class CachedSingle(Loop):
    """Right."""


@subject
class WithoutCache(Loop):
    """Right: reads the whole text in every round, in another shape."""

    def rows(self, drafts):
        return self.target(input_ids=torch.tensor([[*self.text, *drafts]]), use_cache=False).logits[0]

    def rollback(self, by):
        pass


@subject
class InDouble(WithoutCache):
    """Right: verifies in double precision."""

    def __init__(self, prompt, target, *rest):
        super().__init__(prompt, deepcopy(target).double(), *rest)


def in_half(kind):
    return subject(type(f"{kind.__name__}InHalf", (kind,), {}), dtypes=("bfloat16",))


@subject
class CastsToHalf(WithoutCache):
    """Right but for its numbers: computes in half precision what comes in single, as engines do whose weights are converted."""

    def __init__(self, prompt, target, *rest):
        super().__init__(prompt, deepcopy(target).bfloat16() if target.dtype == torch.float32 else target, *rest)


in_half(CachedSingle)
in_half(WithoutCache)


@subject
class PositionsOffByOne(Loop):
    """Counts positions on from the last rejected draft."""

    def more(self, held, new):
        return {"position_ids": torch.arange(held, held + new)[None] + bool(self.rejected)}


@subject
class ValuesNotCropped(Loop):
    """Behind the first layer, values lose their first rows in the place of their last: a table has one layer."""

    def rollback(self, by):
        whole = [layer.values for layer in self.cache.layers[1:]]
        super().rollback(by)
        for layer, values in zip(self.cache.layers[1:], whole, strict=True):
            layer.values = values[:, :, -by:]


@subject
class OneHeadNotCropped(Loop):
    """Behind the first layer, the last accepted key of one head is a rejected one's: a table has one layer and one head."""

    def rollback(self, by):
        rejected = [layer.keys[:, :1, -1:] for layer in self.cache.layers[1:]]
        super().rollback(by)
        for layer, key in zip(self.cache.layers[1:], rejected, strict=True):
            layer.keys = layer.keys.clone()
            layer.keys[:, :1, -1:] = key


@subject
class StaleMask(Loop):
    """Places of rejected drafts stay hidden when others stand there."""

    def more(self, held, new):
        mask = torch.ones(1, held + new, dtype=torch.long)
        mask[0, [place for place in self.rejected if place < held]] = 0
        return {"attention_mask": mask}


LENIENCE = 0.1


@subject
class Lenient(Loop):
    """Accepts a draft whose logit is nearly as high."""

    def accepts(self, token, place, likeliest):
        row = self.seen[-self.gamma - 1 + place]
        return bool(row[token] >= row.max() - LENIENCE)
