"""Stand-in: pieces on rows (B, V)."""

import torch
from standin import wrong


def top_k_top_p_filter(logits, top_k=0, top_p=0.0):
    """Top-k, then the smallest set that reaches top-p; 0 disables each."""
    if top_k > 0:
        border = torch.topk(logits, min(top_k, logits.size(-1)))[0][:, -1:]
        logits = logits.masked_fill(logits < border, -torch.inf)
    return by_mass(logits, top_p) if top_p > 0 else logits


def by_mass(logits, top_p):
    """What comes before it has less than top-p."""
    ranked, places = torch.sort(logits, descending=True)
    mass = ranked.softmax(-1)
    drop = mass.cumsum(-1) - mass >= top_p
    if wrong("inverse-permutation"):
        return logits.masked_fill(drop.gather(-1, places), -torch.inf)
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, places, drop), -torch.inf)


def norm_logits(logits, temperature, top_k, top_p):
    """Temperature, the filters, softmax."""
    if temperature <= 0:
        raise ValueError("temperature must be above 0")
    if wrong("temperature-in-place"):
        return top_k_top_p_filter(logits.div_(temperature), top_k, top_p).softmax(-1)
    scaled = logits if wrong("temperature-after-filters") else logits / temperature
    kept = top_k_top_p_filter(scaled, top_k, top_p)
    return (kept / temperature if wrong("temperature-after-filters") else kept).softmax(-1)


def sample(probs, num_samples=1):
    """From the global generator."""
    token = torch.multinomial(probs, num_samples)
    if wrong("exception-on-a-legal-draw") and token.item() == 0:
        raise RuntimeError("token 0")
    return token


def max_fn(x):
    """Positive part, over its sum."""
    positive = x.clamp(min=0)
    return positive / positive.sum(0 if wrong("sum-along-the-wrong-axis") else 1, keepdim=True)
