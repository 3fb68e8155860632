"""The table of verbs."""

from __future__ import annotations

from typing import Annotated

import typer

import specverify
from specverify.cli.audit import audit
from specverify.cli.doctor import doctor
from specverify.cli.explain import explain
from specverify.cli.list import list_
from specverify.cli.replay import replay
from specverify.cli.report import report
from specverify.cli.selftest import selftest

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
app.command("audit")(audit)
app.command("list")(list_)
app.command("report")(report)
app.command("explain")(explain)
app.command("replay")(replay)
app.command("doctor")(doctor)
app.command("selftest")(selftest)


def _version(wanted: bool) -> None:  # noqa: FBT001  a click callback
    if wanted:
        typer.echo(f"specverify {specverify.__version__}")
        raise typer.Exit


@app.callback(no_args_is_help=True)
def verbs(_: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    """Does this speculative decoder output exactly what its target model would, and if not, why?"""
