"""`specverify doctor [SUBJECT]`: what is installed, whether a subject loads, and how to make a gallery entry's environment."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

import specverify
from specverify.audit.arguments import source
from specverify.audit.bench import Pool
from specverify.audit.settings import Settings
from specverify.contracts import CONTRACTS, recast
from specverify.errors import SpecverifyError
from specverify.gallery import CHECKOUTS, PACKAGES
from specverify.subjects.replies import Explored
from specverify.subjects.subject import Description, Served, Subject, load

USES = ("torch", "numpy", "hypothesis", "pytest", "pytest-xdist", "scipy", "msgspec", "typer", "rich", "Jinja2", "transformers")
UNLOADABLE = 3


def doctor(
    subject: Annotated[str | None, typer.Argument(metavar="[SUBJECT]", help="As for audit.")] = None,
    python: Annotated[str | None, typer.Option(help="Interpreter that has the subject's dependencies (default: this one).")] = None,
    checkout: Annotated[str | None, typer.Option(metavar="PATH", help="Folder of the repository that a gallery entry imports from.")] = None,
) -> None:
    """Show what is installed; load a subject and show what it says of itself."""
    typer.echo(f"specverify {specverify.__version__} on Python {platform.python_version()}, {platform.platform()}")
    typer.echo("  " + " · ".join(f"{name} {_version(name)}" for name in USES))
    if subject is None:
        return
    for line in recipe(subject):
        typer.echo(line)
    for line in _loaded(subject, python, checkout):
        typer.echo(line)


def recipe(subject: str) -> list[str]:
    """The two commands that make a gallery entry's environment and audit it."""
    name = subject.removeprefix("gallery:")
    if name == subject or name not in PACKAGES:
        return []
    packages = " ".join(("torch", "numpy", *PACKAGES[name]))
    return [
        f"{subject} needs an environment of its own:",
        f"  python3 -m venv .venv-{name} && .venv-{name}/bin/pip install {packages}",
        f"  specverify audit {subject}{' --checkout PATH' * (name in CHECKOUTS)} --python .venv-{name}/bin/python",
    ]


def _loaded(subject: str, python: str | None, checkout: str | None) -> list[str]:
    pool = Pool(Settings())
    try:
        worker = pool.worker(source(subject, python, checkout))
        descriptions, versions = load(worker)
        lines = [f"{_line(one)}{_randomness(one, worker)}" for one in descriptions]
    except SpecverifyError as error:
        typer.echo(f"{error.message}\n  hint: {error.hint}", err=True)
        raise typer.Exit(UNLOADABLE) from None
    finally:
        pool.close()
    python = versions.pop("python", None)
    return [f"{subject} loads{f' in Python {python}' if python else ''} with {_pairs(versions)}", *lines]


def _randomness(one: Description, worker: Served) -> str:
    """For contracts that draw: whether the law of the dull case can be explored, or why not."""
    if one.problem is not None or not CONTRACTS[one.contract].random or one.contract == "seeding":
        return ""
    subject = Subject(one.name, one, worker)
    case = {name: recast(value, one.dtypes[0]) for name, value in subject.contract.smoke.items() if not (name == "draft" and "q" in subject.contract.smoke)}
    (found,) = subject.laws([case])
    if not isinstance(found, Explored):
        return f"\n    its laws are sampled: {found.reason}"
    return "\n    its laws are explored exactly" if found.law.kind != "near-exact" else f"\n    its laws are computed from coins, near-exact: {found.above}"


def _line(one: Description) -> str:
    said = {"rule": one.rule, "seed": one.seed, "arrays": one.arrays, "dtypes": ",".join(one.dtypes), "batch": one.batch, "mutates": ",".join(one.mutates)}
    return f"  {one.name:<32} {one.contract:<26} {one.problem or _pairs({k: str(v) for k, v in said.items() if v})}"


def _pairs(words: dict[str, str]) -> str:
    return ", ".join(f"{name} {word}" for name, word in words.items()) or "nothing else"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
