"""Generation on real models: the loop, what it needs of models and drafters, and what it tells."""

from specref.generation.drafters import Draft, Drafter, ModelDrafter, Retriever, TextDrafter, ngrams, retrieved, script
from specref.generation.loop import Decoding, Generation, autoregressive, speculative
from specref.generation.models import Model, ModuleModel, State, TableModel
from specref.generation.trace import RoundOfRow, Trace

__all__ = [
    "Decoding",
    "Draft",
    "Drafter",
    "Generation",
    "Model",
    "ModelDrafter",
    "ModuleModel",
    "Retriever",
    "RoundOfRow",
    "State",
    "TableModel",
    "TextDrafter",
    "Trace",
    "autoregressive",
    "ngrams",
    "retrieved",
    "script",
    "speculative",
]
