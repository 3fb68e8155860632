"""Looks at the report in a browser: `python -m benchmarks.report_pages OUT` audits a correct subject, faulty ones, a lossy one and many, and keeps of each page pictures and axe-core's judgement.

It needs Chromium and, in this interpreter, playwright and axe-playwright-python (which ships axe-core); none of them is needed by specverify.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CONFIGURATION = """[subjects.typical]
use = "fault:typical-acceptance"
claim = "lossy(typical acceptance)"
"""
FAULTY = ("fault:residual-from-p", "fault:token-zero-raises")
PAGES = {
    "correct": ("not-bug:sample-and-match", "not-bug:race-without-a-normaliser"),
    "faulty": FAULTY,
    "lossy": ("typical",),
    "index": (*FAULTY, "fault:sampled-at-another-temperature", "fault:top-p-of-the-tail", "fault:greedy-row-late", "not-bug:block-verification", "typical"),
}
PHONE, DESKTOP = {"width": 375, "height": 812}, {"width": 1280, "height": 900}
VIEWS: dict[str, dict[str, Any]] = {
    "phone": {"viewport": PHONE},
    "light": {"viewport": DESKTOP, "color_scheme": "light"},
    "dark": {"viewport": DESKTOP, "color_scheme": "dark"},
}
RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}}


def main() -> int:
    """Audit what is not there yet, render, look; 1 where axe-core finds something or a page is wider than a phone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="folder for runs, pages and pictures")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "specverify.toml").write_text(CONFIGURATION)
    pages = {name: page(name, given.out) for name in PAGES}
    pages["runs"] = given.out / "runs.html"
    specverify("report", *(next((given.out / name).resolve().iterdir()) for name in PAGES), "--html", pages["runs"].resolve(), cwd=given.out)
    told = looked_at(pages, given.out, given.chromium)
    print("\n".join(told) or "axe-core finds nothing; no page is wider than a phone")
    return bool(told)


def page(name: str, out: Path) -> Path:
    """The page of one run, audited if it is not there; the second time rendered alone. That of many tells what differs from the run of the faulty ones."""
    if not (out / name).is_dir():
        specverify("audit", *PAGES[name], "--out", name, "--scope", "none", cwd=out)
    (run,) = (out / name).iterdir()
    against = ("--against", str(*(out / "faulty").resolve().iterdir())) if name == "index" else ()
    specverify("report", run.resolve(), "--html", f"{name}.html", *against, cwd=out)
    return out / f"{name}.html"


def specverify(*words: object, cwd: Path) -> None:
    """Run the command; its exit code is that of the verdict."""
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path if entry)
    subprocess.run([sys.executable, "-m", "specverify", *map(str, words)], cwd=cwd, env={**os.environ, "PYTHONPATH": path}, check=False)


def looked_at(pages: dict[str, Path], out: Path, chromium: str) -> list[str]:
    """Pictures of all pages in all views and in print; what axe-core finds, and which are too wide."""
    import axe_playwright_python
    from playwright.sync_api import sync_playwright

    axe = Path(axe_playwright_python.__file__).with_name("axe.min.js")
    told: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for view, options in VIEWS.items():
            context = browser.new_context(**options)
            tab = context.new_page()
            for name, file in pages.items():
                tab.goto(file.resolve().as_uri())
                tab.screenshot(path=out / f"{name}-{view}.png", full_page=True)
                tab.pdf(path=out / f"{name}.pdf")
                if tab.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                    told.append(f"{name}, {view}: wider than its window")
                tab.add_script_tag(path=axe)
                told += [f"{name}, {view}: {one}" for one in violations(tab.evaluate(f"axe.run({json.dumps(RULES)})"))]
            context.close()
        browser.close()
    return told


def violations(found: dict[str, Any]) -> list[str]:
    """In a line each: the rule, and where."""
    return [f"{one['id']}: {one['help']} ({len(one['nodes'])}: {one['nodes'][0]['html'][:120]})" for one in found["violations"]]


if __name__ == "__main__":
    sys.exit(main())
