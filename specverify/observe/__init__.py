"""The ladder: how a subject's law on one case is observed: explored exactly, or else sampled in the worker."""

from specverify.observe.exploring import distrust, explorable, explored, foresee
from specverify.observe.keys import stream_key
from specverify.observe.ladder import Confirmed, Exactly, Observed, Question, Unobserved, confirm, law, laws, sampled

__all__ = [
    "Confirmed",
    "Exactly",
    "Observed",
    "Question",
    "Unobserved",
    "confirm",
    "distrust",
    "explorable",
    "explored",
    "foresee",
    "law",
    "laws",
    "sampled",
    "stream_key",
]
