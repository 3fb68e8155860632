"""A table, or random weights, in the form of model that a subject takes."""

from __future__ import annotations

from typing import Any

from specverify.contracts.table_models import Prefix, Table, TableModel
from specverify.contracts.weights import Weights
from specverify.errors import SpecverifyError

FORMS = {
    "callable": "a prefix, any sequence of ids, to the row (V,) of probabilities behind it",
    "module": "a torch.nn.Module, ids (B, T) to logits (B, T, V), without a cache",
    "transformers": "a PreTrainedModel with generate() and a real cache",
    "seq2seq": "an encoder-decoder PreTrainedModel with generate() and a real cache; its encoder reads the prompt, and V is the id that its decoder starts with",
    "whisper": "the same with Whisper's own generate(); its encoder hears the prompt, features (1, mels, frames), and config.decoder_start_token_id is what its decoder starts with",
}
"""What `models=` may say."""
MADE_BY = {
    "callable": ("specverify.contracts.table_models",),
    "module": ("specverify.models.module",),
    "transformers": ("specverify.models.causal", "specverify.models.real_llama"),
    "seq2seq": ("specverify.models.seq2seq",),
    "whisper": ("specverify.models.whisper", "specverify.models.real_whisper"),
}
"""The modules behind each form: with torch or transformers, whose import takes seconds."""


class AfterStart(Table):
    """A table in whose prefixes the decoder's start, the id V, stands between the encoder's text and its own; where it does not stand once, that is another prefix.

    Args:
        table: the rows without it.
    """

    def __init__(self, table: Table) -> None:
        self.__dict__.update(table.__dict__)

    def number(self, prefix: Prefix) -> int:
        """Of the row behind a prefix."""
        told = tuple(token for token in prefix if token != self.width)
        return super().number(told if len(told) == len(prefix) - 1 else prefix)


def built(form: str, made_of: Table | Weights, eos: int | None = None) -> Any:
    """The model.

    Raises:
        SpecverifyError: there is no such form, or none of weights.
    """
    return _real(form, made_of, eos) if isinstance(made_of, Weights) else _of_table(form, made_of, eos)


def _real(form: str, weights: Weights, eos: int | None) -> Any:
    match form:
        case "transformers":
            from specverify.models.real_llama import RandomLlama

            return RandomLlama(weights, eos)
        case "whisper":
            from specverify.models.real_whisper import RandomWhisper

            return RandomWhisper(weights, eos)
    raise SpecverifyError(f"There is no model with weights in the form {form!r}.", hint='Weights are for models="transformers" and "whisper".')


def _of_table(form: str, table: Table, eos: int | None) -> Any:
    match form:
        case "callable":
            return TableModel(table)
        case "module":
            from specverify.models.module import TableModule

            return TableModule(table)
        case "transformers":
            from specverify.models.causal import TableForCausalLM

            return TableForCausalLM(table, eos).eval()
        case "seq2seq":
            from specverify.models.seq2seq import TableForSeq2SeqLM

            return TableForSeq2SeqLM(AfterStart(table), table.width, eos).eval()
        case "whisper":
            from specverify.models.whisper import TableForWhisper

            return TableForWhisper(AfterStart(table), table.width, eos).eval()
    raise SpecverifyError(f"There is no form of model {form!r}.", hint=f"Known: {', '.join(FORMS)}.")
