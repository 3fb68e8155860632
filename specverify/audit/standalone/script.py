"""The text of a stand-alone script: a finding's case as literals, the subject loaded from its own file, and what shows the finding."""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specverify.audit.cases import case_of
from specverify.audit.records import Alone, Argument, Call, Excess
from specverify.audit.standalone import parts, prepared
from specverify.audit.standalone.literals import LONGEST, literal
from specverify.contracts import CONTRACTS, Array, Case, Contract, expand
from specverify.law import freeze

if TYPE_CHECKING:
    from specverify.audit.finding_files import FindingFile
    from specverify.subjects.source import Source

LOOPS: dict[str, Callable[..., Any]] = {one.__name__: one for one in (prepared.generate, prepared.draft_and_verify)}
"""Contracts whose models a script makes of tables."""
STEPS: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (parts.sample, parts.verify_chain, parts.verify_deterministic_draft, parts.verify_tree, prepared.verify_batch)
}
STREAMS = {**STEPS, **LOOPS}
"""The contracts whose laws a script draws from by itself."""
READY: dict[str, tuple[Callable[..., Any], ...]] = {"seeding": (prepared.with_draws,), "grammar_mask": (prepared.with_grammar, prepared.Grammar)}
"""Of contracts that take objects: what makes them out of a case, then what that needs."""
BESIDE: dict[str, tuple[Callable[..., Any], ...]] = {
    "generate": (prepared.Model, prepared.models, prepared.prompted, prepared.written),
    "draft_and_verify": (prepared.Model, prepared.models, prepared.sorted_in),
    "verify_batch": (prepared.rows_of, prepared.requests_of),
}
"""What a contract's draws need besides."""
CLEAR = 10.0
"""Standard deviations that the excess should have: twice what the script asks for."""
FEWEST, MOST = 400, 200_000
"""Draws. The most take a minute or two at 0.5 ms each."""
SURE = 30
"""Times that an outcome of right probability 0 is expected to come."""
PREAMBLE = ("importlib", "importlib.util", "itertools", "math", "os", "random", "sys", "types", "zlib")
FROM_FILE = (parts.stand_in, parts.noted, parts.from_file)
SHARED = (parts.made, parts.plain, parts.called, parts.seed_all)
ONCE = (*SHARED, parts.same, parts.once, parts.alike, parts.shown_once)
DRAWN = (*SHARED, parts.pick, parts.ids, parts.completed, parts.ids_of_rows, parts.one_call, parts.frequencies, parts.shown_drawn)
PLAIN = Contract.__dataclass_fields__["prepare"].default
"""Of contracts whose arguments are data as they are."""
ONE_CALL = Contract.__dataclass_fields__["play"].default
"""Of contracts that call the subject once for an outcome."""


def script(file: FindingFile, source: Source) -> str | None:
    """The script's text, or none where `why_not` has a reason."""
    finding = file.finding
    if why_not(file, source) or finding.alone is None:
        return None
    alone, case = finding.alone, case_of(finding.case)
    told = _calls(alone.calls, finding.contract) if alone.calls else _drawn(alone, case, finding.contract)
    return f"{_head(file)}\n{_imports(drawn=bool(alone.excess))}\n\n{told}{_loading(file, source)}{_ending(alone, finding.contract)}"


def why_not(file: FindingFile, source: Source) -> str:
    """Why there is no script of a finding, or nothing."""
    alone, contract = file.finding.alone, CONTRACTS[file.finding.contract]
    if alone is None:
        return "only findings have one"
    if alone.why_not:
        return alone.why_not
    if source.command:
        return "the subject is a program, which speaks frames"
    if alone.calls and contract.play is not ONE_CALL:
        return f"several calls of {contract.name}, each on what those before have left, or what its models are asked, show it; a script compares single calls"
    if contract.prepare is not PLAIN and contract.name not in (*READY, *LOOPS):
        return f"the arguments of {contract.name} are functions or models, which are built by specverify"
    if alone.excess and contract.name not in STREAMS:
        return f"one draw of {contract.name} takes more of specverify than fits a script"
    if alone.excess and not draws(alone.excess):
        return f"it is too small or too rare for {MOST:,} draws"
    return "" if len(literal([*case_of(file.finding.case).values()])) <= LONGEST else "its case is too large to be written down"


def draws(excess: Sequence[Excess]) -> int:
    """How many draws show the outcomes that come too often clearly; 0 if that is too many."""
    found, right = math.fsum(one.found for one in excess), math.fsum(one.right for one in excess)
    needed = CLEAR**2 * right * (1 - right) / (found - right) ** 2 + SURE / (found - right)
    return max(FEWEST, math.ceil(needed)) if needed <= MOST else 0


def _head(file: FindingFile) -> str:
    finding, header = file.finding, file.header
    lines = [f"  {line.outcome}   found {line.found}   right {line.right}" for line in finding.table]
    words = [
        f"Finding {finding.id} of specverify {header.version}, suite {header.suite}, run {header.run}: a script of its own, with nothing of specverify.",
        "",
        f"{finding.property}: {finding.sentence}",
        f"{finding.subject} ({finding.contract}), at {finding.file}:{finding.line}: {finding.message}",
        *lines,
        "",
        "Run it with the subject's interpreter. Exit 1: the finding shows again; 0: it does not; 2: the subject does not load.",
    ]
    text = "\n".join(words).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}\n"""\n'


def _imports(*, drawn: bool) -> str:
    names = "".join(f"import {name}\n" for name in PREAMBLE)
    return f"{names}{'from bisect import bisect_right' * drawn}\n\nnan, inf = math.nan, math.inf\nDECLARED = {{}}"


def _values(case: Case, contract: Contract, *, lifted: bool) -> dict[str, object]:
    """A case as nested lists; one row becomes (1, V) where the subject takes only that."""
    plain = {name: value.nested() if isinstance(value := expand(given), Array) else value for name, given in case.items()}
    rows = [name for name in contract.row_parameters if lifted and isinstance(value := expand(case[name]), Array) and len(value.shape) == 1]
    return {name: [value] if name in rows else value for name, value in plain.items()}


def _dtypes(case: Case, contract: Contract) -> dict[str, str]:
    """Of the arguments that are arrays, those that the script draws too."""
    smoke = {**contract.smoke, **case}
    known = {name: value.dtype for name, given in smoke.items() if isinstance(value := expand(given), Array)}
    if "target" in known:  # tables of a tree, from which p and q are taken, or of a loop, which gets ids
        known |= {"p": known["target"], "q": known["target"], "prompt": "int64"}
    return {name: known[name] for name in _parameters(case, contract) if name in known and case.get(name, "") is not None}


def _calls(calls: Sequence[Call], name: str) -> str:
    contract = CONTRACTS[name]
    rows = []
    for call in calls:
        case = case_of(call.case)
        values = _values(case, contract, lifted=call.lifted)
        given = {key: _keyword(value) for key, value in case_of([Argument(key, "", value) for key, value in call.keywords.items()]).items()}
        gave = repr(call.gave) if call.gave.startswith("raises ") else call.gave
        rows.append(f"    ({literal(values)},\n     {literal(given)}, {call.seeds}, {gave}),\n")
    heading = "# Each call: its arguments, keywords, the seeds of Python, numpy and torch, and what it gave.\n"
    return f"{_names(case_of(calls[0].case), contract, ())}{heading}CALLS = [\n{''.join(rows)}]\n"


def _keyword(value: object) -> object:
    """An array with its dtype, which no contract tells of keywords."""
    return (value.dtype, value.nested()) if isinstance(value, Array) else value


def _drawn(alone: Alone, case: Case, name: str) -> str:
    contract = CONTRACTS[name]
    one_row = tuple(one for one in contract.row_parameters if alone.lifted and isinstance(value := expand(case[one]), Array) and len(value.shape) == 1)
    rows = [f"    ({one.outcome!r}, {one.found!r}, {one.right!r}, {literal(list(map(freeze, one.draws)))}),\n" for one in alone.excess]
    heading = "# What comes too often: the outcome, its probability found and right, and the single draws that are it.\n"
    values = f"CASE = {literal(_values(case, contract, lifted=False))}\n"
    return f'{values}{_names(case, contract, one_row)}{heading}TOO_OFTEN = [\n{"".join(rows)}]\nRNG, SLACK = random.Random("specverify"), 2**-20\n'


def _parameters(case: Case, contract: Contract) -> tuple[str, ...]:
    """In the order of the call; a helper's contract names none, and its case has them all."""
    return tuple(parameter.name for parameter in contract.parameters) if contract.smoke else tuple(case)


def _names(case: Case, contract: Contract, one_row: tuple[str, ...]) -> str:
    names = _parameters(case, contract)
    return f"PARAMETERS, DTYPES, ONE_ROW = {names!r}, {_dtypes(case, contract)!r}, {one_row!r}\n"


def _loading(file: FindingFile, source: Source) -> str:
    alone, contract = file.finding.alone, file.finding.contract
    assert alone is not None
    loader = (parts.from_module,) if source.attribute is not None else FROM_FILE
    needed = (*loader, *(ONCE if alone.calls else (*DRAWN, STREAMS[contract])), *READY.get(contract, ()), *(() if alone.calls else BESIDE.get(contract, ())))
    body = "\n\n\n".join(textwrap.dedent(inspect.getsource(one)).rstrip() for one in needed)
    ready = READY[contract][0].__name__ if contract in READY else "dict"
    return f'\n\n{body}\n\n\nREADY = {ready}\ntry:\n    FUNCTION, OPTIONS = {_load(file.subject.subject, source)}\nexcept Exception as error:\n    print(f"the subject does not load: {{error!r}}")\n    sys.exit(2)\n'


def _load(label: str, source: Source) -> str:
    if source.attribute is not None:
        return f"from_module({source.folders[0]!r}, {source.module!r}, {source.attribute!r})"
    return f"from_file({_file(source)!r}, {label.rpartition('::')[2]!r}, {list(source.folders)!r})"


def _file(source: Source) -> str:
    """Of a planted fault: the file of its module, which imports nothing of ours but the name."""
    if source.file is not None:
        return source.file
    assert source.module is not None
    return str(Path(__file__).parents[2] / "faults" / f"{source.module.rpartition('.')[2]}.py")


def _ending(alone: Alone, contract: str) -> str:
    if alone.calls:
        compared = contract == "seeding" and len(alone.calls) > 1  # numbers that depend on what was drawn before: only their agreement is wrong
        return f"sys.exit(shown_once(CALLS{', compared=True' * compared}))\n"
    return f"sys.exit(shown_drawn({contract}, TOO_OFTEN, {draws(alone.excess)}, {alone.spans}))\n"
