"""The pytest plugin in scratch projects, as a user meets it."""

import re

import pytest

WRONG = """
import torch
import specverify as sv

@sv.subject("positive_part", batch=True)
def max_fn(x):
    positive = torch.where(x > 0, x, torch.zeros_like(x))
    return positive / positive.max(dim=-1, keepdim=True).values

@sv.subject("pad_path")
def pad_path(path, length, pad):
    return path + [pad] * (length - len(path) - 1)

@sv.subject("sample")
def sample(probs):
    return torch.multinomial(probs, 1)
"""
PADS = """
import specverify as sv

@sv.subject("pad_path")
def pad_path(path, length, pad):
    return path + [pad] * (length - len(path))
"""
PYTESTERS = {"__pycache__", ".hypothesis", "runpytest-0", "runpytest-current", "stdout", "stderr"}
FINDING = re.compile(r"finding [0-9a-f]{8}")


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments, timeout=200)


def findings(result: pytest.RunResult) -> set[str]:
    return set(FINDING.findall(result.stdout.str()))


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)


def test_a_scratch_project_is_red_and_says_why_alike_in_any_number_of_processes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(specverify_subjects=WRONG)
    alone = run(pytester, "-n", "0")
    alone.assert_outcomes(failed=2, passed=16, skipped=7)
    alone.stdout.fnmatch_lines(
        [
            "POS-002  Each row is its positive part over the sum of that.  [[]max_fn[]]  finding *",
            "  what            A row is not its positive part over the sum of that.",
            "  smallest case   x = (1/4, 1/4)",
            "*found  right",
            "*x = 1/4  1      1/2",
            "PAD-001  *",
            "  what            The result is 0 long instead of 1.",
            "  smallest case   path = [[][]]",
            "max_fn *positive_part * 1 FAILED*",
            "sample *sample * 8 ok*",
        ]
    )
    spread = run(pytester, "-n", "4")
    spread.assert_outcomes(failed=2, passed=16, skipped=7)
    assert findings(spread) == findings(alone)
    assert len(findings(alone)) == 2


def test_testpaths_do_not_leave_the_subjects_out(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntestpaths = tests\n")
    pytester.makepyfile(specverify_subjects=PADS)
    pytester.makepyfile(**{"tests/test_mine": "def test_mine():\n    assert True\n"})
    run(pytester).assert_outcomes(passed=7, skipped=1)
    run(pytester, "-n", "2").assert_outcomes(passed=7, skipped=1)


def test_given_paths_leave_them_out_and_it_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(specverify_subjects=PADS)
    pytester.makepyfile(**{"tests/test_mine": "def test_mine():\n    assert True\n"})
    result = run(pytester, "tests")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["specverify: *specverify_subjects.py was not run, since paths were given*"])


def test_a_project_without_subjects_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_mine():\n    assert True\n")
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*specverify*section*")


def test_a_subjects_file_that_does_not_import_is_a_collection_error_in_one_sentence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(specverify_subjects="import nonexistent_module")
    result = run(pytester)
    result.stdout.fnmatch_lines(["*could not be imported: ModuleNotFoundError: No module named 'nonexistent_module'.", "*hint:*specverify_subjects.py:1*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_a_subject_with_another_signature_fails_and_the_others_are_judged(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(specverify_subjects=PADS + "\nsv.subject('sample', name='other')(lambda probs, k: 0)\n")
    result = run(pytester)
    result.assert_outcomes(passed=6, skipped=1, failed=1)
    result.stdout.fnmatch_lines(["*cannot be called as sample(probs): missing a required argument: 'k'"])


def test_advisories_are_told_and_fail_only_if_asked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(specverify_subjects=PADS)
    result = run(pytester)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["advisory PAD-011 [[]pad_path[]]  A path longer than the length comes back as it is*"])
    assert run(pytester, "--specverify-fail-on", "advisory").ret == 1


def test_items_are_selected_by_id(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(specverify_subjects=PADS)
    run(pytester, "-k", "PAD-002").assert_outcomes(passed=1, deselected=6)


def test_nothing_is_left_in_the_project(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(specverify_subjects=PADS)
    run(pytester, "-n", "2")
    assert {path.name for path in pytester.path.iterdir()} - PYTESTERS == {"specverify_subjects.py"}


def test_in_process_reaches_the_subject_without_a_worker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(specverify_subjects="import os\nprint('loaded in', os.getpid())" + PADS)
    result = run(pytester, "-s", "--specverify-in-process")
    result.assert_outcomes(passed=6, skipped=1)
    result.stdout.fnmatch_lines(["*loaded in *"])


def test_an_undecided_property_is_never_a_pass(pytester: pytest.Pytester) -> None:
    text = "import time\nimport specverify as sv\nsv.subject('pad_path', name='slow')(lambda path, length, pad: time.sleep(60))"
    pytester.makepyfile(specverify_subjects=text)
    result = run(pytester)
    result.assert_outcomes(failed=1, skipped=6)
    result.stdout.no_fnmatch_line("*During handling*")
    result.stdout.fnmatch_lines(["PAD-001 [[]slow[]] is inconclusive: The subject gives no answer within 10 s."])


@pytest.mark.slow
def test_subjects_below_the_root_stay_together_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(**{"inner/specverify_subjects": WRONG})
    run(pytester, "-n", "4", "inner").assert_outcomes(failed=2, passed=16, skipped=7)


def test_a_budget_that_is_none_is_refused(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--specverify-budget", "-1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
