"""Correct twins of what stands around a step, in other styles. None of them may be accused."""

import math
from collections import Counter, defaultdict

import numpy as np
import torch

import specverify as sv

WIDE = ("float64", "float32")
HALF = ("float64", "float32", "float16", "bfloat16")

# processed_rows --------------------------------------------------------------------------------------------------------------


@sv.subject(
    "processed_rows",
    arrays="numpy",
    dtypes=WIDE,
    mutates=("logits",),
    supports=("repetition_penalty", "presence_penalty", "frequency_penalty", "temperature"),
    conventions={"repetition_over": "prompt and generated", "penalties_over": "generated"},
)
def prc_numpy_in_place(logits, prefix, draft, parameters):
    """Penalises and normalises in the logits that it got, and says so."""
    for i in range(len(logits)):
        row, text = logits[i], np.concatenate([prefix, draft[:i]])
        seen = np.unique(text)
        row[seen] = np.where(row[seen] > 0, row[seen] / parameters["repetition_penalty"], row[seen] * parameters["repetition_penalty"])
        counts = np.bincount(text[parameters["prompt_length"] :], minlength=len(row))
        row -= parameters["presence_penalty"] * (counts > 0) + parameters["frequency_penalty"] * counts
        row /= parameters["temperature"]
        row -= row.max()
        np.exp(row, out=row)
        row /= row.sum()
    return logits


@sv.subject(
    "processed_rows", arrays="list", dtypes=("float64",), supports=("temperature", "frequency_penalty", "logit_bias"), conventions={"returns": "logits"}
)
def prc_temperature_first(logits, prefix, draft, parameters):
    """Divides first, penalises all that was said, prompt included, and gives logits back; declares neither."""
    rows = []
    for i, row in enumerate(logits):
        counts = Counter([*prefix, *draft[:i]])
        bias = dict(parameters["logit_bias"])
        rows.append([x / parameters["temperature"] - parameters["frequency_penalty"] * counts[t] + bias.get(t, 0) for t, x in enumerate(row)])
    return rows


class Penalizer:
    """Counts as it goes, and takes back what was only a draft."""

    def __init__(self, width):
        self.counts = torch.zeros(width)

    def take(self, tokens, sign=1):
        for token in tokens:
            self.counts[token] += sign


PENALIZERS = {}


@sv.subject("processed_rows", supports=("presence_penalty", "repetition_penalty"), conventions={"penalties_over": "prompt and generated"})
def prc_one_penalizer_for_all(logits, prefix, draft, parameters):
    """A penalizer that lives on between steps, and is empty between them."""
    penalizer = PENALIZERS.setdefault(logits.shape[1], Penalizer(logits.shape[1]))
    penalizer.take(prefix)
    rows = []
    for row, token in zip(logits, [*draft, None], strict=True):
        met = penalizer.counts > 0
        left = row - parameters["presence_penalty"] * met
        left[met] = torch.where(left[met] < 0, left[met] * parameters["repetition_penalty"], left[met] / parameters["repetition_penalty"])
        rows.append(left.softmax(-1))
        penalizer.take([] if token is None else [token])
    penalizer.take([*prefix, *draft], sign=-1)
    return torch.stack(rows)


@sv.subject("processed_rows", dtypes=WIDE, supports=("no_repeat_ngram_size", "min_tokens"), conventions={"min_tokens_over": "prompt and generated"})
def prc_followers(logits, prefix, draft, parameters):
    """Keeps what followed each run of tokens; the least length counts the prompt."""
    n, out = parameters["no_repeat_ngram_size"], logits.clone()
    for i in range(len(logits)):
        text, after = [*prefix.tolist(), *draft[:i].tolist()], defaultdict(list)
        for end in range(n, len(text) + 1):
            after[tuple(text[end - n : end - 1])].append(text[end - 1])
        banned = after[tuple(text[len(text) - n + 1 :])] if n and len(text) >= n else []
        if len(text) < parameters["min_tokens"]:
            banned = [*banned, parameters["eos_token_id"]]
        out[i, banned] = -math.inf
    return torch.nn.functional.softmax(out, dim=-1)


@sv.subject(
    "processed_rows",
    dtypes=WIDE,
    supports=("temperature", "repetition_penalty", "presence_penalty", "frequency_penalty", "no_repeat_ngram_size", "min_tokens", "logit_bias"),
)
def prc_everything_generated(logits, prefix, draft, parameters):
    """Looks at what was generated alone, whatever it does; additive terms first, in log-probabilities."""
    generated, rows = [*prefix[parameters["prompt_length"] :].tolist()], []
    for row, token in zip(logits.log_softmax(-1) + logits.logsumexp(-1, keepdim=True), [*draft.tolist(), None], strict=True):
        counts = torch.bincount(torch.tensor(generated, dtype=torch.int64), minlength=len(row)).to(row)
        left = row - parameters["frequency_penalty"] * counts - parameters["presence_penalty"] * counts.clamp(max=1)
        for one, value in parameters["logit_bias"]:
            left[one] += value
        scale = torch.where(left > 0, 1 / parameters["repetition_penalty"], parameters["repetition_penalty"]).to(row)
        left = left * torch.where(counts > 0, scale, 1.0) / parameters["temperature"]
        n = parameters["no_repeat_ngram_size"]
        for end in range(n - 1, len(generated)) if n else ():
            if generated[end - n + 1 : end] == generated[len(generated) - n + 1 :]:
                left[generated[end]] = -math.inf
        if len(generated) < parameters["min_tokens"]:
            left[parameters["eos_token_id"]] = -math.inf
        rows.append(left.softmax(-1))
        generated.append(token)
    return torch.stack(rows)


# vocab_map -------------------------------------------------------------------------------------------------------------------


@sv.subject("vocab_map", batch=True, arrays="numpy", supports=("int32",))
def voc_take(ids, table):
    return np.take(table, ids).astype(np.int32)


@sv.subject("vocab_map", batch=True, mutates=("ids",), supports=("int32",), conventions={"table": "offsets"})
def voc_in_place(ids, table):
    """Adds the offsets to the ids where they stand."""
    ids += table[ids.long()].to(ids.dtype)
    return ids


@sv.subject("vocab_map", arrays="list", conventions={"direction": "target to draft", "missing": 0})
def voc_dictionary(ids, table):
    """Ids that the draft vocabulary lacks become its first."""
    places = {target: i for i, target in enumerate(table)}
    return [places.get(i, 0) for i in ids]


@sv.subject("vocab_map", conventions={"direction": "target to draft", "table": "offsets"})
def voc_counted(ids, table):
    """The place of an id among the targets below it; only ids that are there are asked for."""
    targets = table + torch.arange(len(table))
    return (targets[None] < ids[:, None]).sum(1)


@sv.subject("vocab_map", arrays="list")
def voc_refuses_nothing_to_do(ids, table):
    """Refuses an empty request."""
    if not ids:
        raise ValueError("no ids")
    return tuple(table[i] for i in ids)


# grammar_mask ----------------------------------------------------------------------------------------------------------------


@sv.subject("grammar_mask", arrays="list")
def grm_matcher(grammar, tokens, parents):
    rows, taken = [grammar.allowed()], 0
    for token in tokens:
        taken += grammar.advance(token)
        rows.append(grammar.allowed())
    grammar.rollback(taken)
    return rows


BITS = np.zeros((64, 4096), dtype=np.int32)


@sv.subject("grammar_mask", arrays="numpy", supports=("tree",), conventions={"order": "parents first"})
def grm_packed_words(grammar, tokens, parents):
    """Packs into one buffer for all requests, and leaves in the rows behind a forbidden token what stood there."""
    width = len(grammar.transitions[0])
    words, states = -(-width // 32), [grammar.state]
    for parent, token in zip(parents, tokens, strict=True):
        above = states[parent + 1]
        states.append(-1 if above < 0 else grammar.transitions[above][token])
    for i, state in enumerate(states):
        if state >= 0:
            bits = np.zeros(32 * words, dtype=bool)
            bits[:width] = [x >= 0 for x in grammar.transitions[state]]
            BITS[i, :words] = np.packbits(bits, bitorder="little").view(np.int32)
    return BITS[: len(states), :words]


@sv.subject("grammar_mask", supports=("tree",), conventions={"order": "depth-first"})
def grm_walk_with_rollback(grammar, tokens, parents):
    """Goes down and comes back with the matcher; what may not come gets -inf. Behind a forbidden token all may come."""
    out = torch.zeros(len(tokens) + 1, len(grammar.transitions[0]))
    below = defaultdict(list)
    for node, parent in enumerate(parents.tolist()):
        below[parent].append(node)

    def walk(node):
        out[node + 1].masked_fill_(~torch.tensor(grammar.allowed()), -math.inf)
        for child in below[node]:
            if grammar.advance(int(tokens[child])):
                walk(child)
                grammar.rollback()

    walk(-1)
    return out


@sv.subject("grammar_mask", arrays="list")
def grm_stops_at_the_end(grammar, tokens, parents):
    """Asks no more once nothing may come, or a token was forbidden: the rest allows nothing. 0 and 1."""
    width, rows, state = len(grammar.transitions[0]), [], grammar.state
    for token in [*tokens, 0]:
        row = [0] * width if state < 0 else [int(x >= 0) for x in grammar.transitions[state]]
        rows.append(row)
        state = grammar.transitions[state][token] if state >= 0 and any(row) else -1
    return rows


# logprobs --------------------------------------------------------------------------------------------------------------------


@sv.subject("logprobs", dtypes=HALF)
def lgp_gathered(rows, tokens, emitted, temperature, top):
    return rows.float().log_softmax(-1)[torch.arange(emitted), tokens[:emitted]]


@sv.subject("logprobs", dtypes=HALF, conventions={"kind": "processed"})
def lgp_log_of_softmax(rows, tokens, emitted, temperature, top):
    """In the dtype that it got; a probability that is no number of it gives -inf. A column."""
    return (rows[:emitted] / temperature).softmax(-1).log().gather(1, tokens[:emitted, None])


@sv.subject("logprobs", arrays="numpy", dtypes=WIDE, mutates=("rows",), conventions={"kind": "raw", "pad": 0}, supports=("top",))
def lgp_padded_in_place(rows, tokens, emitted, temperature, top):
    """Normalises where the logits stand; a slot for each row, 0 behind the emitted ones, and lists for the others too."""
    rows -= rows.max(-1, keepdims=True)
    rows -= np.log(np.exp(rows).sum(-1, keepdims=True))
    found = np.take_along_axis(rows, np.maximum(tokens, 0)[:, None], -1)[:, 0]
    found = np.where(np.arange(len(rows)) < emitted, found, 0)
    order = np.argsort(-rows, axis=-1, kind="stable")[:, :top]
    return (found, (order, np.take_along_axis(rows, order, -1))) if top else found


@sv.subject("logprobs", arrays="list", dtypes=WIDE, conventions={"rows": "p"}, supports=("top",))
def lgp_of_p(rows, tokens, emitted, temperature, top):
    def told(row, token):
        return math.log(row[token]) if row[token] else -math.inf

    entries = [told(row, token) for row, token in zip(rows[:emitted], tokens, strict=False)]
    likeliest = [sorted(range(len(row)), key=lambda t: (-row[t], -t))[:top] for row in rows[:emitted]]
    lists = likeliest, [[told(row, token) for token in chosen] for row, chosen in zip(rows, likeliest, strict=False)]
    return (entries, lists) if top else entries
