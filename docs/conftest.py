"""The pages' examples run: Python in one namespace per page, files and commands in one folder per page. Commands make a page slow."""

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

LIMIT = 300
"""Seconds for a command of a page; an audit takes up to half a minute."""
ELISION = "…"
VERDICTS = (0, 1)
"""Exit codes of a command that did its work: upheld, or a finding."""


class Files:
    """Blocks with a title are files; nothing of them is run here."""

    def __call__(self, document: Document) -> Iterator[Region]:
        """The regions of a page that are files."""
        for region in FencedCodeBlockLexer(r'\w+ title="(?P<title>[^"]+)"', {"title": "title", "source": "source"})(document):
            region.evaluator, region.parsed = self._write, region.lexemes
            yield region

    @staticmethod
    def _write(example: Example) -> None:
        file = example.namespace["folder"] / example.parsed["title"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(example.parsed["source"], encoding="utf-8")


def run(example: Example) -> str | None:
    """Each `$ command` prints the lines below it, in their order; what stands behind an ellipsis is free."""
    first, *rest = ("\n" + example.parsed.strip()).split("\n$ ")
    assert not first.strip()
    for block in rest:
        command, *expected = block.splitlines()
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)], cwd=example.namespace["folder"], capture_output=True, text=True, timeout=LIMIT, check=False
        )
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a page's files lie and its commands run."""
    return tmp_path_factory.mktemp("page")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A page whose examples run commands is left out of the fast suite."""
    for item in items:
        if item.path.suffix == ".md" and "```console" in item.path.read_text(encoding="utf-8"):
            item.add_marker(pytest.mark.slow)


pytest_collect_file = Sybil(
    parsers=[Files(), CodeBlockParser("console", run), PythonCodeBlockParser(), SkipParser()],
    pattern="*.md",
    fixtures=["folder"],
).pytest()
