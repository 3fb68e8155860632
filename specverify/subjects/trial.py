"""Calling a subject: once, or n times for the counts of its outcomes. Runs in the subject's interpreter."""

from __future__ import annotations

import functools
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from specverify.contracts import Array, Case, Contract, Malformed, expand, recast
from specverify.contracts.picks import at_random
from specverify.law import Outcome, freeze
from specverify.subjects import adapt, coins
from specverify.subjects.declare import Declaration
from specverify.subjects.draws import part, put_uniform, seed_everything
from specverify.subjects.judged import is_declared, judged

CLOCK_EVERY = 16
"""Draws between two looks at the clock: a look costs about as much as a thousandth of a draw."""


@dataclass
class Bound:
    """A declaration with its contract. `lifted` hands one row over as (1, V); two dull calls settle it before the first case.

    `unfollowed` says why an exploration was refused, so that laws of what takes coins are computed without it from then on.
    """

    declaration: Declaration
    contract: Contract
    lifted: bool = False
    settled: bool = False
    device: str = "cpu"
    unfollowed: str = ""

    def settle(self) -> Bound:
        """One row is (V,), unless the subject takes only (1, V). Other failures of the dull call are left to the properties."""
        if not self.settled and self.contract.row_parameters:
            self.settled = True  # first, so that a call that ends the process is not repeated for ever
            if not self._understood():
                self.lifted = True
                self.lifted = self._understood()
        return self

    def _understood(self) -> bool:
        """Whether the dull case gives a plausible outcome in the form of row that is set now."""
        dtype = self.declaration.dtypes[0]
        reply = call(self, {name: recast(value, dtype) for name, value in self.contract.smoke.items()})
        return reply["is"] == "value" and self.contract.plausible(reply["value"])

    def arguments(self, case: Case) -> list[Any]:
        """The case in the subject's world."""
        declared = self.declaration
        told = {**declared.conventions, "scratch": list(declared.later.get("scratch", ())), "many": declared.batch, "models": declared.models}  # type: ignore[call-overload]
        expanded = self.contract.prepare({**told, **{name: expand(value) for name, value in case.items()}})
        return adapt.arguments(self.contract, self.declaration, expanded, lifted=self.lifted, device=self.device)

    def options(self, seeds: random.Random, generator: Any, coins_: Any = None, case: Case | None = None) -> dict[str, Any]:
        """The keywords that carry the seed, the coins and what else the case may bring, if the subject declares them."""
        given = {} if case is None else self._optional(case, seeds)
        given |= {"coins": coins_} if self.declaration.rng == "coins" else {}
        if self.declaration.seed == "int":
            return {"seed": seeds.getrandbits(31), **given}
        return {"generator": generator, **given} if self.declaration.seed == "generator" else given

    def _optional(self, case: Case, seeds: random.Random) -> dict[str, Any]:
        """What it takes of the contract's optional arguments; seeds of the requests as generators where it declares so."""
        told, declared = self.contract.keywords(case, seeds), self.declaration
        given = {name: adapt.into(declared.arrays, value, self.device) for name, value in told.items() if name in declared.supports}
        if declared.rng == "generators" and isinstance(numbers := told.get("seeds"), Array):
            import torch

            given["generators"] = [torch.Generator(self.device).manual_seed(int(seed)) for seed in numbers.values]
        return given

    def ask(self, case: Case, values: Sequence[Any], options: Callable[[], dict[str, Any]]) -> Any:
        """What the subject gives, on arguments of its own; `options` makes the keywords of each call, of all calls at once where numbers are a function of seed and position."""
        each = functools.cache(options) if self.declaration.rng == "counter" else options
        return self.contract.play(case, values, lambda *given: self._once(given, each()))

    def _once(self, values: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """One call; what comes beside an object lies on it."""
        if not self.contract.bundles:
            return self.declaration.function(*values, **options)
        values[0].lend(options)
        return self.declaration.function(*values)

    def coins(self, case: Case, rng: random.Random, place: tuple[float, int] | None = None) -> tuple[Any, tuple[int, str]]:
        """Coins for one call, if it takes them; how many, and the dtype of the one that a value was put in the place of."""
        if self.declaration.rng != "coins":
            return None, (0, "")
        numbers = coins.drawn(self.contract, case, rng)
        told = coins.put(numbers, case, *place) if place else (0, "")
        return coins.given(self.declaration.arrays, case, numbers, self.device), told

    def generator(self, key: int) -> Any:
        """A torch.Generator for one stream, if the subject takes one."""
        if self.declaration.seed != "generator":
            return None
        import torch

        return torch.Generator(self.device).manual_seed(part(key, "generator"))

    def outcome(self, case: Case, value: object) -> Outcome:
        """The canonical outcome of a plain result, or Malformed."""
        told = {**self.declaration.conventions, "sentinel": self.declaration.later.get("sentinel"), "many": self.declaration.batch, **case}
        return self.contract.outcome(told, adapt.restored(case, self.contract, value, lifted=self.lifted))


def call(  # noqa: PLR0913  each is a field of the request
    bound: Bound,
    case: Case,
    *,
    key: int = 0,
    seed: int | None = None,
    put: tuple[float, int] | None = None,
    watch: bool = False,
    judge: bool = False,
    again: bool = False,
    raw: bool = False,
) -> dict[str, object]:
    """One call: {"is": "value" | "raised" | "malformed", …}.

    The seed or generator that is handed over comes from `seed`, where that is given, instead of `key`. With `watch`, also which inputs changed
    and whether the result shares memory; with `judge`, what a helper's postcondition and oracle say; with `again`, what a second call with the same objects gives;
    with `raw`, the result as it came, the keywords that were handed over, and whether one row was lifted.
    """
    values = bound.settle().arguments(case)
    before = adapt.copier(values)() if watch else []
    if bound.contract.random:
        seed_everything(key)
    given, placed = bound.coins({name: expand(value) for name, value in case.items()}, random.Random(part(key, "coins")), put)
    handed = key if seed is None else seed
    seeds, generator = random.Random(handed), bound.generator(handed)
    ask = lambda: bound.ask(case, values, lambda: bound.options(seeds, generator, given, case))  # noqa: E731
    none: Callable[[], tuple[int, str]] = lambda: placed  # noqa: E731
    with put_uniform(*put) if put and given is None else nullcontext(none) as told:
        reply, result = guarded(bound, case, ask)
        reply["uniforms"], reply["put"] = told()
    if watch:
        names = [parameter.name for parameter in bound.contract.handed]
        inside = values[0].written(adapt.plain) if bound.contract.bundles else []
        reply["changed"] = [name for name, old, new in zip(names, before, values, strict=True) if adapt.plain(old) != adapt.plain(new)] + inside
        reply["aliased"] = [name for name, value in zip(names, values, strict=True) if _shares(value, result)]
    if again and reply["is"] == "value":
        reply["again"] = guarded(bound, case, ask)[0]
    if raw:
        keywords = bound.options(random.Random(handed), part(handed, "generator"), given, case)
        reply["raw"] = {"result": adapt.plain(result), "keywords": [[name, adapt.plain(value)] for name, value in keywords.items()], "lifted": bound.lifted}
    if judge and reply["is"] == "value":
        reply["judged"] = judged(bound.declaration, lambda: bound.arguments(case), result, lambda plain: bound.outcome(case, plain))
    return reply


def guarded(bound: Bound, case: Case, function: Callable[[], object]) -> tuple[dict[str, object], object]:
    """Run, and turn whatever happens into a reply; the raw result comes second."""
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001  sys.exit and KeyboardInterrupt of a subject are outcomes
        return {**adapt.raised(error), "declared": is_declared(bound.declaration, error)}, None
    try:
        return {"is": "value", "value": bound.outcome(case, adapt.plain(result))}, result
    except Malformed as error:
        return {"is": "malformed", "sentence": str(error)}, result
    except Exception as error:  # noqa: BLE001  an object that cannot be read as any array or number
        return {"is": "malformed", "sentence": f"the result cannot be read ({type(error).__name__})"}, result


def _shares(value: object, result: object) -> bool:
    """Whether the result is the argument itself or a view of its storage."""
    if isinstance(value, (int, float, str)) or value is None:
        return False
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and isinstance(result, torch.Tensor):
        return bool(value.numel()) and value.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()
    return value is result


def sample(bound: Bound, case: Case, *, n: int, key: int, spans: int = 1, seconds: float = 60.0) -> dict[str, object]:
    """Counts of n outcomes of one seeded stream.

    The tool's own draws (drafts from q, completions from p, seeds) come from a `random.Random` of the key, never from the
    subject's generators. With spans > 1 an outcome is the tuple of that many successive calls.

    Returns:
        {"counts": [[outcome, count], …], "drawn": draws made, "raised": {type: first example}}; fewer than n where `seconds` ran out.
    """
    ours = random.Random(f"specverify/{key}")
    draw = _drawer(bound.settle(), case, ours, bound.generator(key))
    seed_everything(key)
    counts: dict[Outcome, int] = {}
    examples: dict[str, object] = {}
    end, drawn = time.monotonic() + seconds, 0
    while drawn < n and (drawn % CLOCK_EVERY or time.monotonic() < end):
        outcome = draw(examples) if spans == 1 else tuple(draw(examples) for _ in range(spans))
        counts[outcome] = counts.get(outcome, 0) + 1
        drawn += 1
    return {"counts": [[outcome, count] for outcome, count in counts.items()], "drawn": drawn, "raised": examples}


def _drawer(bound: Bound, case: Case, ours: random.Random, generator: Any) -> Callable[[dict[str, object]], Outcome]:
    """One draw as a function: what does not change between draws is made once."""
    case = {name: expand(value) for name, value in case.items()}
    stream = bound.contract.stream(case)
    fixed = adapt.copier(bound.arguments({**bound.contract.blank(), **case}))
    pick = at_random(ours)
    slots = {parameter.name: i for i, parameter in enumerate(bound.contract.parameters)}

    def draw(examples: dict[str, object]) -> Outcome:
        drawn = stream.draw(pick)
        values = bound.arguments({**case, **drawn}) if bound.contract.bundles else fixed()
        for name, value in drawn.items() if not bound.contract.bundles else ():
            values[slots[name]] = adapt.into(bound.declaration.arrays, value, bound.device)
        reply, _ = guarded(bound, {**case, **drawn}, lambda: bound.ask(case, values, lambda: bound.options(ours, generator, bound.coins(case, ours)[0], case)))
        return stream.finish(pick, drawn, as_outcome(reply, examples))

    return draw


def as_outcome(reply: Mapping[str, object], examples: dict[str, object]) -> Outcome:
    """A reply as an outcome; the first example of each exception is kept."""
    match reply:
        case {"is": "value", "value": Array() as value}:
            return value
        case {"is": "value", "value": value}:
            return freeze(value)
        case {"is": "raised", "type": str(name)}:
            examples.setdefault(name, dict(reply))
            return ("raised", name)
        case _:
            return ("malformed", reply["sentence"])
