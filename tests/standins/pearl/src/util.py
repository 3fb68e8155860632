"""Stand-in: seeding, and pieces on rows (B, V)."""

import random

import numpy as np
import torch
from standin import wrong


def seed_everything(seed):
    """All generators."""
    random.seed(seed)
    if not wrong("one-generator-unseeded"):
        np.random.seed(seed)
    torch.manual_seed(seed)


def top_k_top_p_filter(logits, top_k=0, top_p=0.0):
    """Both filters; 0 disables each."""
    keep = torch.ones_like(logits, dtype=torch.bool)
    if top_k > 0:
        keep &= logits >= logits.sort(-1, descending=True).values[:, min(top_k, logits.shape[-1]) - 1, None]
    logits = torch.where(keep, logits, -torch.inf)
    if top_p <= 0:
        return logits
    order = logits.argsort(-1, descending=True)
    mass = logits.softmax(-1).gather(-1, order).cumsum(-1)
    before = torch.zeros_like(mass)
    before[:, 1:] = mass[:, :-1]
    if wrong("row-emptied"):
        before = mass
    rank = order.argsort(-1)
    return torch.where((before < top_p).gather(-1, rank), logits, -torch.inf)


def norm_logits(logits, temperature, top_k, top_p):
    """Rows of probabilities; one-hot at temperature 0."""
    if temperature == 0 and not wrong("temperature-0-ignored"):
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    return top_k_top_p_filter(logits / (temperature or 1.0), top_k, top_p).softmax(-1)


def sample(probs, num_samples=1):
    """From the global generator."""
    if wrong("one-draw-for-ever"):
        torch.manual_seed(0)
    return torch.multinomial(probs, num_samples=num_samples)


def max_fn(x):
    """The positive part, over its sum."""
    kept = torch.where(x > 0, x, 0.0) if not wrong("negative-part-kept") else x.abs()
    return kept / kept.sum(-1, keepdim=True)
