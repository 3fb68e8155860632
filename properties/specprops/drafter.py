"""Properties of `drafter`: as many ids as asked for, each drawn from the row of q that is told, or found where it is said to stand (2211.17192, algorithm 1; theory S1, S13)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from specprops import drafts, rows
from specprops.alike import same_row
from specprops.generate import DRAWS, FRESH
from specprops.hygiene import inputs_unchanged, takes_a_seed
from specprops.hygiene import same_seed as holds_a_seed
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import NotJudged, Row, Violation
from specverify.contracts import Array, Case
from specverify.contracts.base import ROW_SUM_TOLERANCE
from specverify.contracts.drafter import amount, contexts, model
from specverify.contracts.table_models import Prefix
from specverify.law import Law

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

Draft = tuple[Prefix, Array | None]


def of_a_model(subject: Description) -> str | None:
    """Why laws and texts of a model are not judged."""
    return None if drafts.source_of(subject) == "model" else "it drafts from documents, as declared"


def of_documents(subject: Description) -> str | None:
    """Why occurrences are not looked for."""
    return None if drafts.source_of(subject) != "model" else "it drafts from a model"


def draws(subject: Description) -> str | None:
    """Why the law of drafts is not judged."""
    return of_a_model(subject) or rows.needs_wide(subject)


def from_the_rows(subject: Description) -> str | None:
    """Why drafts need not be those of the model's rows."""
    own = subject.conventions.get("drafting") == "own"
    return "it declares that it drafts by a law of its own" if own else of_a_model(subject)


def severity(subject: Description) -> str:
    """Drafts by other rows are exact with the q that is told, so that they break what is declared alone."""
    return "finding" if subject.conventions.get("drafting") == "rows" else "advisory"


def calls(trial: Trial, case: Case) -> tuple[Draft, ...]:
    """What each call of a case gave."""
    return tuple(trial.value(case).outcome)


def told(tokens: Sequence[int]) -> str:
    return " ".join(map(str, tokens)) or "none"


@prop("DRF-001", "Every call gives ids of the drafter's vocabulary, and with q a row for each of them; no exception.", source="2211.17192, algorithm 1; contracts, F",
      guards="well-formed", first=drafts.plain)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    calls(trial, case)


@prop("DRF-002", "As many ids as were asked for; from a model fewer only as `amount` declares.", source="contracts, F; theory S12g", guards="well-formed", after=("DRF-001",),
      first=drafts.plain)  # fmt: skip
def test_amount(trial: Trial, case: Case) -> None:
    wanted, free = amount(case), isinstance(case["source"], list) or trial.subject.conventions.get("amount") == "at most"
    for tokens, _ in calls(trial, case):
        line = (Row("ids", str(len(tokens)), str(wanted)),)
        if len(tokens) > wanted:
            raise Violation(f"{len(tokens)} ids are drafted, and {wanted} were asked for.", line, kind="too many")
        if len(tokens) < wanted and not free:
            declared = trial.subject.conventions.get("amount") == "gamma"
            hint = "" if declared else ' A drafter that may end early declares conventions={"amount": "at most"}.'
            raise Violation(f"{len(tokens)} ids are drafted of {wanted}.{hint}", line, kind="too few", severity="finding" if declared else "advisory")


@prop("DRF-003", "Each row of q is a distribution, and has mass on the id that was drafted.", source="theory S1 (i); faults, Q-MISMATCH", guards="support", statistical=True,
      after=("DRF-001",), first=drafts.plain)  # fmt: skip
def test_rows(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda outcome: all(_is_law(*one) for one in outcome), "A row of q is no distribution, or has no mass on the id that is drafted")


def _is_law(tokens: Prefix, q: Array | None) -> bool:
    if q is None:
        return True
    found = list(q.rows())
    return all(abs(math.fsum(row) - 1) <= ROW_SUM_TOLERANCE and row[token] > 0 for row, token in zip(found, tokens, strict=True))


def placed(subject: Description) -> list[Case]:
    """Two drafts over two tokens, and over three."""
    return [drafts.case(drafts.open_rows(subject, shape), [drafts.OTHER], 2, places=drafts.PLACES) for shape in (0, 1)]


@prop("DRF-004", "Drafted ids follow the rows of q that are told, each drawn afresh, whatever was drafted before it.", source="theory S1 (i), S13; faults Q-MISMATCH, B002, B003",
      guards="joint", statistical=True, after=("DRF-003",), first=placed, applies=draws)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    _uniform(trial, case)


def _own_numbers(subject: Description) -> str | None:
    return "numbers are a function of seed and position, and both calls have one seed" if subject.rng == "counter" else draws(subject)


@prop("DRF-005", "Two calls behind one context draw afresh: what they draft is independent.", source="theory S13; faults SEED, B053, B058", guards="joint", statistical=True,
      after=("DRF-004",), applies=_own_numbers,
      first=lambda s: [drafts.case(drafts.open_rows(s), [drafts.OTHER] * 2, 1, places=drafts.PLACES)])  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    _uniform(trial, case)


def _uniform(trial: Trial, case: Case) -> None:
    """Where each id follows the row that is told, places are uniform and independent: the probability integral transform."""
    if any(q is None for _, q in calls(trial, {**case, "places": 0})):
        raise NotJudged("the subject tells no q; what is exact for a draft without q is so for any")
    cells = itertools.product(range(drafts.PLACES), repeat=amount(case) * len(contexts(case)))
    slow = DRAWS.get(trial.subject.models or "callable")
    trial.laws(case, [(Law.of(dict.fromkeys(cells, 1.0)), lambda outcome: outcome)], draws=slow, fresh=FRESH if slow else None)


@prop("DRF-006", "Where the model is sure of every token, its tokens are drafted, whatever the call before was; an advisory unless `drafting` is declared.",
      source="2211.17192, algorithm 1; faults DRAFT-STATE, B121, B122, B124", guards="position", after=("DRF-002",), first=drafts.sure, applies=from_the_rows)  # fmt: skip
def test_sure_model(trial: Trial, case: Case) -> None:
    _same(case, calls(trial, case)[-1][0], severity(trial.subject))


def _same(case: Case, found: Prefix, weight: str) -> None:
    right = drafts.right_drafts(case)
    if found != right[: len(found)]:
        raise Violation("The drafts are not those of a model that is sure of each.", (Row("ids", told(found), told(right)),), kind="drafts", severity=weight)


@prop("DRF-007", "The rows of q are the model's, behind the context and the ids drafted before; an advisory unless `drafting` is declared.", source="theory S1 (i); faults Q-MISMATCH, B008",
      guards="position", after=("DRF-002",), first=drafts.plain, applies=from_the_rows)  # fmt: skip
def test_model_rows(trial: Trial, case: Case) -> None:
    table, (tokens, q) = model(case), calls(trial, case)[-1]
    if q is None:
        raise NotJudged("the subject tells no q")
    for place, row in enumerate(q.rows()):
        line = table.line((*table.text, *tokens[:place]))
        if not same_row(row, line, q.dtype):
            shown = (Row(f"q, row {place}", *(", ".join(f"{x:.4g}" for x in one) for one in (row, line))),)
            raise Violation(f"Row {place} of q is none of the model's behind the text before it.", shown, kind="rows", severity=severity(trial.subject))


@prop("DRF-008", "With a vocabulary of its own the drafter reads the context's ids as its own, and gives the target's.", source="contracts, F; faults VOCAB, B179, B180, B183",
      guards="position", after=("DRF-006",), first=drafts.mapped, applies=lambda s: from_the_rows(s) if "id_map" in s.supports else "it does not declare that it takes an id map")  # fmt: skip
def test_id_map(trial: Trial, case: Case) -> None:
    _same(case, calls(trial, case)[-1][0], "finding")


@prop("DRF-009", "What is drafted from documents begins a continuation of the context's last id inside one of them; where there is none, nothing is drafted.",
      source="2311.08252, algorithm 1; theory 1e; faults L22, B080, B081", guards="support", after=("DRF-002",), first=drafts.looked_up, applies=of_documents)  # fmt: skip
def test_occurrence(trial: Trial, case: Case) -> None:
    found, right = calls(trial, case)[-1][0], drafts.lawful(case)
    if found not in right:
        shown = " or ".join(told(one) for one in sorted(right, key=lambda ids: (-len(ids), ids)))
        raise Violation("The draft stands nowhere behind the context's last id inside a document.", (Row("ids", told(found), shown),), kind="made up")


def always_found(subject: Description) -> list[Case]:
    """Those of which something is lawful."""
    return [case for case in drafts.looked_up(subject) if len(drafts.lawful(case)) > 1]


@prop("DRF-010", "Where the context's last id has occurred and something follows it, something is drafted.", source="2311.08252, algorithm 1", guards="efficiency",
      severity="advisory", after=("DRF-009",), first=always_found, applies=of_documents)  # fmt: skip
def test_something_found(trial: Trial, case: Case) -> None:
    if not calls(trial, case)[-1][0]:
        raise Violation("Nothing is drafted, though the context's last id stands in the source with something behind it.", kind="nothing")


@prop("DRF-011", "The same seed gives the same drafts.", source="contracts, hygiene; faults SEED, B058", guards="hygiene", severity="advisory", after=("DRF-001",),
      first=lambda s: drafts.plain(s)[:2], applies=takes_a_seed)  # fmt: skip
def test_same_seed(trial: Trial, case: Case) -> None:
    holds_a_seed(trial, case)


@prop("DRF-012", "The call leaves the context as it was.", source="contracts, hygiene; faults L17", guards="hygiene", severity="advisory", after=("DRF-001",),
      first=lambda s: drafts.plain(s)[:3])  # fmt: skip
def test_context_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)
