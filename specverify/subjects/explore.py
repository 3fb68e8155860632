"""The exact law of a subject on a case, explored in a copy of the process. Runs in the subject's interpreter."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
import math
import os
import random
import signal
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from specverify.contracts import Array, Case, Malformed, expand
from specverify.contracts.arrays import FLOATS
from specverify.contracts.coins import dtype_of
from specverify.contracts.picks import every, weights
from specverify.law import ExactLaw, Outcome, Path, freeze
from specverify.subjects import adapt
from specverify.subjects.bootstrap import end_with_parent
from specverify.subjects.frames import BrokenPipe, read_frame, write_frame
from specverify.subjects.memory import unlimited_memory

if TYPE_CHECKING:
    from specverify.subjects.trial import Bound

WIDEST = 256
"""Outcomes of the rows of a case together, drafts and all: 3 tokens with 2 drafts have 243. A law of more takes a second and longer, and shows little more."""
KEY = 20_261_130


def laws(bound: Bound, cases: list[Case], **options: Any) -> dict[str, object]:
    """The laws of several cases, each {"is": "law", …}, or {"is": "not exact" | "hidden" | "too large", "reason": …}; none if the copy ended."""
    coins = bound.declaration.rng == "coins"
    if bound.unfollowed and not coins:
        return {"laws": [_not(bound.unfollowed)] * len(cases)}
    if not bound.unfollowed and not _torch() and not coins:
        return {"laws": [_not("its Python has no torch")] * len(cases)}
    bound.settle()
    if "torch" in sys.modules:
        from specverify.exact import watch

        watch.look()
    try:
        return {"laws": [_one(bound, {"case": case, **options}) for case in cases]}
    except (BrokenPipe, OSError):
        end()
        return {"laws": None}


def _one(bound: Bound, request: dict[str, object]) -> dict[str, object]:
    """One law: explored, or else computed from coins where the subject takes them. What is not followed once is not tried again then."""
    coins = bound.declaration.rng == "coins"
    needed = {"torch", "numpy"} if bound.declaration.arrays != "torch" else {"torch"}
    if coins and not bound.unfollowed and needed - sys.modules.keys():
        bound.unfollowed = f"its Python has no {' and no '.join(sorted(needed - sys.modules.keys()))}"
    if not bound.unfollowed:
        told = _copy_of(bound).ask(request)
        if not coins or told["is"] not in {"not exact", "hidden"}:
            return told
        bound.unfollowed = str(told["reason"])
    return {**_copy_of(bound).ask({**request, "coins": True}), "above": bound.unfollowed}


def _torch() -> bool:
    """Whether there is torch, which follows the draws of numpy and `random` too. It is loaded beyond the subject's limit of memory, of which a build for CUDA needs more."""
    if "torch" not in sys.modules:
        if importlib.util.find_spec("torch") is None:
            return False
        with unlimited_memory():
            importlib.import_module("torch")
    return True


_COPIES: list[Copy] = []
"""The copy that explores now, or none."""


def end() -> None:
    """End the copy, if there is one."""
    while _COPIES:
        _COPIES.pop().end()


def _copy_of(bound: Bound) -> Copy:
    """The copy in which a subject is explored: a fresh one for each subject, and after a law that could not be followed to its end."""
    if _COPIES and (_COPIES[0].bound is not bound or not _COPIES[0].clean):
        end()
    if not _COPIES:
        _COPIES.append(Copy(bound))
    return _COPIES[0]


class Copy:
    """A copy of this process in which one subject is explored, so that nothing that this does to the subject's state is left here."""

    def __init__(self, bound: Bound) -> None:
        self.bound, self.clean = bound, True
        theirs, mine = os.pipe(), os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(theirs[1])
            _explore_for_ever(bound, theirs[0], mine[1])
        os.close(theirs[0])
        os.close(mine[1])
        self._requests, self._replies = os.fdopen(theirs[1], "wb"), os.fdopen(mine[0], "rb")

    def ask(self, request: dict[str, object]) -> dict[str, object]:
        """One law; BrokenPipe if the copy ends."""
        write_frame(self._requests, request)
        reply = read_frame(self._replies)
        assert isinstance(reply, dict)
        self.clean = reply["is"] not in {"not exact", "hidden"}
        return reply

    def end(self) -> None:
        """Kill it."""
        with contextlib.suppress(OSError):
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
        for stream in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                stream.close()


def _explore_for_ever(bound: Bound, requests: int, replies: int) -> None:
    """The copy's life: it ends with the pipe, and with this process."""
    threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        with os.fdopen(requests, "rb") as incoming, os.fdopen(replies, "wb") as outgoing:
            while True:
                request = read_frame(incoming)
                assert isinstance(request, dict)
                write_frame(outgoing, _law(bound, request.pop("case"), **request))
    finally:
        os._exit(0)


def _not(reason: str) -> dict[str, object]:
    return {"is": "not exact", "reason": reason}


def _law(bound: Bound, case: Case, *, spans: int, seconds: float, probe: int, coins: bool = False) -> dict[str, object]:
    from specverify.exact import NotExact
    from specverify.subjects.opaque import Given  # which builds on what is here

    case = {name: expand(value) for name, value in case.items()}
    if (outcomes := (bound.contract.outcomes or _outcomes)(case)) > (bound.contract.widest or WIDEST):
        return {"is": "too large", "reason": f"{outcomes:,} outcomes are too many to explore"}
    once = (Given if coins else Once)(bound, case, spans)
    try:
        law = once.law(seconds, probe)
    except NotExact as event:
        return {"is": "hidden" if event.hidden else "not exact", "reason": event.message}
    return _told(once.finished(law), once.examples)


def _outcomes(case: Case) -> int:
    """How many outcomes the rows of a case have together: drafts, and the tokens that follow; entries count where they are more."""
    arrays = [value for value in case.values() if isinstance(value, Array) and value.dtype in FLOATS]
    entries = sum(len(value.values) for value in arrays)
    return entries if entries > WIDEST else math.prod(max(1, sum(x > 0 for x in row)) for value in arrays for row in value.rows())


class Once:
    """A call as the exploration runs it again and again: the tool's own draws first, then the subject, `spans` times."""

    def __init__(self, bound: Bound, case: Case, spans: int) -> None:
        self.bound, self.case, self.spans = bound, case, spans
        self.stream = bound.contract.stream(case)
        self.drawn: tuple[dict[str, object], ...] = ()
        self.examples: dict[str, object] = {}
        self._runs = itertools.count()  # seeds differ in every execution, so that what one decides by other means than torch shows as a hidden state
        self._given = {**bound.contract.blank(), **case}

    def law(self, seconds: float, probe: int) -> ExactLaw:
        """Explored."""
        from specverify.exact import exact_law

        return exact_law(self.run, project=self.outcome, max_seconds=seconds, probe=probe)

    def run(self) -> list[Any]:
        """The raw results; an exception as ("raised", TypeName)."""
        self.drawn = ()
        generator, seeds = self.bound.generator(KEY), _ours(f"{KEY}/{next(self._runs)}")
        return [self._call(generator, seeds) for _ in range(self.spans)]

    def draw(self) -> dict[str, object]:
        """What the tool draws around the next call."""
        from specverify.exact import choose

        return self.stream.draw(lambda sums: choose(weights(sums), "draft"))

    def coins(self) -> Any:
        """The next call's, drawn through torch or numpy, so that they are followed."""
        declared, told = self.bound.declaration, self.bound.contract.coins
        if declared.rng != "coins" or told is None:
            return None
        count, dtype = told.count(self.case), dtype_of(self.case)
        if declared.arrays == "torch":
            torch = sys.modules["torch"]
            return torch.rand(count, dtype=getattr(torch, dtype), device=self.bound.device)
        numbers = sys.modules["numpy"].random.default_rng(KEY + len(self.drawn)).random(count, dtype=dtype)
        return numbers if declared.arrays == "numpy" else numbers.tolist()

    def _call(self, generator: Any, seeds: random.Random) -> Any:
        drawn = self.draw()
        self.drawn = (*self.drawn, drawn)
        values = self.bound.arguments({**self._given, **drawn})
        try:
            return _kept(self.bound.ask(self.case, values, lambda: self.bound.options(seeds, generator, self.coins(), self.case)))
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  whatever it raises is an outcome
            self.own(error)
            told = adapt.raised(error)
            self.examples.setdefault(str(told["type"]), told)
            return ("raised", told["type"])

    def own(self, error: BaseException) -> None:
        """Refuse what the subject would not raise outside of an exploration."""
        from specverify.exact import engine

        engine.own(error)

    def outcome(self, results: list[Any]) -> Outcome:
        """What the tool drew, and the canonical outcome, of each span."""
        drawn = tuple(tuple(sorted(one.items())) for one in self.drawn)
        return tuple(zip(drawn, map(self._canonical, results, self.drawn), strict=True))

    def _canonical(self, result: Any, drawn: Mapping[str, object]) -> Outcome:
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str) and result[0] == "raised":  # noqa: PLR2004  an array is equal to nothing
            return result
        try:
            value = self.bound.outcome({**self.case, **drawn}, adapt.plain(result))
        except Malformed as error:
            return ("malformed", str(error))
        return value if isinstance(value, Array) else freeze(value)

    def finished(self, law: ExactLaw) -> ExactLaw:
        """The law with the tool's completions, all of them."""
        masses: dict[Outcome, float] = {}
        paths: dict[Outcome, Path] = {}
        for outcome, mass in law.probabilities.items():
            for parts in itertools.product(*(self._endings(dict(drawn), result) for drawn, result in outcome)):
                ending = parts[0][1] if self.spans == 1 else tuple(part for _, part in parts)
                share = mass * math.prod(chance for chance, _ in parts)
                masses[ending] = masses.get(ending, 0.0) + share
                if ending not in paths or paths[ending].mass < share:
                    paths[ending] = Path(share, law.paths[outcome].steps)
        return ExactLaw(masses, law.open_mass, law.kind, law.tolerance, law.notes, paths, law.runs, law.idealised)

    def _endings(self, drawn: Mapping[str, object], result: Outcome) -> list[tuple[float, Outcome]]:
        return every(lambda pick: self.stream.finish(pick, drawn, result))


def _ours(seed: str) -> random.Random:
    """Seeds for the subject, whose draws are no part of the law."""
    if "torch" not in sys.modules:
        return random.Random(seed)
    from specverify.exact.generators import Ours

    return Ours(seed)


def _kept(result: Any) -> Any:
    """The result as it is now: the next call may write into the memory that it lies in."""
    if type(result) in {list, tuple}:
        return type(result)(map(_kept, result))
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(result, torch.Tensor):
        return result.clone()
    return result.copy() if numpy is not None and isinstance(result, numpy.ndarray) else result


def _told(law: ExactLaw, examples: Mapping[str, object]) -> dict[str, object]:
    return {
        "is": "law", "law": list(law.probabilities.items()), "open": law.open_mass, "kind": law.kind, "tolerance": law.tolerance, "notes": law.notes,
        "paths": [[outcome, path.mass, path.steps] for outcome, path in law.paths.items()], "runs": law.runs, "idealised": law.idealised, "raised": dict(examples),
    }  # fmt: skip
