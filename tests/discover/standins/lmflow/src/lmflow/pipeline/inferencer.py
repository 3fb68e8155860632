import torch


class SpeculativeInferencer:
    def __init__(self, model_args, draft_model_args, data_args, inferencer_args):
        self.inferencer_args = inferencer_args

    @staticmethod
    def score_to_prob(scores, temperature=0.0, top_p=1.0):
        if temperature == 0:
            return torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).float()
        ordered, order = (scores / temperature).sort(descending=True)
        rows = ordered.softmax(-1)
        rows = rows.masked_fill(rows.cumsum(-1) - rows >= top_p, 0)
        return torch.zeros_like(rows).scatter(-1, order, rows / rows.sum(-1, keepdim=True))

    @staticmethod
    def sample(prob, num_samples=1):
        token = torch.multinomial(prob, num_samples)
        return {"sampled_token": token, "sampled_prob": prob.gather(-1, token), "all_prob": prob}

    @staticmethod
    def autoregressive_sampling(input_ids, model, temperature=0.0, num_new_tokens=5):
        sequence = []
        for _ in range(num_new_tokens):
            scores = model.inference(input_ids, max_new_tokens=1).scores[0]
            sequence.append(SpeculativeInferencer.sample(SpeculativeInferencer.score_to_prob(scores, temperature)))
            input_ids = torch.cat([input_ids, sequence[-1]["sampled_token"]], 1)
        return input_ids, sequence

    def inference(self, model, draft_model, input, temperature=0.0, gamma=5, max_new_tokens=100):
        ids = model.encode(input)
        while ids.shape[1] < max_new_tokens:
            ids, _ = self.autoregressive_sampling(ids, draft_model, temperature, gamma)
        return model.decode(ids)
