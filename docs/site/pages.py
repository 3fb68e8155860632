"""The generated half of the reference: contracts with their properties and faults, commands, configuration, and the page of the architecture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from specverify.audit.suite import Property, of_contract
from specverify.cli.app import app
from specverify.contracts import CONTRACTS, Contract
from specverify.faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "specverify" / "cli" / "templates" / "specverify.toml.txt"
WIDTH = 100


def all_pages() -> dict[str, str]:
    """Path below docs/ to the text of the page."""
    contracts = {f"reference/contracts/{name}.md": contract_page(one) for name, one in CONTRACTS.items()}
    return {
        "reference/contracts/index.md": contracts_page(),
        **contracts,
        "reference/commands.md": commands_page(),
        "reference/configuration.md": configuration_page(),
        "explanation/architecture.md": (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"),
    }


def contracts_page() -> str:
    """The index of contracts."""
    rows = [(f"[`{one.name}`]({one.name}.md)", one.prefix, one.sentence, str(len(of_contract(one.name)))) for one in CONTRACTS.values()]
    return _page(
        "Contracts",
        "A contract is the interface that a subject fills. Each has its properties, and planted faults that these must find.",
        _table(("contract", "ids", "a subject of it", "properties"), rows),
    )


def contract_page(contract: Contract) -> str:
    """All that `specverify list CONTRACT` tells, and the faults that were planted."""
    faults = [one for one in FAULTS.values() if one.contract == contract.name]
    return _page(
        f"`{contract.name}`",
        f"{contract.sentence}\n\n```text\n{contract.name}{contract.signature} -> {contract.returns}\n```\n\nRight: {contract.right}.",
        _arguments(contract),
        _free(contract),
        "## Properties\n\n" + _table(("id", "claim", "guards", "severity", "after"), [_property(one) for one in of_contract(contract.name)]),
        "## Planted faults\n\n" + _table(("name", "kind", "what it does wrong", "found by"), [_fault(one) for one in faults]) if faults else "",
    )


def _arguments(contract: Contract) -> str:
    rows = [(f"`{one.name}`", one.shape, one.meaning) for one in contract.handed]
    rows += [(f"`{one.name}`", one.shape, f"as a keyword, where `supports` names it: {one.meaning}") for one in contract.optional]
    if contract.coins is not None:
        rows.append(("`coins`", contract.coins.shape, 'uniform numbers on [0, 1), where `rng="coins"` is declared'))
    return "## Arguments\n\n" + _table(("name", "shape", "meaning"), rows) if rows else ""


def _free(contract: Contract) -> str:
    rows = [(f"`{key}`", one.meaning, ", ".join(f"`{value}`" for value in one.values) or "a number") for key, one in contract.conventions.items()]
    text = "## Conventions\n\nWhat the contract leaves free and `conventions=` declares.\n\n" + _table(("key", "meaning", "values"), rows) if rows else ""
    features = f"`supports=` may name: {', '.join(f'`{one}`' for one in contract.features)}." if contract.features else ""
    names = f"Seen in the wild as {', '.join(f'`{one}`' for one in contract.equivalents)}." if contract.equivalents else ""
    return "\n\n".join(part for part in (text, features, names) if part)


def _property(one: Property) -> Sequence[str]:
    return f"<a id='{one.id}'></a>{one.id}", one.sentence, one.guards, one.severity, ", ".join(one.after)


def _fault(one: Fault) -> Sequence[str]:
    return f"`fault:{one.name}`", one.kind, one.sentence, ", ".join(one.found_by)


def commands_page() -> str:
    """What each verb's `--help` prints."""
    names = list(get_command(app).commands)  # type: ignore[attr-defined]
    texts = (f"## `specverify {name}`\n\n```text\n{_help(name)}\n```" for name in names)
    return _page("Commands", "As each tells with `--help`. Exit codes: [what a verdict means](../explanation/evidence.md#exit-codes).", *texts)


def _help(name: str) -> str:
    return CliRunner().invoke(app, [name, "--help"], terminal_width=WIDTH, prog_name="specverify").output.strip()


def configuration_page() -> str:
    """The commented example that `specverify init` writes."""
    text = TEMPLATE.read_text(encoding="utf-8")
    return _page(
        "Configuration",
        "`specverify.toml` beside the subjects file, or `[tool.specverify]` in `pyproject.toml`. A flag goes before the environment (`SPECVERIFY_BUDGET`), that before"
        " `[subjects.NAME]`, that before the rest of the file. An unknown key is an error. The JSON Schema is shipped as `specverify/audit/config.schema.json`.",
        f"```toml\n{text}```",
    )


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *(part for part in parts if part)]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
