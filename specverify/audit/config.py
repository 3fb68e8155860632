"""The configuration of a project: `specverify.toml`, or `[tool.specverify]` in `pyproject.toml`. Its JSON Schema is shipped as config.schema.json."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import tomllib

from specverify.audit.records import Known
from specverify.audit.settings import SUITE
from specverify.errors import SpecverifyError, unknown

FILE = "specverify.toml"
PYPROJECT = "pyproject.toml"


class Configured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A subject by name: what it is (`use`, as on the command line), and what differs from the rest of the run."""

    use: str
    claim: str | None = None
    contract: str | None = None
    python: str | None = None


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All keys; those that are left out are as the command's own defaults. `suite` is the version of the suite that the project counts on."""

    suite: str | None = None
    alpha: float | None = None
    run_key: str | None = None
    budget: int | str | None = None
    detect: float | None = None
    scope: str | None = None
    fail_on: list[str] | None = None
    report: list[str] | None = None
    python: str | None = None
    strict: bool | None = None
    subjects: dict[str, Configured] = {}
    known: list[Known] = []

    def defaults(self) -> dict[str, Any]:
        """What stands in the place of the command's defaults, by the names of its options."""
        names = ("alpha", "run_key", "budget", "detect", "scope", "fail_on", "report", "python", "strict")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def schema() -> dict[str, Any]:
    """JSON Schema of the configuration."""
    return msgspec.json.schema(Config)


def place(folder: Path) -> Path | None:
    """The file that configures a folder's project, or none."""
    if (folder / FILE).exists():
        return folder / FILE
    project = folder / PYPROJECT
    return project if project.exists() and "specverify" in _toml(project).get("tool", {}) else None


def read(folder: Path) -> Config:
    """The configuration of a folder's project; without a file all is as it is by default.

    Raises:
        SpecverifyError: no TOML, an unknown key, a value of the wrong kind, or another suite than this one.
    """
    file = place(folder)
    if file is None:
        return Config()
    data = _toml(file) if file.name == FILE else _toml(file)["tool"]["specverify"]
    for key, known in _unknown_keys(data):
        error = unknown("key of the configuration", key, known)
        raise SpecverifyError(f"{file.name}: {error.message}", hint=error.hint)
    try:
        config = msgspec.convert(data, Config)
    except msgspec.ValidationError as error:
        raise SpecverifyError(f"{file.name}: {error}.", hint="`specverify init` writes a commented example.") from None
    if config.suite not in (None, SUITE):
        raise SpecverifyError(
            f"{file.name} counts on suite {config.suite}, and this version has suite {SUITE}.",
            hint="Install the other version, or read changes/ and change `suite`.",
        )
    return config


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SpecverifyError(f"{file.name} is no TOML: {error}.", hint="`specverify init` writes a commented example.") from None


def _unknown_keys(data: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Keys that nothing has, with those that there are."""
    tables = [(data, Config), *((one, Configured) for one in _tables(data.get("subjects"))), *((one, Known) for one in _tables(data.get("known")))]
    for table, kind in tables:
        yield from ((key, kind.__struct_fields__) for key in table if key not in kind.__struct_fields__)


def _tables(value: object) -> list[Mapping[str, Any]]:
    """The tables in a value of any kind; msgspec tells what is of the wrong one."""
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [one for one in items if isinstance(one, dict)]


def expired(known: Known, today: datetime.date) -> bool:
    """Whether a known finding is accepted no more; its last day still counts."""
    return known.expires is not None and known.expires < today
