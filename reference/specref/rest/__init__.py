"""REST, retrieval-based speculative decoding (arXiv 2311.08252): a datastore of token sequences, and draft trees that are found in it."""

from specref.rest.build import build, documents_of
from specref.rest.drafter import Rest, Retrieved
from specref.rest.format import BadStore
from specref.rest.heaviest import Prefix
from specref.rest.store import Match, Store

__all__ = ["BadStore", "Match", "Prefix", "Rest", "Retrieved", "Store", "build", "documents_of"]
