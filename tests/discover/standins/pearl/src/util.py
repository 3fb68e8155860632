import random

import numpy as np
import torch


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def top_k_top_p_filter(logits, top_k=0, top_p=0.0):
    if top_k > 0:
        least = torch.topk(logits, min(top_k, logits.size(-1)))[0][:, [-1]]
        logits = logits.masked_fill(logits < least, float("-inf"))
    if top_p > 0.0:
        ordered, order = torch.sort(logits, descending=True)
        rows = torch.softmax(ordered, -1)
        drop = torch.cumsum(rows, -1) - rows >= top_p
        logits = logits.masked_fill(drop.scatter(1, order, drop), float("-inf"))
    return logits


def norm_logits(logits, temperature, top_k, top_p):
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    return torch.softmax(top_k_top_p_filter(logits / temperature, top_k, top_p), 1)


def sample(probs, num_samples=1):
    return torch.multinomial(probs, num_samples=num_samples)


def max_fn(x):
    kept = torch.where(x > 0, x, torch.zeros_like(x))
    return kept / torch.sum(kept, 1, keepdim=True)
