"""Reading a checkout: what is found, why, and that nothing of it runs."""

import re
from pathlib import Path

import pytest

from benchmarks.discover import BROUGHT, STANDINS, labels, score, total
from specverify.contracts import CONTRACTS
from specverify.discover import candidates, symbols
from specverify.discover.answers import ANSWERS
from specverify.discover.roles import ROLES, plays
from specverify.discover.scoring import profiles
from specverify.discover.ways import WAYS
from specverify.errors import SpecverifyError


def found(folder: Path, text: str) -> dict[str, str]:
    """Symbol to contract, of one file."""
    (folder / "code.py").write_text(text)
    return {one.symbol.name: one.contract for one in candidates(symbols(folder))}


def test_nothing_is_imported_and_what_does_not_parse_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def max_fn(x:\n")
    assert found(tmp_path, "raise SystemExit\ndef max_fn(x):\n    return x.clamp(min=0) / x.clamp(min=0).sum()\n") == {"max_fn": "positive_part"}


def test_tests_and_environments_are_no_code_to_be_audited(tmp_path: Path) -> None:
    for place in ("tests/a.py", ".venv/a.py", "lib/site-packages/a.py", "test_a.py"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def max_fn(x): ...\n")
    with pytest.raises(SpecverifyError, match="holds no Python file"):
        symbols(tmp_path)


def test_members_of_classes_are_named_after_them_and_know_whether_they_need_an_instance(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "class A:\n  def __init__(self, k): ...\n  def f(self, x, *, y=1): ...\n  @staticmethod\n  def g(x): ...\n  @property\n  def h(self): ...\n  class B:\n    def __call__(self, z): ...\n"
    )
    told = {one.name: (one.form, one.names, one.bound, one.line) for one in symbols(tmp_path / "a.py")}
    assert told == {
        "A": ("class", ("k",), False, 1),
        "A.f": ("method", ("x", "y"), True, 3),
        "A.g": ("method", ("x",), False, 5),
        "A.B": ("callable", ("z",), False, 8),
    }


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("(p - q).clamp(min=0)", "positive part"),
        ("torch.where(x > 0, x, torch.zeros_like(x))", "positive part"),
        ("x / x.sum(-1)", "division by a sum"),
        ("torch.cat((-b, a), -1)", "joined with a negative"),
        ("x.masked_fill(m, float('-inf'))", "-inf"),
        ("x.masked_fill(m, -torch.inf)", "-inf"),
        ("random.seed(1)", "seeds"),
        ("model(x)", "model call"),
        ("(p / q).clamp(max=1)", "minimum"),
    ],
)
def test_operators_are_told_in_words(tmp_path: Path, body: str, word: str) -> None:
    (tmp_path / "a.py").write_text(f"def f(model, p, q, x):\n    return {body}\n")
    assert word in symbols(tmp_path)[0].operators


def test_a_sum_is_followed_through_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(x):\n    total = x.sum()\n    return x / total\n")
    assert "division by a sum" in symbols(tmp_path)[0].operators


def test_names_that_say_nothing_need_more_signs_than_names_that_do(tmp_path: Path) -> None:
    assert found(tmp_path, "def helper(accepted):\n    return accepted.cumprod(-1)\n") == {}
    assert found(tmp_path, 'def helper(accepted):\n    """First rejected one."""\n    return accepted.cumprod(-1).cumsum(-1).argmax()\n') == {
        "helper": "first_rejection"
    }


def test_a_loop_is_no_step_and_a_layer_is_no_residual(tmp_path: Path) -> None:
    text = "def speculative_sampling(prefix, target_model, draft_model, max_len):\n    while True:\n        target_model(prefix)\n\nclass ResidualBlock:\n    def forward(self, x, residual): return x + residual\n"
    assert found(tmp_path, text) == {"speculative_sampling": "generate"}


def test_the_standins_are_found_as_they_are_labelled() -> None:
    scores = [score(name, STANDINS / folder) for name, folder in BROUGHT.items()]
    assert total(scores).wanted == 39
    assert total(scores).recall >= 0.9
    assert total(scores).precision >= 0.5


def test_labels_name_contracts_and_the_standins_symbols() -> None:
    assert {name for label in labels() for name in label.contracts} <= {*CONTRACTS, "none"}
    for package, folder in BROUGHT.items():
        there = {(one.file, one.name) for one in symbols(STANDINS / folder)}
        assert {(label.file, label.symbol) for label in labels() if label.package == package} <= there


def test_every_contract_is_looked_for() -> None:
    assert set(profiles()) == set(CONTRACTS) - {"helper"}
    for name, profile in profiles().items():
        assert set(profile.needed) | set(profile.roles) <= set(ROLES), name
        for pattern in (profile.names, profile.hints, profile.never, profile.without, *profile.doc, *profile.methods):
            re.compile(pattern)


def test_every_way_is_of_a_contract_with_right_answers_that_are_cases_of_it() -> None:
    assert set(WAYS) - {"seeding"} == set(ANSWERS)
    for name, answers in ANSWERS.items():
        for one in answers:
            CONTRACTS[name].check(one.case)


def test_a_name_may_play_several_roles() -> None:
    assert plays("t", "temperature")
    assert plays("t", "probs")
    assert not plays("draft_logits", "p")
