"""The pages' examples run, each page in one go: Python in one namespace, files and commands in one folder. Commands make a page slow."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

DOCS = Path(__file__).resolve().parents[2] / "docs"
LIMIT = 300
"""Seconds for a command of a page; an audit takes up to half a minute."""
ELISION = "…"
VERDICTS = (0, 1)
"""Exit codes of a command that did its work: upheld, or a finding."""


class Files:
    """Blocks with a title are files; nothing of them is run here."""

    def __call__(self, document: Document) -> Iterator[Region]:
        for region in FencedCodeBlockLexer(r'\w+ title="(?P<title>[^"]+)"', {"title": "title", "source": "source"})(document):
            region.evaluator, region.parsed = self._write, region.lexemes
            yield region

    @staticmethod
    def _write(example: Example) -> None:
        file = example.namespace["folder"] / example.parsed["title"]
        file.write_text(example.parsed["source"], encoding="utf-8")


def run(example: Example) -> str | None:
    """Each `$ command` prints the lines below it, in their order; what stands behind an ellipsis is free."""
    first, *rest = ("\n" + example.parsed.strip()).split("\n$ ")
    assert not first.strip()
    for block in rest:
        command, *expected = block.splitlines()
        done = subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=example.namespace["folder"], capture_output=True, text=True, timeout=LIMIT)
        if done.returncode not in VERDICTS:
            return f"`{command}` ends with {done.returncode}\n{done.stdout}{done.stderr}"
        if missing := first_missing(expected, (done.stdout + done.stderr).splitlines()):
            return f"`{command}` does not print\n  {missing}\nbut\n{done.stdout}{done.stderr}"
    return None


def first_missing(expected: list[str], printed: list[str]) -> str | None:
    """The first expected line that no further line of the output begins as, or none."""
    lines = iter(printed)
    return next((line for line in expected if line.strip() != ELISION and not any(_alike(line, other) for other in lines)), None)


def _alike(expected: str, printed: str) -> bool:
    start, _, _ = expected.partition(ELISION)
    return " ".join(printed.split()).startswith(" ".join(start.split()))


SYBIL = Sybil(parsers=[Files(), CodeBlockParser("console", run), PythonCodeBlockParser(), SkipParser()])
PAGES = [
    pytest.param(page, id=str(page.relative_to(DOCS)), marks=[pytest.mark.slow] if "```console" in page.read_text(encoding="utf-8") else [])
    for page in sorted(DOCS.rglob("*.md"))
]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    document = SYBIL.parse(page)
    document.namespace["folder"] = tmp_path
    for example in document.examples():
        example.evaluate()


def test_a_command_that_prints_something_else_is_told() -> None:
    assert first_missing(["a  b …", "…", "d"], ["x", "a b c", "d e"]) is None
    assert first_missing(["d", "a"], ["a", "d"]) == "a"
