"""Table models: models whose logits are rows of a table by prefix, so that the right joint law of a loop is known; and real ones with random weights. Runs in the subject's interpreter."""

from specverify.models.build import FORMS, MADE_BY, built

__all__ = ["FORMS", "MADE_BY", "built"]
