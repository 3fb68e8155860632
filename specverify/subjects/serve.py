"""The worker's loop: loads the subjects of one source, then answers requests until the pipe closes. Runs in the subject's interpreter."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import itertools
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from specverify.contracts import Array, contract, fitted
from specverify.errors import SpecverifyError, Unloadable, unknown
from specverify.models import MADE_BY
from specverify.subjects import adapt, batched, decide, explore, program, trial
from specverify.subjects.declare import DECLARED, Declaration, location, subject
from specverify.subjects.frames import BrokenPipe, read_frame, write_frame
from specverify.subjects.memory import limit_memory

PROTOCOL = 1
MODULE = "specverify_subjects"
"""Name under which a subjects file is imported, never the file's own: a gallery file bears the name of the package that it imports."""


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the other side closes the pipe."""
    bound: dict[str, trial.Bound] = {}
    write_frame(replies, {"protocol": PROTOCOL, "python": platform.python_version()})
    while True:
        try:
            request = read_frame(requests)
        except BrokenPipe:
            explore.end()
            return
        if not isinstance(request, dict):
            return
        name = request.pop("id", None)
        write_frame(replies, {**answer(request, bound), "id": name})


def answer(request: Mapping[str, Any], bound: dict[str, trial.Bound]) -> dict[str, object]:
    """One request's reply; an error of ours is a reply too."""
    try:
        match request:
            case {"do": "describe", "source": source}:
                described = describe(source, bound)
                _load_arrays(bound)
                most = max([request.get("memory", 0), *(one.declaration.memory or 0 for one in bound.values())])
                limit_memory(most, asked=bool(request.get("memory")), others=program.processes())
                return {"subjects": described, "versions": program.versions() or versions()}
            case {"do": "call", "subject": name, "cases": cases}:
                return {"replies": [_call(bound[name], case) for case in cases]}
            case {"do": "sample", "subject": name, "case": case, "keep": keep, **rest}:
                return batched.sample(bound[name], case, keep=keep, **rest)
            case {"do": "sample", "subject": name, "case": case, **rest}:
                return trial.sample(bound[name], case, **rest)
            case {"do": "decide", "subject": name, "case": case}:
                return decide.decisions(bound[name], case)
            case {"do": "law", "subject": name, "cases": cases, **rest}:
                return explore.laws(bound[name], cases, **rest)
            case _:
                return {"error": {"message": f"Unknown request {request.get('do')!r}.", "hint": "See docs/protocol.md.", "kind": "protocol"}}
    except SpecverifyError as error:
        return {"error": {"message": error.message, "hint": error.hint, "kind": "load" if isinstance(error, Unloadable) else "usage"}}
    except Exception as error:  # noqa: BLE001  a fault of this worker's own code must not look like the subject's end
        told = adapt.raised(error)
        message = f"The worker failed on {request.get('do')!r}: {told['type']}: {told['message']} ({told['where']})."
        return {"error": {"message": message, "hint": "This is a fault of specverify; please report it.", "kind": "internal"}}


def _load_arrays(bound: Mapping[str, trial.Bound]) -> None:
    """What the arguments will be made of, before the memory is limited and a call has its time: a CUDA build of torch alone maps more than the limit."""
    takers = [one for one in bound.values() if any(isinstance(value, Array) for value in one.contract.smoke.values())]
    forms = {name for one in bound.values() if one.declaration.models is not None for name in MADE_BY[one.declaration.models]}
    for name in {one.declaration.arrays for one in takers} - {"list", program.ARRAYS} | forms:
        with contextlib.suppress(ImportError):  # the first call will say so
            importlib.import_module(name)


def _call(bound: trial.Bound, request: Mapping[str, Any]) -> dict[str, object]:
    put, options = request.get("put"), {name: request.get(name, False) for name in ("watch", "judge", "again", "raw")}
    return trial.call(bound, request["case"], key=request.get("key", 0), seed=request.get("seed"), put=tuple(put) if put else None, **options)


def describe(source: Mapping[str, Any], bound: dict[str, trial.Bound]) -> list[dict[str, object]]:
    """Load a source and say what it declares; nothing is called yet."""
    DECLARED.clear()
    try:
        _load(source)
    except SpecverifyError:
        raise
    except BaseException as error:
        reply = adapt.raised(error)
        told = f"{reply['type']}: {reply['message']}" if reply["message"] else str(reply["type"])
        raise _unloadable(f"{source['shown']} could not be imported: {told}", str(reply["where"])) from error
    wanted = source.get("only")
    found = [declaration for declaration in DECLARED if wanted in (None, declaration.name)]
    if wanted is not None and not found:
        raise unknown(f"subject in {source['shown']},", wanted, {declaration.name for declaration in DECLARED})
    return [_introduce(declaration, name, bound) for declaration, name in zip(found, _distinct([one.name for one in found]), strict=True)]


def _distinct(names: list[str]) -> list[str]:
    """Names of their own for subjects that share one, as lambdas and partials do: the second is NAME-2."""
    given: list[str] = []
    for name in names:
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        given.append(name if name not in given else next(one for one in numbered if one not in given and one not in names))
    return given


def _unloadable(message: str, where: str) -> Unloadable:
    place = f"It happened at {where}." if where else "Nothing was called."
    return Unloadable(message + ("" if message.endswith(".") else "."), hint=f"{place} `--python` picks another interpreter; the file must import in it.")


def _load(source: Mapping[str, Any]) -> None:
    """Run the file, or import the module and bind its attribute; either declares subjects as a side effect."""
    for folder in reversed(source.get("folders", [])):
        sys.path.insert(0, folder)
    if "command" in source:
        program.load(source["shown"], source["command"])
        return
    if "file" in source:
        os.chdir(Path(source["file"]).parent)
        _run_file(source["file"])
        return
    if "attribute" not in source:
        sys.modules.pop(source["module"], None)  # it declares as it runs, so it must run
    module = importlib.import_module(source["module"])
    if "attribute" in source:
        subject(source["contract"], name=source["attribute"])(_attribute(module, source["attribute"]))


def _run_file(path: str) -> None:
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise _unloadable(f"{path} is no Python file", "")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)


def _attribute(module: ModuleType, dotted: str) -> Any:
    value: Any = module
    for part in dotted.split("."):
        if not hasattr(value, part):
            raise _unloadable(f"{module.__name__} has no attribute {dotted!r}", "")
        value = getattr(value, part)
    return value


def _introduce(declaration: Declaration, name: str, bound: dict[str, trial.Bound]) -> dict[str, object]:
    told = fitted(contract(declaration.contract), declaration.domain)
    me = trial.Bound(declaration, told, unfollowed=program.UNFOLLOWED if declaration.arrays == program.ARRAYS else "")
    file, line = location(declaration.function)
    description: dict[str, object] = {
        "name": name, "contract": told.name, "claim": declaration.claim, "rule": declaration.rule, "arrays": declaration.arrays,
        "dtypes": declaration.dtypes, "devices": declaration.devices, "batch": declaration.batch, "seed": declaration.seed, "rng": declaration.rng,
        "mutates": declaration.mutates, "refuses": declaration.refuses, "conventions": dict(declaration.conventions), "scratch": list(declaration.later.get("scratch", ())),  # type: ignore[call-overload]
        "domain": declaration.domain, "ensures": declaration.ensures is not None, "oracle": declaration.oracle is not None,
        "raises": [one if isinstance(one, str) else one.__name__ for one in declaration.raises], "supports": declaration.supports,
        "peek": "peek" in declaration.later, "memory": declaration.memory, "slots": declaration.slots, "siblings": declaration.siblings,
        "models": declaration.models, "file": file, "line": line,
    }  # fmt: skip
    problem = _misfit(me)
    if problem is None:
        bound[name] = me
    return {**description, "problem": problem}


def _misfit(bound: trial.Bound) -> str | None:
    """Why the callable cannot be called as its contract, or none."""
    declaration, told = bound.declaration, bound.contract
    try:
        signature = inspect.signature(declaration.function)
    except (TypeError, ValueError):
        return None  # a builtin that does not tell; the first call will
    keywords = {"int": ["seed"], "generator": ["generator"]}.get(declaration.seed or "", []) + ["coins"] * (declaration.rng == "coins")
    keywords += [parameter.name for parameter in told.optional if parameter.name in declaration.supports]
    keywords += ["generators"] * (declaration.rng == "generators" and bool(told.optional))
    keywords = [] if told.bundles else keywords
    try:
        signature.bind(*told.parameters, **dict.fromkeys(keywords))
    except TypeError as error:
        given = ", ".join([*(parameter.name for parameter in told.parameters), *(f"{word}=" for word in keywords)])
        return f"{declaration.name}{signature} cannot be called as {told.name}({given}): {error}"
    return _misnamed(declaration, list(signature.parameters), [parameter.name for parameter in told.parameters])


def _misnamed(declaration: Declaration, names: list[str], wanted: list[str]) -> str | None:
    """Whether a helper's domain names its parameters in another order than the function, or none: it is called in the order of the domain."""
    own = names[: len(wanted)]
    if declaration.domain is None or own == wanted or sorted(own) != sorted(wanted):
        return None
    return f"{declaration.name} takes {', '.join(own)}, and its domain names {', '.join(wanted)}: it is called in the order of the domain"


def versions() -> dict[str, str]:
    """Of Python and of what the subject has loaded of torch, numpy and transformers."""
    told = {"python": platform.python_version()}
    for name in ("torch", "numpy", "transformers"):
        if name in sys.modules:
            told[name] = str(getattr(sys.modules[name], "__version__", ""))
    return told
