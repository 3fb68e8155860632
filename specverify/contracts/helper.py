"""`helper`: any pure function, with its domain as data and, if wanted, a postcondition or an oracle.

    @sv.subject("helper", domain={"path": sv.lists(sv.ints(0, 40)), "n": sv.ints(1, 4)}, oracle=windows_by_hand, raises=(ValueError,))
    def windows(path, n): ...

It is called with one value per entry of its domain, in that order. `ensures` is called with the same arguments and then the result: it returns True or None
where all is well, False or a sentence where not. `oracle` is called with the same arguments and returns the right result. `raises` names the exceptions that are
part of the helper's promise: one of them is right wherever it comes. All three run in the worker, on fresh copies of the arguments.

A result is compared with the oracle's number by number, in nested lists, tuples and arrays of one shape, mappings by their keys: ints, bools and strings exactly;
floats within 64 eps of the largest magnitude among both results and the floats of the case, eps being that of the coarsest floating dtype in the three; NaN equals NaN,
an infinity itself. Who needs more, or has a sum that cancels further, writes `ensures`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from specverify.contracts.base import Case, Contract, Opaque, Parameter, check_names, outside
from specverify.contracts.ranges import Range, contains, smallest
from specverify.law import Outcome, freeze


def _outcome(_case: Case, result: object) -> Outcome:
    """Whether every part of the result can be compared, and the result."""
    return (not _opaque(result), freeze(result))


def _opaque(result: object) -> bool:
    return isinstance(result, Opaque) or (isinstance(result, (list, tuple)) and any(map(_opaque, result)))


def _check(domain: Mapping[str, Range], case: Case) -> None:
    check_names("helper", case, tuple(domain))
    axes: dict[str, int] = {}
    for name, told in domain.items():
        if not contains(told, case[name], axes):
            raise outside("helper", f"{name} does not lie within the domain that the subject declares")


def fitted(contract: Contract, domain: Mapping[str, Range] | None) -> Contract:
    """The contract of one subject: a helper's takes what its domain names; every other is as it is."""
    if domain is None:
        return contract
    parameters = tuple(Parameter(name, told["kind"], "as the subject declares") for name, told in domain.items())
    return replace(contract, parameters=parameters, check=partial(_check, domain), smoke={name: smallest(told) for name, told in domain.items()})


CONTRACT = Contract(
    name="helper",
    prefix="HLP",
    sentence="A pure function, judged on the domain that it declares.",
    parameters=(Parameter("…", "", "one argument per entry of the declared domain"),),
    returns="anything; what is to be compared, as numbers, strings, arrays, lists, tuples and dicts",
    right="what the declared postcondition and oracle say; no exception but the declared ones; equal arguments give equal results",
    random=False,
    check=partial(_check, {}),
    outcome=_outcome,
    smoke={},
    equivalents=("the small functions of a repository",),
)
