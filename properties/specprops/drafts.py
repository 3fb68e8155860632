"""What drafters are judged on: rows of a draft model, documents, contexts, and the drafts that are right for them (theory 1d, 1e)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specprops import texts
from specprops.occurrences import Query
from specverify.contracts import Array, Case, array
from specverify.contracts.drafter import amount, contexts, model, targets
from specverify.contracts.table_models import Prefix

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

PLACES = 4
"""Parts of a row's cumulative sum that drafts are sorted into: 16 outcomes of two drafts."""
CONTEXT = [1, 0, 1]
OTHER = [0, 1]
"""A context of another length, for the call before."""
ID_MAP = array("int64", (3,), (1, 3, 6))
"""Target ids of three draft ids, of which none but the middle one's is a draft id of another token."""
DOCUMENTS = [[5, 6, 7, 8, 9], [2, 6, 7, 4], [9, 3, 6, 7], [1, 3, 2], []]
"""One text of two ids twice with something behind it, and once at a document's end; the document behind that begins otherwise than any text goes on."""
ENDS = ([0, 6, 7], [6, 7], [9, 3], [3, 6, 7, 8], [4, 9], [8, 8], [2], [9])
"""Contexts: found, found at the end of a document too, found once and never."""
REPEATING = ([1, 2, 3, 1, 2], [7, 1, 7, 2, 7], [4, 5, 6], [2, 2, 2], [9, 8, 9, 8, 9], [3, 4, 3])
"""Contexts in which their own end stands before, nowhere before, or all along."""


def source_of(subject: Description) -> str:
    """What it drafts from."""
    return str(subject.conventions.get("source", "model"))


def case(source: Array | list[list[int]], contexts_: Sequence[Sequence[int]], gamma: int, **more: object) -> Case:
    """A case without places, its ids those of the target."""
    return {"source": source, "contexts": [list(one) for one in contexts_], "gamma": gamma, "id_map": None, "places": 0, **more}


def open_rows(subject: Description, shape: int = 0) -> Array:
    """Rows that leave tokens open, each prefix its own."""
    found = texts.case(subject, texts.SMALL[shape])["draft"]
    assert isinstance(found, Array)
    return found


def sure_rows(subject: Description) -> Array:
    """Rows of three tokens that are all points."""
    found = texts.case(subject, texts.Shape(texts.points(), texts.points(), 1, 1))["draft"]
    assert isinstance(found, Array)
    return found


def sure(subject: Description) -> list[Case]:
    """A model that is sure of every token, behind one context and behind another, before or the same twice."""
    calls = ([CONTEXT], [[2]], [OTHER, CONTEXT], [CONTEXT, CONTEXT], [[*CONTEXT, 2, 2], CONTEXT])
    return [case(sure_rows(subject), one, gamma) for gamma in (1, 2, 4) for one in calls]


def mapped(subject: Description) -> list[Case]:
    """The same with ids of the target's."""
    known = ID_MAP.values
    return [{**one, "contexts": [[int(known[token]) for token in told] for told in contexts(one)], "id_map": ID_MAP} for one in sure(subject)]


def looked_up(subject: Description) -> list[Case]:
    """Documents, or contexts that repeat themselves, with drafts shorter and longer than what follows there."""
    within = source_of(subject) == "context"
    return [case([] if within else DOCUMENTS, [one], gamma) for gamma in (1, 3, 5) for one in (REPEATING if within else ENDS)]


def plain(subject: Description) -> list[Case]:
    """Dull ones of either kind."""
    if source_of(subject) != "model":
        return looked_up(subject)
    return [case(open_rows(subject, shape), one, gamma) for shape in (0, 1) for gamma in (1, 2, 3) for one in ([OTHER], [[1]], [OTHER, [1, 1, 0]])]


def right_drafts(one: Case) -> Prefix:
    """Of the last call behind a model that is sure, in the target's ids."""
    table, known = model(one), targets(one)
    text = list(table.text)
    for _ in range(amount(one)):
        line = table.line(tuple(text))
        text.append(line.index(max(line)))
    return tuple(known[token] for token in text[len(table.text) :])


def lawful(one: Case) -> set[Prefix]:
    """What may be drafted from documents: nothing, and all beginnings of what follows the context's last id inside one of them."""
    documents, context = one["source"], list(contexts(one)[-1])
    assert isinstance(documents, list)
    follows = Query(documents or [context], context, 1, 1, amount(one), 1).continuations
    return {(), *(ids[:depth] for ids in follows for depth in range(1, len(ids) + 1))}
