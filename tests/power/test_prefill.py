"""Prompts and trees on models with a real cache: faults of its positions, its mask and its length; of this interpreter's transformers or of the one that SPECVERIFY_TRANSFORMERS names."""

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PYTHON = os.environ.get("SPECVERIFY_TRANSFORMERS") or sys.executable
READERS = '''
"""One reader with a cache of transformers, right and wrong in one part each."""
import torch
from transformers import DynamicCache

import specverify as sv


def ancestors(parents, length):
    """Keys that each node sees: the prompt, the nodes above, itself."""
    mask = torch.eye(len(parents)).bool()
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            mask[node] |= mask[parent]
    return torch.cat([torch.ones(len(parents), length).bool(), mask], 1)


def read(model, tokens, chunks, parents, wrong="", cache=None):
    length, rows = len(tokens) - len(parents), []
    cache = DynamicCache() if cache is None else cache
    for part in tokens[:length].split(chunks):
        start = 0 if wrong == "restart" else cache.get_seq_length()
        places = torch.arange(start, start + len(part))
        rows.append(model(input_ids=part[None], position_ids=places[None], past_key_values=cache, use_cache=True).logits[0])
    if len(parents):
        mask = ancestors(parents, length)
        depths = torch.arange(1, len(parents) + 1) if wrong == "slots" else mask[:, length:].sum(1)
        seen = None if wrong == "causal" else mask[None, None]
        rows.append(model(input_ids=tokens[None, length:], position_ids=(length - 1 + depths)[None], attention_mask=seen, past_key_values=cache, use_cache=True).logits[0])
    return torch.cat(rows)


def subject(wrong, reader=None):
    sv.subject("prefill", models="transformers", supports=("chunks", "tree"), name=wrong)(reader or (lambda *given: read(*given, wrong=wrong)))


def of_the_model(model, *given):
    """One cache for all calls."""
    model.kept = getattr(model, "kept", DynamicCache())
    return read(model, *given, cache=model.kept)


def cut_short(model, *given):
    """One cache for all calls, cut before each but for one token."""
    model.kept = getattr(model, "kept", DynamicCache())
    if model.kept.get_seq_length():
        model.kept.crop(1)
    return read(model, *given, cache=model.kept)


for name in ("right", "restart", "slots", "causal"):
    subject(name)
subject("one_cache", of_the_model)
subject("cut_short", cut_short)
'''
FOUND = {"right": [], "restart": ["PRE-003", "PRE-004"], "slots": ["PRE-005"], "causal": ["PRE-005"], "one_cache": ["PRE-008"], "cut_short": ["PRE-008"]}


@pytest.mark.slow
@pytest.mark.skipif(sys.executable == PYTHON and importlib.util.find_spec("transformers") is None, reason="no transformers here")
def test_faults_of_a_real_cache_are_found(audit: Callable, project: Callable[[str], Path]) -> None:
    done = audit(str(project(READERS)), "--python", PYTHON, "-n", "1")
    assert done.code == 1, done.out
    assert {name: done.failed(name) for name in FOUND} == FOUND
    assert set(done.status("right").values()) == {"ok"}
