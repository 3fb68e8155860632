"""Properties of `retriever`: what followed the longest suffix of the context, each beginning with its number of occurrences, the heaviest within the budget."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from specprops import corpora
from specprops.corpora import made
from specprops.hygiene import inputs_unchanged
from specprops.occurrences import Ids, Query, beginnings
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import Row, Violation
from specprops.wrong_law import SHOWN_ROWS
from specverify.contracts import Case
from specverify.subjects.replies import Raised, Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

SEARCH, TREE = "2311.08252, algorithm 1; theory ", "2311.08252, algorithm 2; theory "
Weight = int | float | None
Found = list[tuple[Ids, Weight]]


def tells_weights(subject: Description) -> str | None:
    """Why weights are not judged."""
    return "the subject tells no weights" if subject.conventions.get("weights") == "none" else None


def is_closed(subject: Description) -> str | None:
    """Why the beginnings of a candidate need not be candidates."""
    return "the subject returns the longest paths alone" if subject.conventions.get("prefixes") == "leaves" else None


def has_no_cap(subject: Description) -> str | None:
    """Why not all occurrences must count."""
    return "the subject declares how many occurrences it looks at" if "cap" in subject.conventions else None


def _found(trial: Trial, case: Case) -> Found:
    return list(trial.value(case).outcome)


def _nodes(trial: Trial, found: Found) -> set[Ids]:
    """The candidates as a set, with their beginnings where these are left out."""
    told = [ids for ids, _ in found]
    return set(told) if is_closed(trial.subject) is None else beginnings(told)


def _looks_at_all(trial: Trial, query: Query) -> bool:
    cap = trial.subject.conventions.get("cap")
    return cap is None or len(query.continuations) <= cap


@prop("RTR-001", "The result is a list of candidates, each one or more ids with a whole number of occurrences of at least 1, none twice.",
      source=SEARCH + "R1, R4", guards="well-formed", first=lambda subject: [*corpora.plain(subject), *corpora.tight(subject)], cases=corpora.found,
      limit=15)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    found = _found(trial, case)
    for ids, weight in found:
        if not ids or min(ids) < 0:
            raise Violation(f"The candidate {_show(ids)} is no list of ids.", _table(found, Query.of(case), [ids]), kind="ids")
        if tells_weights(trial.subject) is None and not (isinstance(weight, int) and weight >= 1):
            hint = 'A subject that tells no numbers of occurrences declares conventions={"weights": "none"}.'
            raise Violation(f"The candidate {_show(ids)} has the weight {weight}. {hint}", _table(found, Query.of(case), [ids]), kind="weight")
    if tells_weights(trial.subject) is None and len(twice := dict(found)) < len(found):
        raise Violation("A candidate comes twice, so that its weight is not told.", _table(found, Query.of(case), twice), kind="twice")


@prop("RTR-002", "Each candidate follows an occurrence of a suffix of the context, inside one document.", source=SEARCH + "R1, R11", guards="support",
      after=("RTR-001",), first=corpora.plain, cases=corpora.found, limit=25)  # fmt: skip
def test_follows_an_occurrence(trial: Trial, case: Case) -> None:
    query = Query.of(case)
    if not query.matched:
        return
    found, lawful = _found(trial, case), beginnings(query.following(query.n_min))
    made_up = [ids for ids, _ in found if ids not in lawful]
    if made_up:
        told = f"The candidate {_show(made_up[0])} follows no occurrence of the context's last {query.n_min} ids inside a document."
        raise Violation(told, _table(found, query, made_up), kind="made up")


@prop("RTR-003", "The matched suffix is the longest of n_min to n_max ids that is found.", source=SEARCH + "R2, R13", guards="position", after=("RTR-002",),
      first=corpora.plain, cases=corpora.found, limit=25)  # fmt: skip
def test_longest(trial: Trial, case: Case) -> None:
    query = Query.of(case)
    if query.matched and not query.ended:
        _judge_match(trial, case, query)


@prop("RTR-004", "An occurrence at the end of a document, which no id follows, is no match: a shorter suffix that goes on is looked for.",
      source=SEARCH + "R4, R11; contracts, E", guards="position", after=("RTR-003",), first=corpora.at_the_end, cases=corpora.ended, limit=20)  # fmt: skip
def test_end_of_a_document(trial: Trial, case: Case) -> None:
    query = Query.of(case)
    if query.matched and query.ended:
        _judge_match(trial, case, query)


def _judge_match(trial: Trial, case: Case, query: Query) -> None:
    """Next ids tell which suffix was matched."""
    found = _found(trial, case)
    told, right = _next_ids(_nodes(trial, found)), _next_ids(query.continuations)
    if told == right or (told <= right and told and not _looks_at_all(trial, query)):
        return
    lengths = range(len(query.context), 0, -1)
    as_if = next((f", as behind the last {n}" for n in lengths if told and _next_ids(query.following(n)) == told), "")
    expected = f"the context's last {query.matched} ids, the longest suffix that goes on"
    rows = (Row("next ids", f"{sorted(told) or 'none'}{as_if}", f"{sorted(right)}, as behind {expected}"),)
    raise Violation(f"The next ids are not those behind {expected}.", rows, kind="length")


def _next_ids(candidates: Iterable[Ids]) -> set[int]:
    return {ids[0] for ids in candidates}


@prop("RTR-005", "Continuations have m ids, fewer only where their document ends; where the budget holds them, all of their beginnings are there.",
      source=SEARCH + "R5", guards="position", after=("RTR-003", "RTR-004"), first=corpora.plain, cases=corpora.found, limit=25)  # fmt: skip
def test_as_long_as_asked_for(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    nodes = _nodes(trial, found)
    if too_long := [ids for ids in nodes if len(ids) > query.m]:
        raise Violation(f"A candidate has {max(map(len, too_long))} ids, where {query.m} were asked for.", _table(found, query, too_long), kind="too long")
    if (left_out := query.weights.keys() - nodes) and _looks_at_all(trial, query):
        told = f"{_show(min(left_out, key=len))} goes on a continuation of at most {query.m} ids, and is not found."
        raise Violation(told, _table(found, query, left_out), kind="left out")


@prop("RTR-006", "A weight is the number of occurrences that go on so.", source=TREE + "R4", guards="position", after=("RTR-003", "RTR-004"),
      first=corpora.plain, cases=corpora.found, limit=25, applies=tells_weights)  # fmt: skip
def test_weights(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    if not _looks_at_all(trial, query):
        _judge_capped(trial, query, found)
    elif wrong := [ids for ids, weight in found if ids in query.weights and weight != query.weights[ids]]:
        told = f"{_show(wrong[0])} follows {query.weights[wrong[0]]} occurrences, and has the weight {dict(found)[wrong[0]]}."
        raise Violation(told, _table(found, query, wrong), kind="weights")


def _judge_capped(trial: Trial, query: Query, found: Found) -> None:
    """Which occurrences are looked at is free: no weight exceeds what there is, nor all together the cap."""
    cap, weights = trial.subject.conventions["cap"], dict(found)
    wrong = [ids for ids, weight in found if weight is not None and weight > query.weights[ids]]
    if wrong or sum(weight or 0 for ids, weight in weights.items() if len(ids) == 1) > cap:
        raise Violation(f"The weights count more than {cap} occurrences, or more than there are.", _table(found, query, weights), kind="weights")


@prop("RTR-007", "There are no more candidates than the budget.", source=TREE + "R7; B226", guards="position", after=("RTR-001",),
      first=corpora.tight, cases=corpora.pressed, limit=25)  # fmt: skip
def test_budget(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    if (size := len(_nodes(trial, found))) > query.budget:
        raise Violation(
            f"There are {size} candidates under a budget of {query.budget}.", (Row("candidates", str(size), f"{query.budget} at most"),), kind="budget"
        )


@prop("RTR-008", "With a candidate, everything that it begins with is a candidate.", source=TREE + "R6", guards="position", after=("RTR-001",),
      first=corpora.tight, cases=corpora.pressed, limit=25, applies=is_closed)  # fmt: skip
def test_prefix_closed(trial: Trial, case: Case) -> None:
    found = _found(trial, case)
    nodes = _nodes(trial, found)
    if orphans := [ids for ids in nodes if len(ids) > 1 and ids[:-1] not in nodes]:
        ids = min(orphans, key=lambda ids: (len(ids), ids))
        told = f'{_show(ids)} is a candidate, and {_show(ids[:-1])} is not. A subject that returns the longest paths alone declares "prefixes": "leaves".'
        raise Violation(told, _table(found, Query.of(case), [ids, ids[:-1]]), kind="orphans")


@prop("RTR-009", "The heaviest beginnings are kept: none that is left out is heavier than one that is kept, and none is left out that fits whatever ties do.",
      source=TREE + "R8", guards="position", after=("RTR-005", "RTR-007"), first=corpora.tight, cases=corpora.pressed, limit=30)  # fmt: skip
def test_heaviest(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    if not query.matched or not _looks_at_all(trial, query):
        return
    nodes, weights = _nodes(trial, found), query.weights
    if not nodes:
        raise Violation("Something is found, and nothing is kept.", _table(found, query, weights), kind="nothing kept")
    if missing := query.required - nodes:
        heaviest = min(missing, key=lambda ids: (-weights[ids], len(ids), ids))
        told = f"{_show(heaviest)} with {weights[heaviest]} occurrences is left out, though all that are as heavy fit into the budget of {query.budget}."
        raise Violation(told, _table(found, query, missing | nodes), kind="heaviest")
    lightest = min((weights[ids] for ids in nodes & weights.keys()), default=0)
    if heavier := [ids for ids in weights.keys() - nodes if weights[ids] > lightest]:
        heaviest = min(heavier, key=lambda ids: (-weights[ids], len(ids), ids))
        told = f"{_show(heaviest)} with {weights[heaviest]} occurrences is left out, and one with {lightest} is kept."
        raise Violation(told, _table(found, query, {*heavier, *nodes}), kind="heaviest")


@prop("RTR-010", "Ids of the context that are nowhere in the corpus are no error: what comes behind them is looked for.", source=SEARCH + "R13",
      guards="position", after=("RTR-005",), first=corpora.unseen, cases=corpora.behind_unseen, limit=10)  # fmt: skip
def test_unseen_ids(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    if query.matched and _looks_at_all(trial, query) and (differ := _nodes(trial, found) ^ query.weights.keys()):
        raise Violation("An id that is nowhere in the corpus changes what is found behind it.", _table(found, query, differ), kind="unseen")


@prop("RTR-011", "Where no suffix of n_min to n_max ids is found, the result is empty: no id is made up.", source=SEARCH + "R10; B229", guards="support",
      after=("RTR-002", "RTR-010"), first=corpora.unmatched, cases=corpora.lost, limit=20)  # fmt: skip
def test_nothing_found(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    if found and not query.matched:
        told = f"No suffix of {query.n_min} to {query.n_max} ids goes on anywhere, and {_show(found[0][0])} is a candidate."
        raise Violation(told, _table(found, query, dict(found)), kind="made up")


@prop("RTR-012", "Ids beyond 16 bits come back as they are, and are not taken for others.", source="2311.08252; theory R14; B228", guards="support",
      after=("RTR-005", "RTR-011"), first=corpora.wide, cases=corpora.widened, limit=10)  # fmt: skip
def test_wide_ids(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    nodes = _nodes(trial, found)
    if not nodes <= query.weights.keys() or (_looks_at_all(trial, query) and nodes != query.weights.keys()):
        raise Violation("Ids beyond 16 bits are lost, or taken for others.", _table(found, query, nodes ^ query.weights.keys()), kind="width")


@prop("RTR-013", "All occurrences count, however many there are, unless a cap is declared.", source=TREE + "R4 and its list of deviations, i", guards="position",
      after=("RTR-006", "RTR-009"), first=corpora.many, applies=has_no_cap)  # fmt: skip
def test_all_occurrences(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    miscounted = tells_weights(trial.subject) is None and any(weight != query.weights[ids] for ids, weight in found)
    if miscounted or _nodes(trial, found) != query.required:
        told = f"Of {len(query.continuations):,} occurrences some do not count. A subject that looks at no more than a number of them declares that as its cap."
        raise Violation(told, _table(found, query, query.weights), kind="capped")


@prop("RTR-014", "Equal arguments give equal candidates, ties at the budget too, whatever was searched between.", source="theory R9; contracts, E",
      guards="position", after=("RTR-001",), first=corpora.tight, cases=corpora.pressed, limit=15)  # fmt: skip
def test_repeatable(trial: Trial, case: Case) -> None:
    query = Query.of(case)
    once = _told(trial, case, "once")
    for row in (query.context[:-1], [row[0] for row in query.corpus if row]):
        trial.call({**case, "context": row or query.context, "budget": 1}, stage="between")
    if (again := _told(trial, case, "again")) != once:
        rows = (Row("candidates", f"{_shown(once)}, then {_shown(again)}", "twice the same"),)
        raise Violation("Two searches with equal arguments give different candidates.", rows, kind="not repeatable")


def _told(trial: Trial, case: Case, stage: str) -> set[tuple[Ids, Weight]]:
    """In whatever order; weights only where they are told."""
    found, silent = trial.value(case, stage=stage).outcome, tells_weights(trial.subject)
    return {(ids, None if silent else weight) for ids, weight in found}


@prop("RTR-020", "The call leaves the corpus and the context as they were.", source="contracts, hygiene", guards="hygiene", severity="advisory",
      after=("RTR-001",), first=corpora.plain)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("RTR-021", "The budget is used up where there is enough to fill it.", source=TREE + "its list of deviations, iii", guards="hygiene", severity="advisory",
      after=("RTR-009",), first=corpora.tight)  # fmt: skip
def test_budget_used(trial: Trial, case: Case) -> None:
    query, found = Query.of(case), _found(trial, case)
    size, right = len(_nodes(trial, found)), min(query.budget, len(query.weights))
    if size < right and _looks_at_all(trial, query):
        told = f"There are {size} candidates, where {right} fit: the target verifies fewer than it could."
        raise Violation(told, (Row("candidates", str(size), str(right)),), kind="unused")


@prop("RTR-022", "In a corpus without an id nothing is found, or it is refused.", source=SEARCH + "R10", guards="hygiene", severity="advisory",
      after=("RTR-001",), first=lambda _: [made([], [1]), made([[]], [1])])  # fmt: skip
def test_empty_corpus(trial: Trial, case: Case) -> None:
    _nothing_or_refused(trial, case)


@prop("RTR-023", "Behind an empty context nothing is found, or it is refused.", source=SEARCH + "R13", guards="hygiene", severity="advisory",
      after=("RTR-001",), first=lambda _: [made([[1, 2]], [])])  # fmt: skip
def test_empty_context(trial: Trial, case: Case) -> None:
    _nothing_or_refused(trial, case)


def _nothing_or_refused(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if isinstance(reply, Raised) or (isinstance(reply, Value) and not reply.outcome):
        return
    raise Violation("Something is found, where nothing is.", (Row("result", _shown(reply.outcome) if isinstance(reply, Value) else str(reply), "empty"),))


def _show(ids: Ids) -> str:
    return f"({', '.join(map(str, ids))})"


def _shown(found: Collection[tuple[Ids, Weight]]) -> str:
    """Candidates in one line, at most twelve."""
    told = [f"{_show(ids)}{'' if weight is None else f' x {weight}'}" for ids, weight in sorted(found, key=lambda one: one[0])[:SHOWN_ROWS]]
    return ", ".join(told) + ("" if len(found) <= SHOWN_ROWS else ", …") or "none"


def _table(found: Found, query: Query, telling: Iterable[Ids]) -> tuple[Row, ...]:
    """Those that tell something: found, with their weights, against what is right."""
    told = {ids: "found" if weight is None else str(weight) for ids, weight in found}
    rows = [Row(_show(ids), told.get(ids, "not found"), str(query.weights[ids] or "not there")) for ids in sorted(set(telling))[:SHOWN_ROWS]]
    return tuple(rows)
