"""Finding files, explained and run again; scripts that show a finding with nothing of ours."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from specverify.audit.arguments import source
from specverify.audit.cases import arguments, case_of
from specverify.audit.finding_files import FOLDER, FindingFile, finding_files, latest, located, read_finding, write_findings
from specverify.audit.records import Alone, Call, Excess, Finding, Footer, Header, Line, PropertyRecord, SubjectRecord, encode, read
from specverify.audit.replay import exit_code, replay
from specverify.audit.settings import Settings
from specverify.audit.standalone.script import FEWEST, MOST, STREAMS, draws, script, why_not
from specverify.contracts import CONTRACTS, Family, array, digest
from specverify.errors import SpecverifyError
from specverify.report.explain import explanation

HEADER = Header(1, "0.1.0", "1", "run", ("./x",), "key", 1e-6, 20_000, 3, (), "2026-01-01T00:00:00+00:00", "3.11", "here")
CASE = {"path": [0], "length": 2, "pad": -1}
FRONT = Call(arguments(CASE), "[-1, 0]")
SUBJECTS = """
import time
import specverify as sv

@sv.subject("pad_path")
def broken(path, length, pad):
    return [pad] * (length - len(path)) + path

@sv.subject("pad_path")
def mended(path, length, pad):
    return path + [pad] * (length - len(path))

@sv.subject("pad_path")
def sleepy(path, length, pad):
    time.sleep(60)
"""


def file(subject: str, where: str, alone: Alone | None = None, contract: str = "pad_path", id_: str = "aabbccdd") -> FindingFile:
    finding = Finding(
        id_, subject, contract, "PAD-002", "The path comes first.", "A3", "finding", "It does not.", arguments(CASE), (Line("result", "[-1, 0]", "[0, -1]"),), "pointwise",
        file="x.py", line=6, alone=alone,
    )  # fmt: skip
    row = PropertyRecord(subject, contract, "PAD-002", finding.sentence, "position", "failed", "pointwise", id_)
    return FindingFile(1, HEADER, SubjectRecord(subject, where, contract, "lossless", python_path=sys.executable), row, ("PAD-003",), finding)


CASES = [
    {"x": array("float32", (2,), (0.1, float("nan"))), "rows": Family("zipf", 3, "float64", (2, 9)), "path": [1, 2], "n": 3, "none": None},
    {"t": float("inf"), "nested": [[1.5, float("-inf")], []], "word": "left", "yes": True, "arrays": [array("int64", (2,), (4, 5))]},
    {"empty": array("int64", (0,), ()), "table": {1: [2], "a": float("inf")}},
]


@pytest.mark.parametrize("case", CASES)
def test_a_case_comes_back_from_its_record_bit_by_bit(case: dict) -> None:
    finding = msgspec.structs.replace(file("x", "./x").finding, case=arguments(case))
    (back,) = read([encode(finding)])
    assert digest(case_of(back.case)) == digest(case)


def test_every_contracts_smoke_case_comes_back() -> None:
    for contract in CONTRACTS.values():
        (back,) = read([encode(msgspec.structs.replace(file("x", "./x").finding, case=arguments(contract.smoke)))])
        assert digest(case_of(back.case)) == digest(contract.smoke), contract.name


def stored(folder: Path, *files: FindingFile) -> list[Path]:
    """A run with these findings."""
    rows = [one for file in files for one in (file.subject, file.finding, file.row)]
    (folder / "events.jsonl").write_bytes(b"".join(encode(one) + b"\n" for one in (HEADER, *rows, Footer(True, 1, 1.0))))
    write_findings(folder, [HEADER, *rows])
    return sorted((folder / FOLDER).glob("*.json"))


def test_files_are_found_by_id_by_its_beginning_and_by_path(tmp_path: Path) -> None:
    names = ("old", "new")
    for number, name in enumerate(names):
        (tmp_path / name).mkdir()
        stored(tmp_path / name, file("a", "./nowhere"), file("b", "./nowhere", id_="aabbee00"))
        os.utime(tmp_path / name / "events.jsonl", (number, number))
    newest = tmp_path / "new" / FOLDER / "aabbccdd.json"
    assert located("aabbccdd", tmp_path) == located("aabbcc", tmp_path) == located(str(newest), tmp_path) == newest
    assert latest(tmp_path) == sorted((tmp_path / "new" / FOLDER).glob("*.json"))
    assert read_finding(newest).finding == file("a", "./nowhere").finding
    for name, words in (("aabb", "begins several"), ("aab", "There is no finding 'aab'"), ("ffff", "There is no finding 'ffff'")):
        with pytest.raises(SpecverifyError, match=words):
            located(name, tmp_path)


BROKEN = [("{}", "is no finding file"), ("x", "is no finding file"), ('{"format": 2}', "has the format 2"), (None, "There is no finding file")]


@pytest.mark.parametrize(("text", "words"), BROKEN)
def test_what_is_no_finding_file_is_told(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "a.json").write_text(text)
    with pytest.raises(SpecverifyError, match=words):
        read_finding(tmp_path / "a.json")


def test_it_is_explained(tmp_path: Path) -> None:
    told = "\n".join(explanation(msgspec.structs.replace(file("broken", "./x"), script="aabbccdd.py"), tmp_path))
    for words in (
        "FAILED PAD-002  The path comes first.", "result  [-1, 0]  [0, -1]", "breaks          per-position law: Each value", "with it         joint law, of which it is a part",
        "because of it: PAD-003", f"{sys.executable} {tmp_path}/aabbccdd.py", "specverify replay aabbccdd", "run, specverify 0.1.0, suite 1, run key key; ./x",
    ):  # fmt: skip
        assert words in told, told


def test_replay_says_failed_fixed_error_and_not_loaded(project: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    where = str(project(SUBJECTS))
    monkeypatch.chdir(Path(where).parent)
    files = [file(name, where, id_=f"{number:08x}") for number, name in enumerate(("broken", "mended", "sleepy", "gone"))]
    done = replay([*files, file("broken", "./nowhere", id_="ee")], python=None, settings=Settings(call_seconds=0.3))
    told = {one.file.finding.id: (one.outcome, one.why) for one in done}
    assert told["00000000"] == ("failed", "The result is not the path followed by pads.")
    assert told["00000001"] == ("fixed", "")
    assert told["00000002"][0] == "error"
    assert "gives no answer within 0.3 s" in told["00000002"][1]
    assert told["00000003"] == ("not loaded", f"{where} declares no subject gone any more.")
    assert told["ee"][0] == "not loaded"
    assert [
        exit_code([one for one in done if one.outcome in kinds]) for kinds in (("failed", "fixed"), ("fixed", "error"), ("fixed", "not loaded"), ("fixed",))
    ] == [1, 4, 3, 0]
    assert done[0].now is not None
    assert done[0].now.case == files[0].finding.case


def run(text: str, folder: Path) -> tuple[int, str]:
    """A script in a fresh interpreter that knows nothing of specverify."""
    (folder / "script.py").write_text(text)
    blind = f"import sys; sys.path[:] = [p for p in sys.path if not (__import__('pathlib').Path(p) / 'specverify').exists()]; import runpy; runpy.run_path({str(folder / 'script.py')!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-I", "-c", blind], capture_output=True, text=True, timeout=280, cwd="/")
    return done.returncode, done.stdout + done.stderr


def test_a_script_shows_the_finding_and_says_when_it_is_gone(project: Callable, tmp_path: Path) -> None:
    where = source(str(project(SUBJECTS)))
    for name, code, words in (("broken", 1, "REPRODUCED"), ("mended", 0, "NOT REPRODUCED"), ("gone", 2, "the subject does not load")):
        text = script(file(name, where.shown, Alone(calls=(FRONT,))), where)
        assert text is not None
        assert "specverify." not in text.partition('"""\n')[2]
        done, told = run(text, tmp_path)
        assert (done, words in told) == (code, True), told


def test_why_there_is_no_script() -> None:
    where, drawn = source("fault:pad-in-front"), Alone(excess=(Excess("(0)", 0.5, 0.4, ((0,),)),))
    rare = Alone(excess=(Excess("(0)", 1e-7, 0.0, ((0,),)),))
    assert why_not(file("x", "./x", Alone(calls=(FRONT,))), where) == ""
    for alone, contract, words in (
        (None, "pad_path", "only findings"), (Alone(why_not="the process ends"), "pad_path", "the process ends"), (Alone(calls=(FRONT,)), "verify_tree_lcrs", "functions or models"),
        (Alone(calls=(FRONT,)), "generate", "compares single calls"), (drawn, "seeding", "takes more of specverify"), (rare, "sample", "too small or too rare"),
    ):  # fmt: skip
        assert words in why_not(file("x", "./x", alone, contract), where)
    assert "a program" in why_not(file("x", "./x", Alone(calls=(FRONT,))), source("exec:./x"))


@pytest.mark.parametrize(("found", "right"), [(0.5, 0.25), (0.01, 0.0), (1.0, 0.99), (0.31, 0.29)])
def test_the_number_of_draws_makes_the_excess_clear(found: float, right: float) -> None:
    n = draws([Excess("x", found, right, ())])
    assert FEWEST <= n <= MOST
    assert (found - right) * n >= 10 * (right * (1 - right) * n) ** 0.5
    assert draws([Excess("x", right + 1e-6, right, ())]) == 0


def test_findings_of_a_run_have_their_subject_and_what_they_blocked() -> None:
    one = file("a", "./x")
    other = msgspec.structs.replace(one.row, property="PAD-003", status="blocked", reason="PAD-002")
    (told,) = finding_files([HEADER, one.subject, one.finding, one.row, other])
    assert (told.subject, told.row, told.blocked) == (one.subject, one.row, ("PAD-003",))


def test_the_commands_are_told_apart_by_their_exit_codes(tmp_path: Path, command: Callable) -> None:
    (tmp_path / "reports" / "one").mkdir(parents=True)
    (path,) = stored(tmp_path / "reports" / "one", file("broken", "./project"))
    done = command("explain", "aabb", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "FAILED PAD-002" in done.stdout
    done = command("replay", path, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()[:3]) == (3, ["not", "loaded", "aabbccdd"])
    done = command("replay", "nothing", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


DOZEN = (
    "max-as-normaliser", "difference-unclamped", "ratio-reversed", "ratio-uncapped", "counts-every-acceptance", "pad-in-front", "top-k-ignored", "fraction-rounded-down",
    "temperature-ignored", "heads-tiled", "positions-of-the-first-request", "greedy-row-late", "token-zero-raises", "residual-from-p", "one-hot-always-accepted", "mismatch-in-a-tree-drawn-again",
)  # fmt: skip
"""A planted fault of each of sixteen contracts."""


@pytest.mark.slow
def test_scripts_of_planted_faults_of_many_contracts_reproduce(audit: Callable, tmp_path: Path) -> None:
    done = audit(*(f"fault:{name}" for name in DOZEN), "-n", "2")
    shown = set()
    for path in sorted(done.run.glob("????????.py")):
        code, told = run(path.read_text(), tmp_path)
        assert code == 1, (path.read_text()[:600], told)
        shown.add(json.loads((done.run / FOLDER / f"{path.stem}.json").read_text())["subject"]["subject"])
    assert shown == set(DOZEN)


RIGHT = """
import torch
import specverify as sv

@sv.subject("verify_chain")
def step(p, q, draft):
    out = []
    for i, x in enumerate(draft.tolist()):
        if torch.rand(()) >= p[i, x] / q[i, x]:
            rest = (p[i] - q[i]).clamp(min=0)
            return [*out, int(torch.multinomial(rest if rest.sum() > 0 else p[i], 1))]
        out.append(x)
    return [*out, int(torch.multinomial(p[-1], 1))]
"""


@pytest.mark.slow
def test_scripts_of_laws_accuse_no_right_step(audit: Callable, project: Callable, tmp_path: Path) -> None:
    wrong = RIGHT.replace("rest = (p[i] - q[i]).clamp(min=0)", "rest = p[i]")
    done = audit(str(project(wrong)))
    scripts = sorted(done.run.glob("????????.py"))
    assert scripts
    assert {run(path.read_text(), tmp_path)[0] for path in scripts} == {1}
    project(RIGHT)
    assert {run(path.read_text(), tmp_path)[0] for path in scripts} == {0}


MANY = """

@sv.subject("verify_batch")
def batch(p, q, draft, lengths):
    return [step(p[b, : n + 1], q[b, :n], draft[b, :n]) for b, n in enumerate(lengths.tolist())]

@sv.subject("draft_and_verify")
def one_round(target, draft, prefix, gamma):
    text, rows = list(prefix), []
    for _ in range(gamma):
        rows.append(draft(text))
        text.append(int(torch.multinomial(rows[-1], 1)))
    p = torch.stack([target(text[: len(prefix) + i]) for i in range(gamma + 1)])
    ids = text[len(prefix) :]
    return step(p, rows, torch.tensor(ids)), torch.stack(rows) if rows else None, ids

@sv.subject("generate", supports=("temperature",))
def loop(prompt, target, draft, gamma, max_new_tokens, temperature, top_k, top_p, eos):
    def warped(model):
        def row(text):
            found = model(text) ** (1 / temperature)
            return found / found.sum()
        return row
    new = []
    while len(new) < max_new_tokens:
        new += one_round(warped(target), warped(draft), [*prompt.tolist(), *new], gamma)[0]
    return new[:max_new_tokens]

@sv.subject("seeding", supports=("torch", "random"))
def seeds(seed, draw):
    import random
    torch.manual_seed(seed)
    random.seed(seed)
    return draw()

@sv.subject("grammar_mask")
def masks(grammar, tokens, parents):
    rows, moved = [grammar.allowed()], 0
    for token in tokens.tolist():
        moved += grammar.advance(token)
        rows.append(grammar.allowed())
    grammar.rollback(moved)
    return rows
"""


@pytest.mark.slow
def test_scripts_of_batches_loops_and_objects_show_what_is_wrong_and_nothing_once_it_is_right(audit: Callable, project: Callable, tmp_path: Path) -> None:
    """Each finding of five wrong subjects, whose faults are then mended in the very file that the scripts load."""
    right = RIGHT.replace('@sv.subject("verify_chain")\n', "").replace("(p[i] - q[i])", "(p[i] - q[i][:])").replace("q[i, x]", "q[i][x]") + MANY
    wrong = (
        right.replace("rest = (p[i] - q[i][:]).clamp(min=0)", "rest = p[i]")
        .replace("random.seed(seed)", "pass")
        .replace("moved += grammar.advance(token)", "pass")
    )
    done = audit(str(project(wrong)), "-n", "2")
    files = [read_finding(path) for path in sorted((done.run / FOLDER).glob("*.json"))]
    scripts = {file.finding.id: file.finding.subject for file in files if not file.script.startswith("none")}
    assert set(scripts.values()) == {"batch", "one_round", "loop", "seeds", "masks"}, [file.script for file in files]
    texts = {id_: (done.run / f"{id_}.py").read_text() for id_ in scripts}
    assert {id_: run(text, tmp_path)[0] for id_, text in texts.items()} == dict.fromkeys(texts, 1)
    project(right)
    assert {id_: run(text, tmp_path)[0] for id_, text in texts.items()} == dict.fromkeys(texts, 0)


def test_contracts_with_streams_are_contracts() -> None:
    assert set(STREAMS) <= {name for name, one in CONTRACTS.items() if one.random}
