"""The text of a `specverify_subjects.py` that declares what was found, and runs as it is."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from pathlib import Path

from specverify.discover.bindings import Binding
from specverify.discover.ways import TOKENS
from specverify.errors import SpecverifyError
from specverify.subjects.source import SUBJECTS_FILE

WIDTH = 160


def import_folder(root: Path, file: str) -> Path:
    """The folder from which a file's module is imported: above all packages that it lies in, or the checkout."""
    base = root.resolve() if root.is_dir() else root.resolve().parent
    folder = (base / file).parent
    while (folder / "__init__.py").exists() and folder != folder.parent:
        folder = folder.parent
    return folder if folder in base.parents or folder == base else base if _is_dotted(file) else folder


def _is_dotted(file: str) -> bool:
    return all(part.isidentifier() for part in Path(file).with_suffix("").parts)


def module(root: Path, file: str) -> str:
    """Dotted, as it is imported from `import_folder`."""
    base = root.resolve() if root.is_dir() else root.resolve().parent
    return ".".join((base / file).with_suffix("").relative_to(import_folder(root, file)).parts).removesuffix(".__init__")


def body(bindings: Sequence[Binding], root: Path, labels: Sequence[str] = (), remarks: Sequence[str] = ()) -> str:
    """Imports and declarations; of each binding what reports call it and what is remarked above it, where that is given."""
    imported = _imported(bindings, root)
    lines = sorted({f"from {home} import {name}{f' as {alias}' if alias != name else ''}" for (home, name), alias in imported.items()})
    declarations: list[str] = []
    for number, (binding, label, remark) in enumerate(itertools.zip_longest(bindings, labels, remarks, fillvalue="")):
        assert isinstance(binding, Binding)
        home, name = module(root, binding.candidate.symbol.file), binding.candidate.symbol.name
        text = binding.text(f"{binding.candidate.contract}_{number + 1}", imported[home, name.partition(".")[0]], str(label) or f"{home}.{name}")
        declarations.append((f"# {remark}\n" if remark else "") + text)
    text = "\n\n".join(declarations)
    helper = [TOKENS] if "tokens(draft, " in text else []
    head = ["import torch", ""] if "torch." in text + "".join(helper) else []
    return "\n".join([*head, *lines, "", "import specverify as sv", "", "", *(f"{one}\n" for one in helper), text])


def _imported(bindings: Sequence[Binding], root: Path) -> dict[tuple[str, str], str]:
    """(module, name) to the name under which it is imported: its own, with a number behind where two modules have it."""
    found: dict[tuple[str, str], str] = {}
    for binding in bindings:
        home, name = module(root, binding.candidate.symbol.file), binding.candidate.symbol.name.partition(".")[0]
        alike = sum(other == name for place, other in found if place != home)
        found.setdefault((home, name), f"{name}_{alike + 1}" if alike else name)
    return found


def subjects_file(bindings: Sequence[Binding], remarks: Sequence[str], left: Sequence[str], root: Path) -> str:
    """The whole file; `left` are the lines on candidates that it does not declare."""
    notes = [f"# {line}" for part in left for line in textwrap.wrap(part, WIDTH - 2)]
    folders = sorted({str(import_folder(root, one.candidate.symbol.file)) for one in bindings} - {str(root.resolve())})
    path = [f"sys.path[:0] = {folders!r}  # where the packages lie that this checkout is part of", ""] if folders else []
    intro = '"""Subjects of this checkout, found by `specverify discover --try --write`: look them over, then `specverify audit .`."""'
    return "\n".join(
        [
            intro,
            "",
            *(["import sys", ""] if path else []),
            *path,
            *body(bindings, root, remarks=remarks).rstrip().splitlines(),
            *(["", "# Not declared:", *notes] if notes else []),
            "",
        ]
    )


def write(text: str, root: Path, *, force: bool) -> Path:
    """Put it into the checkout.

    Raises:
        SpecverifyError: there is one already, and `force` was not given.
    """
    path = (root if root.is_dir() else root.parent) / SUBJECTS_FILE
    if path.exists() and not force:
        raise SpecverifyError(f"{path} is there already.", hint="--force writes over it.")
    path.write_text(text)
    return path
