"""The ladder: how a subject's law on one case is observed. In this version it has one rung, sampling in the worker."""

from specverify.observe.keys import stream_key
from specverify.observe.ladder import Confirmed, Observed, Question, Unobserved, confirm, law

__all__ = ["Confirmed", "Observed", "Question", "Unobserved", "confirm", "law", "stream_key"]
