"""Stand-in: the loops whose blocks stand behind each row's own text."""

from utils.loop import Own, copies, decode, drafts


def gpt_speculative_decoding(gpt, draft_gpt, draft_steps_max, vocab_size, input_token_ids, input_lengths, gen_length, eos_token_id=None):
    """With drafts of a model."""
    return decode(gpt, drafts(draft_gpt, draft_steps_max), input_token_ids, input_lengths, gen_length, eos_token_id, Own)


def gpt_LLMA(gpt, check_length, copy_length, vocab_size, input_token_ids, input_lengths, gen_length, eos_token_id=None):
    """With copies of the text."""
    return decode(gpt, copies(check_length, copy_length), input_token_ids, input_lengths, gen_length, eos_token_id, Own)
