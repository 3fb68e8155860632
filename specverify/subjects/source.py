"""Where subjects come from: a file, a module, an attribute. Plain data; the worker loads it."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specverify.contracts import contract
from specverify.errors import SpecverifyError

SUBJECTS_FILE = "specverify_subjects.py"


@dataclass(frozen=True)
class Source:
    """One thing that a worker loads.

    Attributes:
        shown: as the user wrote it.
        python: interpreter that has the subject's dependencies.
        file: a subjects file to run, or none.
        module: a module to import, or none.
        attribute: of the module, to be bound to `contract`.
        contract: of the attribute.
        only: the one declared subject that is meant, or none for all.
        folders: put in front of the subject's import path.
        command: a program that speaks the protocol, with its arguments, or none.
        commit: what is known of the checkout that a gallery entry imports from; "" where there is none.
        claim: what its subjects are held to, in the place of what they say of themselves, or none.
    """

    shown: str
    python: str = sys.executable
    file: str | None = None
    module: str | None = None
    attribute: str | None = None
    contract: str | None = None
    only: str | None = None
    folders: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    commit: str = ""
    claim: str | None = None

    def message(self) -> dict[str, Any]:
        """As the worker's `describe` request carries it."""
        fields = {name: getattr(self, name) for name in ("shown", "file", "module", "attribute", "contract", "only")}
        lists = {"folders": list(self.folders), **({"command": list(self.command)} if self.command else {})}
        return {**{k: v for k, v in fields.items() if v is not None}, **lists}


def from_path(text: str, python: str = sys.executable) -> Source:
    """A checkout or a file.

    Raises:
        SpecverifyError: nothing there, or a folder without a subjects file.
    """
    path = Path(text)
    if path.is_dir():
        path = path / SUBJECTS_FILE
        if not path.exists():
            raise SpecverifyError(f"{text} holds no {SUBJECTS_FILE}.", hint=f"Declare its functions in {path}, as the README shows.")
    if not path.exists():
        raise SpecverifyError(
            f"There is no file or folder {text}.", hint="Give a checkout, a file, py:MODULE:NAME@CONTRACT, exec:PROGRAM, fault:NAME or gallery:NAME."
        )
    if path.suffix != ".py":
        raise SpecverifyError(f"{text} is no Python file.", hint=f"A subject file is Python, such as {SUBJECTS_FILE}.")
    return Source(text, python, file=str(path.resolve()), folders=(str(path.resolve().parent),))


def from_dotted(text: str, python: str = sys.executable) -> Source:
    """`py:package.module:name@contract`, imported with the current folder on the path.

    Raises:
        SpecverifyError: another form, or an unknown contract.
    """
    head, at, name = text.removeprefix("py:").partition("@")
    module, colon, attribute = head.partition(":")
    if not (at and colon and module and attribute):
        raise SpecverifyError(f"{text} does not name a module, a function and a contract.", hint="Write py:package.module:function@contract.")
    return Source(text, python, module=module, attribute=attribute, contract=contract(name).name, folders=(str(Path.cwd()),))


def from_program(text: str, python: str = sys.executable) -> Source:
    """`exec:path/to/program arguments`, split as a shell does; a name without a slash is looked for on PATH.

    Raises:
        SpecverifyError: no program is named.
    """
    try:
        program, *arguments = shlex.split(text.removeprefix("exec:"))
    except ValueError:  # nothing to unpack, or an open quotation
        raise SpecverifyError(
            f"{text} names no program.", hint="Write exec:./path/to/program, with its arguments behind it, the whole in quotation marks."
        ) from None
    found = str(Path(program).resolve()) if "/" in program else shutil.which(program) or program
    return Source(text, python, command=(found, *arguments))
