"""Properties of `prefill`: each row is the model's behind its own text, however a prompt is cut and whatever stands beside a node (theory 1d, A1, A2, A6)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from specprops import draft_trees
from specprops.draft_trees import Tree, standing
from specprops.hygiene import inputs_unchanged
from specprops.suite import prop
from specprops.trees import ROOT
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specverify.contracts import Array, Case, array, array_of
from specverify.contracts.arrays import EPS
from specverify.contracts.prefill import RETURNS, Request, requests, table
from specverify.contracts.table_models import Prefix

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Line = tuple[float, ...]
SOURCE = "contracts, D; "
WIDTH = 4
LINES = tuple(tuple((9 if t == a else 5 if t == b else 1) / 16 for t in range(WIDTH)) for a in range(WIDTH) for b in range(WIDTH) if a != b)
"""Rows that half precision holds exactly, any two of which differ by 4/16 in an entry: more than the tolerance in the coarsest dtype."""
ROUNDINGS = 4
"""Steps of the last place that a logarithm may be off: half a step where it is written, and the rest for a sum of four entries and its logarithm."""
SINGLE = "float32"
"""The models' own dtype."""
PROMPT = (2, 0, 3, 3, 1, 0, 2)
OTHER = (1, 1, 0, 2)
FORKS = (
    ((ROOT, ROOT), (0, 1)),
    ((ROOT, ROOT, ROOT), (3, 1, 2)),
)
"""Siblings under the prompt: parents, and tokens."""
DEEP = (
    ((ROOT, 0, 1), (1, 3, 0)),
    ((ROOT, ROOT, 0, 1), (0, 2, 2, 3)),
    ((ROOT, ROOT, 0, 0, 1, 2), (1, 0, 3, 2, 3, 1)),
    ((ROOT, ROOT, 1, 1, 2, 4, 4), (2, 2, 0, 1, 3, 3, 0)),
)
"""A chain; cousins; branches that end at different depths; siblings of one token, and a node far from its parent."""
LONGEST, NODES = 9, 6
"""Of drawn cases."""


def _case(subject: Description, *given: Request) -> Case:
    """Requests one after the other on one model; trees in the order that the subject takes."""
    rows = array(subject.dtypes[0], (len(LINES), WIDTH), (x for line in LINES for x in line))
    return {"model": rows, "requests": [[list(part) for part in _stood(subject, one)] for one in given]}


def _stood(subject: Description, one: Request) -> Request:
    prompt, nodes = _cut(one)
    tree = standing(Tree(one.parents, nodes, ((),) * (len(nodes) + 1)), draft_trees.order(subject))
    return Request((*prompt, *tree.tokens), one.chunks, tree.parents)


def _cut(one: Request) -> tuple[Prefix, Prefix]:
    """The prompt, and the tokens of the nodes."""
    length = len(one.tokens) - len(one.parents)
    return one.tokens[:length], one.tokens[length:]


def whole(prompt: Prefix, tree: tuple[Prefix, Prefix] = ((), ())) -> Request:
    """A prompt in one piece, with a tree (parents, tokens) behind it."""
    return Request((*prompt, *tree[1]), (len(prompt),), tree[0])


def pieces(length: int, size: int) -> tuple[int, ...]:
    """Chunks of one size, the last one perhaps shorter."""
    return tuple(min(size, length - start) for start in range(0, length, size))


def texts(one: Request) -> list[Prefix]:
    """What each row stands behind: of a prompt's token all to it, of a node the prompt and its path."""
    prompt, nodes = _cut(one)
    found = [prompt[: place + 1] for place in range(len(prompt))]
    for parent, token in zip(one.parents, nodes, strict=True):
        found.append((*(found[len(prompt) + parent] if parent != ROOT else prompt), token))
    return found


def masses(returns: str, row: Sequence[float]) -> Line:
    """A row as probabilities, by what it holds; logits may all be shifted alike."""
    if returns == "probabilities":
        return tuple(row)
    top = max(row) if returns == "logits" else 0.0
    powers = [math.exp(min(x - top, 0.0)) if top > -math.inf else 0.0 for x in row]
    total = math.fsum(powers) if returns == "logits" and top > -math.inf else 1.0
    return tuple(x / total for x in powers)


def tolerance(case: Case, found: Array, row: Sequence[float]) -> float:
    """How far a probability may be off, relative to itself: its logarithm is rounded to steps of the coarsest of the dtypes, relative to the row's largest."""
    eps = max(EPS[found.dtype], EPS[array_of(case, "model").dtype], EPS[SINGLE])
    return ROUNDINGS * eps * (1 + max((abs(x) for x in row if math.isfinite(x)), default=0.0))


def rows_off(case: Case, found: Array, returns: str) -> dict[int, Row]:
    """The rows of the last request, by number, that are not the model's behind their own text, read as what they may hold."""
    known, off = table(case), dict[int, Row]()
    for place, (text, row) in enumerate(zip(texts(requests(case)[-1]), found.rows(), strict=True)):
        told, right = masses(returns, row), known.line(text)
        slack = tolerance(case, found, row)
        if any(abs(a - b) > slack * max(a, b) for a, b in zip(told, right, strict=True)):
            off[place] = Row(f"behind {' '.join(map(str, text))}", *(", ".join(f"{x:.4g}" for x in line) for line in (told, right)))
    return off


def readings(subject: Description) -> list[str]:
    """What rows may hold, all alike: what is declared, else anything, what the model gives first."""
    declared = subject.conventions.get("returns")
    rest = sorted(RETURNS, key=lambda one: one != ("probabilities" if subject.models in {None, "callable"} else "logits"))
    return [str(declared)] if declared else rest


def _off(trial: Trial, case: Case) -> dict[int, Row]:
    """The rows of the last request that are not the model's, in the reading that explains most."""
    found = trial.value(case).outcome
    return min((rows_off(case, found, returns) for returns in readings(trial.subject)), key=len)


def _judge(trial: Trial, case: Case, known: Container[int] = ()) -> None:
    """Every row of the last request is the model's, but for those that are known to be wrong."""
    one, off = requests(case)[-1], {place: row for place, row in _off(trial, case).items() if place not in known}
    if off:
        kind = "nodes" if min(off) >= len(_cut(one)[0]) else "rows"
        raise Violation(f"{len(off)} of {len(one.tokens)} rows are not the model's behind their own text.", tuple(off.values()), kind=kind)


def _takes(*features: str) -> Callable[[Description], str | None]:
    """Why a property does not apply: the first feature that is not supported."""
    words = {"chunks": "the subject declares no chunks", "tree": "the subject declares no trees"}
    return lambda subject: next((words[one] for one in features if one not in subject.supports), None)


def prompts(subject: Description) -> list[Case]:
    """In one piece: one token, two, and more."""
    return [_case(subject, whole(prompt)) for prompt in (PROMPT[:1], PROMPT[:2], OTHER, PROMPT)]


def chunked(subject: Description) -> list[Case]:
    """Two chunks with a border at each place, and chunks of each size that is more than one token."""
    cuts = [*((cut, len(PROMPT) - cut) for cut in range(1, len(PROMPT))), *(pieces(len(PROMPT), size) for size in range(2, len(PROMPT) // 2 + 1))]
    return [_case(subject, Request(PROMPT, cut, ())) for cut in cuts]


def one_by_one(subject: Description) -> list[Case]:
    """A chunk for each token."""
    return [_case(subject, Request(prompt, (1,) * len(prompt), ())) for prompt in (PROMPT[:2], OTHER, PROMPT)]


def behind(subject: Description, trees: Iterable[tuple[Prefix, Prefix]]) -> list[Case]:
    """Trees behind a prompt of one token, and of more."""
    return [_case(subject, whole(prompt, tree)) for tree in trees for prompt in (PROMPT[:1], OTHER)]


def behind_chunks(subject: Description) -> list[Case]:
    """Trees behind a prompt in chunks, the last of one token and of more."""
    given = [((1, 3), FORKS[0]), ((3, 1), DEEP[1]), ((2, 2), DEEP[2]), ((1, 1, 1, 1), DEEP[3])]
    return [_case(subject, Request((*OTHER, *tree[1]), cut, tree[0])) for cut, tree in given]


def everything(subject: Description) -> list[Case]:
    """One of each form that the subject takes."""
    found = prompts(subject)
    found += [*chunked(subject)[:1], *one_by_one(subject)[1:2]] if "chunks" in subject.supports else []
    return found + (behind(subject, (FORKS[0], DEEP[2])) if "tree" in subject.supports else [])


def after_another(subject: Description) -> list[Case]:
    """A longer, a shorter and an equally long prompt before; one that begins alike; the same again; with a tree and in chunks, where these are taken."""
    turned, tail = (*PROMPT[:2], *OTHER), PROMPT[::-1]
    pairs = [(PROMPT, OTHER), (OTHER, PROMPT), (PROMPT, tail), (PROMPT, turned), (turned, turned), (OTHER, (*OTHER, 3, 3))]
    found = [(whole(a), whole(b)) for a, b in pairs]
    if "chunks" in subject.supports:
        found += [(Request(PROMPT, (3, 4), ()), whole(OTHER)), (whole(PROMPT), Request(OTHER, (2, 2), ()))]
    if "tree" in subject.supports:
        found += [(whole(OTHER, DEEP[2]), whole(OTHER)), (whole(OTHER, DEEP[2]), whole((*OTHER, 1), DEEP[1])), (whole(PROMPT), whole(OTHER, FORKS[0]))]
    return [_case(subject, *both) for both in found]


@st.composite
def drawn(draw: st.DrawFn, subject: Description, *, cut: bool = False, tree: bool = False, calls: int = 1) -> Case:
    """Any prompt, cut anywhere, with any tree behind it; one call or more."""
    return _case(subject, *(draw(_request(cut=cut, tree=tree)) for _ in range(calls)))


@st.composite
def _request(draw: st.DrawFn, *, cut: bool, tree: bool) -> Request:
    ids = st.integers(0, WIDTH - 1)
    prompt = tuple(draw(st.lists(ids, min_size=1, max_size=LONGEST)))
    borders = sorted(draw(st.sets(st.integers(1, len(prompt) - 1)))) if cut and len(prompt) > 1 else []
    parents = draw(draft_trees.parents(NODES, WIDTH)) if tree else ()
    chunks = tuple(end - start for start, end in itertools.pairwise((0, *borders, len(prompt))))
    return Request((*prompt, *(draw(ids) for _ in parents)), chunks, parents)


@prop("PRE-001", "There is a row over the vocabulary behind each token, of a prompt in one pass, in chunks, and of each node; no exception.", source=SOURCE + "B237", guards="well-formed",
      first=everything)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("PRE-002", "A prompt in one pass: each row is the model's behind the tokens up to its own.", source=SOURCE + "B237", guards="position", after=("PRE-001",), first=prompts,
      cases=drawn, limit=20)  # fmt: skip
def test_one_pass(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("PRE-003", "A prompt in chunks of any size has the rows that it has in one pass.", source=SOURCE + "B118, B157", guards="position", after=("PRE-002",), first=chunked,
      cases=lambda s: drawn(s, cut=True), limit=20, applies=_takes("chunks"))  # fmt: skip
def test_chunks(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("PRE-004", "A prompt token by token has the rows that it has in one pass.", source=SOURCE + "B118", guards="position", after=("PRE-002",), first=one_by_one,
      applies=_takes("chunks"))  # fmt: skip
def test_token_by_token(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("PRE-005", "Siblings under the prompt do not see each other: each node's row is that of its token behind the prompt.", source="theory A1, A6; faults B088", guards="position",
      after=("PRE-002",), first=lambda s: behind(s, FORKS), applies=_takes("tree"))  # fmt: skip
def test_siblings(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("PRE-006", "The row of every node of a tree is that of its path run alone, at any depth.", source="theory A1, A2, A6; faults B085, B089", guards="position", after=("PRE-005",),
      first=lambda s: behind(s, DEEP), cases=lambda s: drawn(s, tree=True), limit=20, applies=_takes("tree"))  # fmt: skip
def test_nodes(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("PRE-007", "A tree behind a prompt that came in chunks sees all of it.", source="theory A2, A6; " + SOURCE + "B118", guards="position", after=("PRE-003", "PRE-006"),
      first=behind_chunks, cases=lambda s: drawn(s, cut=True, tree=True), limit=20, applies=_takes("chunks", "tree"))  # fmt: skip
def test_tree_behind_chunks(trial: Trial, case: Case) -> None:
    _judge(trial, case)


@prop("PRE-008", "Of the prompt or the tree of the call before, nothing is left.", source=SOURCE + "theory A7; faults B098, B122", guards="requests", after=("PRE-002",),
      first=after_another, cases=lambda s: drawn(s, cut="chunks" in s.supports, tree="tree" in s.supports, calls=2), limit=20)  # fmt: skip
def test_another_call_before(trial: Trial, case: Case) -> None:
    alone = {**case, "requests": case["requests"][-1:]}  # type: ignore[index]
    _judge(trial, case, known=_off(trial, alone))


@prop(
    "PRE-009",
    "The call leaves its arguments as they were.",
    source="contracts, hygiene; faults L17",
    guards="hygiene",
    severity="advisory",
    after=("PRE-001",),
    first=everything,
)
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
