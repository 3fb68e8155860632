"""The functions and classes of a checkout, from its syntax trees: nothing is imported, and nothing is run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from specverify.discover.operators import operators
from specverify.errors import SpecverifyError

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
SKIPPED = {"__pycache__", "node_modules", "venv", "env", "build", "dist", "test", "tests", "docs", "site-packages"}
"""Folders below the one that is read which hold no code to be audited; hidden ones are skipped too."""
CALLS = ("__call__", "forward")
"""Methods that make an instance a function."""
LARGEST = 4_000_000
"""Bytes of a file beyond which it is data: the largest source file of torch has a tenth of it."""


@dataclass(frozen=True)
class Parameter:
    """One argument of a function: whether a call must give it, and whether only by its name."""

    name: str
    needed: bool
    keyword: bool = False


@dataclass(frozen=True)
class Symbol:
    """A function, a method or a class of a checkout.

    Attributes:
        file: relative to the checkout.
        line: of its definition.
        name: dotted within the file, such as "Verifier.verify".
        form: "function", "method", "class" or "callable": a class whose instances are functions.
        parameters: in order, without self; of a callable those of its making, then those of its call.
        making: how many of them belong to the making of an instance.
        doc: docstring, "" if none; of a method without one, nothing of its class.
        operators: words of `operators` for its body.
        methods: names of a class's methods, those of its bases in the checkout too.
        bound: whether a method needs an instance (no staticmethod and no classmethod).
        bases: last parts of the names of a class's bases.
    """

    file: str
    line: int
    name: str
    form: str
    parameters: tuple[Parameter, ...]
    doc: str
    operators: frozenset[str]
    methods: tuple[str, ...] = ()
    making: int = 0
    bound: bool = False
    bases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of its parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def module(self) -> str:
        """Dotted, as it is imported with the checkout on the path."""
        return ".".join(Path(self.file).with_suffix("").parts).removesuffix(".__init__")


def symbols(root: Path, below: tuple[str, ...] = ("",)) -> list[Symbol]:
    """All of a checkout's, or of one file's; with `below`, of the files whose relative paths begin so. A file that does not parse is left out.

    Raises:
        SpecverifyError: nothing there, or no Python file.
    """
    found = sorted(_files(root))
    if not found:
        raise SpecverifyError(f"{root} holds no Python file.", hint="Give a checkout, or a file that ends in .py.")
    base = root if root.is_dir() else root.parent
    named = [(path, path.relative_to(base).as_posix()) for path in found]
    return _with_inherited([symbol for path, file in named if file.startswith(below) for symbol in _of_a_file(path, file)])


def _with_inherited(found: list[Symbol]) -> list[Symbol]:
    """Classes with the methods of their bases: a cache that only says how it differs is a cache too."""
    classes = {symbol.name: symbol for symbol in found if symbol.form in ("class", "callable")}
    return [replace(symbol, methods=tuple(dict.fromkeys(_methods(symbol, classes, (symbol.name,))))) if symbol.bases else symbol for symbol in found]


def _methods(symbol: Symbol, classes: Mapping[str, Symbol], seen: tuple[str, ...]) -> Iterator[str]:
    yield from symbol.methods
    for base in symbol.bases:
        if base in classes and base not in seen:
            yield from _methods(classes[base], classes, (*seen, base))


def _files(root: Path) -> Iterator[Path]:
    if root.is_file() and root.suffix == ".py":
        yield root
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith(".")]
        yield from (Path(folder, name) for name in names if name.endswith(".py") and not _is_a_test(name))


def _is_a_test(name: str) -> bool:
    return name.startswith("test_") or name in ("conftest.py", "setup.py", "specverify_subjects.py")


def _of_a_file(path: Path, file: str) -> Iterator[Symbol]:
    try:
        tree = ast.parse(path.read_bytes()) if path.stat().st_size <= LARGEST else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, OSError):
        return
    for name, node, owner in _definitions(tree.body):
        yield _class(file, name, node) if isinstance(node, ast.ClassDef) else _function(file, name, node, owner=owner)


def _definitions(body: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, Definition, str]]:
    """Top-level ones and members of classes, those under an `if` or `try` too; dunders, properties and what has no code of its own are no candidates."""
    for node in body:
        if isinstance(node, Definition) and not _is_hollow(node):
            if not _is_dunder(node.name) and not _decorated(node, "property", "cached_property", "setter", "overload"):
                yield owner + node.name, node, owner
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, f"{owner}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _definitions([*node.body, *node.orelse, *(line for one in getattr(node, "handlers", []) for line in one.body)], owner)


def _is_hollow(node: Definition) -> bool:
    """Whether it only says what others do: a protocol, or an abstract method."""
    if isinstance(node, ast.ClassDef):
        return "Protocol" in _bases(node)
    return _decorated(node, "abstractmethod") or "NotImplementedError" in ast.unparse(node.body[-1])


def _bases(node: ast.ClassDef) -> tuple[str, ...]:
    return tuple(ast.unparse(one).partition("[")[0].rpartition(".")[2] for one in node.bases)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _decorated(node: Definition, *names: str) -> bool:
    return any(ast.unparse(one).split(".")[-1] in names for one in node.decorator_list)


def _function(file: str, name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> Symbol:
    taken = _parameters(node)
    bound = bool(owner) and not _decorated(node, "staticmethod", "classmethod")
    taken = taken[1:] if bound or (owner and _decorated(node, "classmethod")) else taken
    words = operators(node, tuple(one.name for one in taken))
    return Symbol(file, node.lineno, name, "method" if owner else "function", taken, ast.get_docstring(node) or "", words, bound=bound)


def _class(file: str, name: str, node: ast.ClassDef) -> Symbol:
    members = {one.name: one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))}
    making = _parameters(members["__init__"])[1:] if "__init__" in members else ()
    call = next((members[name] for name in CALLS if name in members), None)
    if call is None:
        return Symbol(file, node.lineno, name, "class", making, ast.get_docstring(node) or "", operators(node), tuple(members), len(making), bases=_bases(node))
    doc = "\n".join(filter(None, (ast.get_docstring(node), ast.get_docstring(call))))
    return Symbol(file, node.lineno, name, "callable", making + _parameters(call)[1:], doc, operators(node), tuple(members), len(making), bases=_bases(node))


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Parameter, ...]:
    placed = [*node.args.posonlyargs, *node.args.args]
    least = len(placed) - len(node.args.defaults)
    by_name = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return (*(Parameter(one.arg, at < least) for at, one in enumerate(placed)), *(Parameter(one.arg, default is None, True) for one, default in by_name))
