"""The page of the reference shows code that runs."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the pages are in the checkout alone")
def test_the_pages_examples_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 3
    names: dict[str, object] = {}
    exec("\n".join(examples), names)
    assert len(names["done"].tokens) == 2
    assert len(names["drafted"].tokens[0]) == 8
