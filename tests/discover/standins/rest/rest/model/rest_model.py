from .kv_cache import initialize_past_key_values
from .utils import evaluate_posterior, generate_candidates_and_draft_buffer, initialize_logits, tree_decoding, update_inference_inputs


class RestModel:
    def __init__(self, base_model, token_spans):
        self.base_model, self.token_spans = base_model, token_spans

    def rest_generate(self, input_ids, datastore, temperature=0.0, top_p=0.8, max_steps=512):
        past, data, lengths = initialize_past_key_values(self.base_model)
        logits, new = initialize_logits(input_ids, self, past), 0
        for _ in range(max_steps):
            candidates, tree, buffers = generate_candidates_and_draft_buffer(logits, input_ids, datastore, self.token_spans, top_p, temperature)
            logits, outputs = tree_decoding(self, tree, past, buffers["draft_position_ids"], input_ids, buffers["retrieve_indices"])
            best, length = evaluate_posterior(logits, candidates, temperature, top_p)
            input_ids, logits, new = update_inference_inputs(
                input_ids, candidates, best, length, buffers["retrieve_indices"], outputs, logits, new, data, lengths
            )
            yield {"text": input_ids[0, -new:].tolist()}
