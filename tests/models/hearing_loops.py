"""Greedy loops on Whispers: a right one, and ones whose fault is of the encoder's side or of a second layer, which a table hides."""

import torch
from transformers import DynamicCache, EncoderDecoderCache

import specverify as sv


class Loop:
    """The textbook's greedy loop. The cache holds the text but for its last id, and what the encoder gave."""

    def __init__(self, features, target, draft, gamma, most):
        self.features, self.target, self.drafter, self.gamma, self.most = features, target, draft, gamma, most
        self.text = [target.config.decoder_start_token_id]
        self.cache = EncoderDecoderCache(DynamicCache(), DynamicCache())

    @torch.no_grad()
    def run(self):
        while len(self.text) <= self.most:
            drafts = self.drafts()
            likeliest = self.rows(drafts).argmax(-1).tolist()
            n = next((i for i, token in enumerate(drafts) if token != likeliest[i]), len(drafts))
            self.text += [*drafts[:n], likeliest[n]]
            if n < len(drafts):
                self.rollback(n - len(drafts))
        return self.text[1 : self.most + 1]

    def drafts(self):
        text = list(self.text)
        for _ in range(self.gamma):
            text.append(int(self.drafter(input_features=self.features, decoder_input_ids=torch.tensor([text])).logits[0, -1].argmax()))
        return text[len(self.text) :]

    def rows(self, drafts):
        """Behind the last id and each draft."""
        held = self.cache.self_attention_cache.get_seq_length()
        ids = torch.tensor([[*self.text, *drafts][held:]])
        return self.target(input_features=self.features, decoder_input_ids=ids, past_key_values=self.cache, use_cache=True).logits[0, -len(drafts) - 1 :]

    def rollback(self, by):
        for layer in self.cache.self_attention_cache.layers:
            layer.keys, layer.values = layer.keys[:, :, :by], layer.values[:, :, :by]


def subject(kind):
    """Declares a loop under its class's name."""

    def generate(features, target, draft, gamma, most, *_):
        return kind(features, target, draft, gamma, most).run()

    sv.subject("generate", name=kind.__name__, models="whisper", claim="greedy-exact", supports=("greedy",))(generate)
    return kind


@subject
class Hears(Loop):
    """Right."""


@subject
class ValuesNotCropped(Loop):
    """Behind the first layer, values lose their first rows in the place of their last."""

    def rollback(self, by):
        whole = [layer.values for layer in self.cache.self_attention_cache.layers[1:]]
        super().rollback(by)
        for layer, values in zip(self.cache.self_attention_cache.layers[1:], whole, strict=True):
            layer.values = values[:, :, -by:]


@subject
class HeardKeysCropped(Loop):
    """Behind the first layer, a rollback takes the last frames' states too: a table's cross attention is not read."""

    def rollback(self, by):
        super().rollback(by)
        for layer in self.cache.cross_attention_cache.layers[1:]:
            layer.keys, layer.values = layer.keys[:, :, :by], layer.values[:, :, :by]


KNOWN = {}


@subject
class HeardBefore(Loop):
    """Keeps what the encoder gave from one call to the next."""

    def __init__(self, features, target, *rest):
        super().__init__(features, target, *rest)
        self.cache.cross_attention_cache = KNOWN.setdefault(id(target), self.cache.cross_attention_cache)
        if self.cache.cross_attention_cache.get_seq_length():
            self.cache.is_updated = dict.fromkeys(range(len(self.cache.cross_attention_cache.layers)), True)
