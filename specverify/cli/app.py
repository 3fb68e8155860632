"""The table of verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import specverify
from specverify.audit.config import read
from specverify.cli.audit import audit
from specverify.cli.baseline import baseline
from specverify.cli.diff import diff
from specverify.cli.discover import discover
from specverify.cli.doctor import doctor
from specverify.cli.explain import explain
from specverify.cli.fuzz import fuzz
from specverify.cli.init import init
from specverify.cli.list import list_
from specverify.cli.replay import replay
from specverify.cli.report import report
from specverify.cli.selftest import selftest

app = typer.Typer(add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
app.command("audit")(audit)
app.command("fuzz")(fuzz)
app.command("list")(list_)
app.command("report")(report)
app.command("discover")(discover)
app.command("explain")(explain)
app.command("replay")(replay)
app.add_typer(baseline, name="baseline")
app.command("diff")(diff)
app.command("init")(init)
app.command("doctor")(doctor)
app.command("selftest")(selftest)


def _version(wanted: bool) -> None:  # noqa: FBT001  a click callback
    if wanted:
        typer.echo(f"specverify {specverify.__version__}")
        raise typer.Exit


@app.callback(no_args_is_help=True)
def verbs(context: typer.Context, _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    """Does this speculative decoder output exactly what its target model would, and if not, why?"""
    verb = context.invoked_subcommand
    if verb in {"audit", "fuzz"}:  # flags and the environment go before the configuration, that before the defaults
        context.default_map = {verb: {name: value for name, value in read(Path.cwd()).defaults().items() if name != "python"}}
