import torch


def gpt_speculative_decoding(gpt, draft_gpt, draft_steps_max, vocab_size, input_token_ids, input_lengths, gen_length, eos_token_id=None):
    rows = []
    for ids, length in zip(input_token_ids.tolist(), input_lengths.tolist(), strict=True):
        row, end = ids[:length], length + gen_length
        while len(row) < end and row[-1] != eos_token_id:
            drafted = list(row)
            for _ in range(draft_steps_max):
                drafted.append(int(draft_gpt(torch.tensor([drafted]))[0, -1, :vocab_size].argmax()))
            best = gpt(torch.tensor([drafted]))[0, len(row) - 1 :, :vocab_size].argmax(-1).tolist()
            kept = next((n for n, (x, y) in enumerate(zip(drafted[len(row) :], best, strict=False)) if x != y), draft_steps_max)
            row += best[: kept + 1]
        rows.append(row[:end])
    return {"output_token_ids": rows, "output_lengths": [len(row) for row in rows]}
