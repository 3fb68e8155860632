"""`specverify init`: a commented configuration and a workflow for CI, to be changed as needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.config import FILE
from specverify.errors import SpecverifyError

WORKFLOW = ".github/workflows/specverify.yml"
TEMPLATES = {FILE: "specverify.toml.txt", WORKFLOW: "workflow.yml.txt"}


def init(force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False) -> None:
    """Write specverify.toml and a GitHub Actions workflow into this folder."""
    there = [name for name in TEMPLATES if Path(name).exists()]
    if there and not force:
        raise SpecverifyError(f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already.", hint="--force writes over what is there.")
    for name, template in TEMPLATES.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Path(__file__).with_name("templates").joinpath(template).read_text(encoding="utf-8"), encoding="utf-8")
        typer.echo(path)
