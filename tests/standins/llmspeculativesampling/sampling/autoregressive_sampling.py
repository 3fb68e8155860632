"""Stand-in: plain decoding."""

import torch
from sampling.utils import norm_logits, sample
from standin import wrong


def autoregressive_sampling(x, model, N, temperature=1, top_k=0, top_p=0):
    """N tokens behind the ids (1, S), with a cache."""
    past, fresh = None, x
    for _ in range(N):
        output = model(fresh, past_key_values=past, use_cache=True)
        row = norm_logits(output.logits[:, -1], temperature, top_k, top_p)
        past, fresh = output.past_key_values, row.argmax(-1, keepdim=True) if wrong("plain-decoding-is-greedy") else sample(row)
        x = torch.cat((x, fresh), 1)
    return x
