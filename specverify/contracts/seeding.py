"""`seeding`: seeds every generator, then draws.

A function that only seeds is bound through an adapter of two lines:

    @sv.subject("seeding")
    def seeding(seed, draw):
        seed_everything(seed)
        return draw()

`draw` takes no argument and returns a few numbers of each global generator that the subject's interpreter has loaded. A subject that promises fewer than all of
them says so, as in `supports=("torch",)`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence

from specverify.contracts.base import Case, Contract, Malformed, Parameter, check_names, outside
from specverify.law import Outcome

LARGEST_SEED = 2**32 - 1
"""The largest that numpy's legacy generator takes."""
DRAWS, BITS = 4, 62
"""Numbers drawn from each generator, and their bits: two right sequences agree by chance once in 2^248."""


def _torch() -> list[int]:
    return [int(x) for x in sys.modules["torch"].randint(0, 2**BITS, (DRAWS,), device="cpu").tolist()]


def _numpy() -> list[int]:
    return [int(x) for x in sys.modules["numpy"].random.randint(0, 2**BITS, DRAWS, dtype="int64")]


def _random() -> list[int]:
    return [random.getrandbits(BITS) for _ in range(DRAWS)]


GENERATORS: dict[str, Callable[[], list[int]]] = {"torch": _torch, "numpy": _numpy, "random": _random}
"""How to draw from each global generator, by the name of its module; numpy's is the legacy one."""


def _prepare(case: Case) -> Case:
    """The names of generators as a function that draws from those which are loaded when it is called."""
    names = case["draw"]
    assert isinstance(names, list)

    def draw() -> list[list[object]]:
        return [[name, GENERATORS[name]()] for name in names if name in sys.modules]

    return {**case, "draw": draw}


def _check(case: Case) -> None:
    check_names("seeding", case, ("seed", "draw"))
    seed, names = case["seed"], case["draw"]
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= LARGEST_SEED:
        raise outside("seeding", f"seed must be an int from 0 to {LARGEST_SEED}")
    if not isinstance(names, list) or not names or len(set(names)) < len(names) or not set(names) <= set(GENERATORS):
        raise outside("seeding", f"draw must be a list of different names out of {', '.join(GENERATORS)}")


def _outcome(case: Case, result: object) -> Outcome:
    """((name, numbers), …), as `draw` gave it."""
    names = case["draw"]
    assert isinstance(names, list)
    if not isinstance(result, Sequence) or not all(_is_entry(entry) for entry in result) or [entry[0] for entry in result] not in _loaded(names):
        raise Malformed("the result is not what draw() returned")
    return tuple((name, tuple(numbers)) for name, numbers in result)


def _is_entry(entry: object) -> bool:
    match entry:
        case [str(), [*numbers]]:
            return len(numbers) == DRAWS and all(isinstance(x, int) and not isinstance(x, bool) for x in numbers)
        case _:
            return False


def _loaded(names: list[str]) -> list[list[str]]:
    """What a draw may hold: the wanted generators without those that are absent; `random` always is there."""
    absent: tuple[list[str], ...] = ([], ["torch"], ["numpy"], ["torch", "numpy"])
    return [[name for name in names if name not in missing] for missing in absent]


CONTRACT = Contract(
    name="seeding",
    prefix="SED",
    sentence="Seeds every random generator, then draws.",
    parameters=(
        Parameter("seed", "int", "0 … 2^32 - 1"),
        Parameter("draw", "() -> draws", "to be called after seeding; returns a few numbers of each generator"),
    ),
    returns="what draw() returned",
    right="same seed, same draws; different seeds, different ones: for torch, numpy and random, or those declared in supports",
    random=True,
    check=_check,
    outcome=_outcome,
    smoke={"seed": 1, "draw": list(GENERATORS)},
    equivalents=("seed_everything", "set_seed"),
    features=tuple(GENERATORS),
    prepare=_prepare,
)
