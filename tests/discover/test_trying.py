"""Calling what was found, and the file that is written; by the command."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specverify.cli.app import app
from specverify.discover import candidates, symbols
from specverify.discover.trying import OTHER, RIGHT, UNFIT, UNTRIED, Tried, tried
from specverify.discover.writing import subjects_file, write
from specverify.errors import SpecverifyError
from specverify.subjects.source import SUBJECTS_FILE, from_path
from specverify.subjects.subject import load
from specverify.subjects.worker import Worker

CODE = '''
import torch

def norm_max(p, q):
    rest = (p - q).clamp(min=0)
    return rest / rest.sum(-1, keepdim=True)

def max_fn(x):
    return x.clamp(min=0)

def residual_probs(draft_probs, target_probs):
    rest = (target_probs - draft_probs).clamp(min=0)
    return rest / rest.sum(-1, keepdim=True)

def gumbel_sample(logits):
    return (logits - torch.empty_like(logits).exponential_().log()).argmax(-1)

def find_first_true_index(bool_tensor):
    return (bool_tensor.cumsum(-1) == 0).sum(-1)

def rejection_sample(draft_token_ids, draft_logits, target_logits):
    """Accept or reject draft tokens."""
    p, q = target_logits[0].softmax(-1), draft_logits[0].softmax(-1)
    for i, x in enumerate(draft_token_ids[0].tolist()):
        if torch.rand(()) * q[i, x] >= p[i, x]:
            return torch.tensor([[i, int(torch.multinomial((p[i] - q[i]).clamp(min=0), 1))]])
    return torch.tensor([[len(q), int(torch.multinomial(p[-1], 1))]])

def pad_path(path, length, pad_value):
    raise ValueError("no")

def top_p_filter(logits, top_p):
    return logits

def set_seed(seed):
    torch.manual_seed(seed)

class Verifier:
    def __init__(self, model): ...
    def verify(self, target_probs, draft_probs, draft): ...
'''


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tried]:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "code_here.py").write_text(CODE)
    return {one.candidate.symbol.name: one for one in tried(candidates(symbols(folder)), folder)}


@pytest.mark.parametrize(
    ("name", "verdict", "why"),
    [
        ("norm_max", RIGHT, ""),
        ("residual_probs", RIGHT, ""),
        ("gumbel_sample", RIGHT, "logarithms"),
        ("find_first_true_index", RIGHT, "rejections"),
        ("rejection_sample", RIGHT, "logarithms, a batch of one, the accepted length and the next token"),
        ("max_fn", OTHER, ""),
        ("set_seed", OTHER, ""),
        ("pad_path", UNFIT, "raises ValueError: no"),
        ("top_p_filter", UNTRIED, "takes no top_k"),
        ("Verifier.verify", UNTRIED, "needs an instance, which takes model"),
    ],
)
def test_what_came_of_a_candidate(outcomes: dict[str, Tried], name: str, verdict: str, why: str) -> None:
    assert outcomes[name].verdict == verdict
    assert outcomes[name].why.startswith(why)


def test_what_does_not_import_is_said_and_not_tried(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import no_such_module\ndef max_fn(x): ...\n")
    (one,) = tried(candidates(symbols(tmp_path)), tmp_path)
    assert one.verdict == UNTRIED
    assert "no_such_module" in one.why


def test_the_command_shows_reasons_and_places_without_running_anything(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("raise SystemExit\n\ndef max_fn(x): ...\n")
    out = CliRunner().invoke(app, ["discover", str(tmp_path)])
    assert out.exit_code == 0
    assert "positive_part" in out.output
    assert "a.py:3" in out.output
    assert "name max_fn; parameters x" in out.output
    assert "1 candidate, none of them called" in out.output


def test_a_checkout_without_candidates_is_said_to_have_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def add(a, b): return a + b\n")
    out = CliRunner().invoke(app, ["discover", str(tmp_path)])
    assert out.exit_code == 4
    assert "nothing in" in out.output


def test_the_text_that_is_written_declares_what_fits_and_says_what_is_doubtful(outcomes: dict[str, Tried], tmp_path: Path) -> None:
    fitting = [one.binding for one in outcomes.values() if one.binding is not None]
    text = subjects_file(fitting, ["doubtful"] * len(fitting), ["left out"], tmp_path)
    compile(text, SUBJECTS_FILE, "exec")
    assert text.count("sv.subject(") == text.count("# doubtful") == len(fitting)
    assert "# left out" in text
    assert 'sv.subject("residual", name="code_here.norm_max")(norm_max)' in text


def test_a_file_that_somebody_wrote_is_not_written_over(tmp_path: Path) -> None:
    assert write("mine", tmp_path, force=False) == tmp_path / SUBJECTS_FILE
    (tmp_path / "a.py").write_text("def max_fn(x): ...\n")
    out = CliRunner().invoke(app, ["discover", str(tmp_path), "--write"])
    assert "is there already" in str(out.exception)
    with pytest.raises(SpecverifyError, match="is there already"):
        write("ours", tmp_path, force=False)
    assert (tmp_path / SUBJECTS_FILE).read_text() == "mine"
    assert write("ours", tmp_path, force=True).read_text() == "ours"


@pytest.mark.slow
def test_the_written_file_loads_names_of_two_modules_too(tmp_path: Path) -> None:
    package = tmp_path / "inside"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "code_here.py").write_text(CODE)
    (package / "other.py").write_text(CODE.split("def residual_probs", maxsplit=1)[0])
    out = CliRunner().invoke(app, ["discover", str(tmp_path), "--write"])
    assert out.exit_code == 0, out.output
    text = (tmp_path / SUBJECTS_FILE).read_text()
    assert "Gives another value than its contract" in text
    assert "# filter_logits inside/code_here.py" in text
    worker = Worker(from_path(str(tmp_path)))
    try:
        told, _ = load(worker)
    finally:
        worker.close()
    assert {one.name for one in told if one.problem is None} >= {"inside.code_here.rejection_sample", "inside.code_here.norm_max", "inside.other.norm_max"}


@pytest.mark.slow
def test_an_audit_of_the_written_file_upholds_what_is_right_and_finds_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "code_here.py").write_text(CODE)
    run = lambda *words: subprocess.run([sys.executable, "-m", "specverify", *words], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert run("discover", ".", "--write").returncode == 0
    done = run("audit", ".", "-n", "1")
    assert done.returncode == 1, done.stdout
    findings = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert findings
    assert all(name.startswith(("POS", "SED")) for name in findings), done.stdout
