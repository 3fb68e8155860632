"""The documentation is whole: generated pages cover every contract, links lead somewhere, and mkdocs builds it without a warning."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from specverify.audit.suite import properties
from specverify.contracts import CONTRACTS
from specverify.faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site" / "pages.py"

pytestmark = pytest.mark.skipif(not SITE.exists(), reason="the pages are in the checkout alone")


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("site_pages", SITE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.all_pages()


def test_every_contract_has_a_page_with_its_properties_and_faults(generated: dict[str, str]) -> None:
    for name in CONTRACTS:
        page = generated[f"reference/contracts/{name}.md"]
        assert all(one.id in page and one.sentence in page for one in properties().values() if one.contract == name)
        assert all(f"fault:{one.name}" in page for one in FAULTS.values() if one.contract == name)


def test_every_verb_tells_its_options(generated: dict[str, str]) -> None:
    page = generated["reference/commands.md"]
    assert page.count("\n## `specverify ") == page.count("Usage: specverify ") >= 11
    assert "--checkout" in page


@pytest.mark.slow
def test_mkdocs_builds_it_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "reference" / "contracts" / "verify_chain" / "index.html").exists()
