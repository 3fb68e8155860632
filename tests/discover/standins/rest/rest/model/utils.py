import torch


def pad_path(path, length, pad_value=-2):
    return path + [pad_value] * (length - len(path))


def initialize_logits(input_ids, model, past_key_values):
    _, logits = model(input_ids, past_key_values=past_key_values, output_orig=True)
    return logits


def reset_past_key_values(passed_key_values):
    for pair in passed_key_values:
        for cache in pair:
            cache.current_length.fill_(0)
    return passed_key_values


def generate_candidates_and_draft_buffer(logits, input_ids, datastore, token_spans, top_p=0.0, temperature=1.0, max_num_draft=64, device="cuda"):
    row = logits[0, -1]
    token = row.argmax() if top_p == 0 else torch.multinomial(top_p_filtering(row[None] / temperature, top_p).softmax(-1)[0], 1)[0]
    context = [*input_ids[0].tolist(), int(token)]
    drafts = next((found for span in token_spans if (found := datastore.search(context[-span:], choices=max_num_draft))), [])
    nodes = sorted({tuple(draft[: n + 1]) for draft in drafts for n in range(len(draft))}, key=lambda node: (len(node), node))
    mask = torch.eye(len(nodes) + 1, device=device)
    mask[:, 0] = 1
    for i, node in enumerate(nodes):
        for j, other in enumerate(nodes):
            mask[i + 1, j + 1] = float(node[: len(other)] == other)
    leaves = [node for node in nodes if not any(other[: len(node)] == node and other != node for other in nodes)]
    rows = [[0, *(nodes.index(leaf[: n + 1]) + 1 for n in range(len(leaf)))] for leaf in leaves] or [[0]]
    retrieve = torch.tensor([pad_path(row, max(map(len, rows)), -1) for row in rows], device=device)
    tokens = torch.tensor([int(token), *(node[-1] for node in nodes)], device=device)
    positions = torch.tensor([0, *map(len, nodes)], device=device)
    buffers = {"draft_attn_mask": mask[None, None], "tree_indices": positions, "draft_position_ids": positions, "retrieve_indices": retrieve}
    return torch.cat([tokens, tokens.new_full((1,), 0)])[retrieve], tokens[None], buffers


def tree_decoding(model, tree_candidates, past_key_values, draft_position_ids, input_ids, retrieve_indices):
    outputs, logits = model(tree_candidates, past_key_values=past_key_values, position_ids=draft_position_ids + input_ids.shape[1], output_orig=True)
    return logits[0, retrieve_indices], outputs


def get_nucleus_posterior_mask(logits, candidates, temperature, top_p):
    rows = top_p_filtering((logits[:, :-1] / temperature).flatten(0, 1), top_p).softmax(-1)
    drawn = torch.multinomial(rows, 1).view(candidates.shape[0], -1)
    return (candidates[:, 1:] == drawn).int()


def evaluate_posterior(logits, candidates, temperature, top_p=0.8):
    if temperature == 0:
        mask = (candidates[:, 1:] == logits[:, :-1].argmax(-1)).int()
    else:
        mask = get_nucleus_posterior_mask(logits, candidates, temperature, top_p)
    lengths = mask.cumprod(1).sum(1)
    return lengths.argmax(), lengths.max()


def update_inference_inputs(input_ids, candidates, best, length, retrieve_indices, outputs, logits, new_token, past_key_values_data, current_length_data):
    kept = retrieve_indices[best, : length + 1] + input_ids.shape[1]
    start = input_ids.shape[1]
    past_key_values_data[..., start : start + len(kept), :] = past_key_values_data[..., kept, :]
    current_length_data.fill_(start + len(kept))
    return torch.cat([input_ids, candidates[None, best, : length + 1]], -1), logits[None, best, length : length + 1], new_token + int(length) + 1


def top_p_filtering(logits, top_p=0.0, filter_value=-float("inf")):
    order = logits.argsort(-1, descending=True)
    sums = logits.gather(-1, order).softmax(-1).cumsum(-1)
    drop = sums - logits.gather(-1, order).softmax(-1) >= top_p
    return logits.masked_fill_(drop.scatter(-1, order, drop), filter_value)
