"""`tree_buffers`: candidate paths as the buffers of a draft tree: who attends to whom, at which position, and the branches.

Nodes stand in whatever order the subject likes, so buffers are right up to a relabelling of nodes. A subject that gives a fourth part, the token of each node in
its order, (n,), has its labels judged too. One whose tree begins with a node for the context cuts that off in an adapter:

    @sv.subject("tree_buffers")
    def buffers(paths):
        found = generate(paths)
        return found.mask[1:, 1:], found.positions[1:], found.retrieve[:, 1:] - 1  # with pads of -1: (r > 0) * r - 1
"""

from __future__ import annotations

from specverify.contracts.base import Case, Contract, Convention, Malformed, Parameter, check_names, kind_of, outside
from specverify.contracts.nodes import LARGEST_ID, are_ids, ints, listed, parts
from specverify.law import Outcome

PARTS = ("mask", "positions", "retrieve", "tokens")


def _check(case: Case) -> None:
    check_names("tree_buffers", case, ("paths",))
    paths = case["paths"]
    if not isinstance(paths, list) or not all(map(are_ids, paths)):
        raise outside("tree_buffers", f"paths must be a list of lists of ids, 0 … {LARGEST_ID}")


def _outcome(_case: Case, result: object) -> Outcome:
    """(mask, positions, rows of retrieve, tokens) as nested tuples; tokens None where they are not given."""
    given = parts(PARTS, result, 3)
    mask, positions = _mask(given[0]), ints("positions", given[1])
    tokens = ints("tokens", given[3]) if len(given) == len(PARTS) else None
    for name, row in (("positions", positions), ("tokens", tokens)):
        if row is not None and len(row) != len(mask):
            raise Malformed(f"the mask is of {len(mask)} nodes, and {name} of {len(row)}")
    return mask, positions, _rows(given[2]), tokens


def _mask(value: object) -> tuple[tuple[bool, ...], ...]:
    rows = listed(value)
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == len(rows) and not any(isinstance(x, list) for x in row) for row in rows):
        raise Malformed(f"the mask is no square matrix but {_shape(value)}")
    foreign = [entry for row in rows for entry in row if entry not in (0, 1)]
    if foreign:
        raise Malformed(f"the mask holds {foreign[0]!r}, not 0 and 1 or truth values alone; of one that is added to scores, give `mask == 0`")
    return tuple(tuple(map(bool, row)) for row in rows)


def _rows(value: object) -> tuple[tuple[int, ...], ...]:
    rows = listed(value)
    if not isinstance(rows, list):
        raise Malformed(f"retrieve is no list of rows but {kind_of(value)}")
    return tuple(ints("a row of retrieve", row) for row in rows)


def _shape(value: object) -> str:
    return f"of shape {value.shape}" if hasattr(value, "shape") else kind_of(value)


CONTRACT = Contract(
    name="tree_buffers",
    prefix="TRB",
    sentence="Turns candidate paths into the buffers of a draft tree.",
    parameters=(
        Parameter("paths", "list of lists of ints", "token ids from the context on, in any order; some may be equal, empty, or the beginning of another"),
    ),
    returns="mask (n, n), positions (n,), retrieve (m, depth); the tokens of the nodes, (n,), as a fourth part if wanted",
    right="a node for each distinct non-empty beginning of a path; mask = ancestor or self, position = depth from 1, retrieve = the branches, then pads",
    random=False,
    check=_check,
    outcome=_outcome,
    smoke={"paths": [[1]]},
    conventions={"pad": Convention("the number that fills a row of retrieve behind its leaf; -1 if nothing is declared")},
    equivalents=("generate_medusa_buffers", "generate_draft_buffers", "generate_tree_buffers"),
)
