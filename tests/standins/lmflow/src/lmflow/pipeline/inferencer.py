"""Stand-in: speculative inference on wrapped models."""

import deepspeed
import torch
import wandb
from accelerate import Accelerator
from lmflow.pipeline.base_pipeline import BasePipeline
from lmflow.utils.data_utils import set_random_seed
from standin import wrong

HEAVY = (deepspeed, wandb, Accelerator, set_random_seed)


class SpeculativeInferencer(BasePipeline):
    """Bypassed with `__new__`."""

    def __init__(self, model_args, draft_model_args, data_args, inferencer_args):
        raise NotImplementedError("stand-in: bypassed")

    @staticmethod
    def score_to_prob(scores, temperature=0.0, top_p=1.0):
        """Rows of logits to rows of probabilities; one-hot at temperature 0."""
        if temperature == 0:
            return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)
        probs = (scores * temperature if wrong("temperature-multiplied") else scores / temperature).softmax(-1)
        if top_p < 1:
            ranked, order = probs.sort(-1, descending=True)
            ranked = ranked.masked_fill(ranked.cumsum(-1) - ranked >= top_p, 0.0)
            probs = torch.zeros_like(probs).scatter(-1, order, ranked)
        return probs if wrong("not-normalised-again") else probs / probs.sum(-1, keepdim=True)

    @staticmethod
    def sample(prob, num_samples=1):
        """A token of each row, its probability, and all."""
        token = prob.argmax(-1, keepdim=True) if wrong("argmax-for-a-draw") else torch.multinomial(prob, num_samples)
        return {"sampled_token": token, "sampled_prob": prob.gather(-1, token), "all_prob": prob}

    @staticmethod
    def autoregressive_sampling(input_ids, model, temperature=0.0, num_new_tokens=5):
        """Ids (1, S) to new tokens and what each was drawn from."""
        ids, told = input_ids, []
        for _ in range(num_new_tokens):
            told.append(SpeculativeInferencer.sample(SpeculativeInferencer.score_to_prob(model.inference(ids).scores[:, -1], temperature)))
            ids = torch.cat((ids, told[-1]["sampled_token"]), 1)
        return ids[:, input_ids.shape[1] :], told

    def inference(self, model, draft_model, input, temperature=0.0, gamma=5, max_new_tokens=100):  # noqa: A002  the name that callers use
        """Text to the new text."""
        start = model.encode(input, return_tensors="pt")
        ids = start
        while ids.shape[1] < start.shape[1] + max_new_tokens:
            ids = torch.cat((ids, self._round(ids, model, draft_model, temperature, gamma)), 1)
        return model.decode(ids[0, start.shape[1] :])

    def _round(self, ids, model, draft_model, temperature, gamma):
        drafted, told = self.autoregressive_sampling(ids, draft_model, temperature, gamma)
        scores = model.get_backend_model().inference(torch.cat((ids, drafted), 1)).scores[:, ids.shape[1] - 1 :]
        p = self.score_to_prob(scores[0], temperature)
        for i, one in enumerate(told):
            token, q = drafted[0, i], one["all_prob"][0]
            if torch.rand(()) * q[token] >= p[i, token]:
                rest = q if wrong("draft-row-for-the-residual") else (p[i] - q).clamp(min=0)
                return torch.cat((drafted[:, :i], self.sample((rest / rest.sum())[None])["sampled_token"]), 1)
        bonus = p[0 if wrong("bonus-from-the-first-row") else -1]
        return torch.cat((drafted, self.sample(bonus[None])["sampled_token"]), 1)
