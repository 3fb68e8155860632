"""Entries for packages, on the interpreters that SPECVERIFY_LUCIDRAINS, SPECVERIFY_ECONOMIZE and SPECVERIFY_FLASHSPEC name: published verdicts, and faults planted in what their loops and caches are given."""

import os
import re
from pathlib import Path

import pytest

import specverify.gallery

GALLERY = Path(specverify.gallery.__file__).parent
DECODERS, PROPHET = ("lucidrains.Decoder", "lucidrains.Decoder (of the prophet)"), "lucidrains.speculative_decoding_with_prophet_model"
LOOPS = ("lucidrains.speculative_decoding", "lucidrains.speculative_decoding_with_same_model", f"{PROPHET} (two tokens or more)")
OWN = {(PROPHET, "GEN-001"), *((f"{name}, right-aligned", "HLP-002") for name in DECODERS)}
"""What lucidrains' package does itself."""
LEFT_OUT = {
    "lucidrains": r"$^",
    "economize, loops": r'@sv.subject\("verify_chain".*(?=# The loop)|# Caches.*|^bind\("economize.Eff.*?\n',
    "economize, caches": r'@sv.subject\("verify_chain".*(?=# Caches)',
    "flashspec": r'^sv.subject\("residual".*(?=^ROOM = )',
}
"""What is left out of an entry, so that an audit of the rest is short."""
MODEL, CACHES = ("economize.CycleDecoder (draft model)",), ("economize.PositionalKVCache", "economize.StaticKVCache")
SESSIONS = ("flashspec.KvSession", "flashspec.StaticKvSession")
FAULTS = [
    ("lucidrains", "a prophet that reads another text", "row[1:]]) for", "row[1:].roll(1)]) for", (), ""),
    ("lucidrains", "a target whose cache is one place off", "[0].shape[-2] :]], 1)", "[0].shape[-2] :]], 1).roll(int(cache is not None), 1)", LOOPS, "GEN-003"),
    ("lucidrains", "a target that reads what aligns the rows", "else seq_start_pos.tolist()", "else [0] * len(x)", LOOPS, "GEN-019"),
    ("economize, loops", "drafts that nobody verifies", '"rejection" if temperature else None', '"accept_all"', MODEL, "GEN-003"),
    ("economize, caches", "a path compacted backwards", "torch.arange(len(kept))[None]", "torch.arange(len(kept))[None].flip(1)", CACHES, "KVC-004"),
    ("economize, caches", "a layer forgotten", "range(LAYERS):\n            self.cache.scatter", "range(1):\n            self.cache.scatter", ("economize.DraftKVCache",), "KVC-001"),
    ("flashspec", "a draft that is not cropped", "session.crop(REJECTED)", "session.crop(REJECTED - 1)", SESSIONS, "PRE-003"),
]  # fmt: skip
"""Entry, what is planted, text, text instead, where it must be found and by what; a prophet that reads another text changes no law, and nothing must be found."""
pytestmark = pytest.mark.slow


def python(entry: str) -> str:
    """The interpreter that has an entry's package."""
    name = f"SPECVERIFY_{entry.partition(',')[0].upper()}"
    if name not in os.environ:
        pytest.skip(f"{name} names an interpreter that has the package")
    return os.environ[name]


def broken(done) -> set[tuple[str, str]]:
    """(subject, property) of all findings."""
    return {(row.subject, row.property) for row in done.findings() if row.severity == "finding"}


def test_the_published_verdicts_hold(audit) -> None:
    """The prophet loop raises for one token, and decoders do not heed where a text begins; all else is upheld."""
    done = audit("gallery:lucidrains", "--python", python("lucidrains"), "-n", "2")
    assert broken(done) == OWN
    assert {row.property for row in done.findings() if row.severity == "advisory"} == {"KPF-011", "GEN-018"}
    assert {*LOOPS, PROPHET, *DECODERS} < {row.subject for row in done.subjects()}
    for name in LOOPS:
        assert set(done.status(name).values()) <= {"ok", "advisory", "not applicable"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[1].replace(" ", "-"))
def test_a_fault_is_found_where_it_reaches_the_text(audit, project, fault: tuple[str, str, str, str, tuple[str, ...], str]) -> None:
    entry, _, old, new, where, by = fault
    text = re.sub(LEFT_OUT[entry], "", (GALLERY / f"{entry.partition(',')[0]}.py").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert text.count(old) == 1
    done = audit(str(project(text.replace(old, new))), "--python", python(entry), "-n", "2")
    found = broken(done) - OWN
    assert {(name, by) for name in where} <= found
    assert bool(found) == bool(where)
