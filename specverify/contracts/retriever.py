"""`retriever`: what followed the longest suffix of a context in a corpus, as the heaviest beginnings of continuations.

A store that is built once and searched often is bound through an adapter of a few lines:

    @sv.subject("retriever")
    def retriever(corpus, context, n_min, n_max, m, budget):
        store = Store.build(corpus)
        return store.search(context, n_min=n_min, n_max=n_max, longest=m, most=budget)

A candidate is a pair (ids, weight), its weight the number of occurrences that go on so; a mapping from tuples of ids to weights is welcome too. A subject that tells
no weights declares `conventions={"weights": "none"}` and may return bare lists of ids; one that returns the longest paths of its tree alone declares `"prefixes": "leaves"`:
their beginnings are then counted in. One that looks at some of the occurrences only declares how many, as in `"cap": 5000`.
"""

from __future__ import annotations

from specverify.contracts.arrays import FLOATS, Array
from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, check_names, kind_of, outside
from specverify.contracts.nodes import LARGEST_ID, are_ids, is_int
from specverify.law import Outcome


def _check(case: Case) -> None:
    check_names("retriever", case, ("corpus", "context", "n_min", "n_max", "m", "budget"))
    corpus = case["corpus"]
    if not isinstance(corpus, list) or not all(map(are_ids, corpus)):
        raise outside("retriever", f"corpus must be a list of lists of ids, 0 … {LARGEST_ID}")
    if not are_ids(case["context"]):
        raise outside("retriever", f"context must be a list of ids, 0 … {LARGEST_ID}")
    sizes = [case[name] for name in ("n_min", "n_max", "m", "budget")]
    if not all(is_int(size) and size >= 1 for size in sizes) or sizes[0] > sizes[1]:  # type: ignore[operator]
        raise outside("retriever", "n_min, n_max, m and budget must be ints of at least 1, and n_min at most n_max")


def _outcome(_case: Case, result: object) -> Outcome:
    """((ids, weight), …) in the order given, a weight None where there is none; None is nothing found."""
    result = _listed([] if result is None else result)
    if not isinstance(result, (list, tuple)):
        raise Malformed(f"the result is no list of (ids, weight) but {kind_of(result)}")
    return tuple(map(_candidate, result))


def _candidate(entry: object) -> tuple[tuple[int, ...], int | float | None]:
    """One pair, or bare ids."""
    entry = _listed(entry)
    if not isinstance(entry, (list, tuple)):
        raise Malformed(f"a candidate is no pair (ids, weight) but {kind_of(entry)}")
    first = _listed(entry[0]) if entry else None
    if not isinstance(first, (list, tuple)):
        return _ids(entry), None
    if len(entry) != 2:  # noqa: PLR2004  ids, weight
        raise Malformed(f"a candidate has {len(entry)} parts instead of ids and a weight")
    return _ids(first), _weight(entry[1])


def _ids(value: list[object] | tuple[object, ...]) -> tuple[int, ...]:
    for item in value:
        if not is_int(item):
            raise Malformed(f"among the ids of a candidate is {kind_of(item)}")
    return tuple(value)  # type: ignore[arg-type]


def _weight(value: object) -> int | float | None:
    """Whole numbers as ints, whatever they came as."""
    if isinstance(value, Array) and len(value.values) == 1:
        value = value.values[0]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _listed(value: object) -> object:
    return value.nested() if isinstance(value, Array) and value.dtype not in FLOATS and value.dtype != "bool" else value


CONTRACT = Contract(
    name="retriever",
    prefix="RTR",
    sentence="Finds the longest suffix of a context in a corpus, and returns the heaviest beginnings of what followed it there.",
    parameters=(
        Parameter("corpus", "list of lists of ints", "documents, which may be empty; the datastore is built from them"),
        Parameter("context", "list of ints", "the text so far"),
        Parameter("n_min", "int", "shortest suffix that is looked for, at least 1"),
        Parameter("n_max", "int", "longest one"),
        Parameter("m", "int", "ids of a continuation at most"),
        Parameter("budget", "int", "candidates at most, the nodes of the draft tree"),
    ),
    returns="[(ids, weight), …] in any order; empty where nothing matches",
    right="with every beginning of up to m ids of what follows the longest suffix inside one document, its number of occurrences: the `budget` heaviest",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"corpus": [[1, 2, 3], [2, 3]], "context": [1, 2], "n_min": 1, "n_max": 2, "m": 2, "budget": 4},
    conventions={
        "weights": Convention("whether weights are numbers of occurrences, or not told", ("counts", "none")),
        "prefixes": Convention("whether each beginning of a candidate is a candidate, or the longest are returned alone", ("closed", "leaves")),
        "cap": Convention("the number of occurrences that are looked at, where there are more"),
    },
    equivalents=("Reader.search", "Rest.retrieve", "retrieve_draft"),
)
