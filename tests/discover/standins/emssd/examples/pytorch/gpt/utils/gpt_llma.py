import torch


def gpt_LLMA(gpt, check_length, copy_length, vocab_size, input_token_ids, input_lengths, gen_length, eos_token_id=None):
    rows = []
    for ids, length in zip(input_token_ids.tolist(), input_lengths.tolist(), strict=True):
        row, end = ids[:length], length + gen_length
        while len(row) < end and row[-1] != eos_token_id:
            tail = row[-check_length:]
            found = next((at for at in range(len(row) - check_length) if row[at : at + check_length] == tail), None)
            copied = [] if found is None else row[found + check_length : found + check_length + copy_length]
            best = gpt(torch.tensor([row + copied]))[0, len(row) - 1 :, :vocab_size].argmax(-1).tolist()
            kept = next((n for n, (x, y) in enumerate(zip(copied, best, strict=False)) if x != y), len(copied))
            row += best[: kept + 1]
        rows.append(row[:end])
    return {"output_token_ids": rows, "output_lengths": [len(row) for row in rows]}
