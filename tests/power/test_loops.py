"""Whole loops: a fault of each kind, results in forms that are none, and loops that never stop."""

from collections.abc import Callable
from pathlib import Path

import pytest

from specverify.audit.records import PropertyRecord

TWINS = Path(__file__).resolve().parents[1] / "twins" / "loops" / "specverify_subjects.py"
TWO_TWINS = """
import importlib.util

from specverify.subjects.declare import DECLARED

spec = importlib.util.spec_from_file_location("twins", {path!r})
twins = importlib.util.module_from_spec(spec)
spec.loader.exec_module(twins)
DECLARED[:] = [one for one in DECLARED if one.name in ("gen_recompute", "gen_sample_and_match")]
"""
LOOPS = '''
"""Loops on modules, each with a habit of its own."""
import torch

import specverify as sv


def plain(prompt, target, most, eos, temperature=1.0):
    text = prompt.tolist()
    while len(text) < len(prompt) + most and text[len(prompt):][-1:] != [eos]:
        row = target(torch.tensor([text]))[0, -1]
        text.append(int(row.argmax() if temperature == 0 else torch.multinomial((row / temperature).softmax(-1), 1)))
    return text


@sv.subject("generate", models="module", supports=("eos", "greedy"))
def right(prompt, target, draft, gamma, most, temperature, top_k, top_p, eos):
    return torch.tensor([plain(prompt, target, most, eos, temperature)[len(prompt):]])


@sv.subject("generate", models="module", claim="greedy-exact", supports=("eos",))
def greedy_alone(prompt, target, draft, gamma, most, temperature, top_k, top_p, eos):
    return plain(prompt, target, most, eos, 0)[len(prompt):]


@sv.subject("generate", models="module")
def prompt_first(prompt, target, draft, gamma, most, temperature, top_k, top_p, eos):
    return plain(prompt, target, most, eos)


@sv.subject("generate", models="module")
def words(prompt, target, draft, gamma, most, temperature, top_k, top_p, eos):
    return " ".join(map(str, plain(prompt, target, most, eos)))


@sv.subject("generate", models="module")
def one_too_few(prompt, target, draft, gamma, most, temperature, top_k, top_p, eos):
    return plain(prompt, target, most - 1, eos)[len(prompt):]


@sv.subject("generate", models="module")
def without_end(prompt, target, draft, gamma, most, temperature, top_k, top_p, eos):
    while True:
        pass
'''


@pytest.mark.slow
def test_forms_lengths_and_silence(audit: Callable, project: Callable[[str], Path]) -> None:
    done = audit(str(project(LOOPS)), "-n", "1")
    assert done.code == 1, done.out
    assert {name: done.failed(name) for name in ("right", "greedy_alone", "without_end")} == {"right": [], "greedy_alone": [], "without_end": []}
    assert {status for name in ("right", "greedy_alone") for status in done.status(name).values()} == {"ok", "not applicable"}
    assert {"GEN-001"} == set(done.failed("prompt_first")) == set(done.failed("words"))
    assert "GEN-002" in done.failed("one_too_few")
    assert done.status("without_end")["GEN-001"] == "inconclusive"
    told = {finding.subject: finding.message for finding in done.findings() if finding.property == "GEN-001"}
    assert "ids[len(prompt):]" in told["prompt_first"]
    assert "text came back" in told["words"]


@pytest.mark.slow
def test_calls_of_the_target_are_told_and_too_many_are_no_finding(audit: Callable, project: Callable[[str], Path]) -> None:
    done = audit(str(project(TWO_TWINS.format(path=str(TWINS)))), "-n", "1")
    assert done.code == 0, done.out
    told = {record.subject: record for record in done.records if isinstance(record, PropertyRecord) and record.property == "GEN-024"}
    assert told["gen_recompute"].status == "ok"
    assert "tokens a call of the target" in told["gen_recompute"].reason
    assert [one.subject for one in done.findings() if one.property == "GEN-024"] == ["gen_sample_and_match"]


@pytest.mark.slow
def test_a_loop_that_never_stops_is_inconclusive(audit: Callable, project: Callable[[str], Path]) -> None:
    head, _, tail = LOOPS.partition('@sv.subject("generate", models="module", supports')
    done = audit(str(project(head + '@sv.subject("generate", models="module")\ndef without_end' + tail.partition("def without_end")[2])), "-n", "1")
    assert done.code == 4, done.out
