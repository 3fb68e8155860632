"""What a contract is: the interface that a subject fills, as data and a few small functions. Standard library only."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from specverify.contracts.arrays import FLOATS, Array
from specverify.contracts.copies import Copies
from specverify.contracts.families import Family, expand
from specverify.contracts.picks import Pick
from specverify.errors import SpecverifyError
from specverify.law import Outcome

if TYPE_CHECKING:
    from specverify.contracts.coins import Coins

Case = Mapping[str, object]
"""One input: argument name to Array, Family, int, float or list of ints. Data, never objects of a subject's world."""

Generator = random.Random
"""Of the tool's own draws."""

ROW_SUM_TOLERANCE = 0.02
"""Rows of our own making are rounded from exact fractions; half precision moves a sum by at most eps / 2 = 2^-8."""


class Malformed(Exception):
    """A subject's result that is not of the contract's form; its text is the sentence shown."""


class Opaque(str):
    """A type's name in angle brackets, in the place of a value that is no data."""

    __slots__ = ()


@dataclass(frozen=True)
class Parameter:
    """One argument of a contract: its name, its shape as text, what it means."""

    name: str
    shape: str
    meaning: str


@dataclass(frozen=True)
class Convention:
    """Something that a contract leaves free: what it is, and the words that may be declared (none: a number)."""

    meaning: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stream:
    """What the tool itself draws around one call when a law is observed, through picks that are its own.

    Attributes:
        draw: extra arguments for one call, such as draft tokens drawn from q.
        finish: the outcome of one draw, from those arguments and the call's outcome.
    """

    draw: Callable[[Pick], dict[str, object]] = field(default=lambda _: {})
    finish: Callable[[Pick, Mapping[str, object], Outcome], Outcome] = field(default=lambda _pick, _drawn, outcome: outcome)


@dataclass(frozen=True)
class Contract:
    """The interface that a subject fills.

    Attributes:
        name: as in `subject(name)`.
        prefix: of the ids of its properties.
        sentence: what a subject of it does.
        parameters: in the order in which the subject is called.
        optional: keywords that a subject is called with where it declares in `supports` that it takes them.
        returns: the result, as text with its shape.
        right: the right value or law.
        random: whether it draws.
        conventions: what it leaves free.
        equivalents: names met in the wild.
        check: refuses a case outside the domain, with SpecverifyError.
        outcome: (case, plain result) to the canonical outcome, or Malformed; the subject's conventions and sentinel stand in the case then.
        smoke: a lawful, dull case for a first call.
        row_parameters: the arguments that may be one row (V,), where a subject may insist on (1, V).
        stream: the tool's own draws around a call, for contracts that draw.
        copies: what the tool draws around each copy of a case in a batch, for contracts whose subjects may take many at once; none for the others.
        plausible: whether the smoke case's outcome shows that the subject understood the form of its argument.
        features: what `supports` may name.
        coins: uniform numbers that a call may take as an argument, or none.
        calls: of the subject in a case, where they are not one; each has the time limit of a call.
        outcomes: how many a case's law has before the tool's completions; none where the supports of its rows tell.
        prepare: run in the worker before a call: turns data of a case into what only lives there, such as a function.
        widest: outcomes of the rows of a case up to which its law is explored, where it is not the usual number.
        bundles: whether its one argument is an object on which what others take as keywords lies.
        keywords: the values of all optional arguments, those that the case lacks drawn from the tool's own generator.
        play: (case, arguments, subject) to the result, for contracts that call the subject more than once; `subject` takes the arguments of one call.
        material: what `play` gets as arguments besides, for the methods of an object that the subject makes.
    """

    name: str
    prefix: str
    sentence: str
    parameters: tuple[Parameter, ...]
    returns: str
    right: str
    random: bool
    check: Callable[[Case], None]
    outcome: Callable[[Case, object], Outcome]
    smoke: Case
    conventions: Mapping[str, Convention] = field(default_factory=dict)
    equivalents: tuple[str, ...] = ()
    row_parameters: tuple[str, ...] = ()
    stream: Callable[[Case], Stream] = field(default=lambda _case: Stream())
    copies: Callable[[Case], Copies] | None = None
    plausible: Callable[[Outcome], bool] = field(default=lambda _outcome: True)
    features: tuple[str, ...] = ()
    coins: Coins | None = None
    outcomes: Callable[[Case], int] | None = None
    calls: Callable[[Case], int] | None = None
    prepare: Callable[[Case], Case] = field(default=lambda case: case)
    optional: tuple[Parameter, ...] = ()
    widest: int | None = None
    bundles: bool = False
    keywords: Callable[[Case, Generator], dict[str, object]] = field(default=lambda _case, _rng: {})
    play: Callable[[Case, Sequence[Any], Callable[..., Any]], Any] = field(default=lambda _case, values, subject: subject(*values))
    material: tuple[Parameter, ...] = ()

    @property
    def handed(self) -> tuple[Parameter, ...]:
        """All that comes to the subject's world as arguments, those of its methods behind its own."""
        return (*self.parameters, *self.material)

    def blank(self) -> dict[str, object]:
        """An empty array for each argument: what stands for those that the tool draws, before it has drawn them."""
        return {parameter.name: Array("int64", (0,), b"") for parameter in self.parameters}

    @property
    def signature(self) -> str:
        """Its canonical call, such as "(path, length, pad)"."""
        return f"({', '.join(parameter.name for parameter in self.parameters)})"


def outside(contract: str, what: str) -> SpecverifyError:
    """The error for a case that is not of the contract's domain."""
    return SpecverifyError(f"This is no case of {contract}: {what}.", hint=f"`specverify list {contract}` shows its parameters.")


def check_names(contract: str, case: Case, names: tuple[str, ...]) -> None:
    """Refuse missing and foreign arguments."""
    if set(case) != set(names):
        raise outside(contract, f"it takes {', '.join(names)}, not {', '.join(sorted(case))}")


def float_array(contract: str, case: Case, name: str) -> Array:
    """The argument as an array of floats with at least one axis and one entry."""
    value = expand(case[name])
    if not isinstance(value, Array) or value.dtype not in FLOATS or not value.shape or 0 in value.shape[-1:]:
        raise outside(contract, f"{name} must be a floating-point array of shape (..., V)")
    return value


def array_of(case: Case, name: str) -> Array:
    """An argument that is an array, a family expanded."""
    value = expand(case[name])
    assert isinstance(value, Array)
    return value


def probability_rows(contract: str, case: Case, name: str) -> Array:
    """The argument as rows of probabilities."""
    rows = float_array(contract, case, name)
    for row in rows.rows():
        if not all(0 <= x <= 1 for x in row) or abs(math.fsum(row) - 1) > ROW_SUM_TOLERANCE:
            raise outside(contract, f"a row of {name} is no probability distribution")
    return rows


def kind_of(value: object) -> str:
    """What a plain result is, in a word or two."""
    if isinstance(value, Opaque):
        return value.strip("<>")
    return f"an array of {value.dtype}" if isinstance(value, Array) else type(value).__name__


def token_list(value: object) -> list[int]:
    """A plain result as a flat list of ints, or Malformed."""
    if isinstance(value, Array):
        if value.dtype in FLOATS or value.dtype == "bool":
            raise Malformed(f"token ids came as {value.dtype}, not as integers")
        return [int(x) for x in value.values]
    if isinstance(value, bool) or not isinstance(value, (int, list, tuple)):
        raise Malformed(f"token ids came as {kind_of(value)}")
    if isinstance(value, int):
        return [value]
    return [token for item in value for token in token_list(item)]


def digest(case: Case) -> str:
    """A short name of the case: equal cases have equal digests, on every machine."""
    mix = hashlib.blake2b(digest_size=8)
    for name in sorted(case):
        mix.update(f"{name}={_canonical(case[name])};".encode())
    return mix.hexdigest()


def _canonical(value: object) -> str:
    match value:
        case Array(dtype, shape, data):
            return f"{dtype}{shape}{data.hex()}"
        case Family(name, seed, dtype, shape):
            return f"{name}/{seed}/{dtype}{shape}"
        case _:
            return repr(value)
