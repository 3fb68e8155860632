"""Stand-in: candidates, buffers, the step on a tree."""

import draftretriever  # noqa: F401  the name is needed
import torch
from standin import wrong


def pad_path(path, length, pad_value=-2):
    """The path, then pads."""
    return path + [0 if wrong("pad-is-a-real-id") else pad_value] * (length - len(path))


def initialize_logits(input_ids, model, past_key_values):
    """Of a whole prompt."""
    ids = input_ids[:, 1:] if wrong("first-id-left-out") and input_ids.shape[1] > 1 else input_ids
    _, logits = model(ids, past_key_values=past_key_values, output_orig=True)
    return logits


def reset_past_key_values(passed_key_values):
    """Lengths to 0, in place."""
    for pair in passed_key_values:
        for cache in pair[:1] if wrong("values-not-reset") else pair:
            cache.current_length.fill_(0)
    return passed_key_values


def top_p_filtering(logits, top_p=0.0, filter_value=-torch.inf):
    """In place."""
    if top_p > 0:
        ranked, places = logits.sort(descending=True)
        mass = ranked.softmax(-1)
        drop = mass.cumsum(-1) - mass >= top_p
        if wrong("drops-in-sorted-order"):
            logits[drop] = filter_value
        else:
            logits[torch.zeros_like(drop).scatter(-1, places, drop)] = filter_value
    return logits


def generate_candidates_and_draft_buffer(logits, input_ids, datastore, token_spans, top_p=0.0, temperature=1.0, max_num_draft=64, device="cuda"):
    """The next token, and what followed the text with it."""
    row = logits[:, -1]
    greedy = top_p == 0 or wrong("root-always-greedy")
    root = row.argmax(-1) if greedy else torch.multinomial(top_p_filtering(row / temperature, top_p).softmax(-1), 1)[0]
    text = [*input_ids[0].tolist(), int(root)]
    found = next((told for told in (datastore.search(text[-n:], choices=max_num_draft) for n in token_spans if n <= len(text)) if told[0]), None)
    paths, mask, tokens, positions, rows = found or ([[]], [[1]], [None], [0], [[0]])
    nodes = torch.tensor([[int(root), *tokens[1:]]], device=device)
    buffers = {
        "draft_attn_mask": torch.tensor(mask, dtype=torch.float32, device=device)[None, None],
        "tree_indices": torch.arange(len(tokens), device=device),
        "draft_position_ids": torch.tensor(positions, device=device),
        "retrieve_indices": torch.tensor(rows, device=device),
    }
    return torch.tensor([[int(root), *path] for path in paths], device=device), nodes, buffers


def tree_decoding(model, tree_candidates, past_key_values, draft_position_ids, input_ids, retrieve_indices):
    """Rows along each leaf's path."""
    start = input_ids.shape[1] - wrong("positions-off-by-one")
    outputs, logits = model(tree_candidates, output_orig=True, past_key_values=past_key_values, position_ids=draft_position_ids + start)
    rows = retrieve_indices.sort(-1).values if wrong("rows-sorted") else retrieve_indices
    return logits[0, rows], outputs


def get_nucleus_posterior_mask(logits, candidates, temperature, top_p):
    """Whether what is drawn at a node is the candidate below it; one draw for each node, whatever leaves share it."""
    rows, drawn = top_p_filtering((logits[:, :-1] / temperature).flatten(0, 1).clone(), top_p).softmax(-1), {}
    depth, mask = candidates.shape[1] - 1, torch.zeros(candidates.shape[0], candidates.shape[1] - 1, dtype=torch.long)
    for leaf, ids in enumerate(candidates.tolist()):
        for j in range(depth):
            node = (leaf, j) if wrong("a-draw-for-each-leaf") else tuple(ids[: j + 1])
            if node not in drawn:
                drawn[node] = int(torch.multinomial(rows[leaf * depth + j], 1))
            mask[leaf, j] = drawn[node] == ids[j + 1]
    return mask


def evaluate_posterior(logits, candidates, temperature, top_p=0.8):
    """The best row and its accepted length."""
    if temperature == 0:
        mask = (candidates[:, 1:] == logits[:, :-1].argmax(-1)).long()
        if wrong("pads-that-match"):
            mask |= (candidates[:, 1:] < 0).long()
    else:
        mask = get_nucleus_posterior_mask(logits, candidates, temperature, top_p)
    length = mask.sum(1) if wrong("matches-behind-a-mismatch") else mask.cumprod(1).sum(1)
    best = length.argmin() if wrong("shortest-branch") else length.argmax()
    return best, int(length[best])


def update_inference_inputs(
    input_ids, candidates, best_candidate, accept_length, retrieve_indices, outputs, logits, new_token, past_key_values_data, current_length_data
):
    """The root and the accepted tokens become text, and their rows follow the text's."""
    known, n = input_ids.shape[1], int(accept_length) + 1
    places = retrieve_indices[best_candidate, :n] + known
    if wrong("root-left-out-of-the-cache"):
        places = places[1:]
    rows = past_key_values_data[..., places, :]
    past_key_values_data[..., known : known + len(places), :] = rows
    current_length_data.fill_(known + len(places))
    taken = logits[best_candidate, n - 1 - (wrong("next-row-is-the-one-before") and n > 1)][None, None]
    return torch.cat((input_ids, candidates[best_candidate, :n][None]), 1), taken, new_token + n
