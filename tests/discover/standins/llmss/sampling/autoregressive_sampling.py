import torch

from .utils import norm_logits, sample


def autoregressive_sampling(x, model, N, temperature=1, top_k=0, top_p=0):
    end = x.shape[1] + N
    while x.shape[1] < end:
        x = torch.cat([x, sample(norm_logits(model(x).logits[0, -1:], temperature, top_k, top_p))], 1)
    return x
