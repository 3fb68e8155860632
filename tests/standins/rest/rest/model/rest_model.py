"""Stand-in: the loop, over the pieces."""

import torch
from rest.model.kv_cache import initialize_past_key_values
from rest.model.utils import evaluate_posterior, generate_candidates_and_draft_buffer, initialize_logits, tree_decoding, update_inference_inputs
from standin import wrong


class RestModel(torch.nn.Module):
    """Bypassed with `__new__`."""

    def __init__(self, base_model, base_model_name_or_path, token_spans):
        raise NotImplementedError("stand-in: bypassed")

    def rest_generate(self, input_ids, datastore, temperature=0.0, top_p=0.8, max_steps=512):
        """Ids (1, S) to dicts with the new text, one each step."""
        ids, start, new = input_ids, input_ids.shape[1], 0
        past, data, lengths = initialize_past_key_values(self.base_model)
        self.base_model.model.draft_mask = None
        logits = initialize_logits(ids, self, past)
        for _ in range(max_steps):
            candidates, nodes, told = generate_candidates_and_draft_buffer(
                logits, ids, datastore, self.token_spans, top_p if temperature else 0.0, temperature, max_num_draft=self.num_draft
            )
            self.base_model.model.draft_mask = None if wrong("branches-see-each-other") else told["draft_attn_mask"]
            rows, outputs = tree_decoding(self, nodes, past, told["draft_position_ids"], ids, told["retrieve_indices"])
            best, accepted = evaluate_posterior(rows, candidates, temperature, top_p)
            if temperature and not wrong("fresh-draw-behind-the-tree"):
                rows[best, accepted] = unmatched(rows[best, accepted], candidates, best, accepted)
            ids, logits, new = update_inference_inputs(ids, candidates, best, accepted, told["retrieve_indices"], outputs, rows, new, data, lengths)
            self.base_model.model.draft_mask = None
            text = ids[0, start:].tolist()
            end = text.index(self.tokenizer.eos_token_id) + 1 if self.tokenizer.eos_token_id in text else None
            yield {"text": self.tokenizer.decode(text[:end])}
            if end:
                return


def unmatched(row, candidates, best, accepted):
    """A row without the tokens that were tried and not drawn behind the accepted ones."""
    if accepted + 1 == candidates.shape[1]:
        return row
    beside = (candidates[:, : accepted + 1] == candidates[best, : accepted + 1]).all(1)
    tried = candidates[beside, accepted + 1]
    return row.index_fill(0, tried[tried >= 0], -torch.inf)
