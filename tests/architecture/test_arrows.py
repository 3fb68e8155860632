"""The arrows between rooms: who may import what. A line per rule; ARCHITECTURE.md says why."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ROOMS = {
    "errors": set(),
    "law": set(),
    "exact": {"law"},
    "stats": {"law"},
    "contracts": {"law"},
    "models": {"contracts"},
    "subjects": {"contracts", "models", "exact", "law"},
    "faults": {"contracts", "law"},
    "discover": {"contracts", "subjects", "law"},
    "observe": {"stats", "subjects", "contracts", "law"},
    "audit": {"gallery", "observe", "faults", "stats", "subjects", "contracts", "law"},
    "report": {"audit"},
    "cli": {"audit", "report", "discover", "subjects", "contracts", "faults", "gallery"},
    "plugin": {"audit", "report", "subjects", "contracts", "scheduler"},
    "scheduler": set(),
    "gallery": {"models"},
}
"""Room to the rooms that it may import; every room may import `errors`. audit reads `law` only to show numbers."""

WORKER_SIDE = [
    "__init__.py", "errors.py", "law", "exact", "contracts", "models", "subjects/__init__.py", "subjects/adapt.py", "subjects/batched.py", "subjects/bootstrap.py", "subjects/coins.py", "subjects/decide.py", "subjects/declare.py",
    "subjects/domain.py", "subjects/draws.py", "subjects/explore.py", "subjects/frames.py", "subjects/judged.py", "subjects/memory.py", "subjects/opaque.py", "subjects/program.py", "subjects/serve.py", "subjects/trial.py", "faults", "gallery",
]  # fmt: skip
"""What runs in the subject's interpreter: the standard library alone, torch, numpy and transformers where present, Python 3.10."""
EXTRAS_OF_THE_REFERENCE = {"transformers_models.py": {"transformers"}, "suffixes.py": {"numpy", "pydivsufsort"}, "__main__.py": {"transformers"}}
"""What some files of the reference import besides torch: its extras, at first use."""
SUBJECTS_WORLD = {"torch", "numpy", "triton", "transformers", "speculative_decoding", "flashspec", "economize"} | {
    "sampling",
    "globals",
    "src",
    "rest",
    "draftretriever",
}


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every imported module of a file, with whether it is for type checkers only."""
    tree = ast.parse(path.read_text())
    typing_only = {id(node) for block in ast.walk(tree) if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test) for node in ast.walk(block)}
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            yield name, id(node) in typing_only


def files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def parts() -> list[Path]:
    """Of entries of the gallery that are folders."""
    return [path for path in (ROOT / "specverify/gallery").glob("*/*.py") if path.name != "specverify_subjects.py"]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def room(path: Path) -> str:
    return path.relative_to(ROOT / "specverify").parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", [p for p in files("specverify") if room(p) in ROOMS], ids=lambda p: str(p.relative_to(ROOT)))
def test_a_room_imports_only_what_its_brackets_name(path: Path) -> None:
    here = room(path)
    for name, _ in imports(path):
        parts = name.split(".")
        if parts[0] == "specverify" and len(parts) > 1:
            assert parts[1] in ROOMS[here] | {"errors", here}, f"{path.name} imports {name}"


def test_planted_faults_and_gallery_import_the_face_models_and_parts_alone() -> None:
    models = {f"specverify.models.{name}" for name in ("tuples", "rows", "ranks", "seen")}
    known = {"specverify", "specverify.faults.textbook_loop", *models, *map(dotted, parts())}
    for path in [p for p in files("specverify/faults") if p.stem.startswith(("planted", "textbook"))] + files("specverify/gallery"):
        assert {name for name, _ in imports(path) if name.startswith("specverify")} <= known


def test_parts_of_gallery_entries_declare_nothing() -> None:
    for path in parts():
        assert "specverify" not in {name for name, _ in imports(path)}, path


def test_the_tool_knows_neither_reference_nor_suite() -> None:
    for path in files("specverify"):
        assert not {name.split(".")[0] for name, _ in imports(path)} & {"specref", "specprops"}


def test_reference_and_suite_do_not_know_each_other() -> None:
    for path in files("reference/specref"):
        extra = EXTRAS_OF_THE_REFERENCE.get(path.name, {"numpy"} if path.parent.name == "rest" else set())
        assert {name.split(".")[0] for name, _ in imports(path)} <= {"specref", "torch", *sys.stdlib_module_names, *extra}
    for path in files("properties/specprops"):
        assert "specref" not in {name.split(".")[0] for name, _ in imports(path)}


def test_the_worker_side_imports_the_standard_library_and_the_subjects_world() -> None:
    for entry in WORKER_SIDE:
        target = ROOT / "specverify" / entry
        for path in sorted(target.rglob("*.py")) if target.is_dir() else [target]:
            for name, _ in imports(path):
                assert name.split(".")[0] in {"specverify", *SUBJECTS_WORLD, *sys.stdlib_module_names}, f"{path} imports {name}"


def test_the_worker_side_imports_no_module_of_the_tools_side() -> None:
    allowed = {entry.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for entry in WORKER_SIDE} | {"subjects"}
    for entry in WORKER_SIDE:
        target = ROOT / "specverify" / entry
        for path in sorted(target.rglob("*.py")) if target.is_dir() else [target]:
            for name, _ in imports(path):
                if name.startswith("specverify."):
                    inner = name.removeprefix("specverify.")
                    assert inner in allowed or inner.split(".")[0] in allowed - {"subjects"}, f"{path} imports {name}"


def test_the_plugin_imports_no_suite_when_pytest_loads_it() -> None:
    tree = ast.parse((ROOT / "specverify/plugin.py").read_text())
    top = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {alias.name for node in top for alias in node.names} | {node.module for node in top if isinstance(node, ast.ImportFrom)}
    assert not {name.split(".")[0] for name in names if name} & {"specprops", "hypothesis", "scipy", "torch", "msgspec"}
