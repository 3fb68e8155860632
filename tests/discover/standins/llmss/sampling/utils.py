import torch


def top_k_top_p_filter(logits, top_k=0, top_p=0.0):
    if top_k > 0:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    if top_p > 0:
        ordered, order = logits.sort(descending=True)
        rows = ordered.softmax(-1)
        drop = rows.cumsum(-1) - rows >= top_p
        logits = logits.masked_fill(torch.zeros_like(drop).scatter(1, order, drop), float("-inf"))
    return logits


def norm_logits(logits, temperature, top_k, top_p):
    return top_k_top_p_filter(logits / temperature, top_k, top_p).softmax(1)


def sample(probs, num_samples=1):
    return torch.multinomial(probs, num_samples)


def max_fn(x):
    positive = x.clamp(min=0)
    return positive / positive.sum(1, keepdim=True)
