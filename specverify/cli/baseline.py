"""`specverify baseline update [RUN]`: a run's findings as known ones in the configuration."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from specverify.audit.baseline import updated, write
from specverify.audit.config import read
from specverify.audit.events import ending, read_events
from specverify.audit.finding_files import newest
from specverify.audit.records import Header
from specverify.errors import SpecverifyError

baseline = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Known findings: accepted for now, with a reason and a last day.")


@baseline.callback()
def verbs() -> None:
    """Known findings: accepted for now, with a reason and a last day."""


@baseline.command("update")
def update(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="Folder of a run (default: the newest).")] = None,
    reason: Annotated[str | None, typer.Option(help="Why the new ones are accepted.")] = None,
    expires: Annotated[str | None, typer.Option(metavar="DATE", help="Last day of the new ones, such as 2027-01-31.")] = None,
    reports: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("reports"),
) -> None:
    """Write the findings of a run that fail it into the configuration of this folder; those that are fixed leave, others stay as they are."""
    folder = run or newest(reports)
    found = read_events(folder)
    if cut := ending(found):
        raise SpecverifyError(f"{folder} is partial: {cut}.", hint="A baseline is made from a whole run: audit again.")
    old = read(Path.cwd()).known
    header = next(record for record in found if isinstance(record, Header))
    known = updated(header, found, old, reason=reason, expires=_day(expires))
    file = write(Path.cwd(), known)
    ids = [one.finding for one in old]
    for word, some in (("added", [one for one in known if one.finding not in ids]), ("removed", [one for one in old if one not in known])):
        for one in some:
            typer.echo(f"{word:<8} {one.finding} {one.property} [{one.subject}]  {one.reason}")
    typer.echo(f"{file}: {len(known)} known finding{'s' * (len(known) != 1)}")


def _day(text: str | None) -> datetime.date | None:
    try:
        return None if text is None else datetime.date.fromisoformat(text)
    except ValueError:
        raise SpecverifyError(f"--expires takes a day, not {text!r}.", hint="Write it as 2027-01-31.") from None
