"""`specverify selftest`: is the suite itself to be trusted here? Planted faults must be found, correct subjects must pass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from specverify.audit.records import PropertyRecord, Record
from specverify.audit.run import Watcher
from specverify.audit.selftest import SelfTest, quick
from specverify.audit.selftest import selftest as run_selftest
from specverify.audit.settings import RUN_KEY
from specverify.errors import SpecverifyError
from specverify.faults import fault
from specverify.report.selftest import html, text

FAILED, UNDECIDED = 1, 4


def selftest(
    subjects: Annotated[list[str] | None, typer.Argument(metavar="[SUBJECT...]", help="Correct subjects that must pass beside the not-bugs.")] = None,
    few: Annotated[bool, typer.Option("--quick", help="A fault of most contracts and three not-bugs: less than a minute.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--fault", help="A planted fault, instead of all; may be given again. No not-bugs are audited then.")
    ] = None,
    keys: Annotated[int, typer.Option(min=1, help="Run keys under which correct subjects are audited.")] = 1,
    workers: Annotated[str, typer.Option("-n", help="Processes: a number, or auto.")] = "auto",
    out: Annotated[Path, typer.Option(help="Folder for selftest.json, selftest.html and the runs.")] = Path("reports/selftest"),
) -> None:
    """Show which property finds each planted fault, at which cost, and how often what is right is accused. Exit 1: a fault is missed, or a correct subject accused."""
    if workers != "auto" and not (workers.isdigit() and int(workers) > 0):
        raise SpecverifyError(f"-n takes a number of processes, or auto, not {workers!r}.", hint="Leave it out: auto is the default.")
    faults, harmless = quick(few)
    if only:
        faults, harmless = [fault(name.removeprefix("fault:")).name for name in only], []
    run_keys = [RUN_KEY, *(f"key-{number}" for number in range(1, keys))]
    done = run_selftest(faults, [*harmless, *(subjects or ())], run_keys, out=out, workers=workers, watcher=Watcher(record=_told))
    _write(done, out)
    raise typer.Exit(FAILED if done.missed or done.accused else UNDECIDED if done.undecided else 0)


def _write(done: SelfTest, out: Path) -> None:
    """Both files, and the tables on the console."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "selftest.json").write_bytes(msgspec.json.format(msgspec.json.encode(done), indent=1) + b"\n")
    (out / "selftest.html").write_text(html(done), encoding="utf-8")
    for line in text(done):
        typer.echo(line)
    typer.echo(f"{out / 'selftest.html'} · {out / 'selftest.json'}")


def _told(record: Record) -> None:
    """A dot on the error stream for every property that was judged, since a whole run takes minutes."""
    if isinstance(record, PropertyRecord):
        typer.echo(".", nl=False, err=True)
