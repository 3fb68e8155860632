"""Declaring a subject: the decorator of a subjects file, and what it records. Runs in the subject's interpreter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from specverify.errors import SpecverifyError, unknown
from specverify.subjects.domain import Range, as_data

F = TypeVar("F", bound=Callable[..., object])

CLAIMS = ("lossless", "greedy-exact", "pathwise", "bitwise")
RULES = ("standard", "sample-and-match", "block")
ARRAYS = ("torch", "numpy", "list")
SEEDS = (None, "int", "generator")
RNGS = (None, "coins", "generator", "generators", "counter", "global")
DEVICES = ("cpu", "cuda")
DTYPES = ("float64", "float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Declaration:
    """A callable bound to a contract, with what it says of itself; the fields are the options of `subject`."""

    function: Callable[..., object]
    contract: str
    name: str
    claim: str = "lossless"
    rule: str | None = None
    arrays: str = "torch"
    dtypes: tuple[str, ...] = ("float32",)
    devices: tuple[str, ...] = ("cpu",)
    batch: bool = False
    seed: str | None = None
    rng: str | None = None
    mutates: tuple[str, ...] = ()
    refuses: bool = False
    conventions: Mapping[str, object] = field(default_factory=dict)
    domain: Mapping[str, Mapping[str, Any]] | None = None
    ensures: Callable[..., object] | None = None
    oracle: Callable[..., object] | None = None
    raises: tuple[type[BaseException] | str, ...] = ()
    supports: tuple[str, ...] = ()
    memory: int | None = None
    slots: int | None = None
    siblings: str | None = None
    models: str | None = None
    later: Mapping[str, object] = field(default_factory=dict)


DECLARED: list[Declaration] = []
"""What the files loaded so far have declared, in order; the worker empties it before it loads one."""


def subject(  # noqa: PLR0913  the options of interfaces.md, each a keyword
    contract: str,
    *,
    claim: str = "lossless",
    rule: str | None = None,
    arrays: str = "torch",
    dtypes: tuple[str, ...] = ("float32",),
    devices: tuple[str, ...] = ("cpu",),
    batch: bool = False,
    seed: str | None = None,
    mutates: tuple[str, ...] = (),
    scratch: tuple[str, ...] = (),
    sentinel: int | None = None,
    refuses: bool = False,
    rng: str | None = None,
    peek: Callable[[int, int], float] | None = None,
    siblings: str | None = None,
    models: str | None = None,
    conventions: Mapping[str, object] | None = None,
    domain: Mapping[str, Range] | None = None,
    ensures: Callable[..., object] | None = None,
    oracle: Callable[..., object] | None = None,
    raises: tuple[type[BaseException] | str, ...] = (),
    supports: tuple[str, ...] = (),
    slots: int | None = None,
    memory: int | None = None,
    name: str | None = None,
) -> Callable[[F], F]:
    """Bind a callable to a contract; use it as a decorator or call it on an existing function.

    Args:
        contract: name of the contract, see `specverify list`.
        claim: "lossless", "greedy-exact", "pathwise", "bitwise" or "lossy(NAME)".
        rule: of a verify step: "standard", "sample-and-match" or "block"; None: only the law of the tokens is judged.
        arrays: what it is called with: "torch", "numpy" or "list".
        dtypes: floating dtypes that it takes.
        devices: "cpu", "cuda".
        batch: whether it takes rows (B, V) beside one row, many numbers beside one; a step p (B, gamma + 1, V) and so on, and gives ids (B, gamma + 1) with -1 behind a
            row's end, or these and the accepted lengths (B,).
        seed: None (draws from the global generators), "int" (takes `seed=`) or "generator" (takes `generator=`).
        rng: "coins" where it takes its uniform numbers as `coins=`, a one-dimensional array of the rows' dtype (single precision for half); the contract says how
            many, and a packed batch as `batch.coins`. "generators" where a batch takes `generators=`, a torch.Generator for each request. "counter" where numbers are a
            function of seed and position: all calls of a case then get one seed. The other words of the page on contracts ("generator", "global") are recorded.
        peek: of rng="counter" with seed="int": called with a seed and a position, the uniform number that the subject has there; each decision of a step is checked by it.
        mutates: arguments that it may write into.
        refuses: whether invalid input raises.
        conventions: what the contract leaves free, by the keys that it lists.
        domain: of a helper: the range of each argument, in the order of the call, by `sv.ints`, `sv.floats`, `sv.lists`, `sv.tensors`.
        ensures: of a helper: a postcondition, called with its arguments and then its result; True or None is well, False or a sentence is not.
        oracle: of a helper: returns the right result for the same arguments.
        raises: of a helper: exceptions that belong to what it promises, as types or by name.
        supports: which of the contract's features it has; of `seeding`, none declared is all that are there. Of a batch: the keywords that it takes besides, such as "seeds",
            each (B,).
        slots: how many copies may run at once.
        memory: address space in bytes; None is 2 GB on the CPU.
        name: how reports call it; the function's name by default.
        siblings: how the children of a node were drawn, of a step on trees: "with-replacement", "without-replacement", or "deterministic" (then q is None).
        sentinel: of a batch: what fills unused output slots; any number that is no token id if nothing is declared.
        scratch: of a packed batch: the buffers of `batch.scratch` that may hold anything; the others are zero.
        models: the form of models that a loop takes: "callable" (from a prefix, any sequence of ids, to the row (V,) of probabilities; the default), "module" (a
            torch.nn.Module from ids (B, T) to logits (B, T, V), without a cache), "transformers" (a PreTrainedModel with generate() and a real cache), "seq2seq" (the same
            with an encoder, which reads the prompt; the decoder starts with the id V), "whisper" (the same with Whisper's own generate(); the prompt is log-mel features, and the
            decoder starts with its configuration's decoder_start_token_id).

    Returns:
        A decorator that records the callable and returns it unchanged.

    Raises:
        SpecverifyError: an unknown contract, option or value, with the nearest known one.
    """
    options = {
        "claim": _claim(claim),
        "rule": _one_of("rule", rule, (None, *RULES)),
        "arrays": _one_of("kind of arrays", arrays, ARRAYS),
        "dtypes": _each("dtype", dtypes, DTYPES),
        "devices": _each("device", devices, DEVICES),
        "batch": batch,
        "seed": _one_of("seed", seed, SEEDS),
        "rng": _rng(contract, rng),
        "mutates": tuple(mutates),
        "refuses": refuses,
        "conventions": _conventions(contract, conventions or {}),
        **_of_a_helper(contract, domain, ensures, oracle, raises),
        "domain": None if domain is None else as_data(domain, dtypes),
        "supports": _supports(contract, supports),
        "memory": memory,
        "slots": slots,
        "siblings": _siblings(contract, siblings),
        "models": _models(models, batch=batch),
    }
    later = {"scratch": scratch, "sentinel": sentinel, "peek": _peek(peek, rng, seed)}
    _check_together(arrays, dtypes, seed)

    def declare(function: F) -> F:
        if not callable(function):
            raise SpecverifyError(f"{name or function!r} is no callable.", hint="Bind a function, or a class where the contract has state.")
        called = name or getattr(function, "__name__", type(function).__name__)
        DECLARED.append(Declaration(function, contract, called, later={k: v for k, v in later.items() if v not in (None, ())}, **options))  # type: ignore[arg-type]
        return function

    return declare


def location(function: Callable[..., object]) -> tuple[str, int]:
    """File and first line of a callable, ("", 0) where Python does not know them."""
    import inspect

    try:
        target = inspect.unwrap(function)
        return inspect.getsourcefile(target) or "", inspect.getsourcelines(target)[1]
    except (TypeError, OSError):
        return "", 0


def _claim(claim: str) -> str:
    if claim in CLAIMS or re.fullmatch(r"lossy\(.+\)", claim):
        return claim
    raise unknown("claim", claim, (*CLAIMS, "lossy(NAME)"))


def _one_of(what: str, value: str | None, choices: tuple[str | None, ...]) -> str | None:
    if value not in choices:
        raise unknown(what, str(value), [str(choice) for choice in choices])
    return value


def _peek(peek: object, rng: str | None, seed: str | None) -> object:
    """The option, checked: numbers are told by the seed that the subject is called with."""
    if peek is not None and not callable(peek):
        raise SpecverifyError(f"peek must be a callable, not {peek!r}.", hint="It takes a seed and a position, and returns the uniform number in [0, 1).")
    if peek is not None and (rng != "counter" or seed != "int"):
        raise SpecverifyError("peek tells the numbers of a counter-based generator by their seed.", hint='Declare rng="counter" and seed="int" as well.')
    return peek


def _siblings(name: str, siblings: str | None) -> str | None:
    """The option, checked: the law of a step on trees depends on it."""
    from specverify.contracts.verify_tree import SIBLINGS, TAKEN_BY  # here, so that `import specverify` takes milliseconds

    if name in TAKEN_BY and siblings is None:
        raise SpecverifyError(f"{name} needs to know how siblings were drawn.", hint=f"Declare siblings, one of {', '.join(SIBLINGS)}.")
    return _one_of("way to draw siblings", siblings, (None, *SIBLINGS))


def _models(form: str | None, *, batch: bool) -> str | None:
    from specverify.models import FORMS  # here, so that `import specverify` takes milliseconds

    if form == "whisper" and batch:
        raise SpecverifyError(
            'A loop on models="whisper" gets one prompt a call.', hint="Leave batch=True out; the adapter may call the loop with a batch of one."
        )
    return _one_of("form of models", form, (None, *FORMS))


def _rng(name: str, rng: str | None) -> str | None:
    from specverify.contracts import CONTRACTS, contract  # here, so that `import specverify` takes milliseconds

    if _one_of("rng", rng, RNGS) == "coins" and contract(name).coins is None:
        takers = ", ".join(one.name for one in CONTRACTS.values() if one.coins is not None)
        raise SpecverifyError(f"{name} takes no coins.", hint=f"These contracts do: {takers}.")
    return rng


def _each(what: str, values: Sequence[str], choices: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(values, str) or not values:
        raise SpecverifyError(f"{what}s must be a tuple of names, not {values!r}.", hint=f"Write {what}s=({choices[0]!r},).")
    for value in values:
        _one_of(what, value, choices)
    return tuple(values)


def _conventions(name: str, conventions: Mapping[str, object]) -> dict[str, object]:
    from specverify.contracts import contract  # here, so that `import specverify` takes milliseconds

    known = contract(name).conventions
    for key, value in conventions.items():
        if key not in known:
            raise unknown(f"convention of {name}", key, known or ["(none)"])
        if known[key].values:
            _one_of(f"value of {key}", str(value), known[key].values)
        elif not isinstance(value, (int, float)) or isinstance(value, bool):
            raise SpecverifyError(f"The convention {key} takes a number, not {value!r}.", hint=f"It is {known[key].meaning}.")
    return dict(conventions)


def _supports(name: str, supports: Sequence[str]) -> tuple[str, ...]:
    from specverify.contracts import contract  # here, so that `import specverify` takes milliseconds

    if isinstance(supports, str):
        raise SpecverifyError(f"supports must be a tuple of names, not {supports!r}.", hint=f"Write supports=({supports!r},).")
    known = contract(name).features
    for feature in supports:
        if feature not in known:
            raise unknown(f"feature of {name}", feature, known or ["(none)"])
    return tuple(supports)


def _of_a_helper(contract: str, domain: object, ensures: object, oracle: object, raises: tuple[type[BaseException] | str, ...]) -> dict[str, object]:
    """The options of a helper alone, checked: it must have a domain; every other contract knows its own."""
    given = [name for name, value in (("domain", domain), ("ensures", ensures), ("oracle", oracle), ("raises", raises)) if value not in (None, ())]
    if contract != "helper" and given:
        raise SpecverifyError(f"{contract} takes no {given[0]}; that is of helpers.", hint="The contract says what is right; leave the option out.")
    if contract == "helper" and domain is None:
        raise SpecverifyError("A helper needs the domain of its arguments.", hint='Write domain={"n": sv.ints(0, 8), "path": sv.lists(sv.ints(0, 40))}.')
    for what, function in (("ensures", ensures), ("oracle", oracle)):
        if function is not None and not callable(function):
            raise SpecverifyError(f"{what} must be a callable, not {function!r}.", hint="It takes the helper's arguments; see `specverify list helper`.")
    if not isinstance(raises, tuple) or not all(isinstance(one, str) or (isinstance(one, type) and issubclass(one, BaseException)) for one in raises):
        raise SpecverifyError(
            f"raises must be a tuple of exceptions, not {raises!r}.", hint='Write raises=(ValueError,), or their names, such as ("ValueError",).'
        )
    return {"ensures": ensures, "oracle": oracle, "raises": raises}


def _check_together(arrays: str, dtypes: tuple[str, ...], seed: str | None) -> None:
    if arrays != "torch" and "bfloat16" in dtypes:
        raise SpecverifyError(f"{arrays} has no bfloat16.", hint='Leave it out of dtypes, or declare arrays="torch".')
    if arrays != "torch" and seed == "generator":
        raise SpecverifyError('seed="generator" hands over a torch.Generator.', hint='Declare arrays="torch", or seed="int".')
