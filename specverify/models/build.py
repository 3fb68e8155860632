"""A table in the form of model that a subject takes."""

from __future__ import annotations

from typing import Any

from specverify.contracts.table_models import Table, TableModel
from specverify.errors import SpecverifyError

FORMS = {
    "callable": "a prefix, any sequence of ids, to the row (V,) of probabilities behind it",
    "module": "a torch.nn.Module, ids (B, T) to logits (B, T, V), without a cache",
    "transformers": "a PreTrainedModel with generate() and a real cache",
}
"""What `models=` may say."""
MADE_BY = {"callable": "specverify.contracts.table_models", "module": "specverify.models.module", "transformers": "specverify.models.causal"}
"""The module behind each form: with torch or transformers, whose import takes seconds."""


def built(form: str, table: Table, eos: int | None = None) -> Any:
    """The model.

    Raises:
        SpecverifyError: there is no such form.
    """
    match form:
        case "callable":
            return TableModel(table)
        case "module":
            from specverify.models.module import TableModule

            return TableModule(table)
        case "transformers":
            from specverify.models.causal import TableForCausalLM

            return TableForCausalLM(table, eos).eval()
    raise SpecverifyError(f"There is no form of model {form!r}.", hint=f"Known: {', '.join(FORMS)}.")
