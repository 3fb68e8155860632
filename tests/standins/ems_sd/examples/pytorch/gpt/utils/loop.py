"""Stand-in: rounds of drafts for all rows of a batch at once, greedy."""

import torch
from standin import wrong
from utils import comm, profiler


def greedy(gpt, hidden):
    """Likeliest ids."""
    return gpt.lm_head(hidden).argmax(-1)


def decode(gpt, propose, ids, lengths, gen_length, eos, cells):
    """Right-padded ids (B, S) to texts; `propose` drafts behind a text, `cells` places the blocks of a round in the cache."""
    assert not comm.is_model_parallel_initailized()
    profiler.start()
    texts = [row[:n] for row, n in zip(ids.tolist(), lengths.tolist(), strict=True)]
    ends = [n + gen_length for n in lengths.tolist()]
    hidden, cache = gpt.context_decoder(ids, lengths)
    for row, text in enumerate(texts):
        text.extend(greedy(gpt, hidden[row, lengths[row] - 1 : lengths[row]]).tolist())
    places = cells(ids, lengths)
    while not all(finished(text, start, end, eos) for text, start, end in zip(texts, lengths.tolist(), ends, strict=True)):
        blocks = torch.tensor([[text[-1], *propose(text)] for text in texts])
        hidden, cache = gpt.decoder(blocks, *places.before(texts, cache))
        chosen = greedy(gpt, hidden)
        kept = (blocks[:, 1:] == chosen[:, :-1]).long().cumprod(1).sum(1) + 1
        places.after(kept, blocks.shape[1])
        for row, text in enumerate(texts):
            if not finished(text, int(lengths[row]), ends[row], eos):
                text.extend(cut(chosen[row, : kept[row]].tolist(), eos))
    torch.cuda.synchronize()
    return told(texts, ends)


def cut(fresh, eos):
    """Up to the end token."""
    return fresh if eos not in fresh or wrong("tokens-after-eos") else fresh[: fresh.index(eos) + 1]


def finished(text, start, end, eos):
    """Whether a text is as long as was asked for, or ended."""
    return len(text) >= end or eos in text[start:]


def told(texts, ends):
    """Ids (B, 1, L) and lengths (B,)."""
    lengths = [min(len(text), end) for text, end in zip(texts, ends, strict=True)]
    rows = [text[:n] + [0] * (max(lengths) - n) for text, n in zip(texts, lengths, strict=True)]
    return {"output_token_ids": torch.tensor(rows)[:, None], "output_lengths": torch.tensor(lengths)}


class Own:
    """Each row's block stands behind its own text, whatever was there."""

    def __init__(self, ids, lengths):
        pass

    def before(self, texts, cache):
        short = wrong("block-over-the-last-token")
        return torch.tensor([len(text) - 1 - short for text in texts]), cache

    def after(self, kept, width):
        pass


class Common:
    """All rows' blocks stand behind the longest; what was rejected is masked."""

    def __init__(self, ids, lengths):
        slots = torch.arange(ids.shape[1])
        self.masked = (slots >= lengths[:, None]) & (not wrong("pad-read-as-a-token"))

    def before(self, texts, cache):
        return torch.full((len(texts),), self.masked.shape[1]), cache, self.masked

    def after(self, kept, width):
        self.masked = torch.cat((self.masked, torch.arange(width) >= kept[:, None]), 1)


def drafts(gpt, steps):
    """A draft model's, without a cache."""

    def propose(text):
        ids = list(text)
        for _ in range(steps):
            hidden, _ = gpt.context_decoder(torch.tensor([ids]), torch.tensor([len(ids)]))
            ids += greedy(gpt, hidden[0, -1:]).tolist()
        return ids[len(text) :]

    return propose


def copies(check, copied):
    """What followed the text's end where it stood last before; filled up with 0."""

    def propose(text):
        found = next((i for i in range(len(text) - 1, check - 1, -1) if text[i - check : i] == text[-check:]), len(text))
        return [*text[found : found + copied], *[0] * copied][:copied]

    return propose
