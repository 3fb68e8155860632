"""Properties of `draft_and_verify`: drafter and verifier together, over one round and several (2211.17192, algorithm 1; theory S1 to S7)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from specprops import loops, rows
from specprops.alike import same_row
from specprops.boundary import at_the_bounds
from specprops.hygiene import inputs_unchanged, same_seed, takes_a_seed
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import NotJudged, Row, Violation
from specverify.contracts import Array, Case
from specverify.contracts.draft_and_verify import tables
from specverify.contracts.table_models import Prefix, Table
from specverify.law import Law, Outcome
from specverify.subjects.replies import Value

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

THEOREM = "2211.17192, appendix A.1; theory S3"
PLACES = 8
"""Equal parts of a row's cumulative sum: rows of eighths and quarters have their tokens in parts of their own."""
CALLS = 6
"""Single calls of a case: rejections and acceptances are among them."""


class Draw(NamedTuple):
    """One draw of the stream: the tokens of each round with its drafts or None, the places of the drafts, the tokens of all rounds completed by the target."""

    rounds: tuple[tuple[Prefix, Prefix | None], ...]
    places: tuple[int, ...]
    tokens: Prefix


class Round(NamedTuple):
    """One round of a single call."""

    tokens: Prefix
    drafted: Prefix | None
    q: Array
    of_target: tuple[Prefix, ...]
    of_draft: tuple[Prefix, ...]


def on_draws(predicate: Callable[[Draw], bool]) -> Callable[[Outcome], bool]:
    """A predicate of draws as one of outcomes."""
    return lambda outcome: predicate(Draw(*outcome))


def texts(case: Case, rounds: Sequence[Prefix]) -> list[Prefix]:
    """What each round went on from."""
    return list(itertools.accumulate(rounds, lambda text, tokens: (*text, *tokens), initial=tables(case)[0].text))[:-1]


def single(trial: Trial, case: Case, number: int) -> list[tuple[Prefix, Round]]:
    """The rounds of one call, each with its text."""
    found = [Round(*one) for one in trial.value(case, stage=f"single/{number}").outcome]
    return list(zip(texts(case, [one.tokens for one in found]), found, strict=True))


@prop("DRV-001", "Every round gives ids of the vocabulary, one more than drafts at most, and a row of q for each draft; no exception.", source="2211.17192, algorithm 1",
      guards="well-formed", statistical=True, first=loops.first, cases=loops.drawn, limit=3)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda _: True, "The round fails")


@prop("DRV-002", "All tokens but the last are the first draft tokens, where those are told.", source="theory S12a", guards="well-formed", statistical=True,
      after=("DRV-001",), first=loops.first)  # fmt: skip
def test_accepted_prefix(trial: Trial, case: Case) -> None:
    def keeps(d: Draw) -> bool:
        return all(drafted is None or tokens[:-1] == drafted[: len(tokens) - 1] for tokens, drafted in d.rounds)

    trial.holds(case, on_draws(keeps), "Tokens before the last differ from the drafts")


@prop("DRV-003", "A token that the target gives probability zero behind the tokens before it is never emitted.", source="theory S12c", guards="support",
      statistical=True, after=("DRV-001",), first=loops.first, cases=loops.drawn, limit=3)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    trial.holds(case, on_draws(lambda d: impossible(case, d.rounds) is None), "A token of target probability zero is emitted")


def impossible(case: Case, rounds: Sequence[Sequence[object]]) -> str | None:
    """The first token of target probability zero, in words, or none; each round begins with its tokens."""
    tokens: Prefix = tuple(token for one in rounds for token in one[0])  # type: ignore[attr-defined]
    chances = loops.ahead(tables(case)[0], tokens)
    return f"token {tokens[chances.index(0)]} of target probability zero is emitted at place {chances.index(0)}" if 0 in chances else None


@prop("DRV-004", "The target is asked what follows the text and the tokens before each that is emitted.", source="theory L5, S3; faults, P-MISMATCH", guards="position",
      after=("DRV-001",), first=lambda subject: [{**case, "rounds": 2} for case in loops.first(subject)])  # fmt: skip
def test_rows_of_the_target(trial: Trial, case: Case) -> None:
    for number in range(CALLS):
        asked: set[Prefix] = set()
        for text, one in single(trial, case, number):
            asked |= set(one.of_target)
            missing = [one.tokens[:place] for place in range(len(one.tokens)) if (*text, *one.tokens[:place]) not in asked]
            if missing:
                told = f"behind the text {_shown(text)} and {_shown(missing[0]) or 'nothing more'}"
                table = (Row("prefixes asked", "; ".join(map(_shown, sorted(asked))), f"among them {_shown((*text, *missing[0]))}"),)
                raise Violation(f"A token is emitted {told}, and the target was never asked what follows there.", table, kind="row of the target")


def _shown(tokens: Prefix) -> str:
    return " ".join(map(str, tokens))


def _not_its_own(subject: Description) -> str | None:
    return "it declares that it drafts by a law of its own" if subject.conventions.get("drafting") == "own" else None


def _as_they_are(*rules: str) -> Callable[[Description], str | None]:
    """Why what holds of one rule, and of drafts from the rows as they are, is not judged."""

    def applies(subject: Description) -> str | None:
        if subject.rule not in rules:
            return f"holds for the rule{'s' * (len(rules) > 1)} {', '.join(rules)}; declared is {subject.rule or 'none'}"
        declared = subject.conventions.get("drafting") == "rows"
        return rows.needs_wide(subject) if declared else 'it does not declare conventions={"drafting": "rows"}'

    return applies


@prop("DRV-005", "The q reported are the draft's rows behind the text and the drafts before; an advisory unless `drafting` is declared.",
      source="2211.17192, algorithm 1; theory S1; faults, Q-MISMATCH", guards="position", after=("DRV-001",), applies=_not_its_own,
      first=lambda subject: [{**case, "rounds": 2} for case in loops.first(subject)])  # fmt: skip
def test_q_is_that_of_the_draft(trial: Trial, case: Case) -> None:
    declared = trial.subject.conventions.get("drafting") == "rows"
    for number in range(CALLS):
        for text, one in single(trial, case, number):
            table = _strange_row(tables(case)[1], text, one, int(str(case["gamma"])) if declared else 0)
            if table is not None:
                message = "The q reported is not what the draft gives behind the tokens drafted before."
                raise Violation(message, (table,), kind="row of the draft", severity=None if declared else "advisory")


def _strange_row(draft: Table, text: Prefix, one: Round, least: int) -> Row | None:
    """The first row of q that is none of the draft's, or one that is missing. Drafts that were rejected may not be told: then any row does that the draft was asked for there."""
    drafted, found = one.drafted if one.drafted is not None else one.tokens[:-1], list(one.q.rows())
    for place, row in enumerate(found):
        known = (*text, *drafted[:place])
        lines = (
            [draft.line(known)] if place <= len(drafted) else [draft.line(p) for p in one.of_draft if len(p) == len(text) + place and p[: len(known)] == known]
        )
        if not any(same_row(row, line, one.q.dtype) for line in lines):
            return Row(f"q, row {place}", _numbers(row), " or ".join(map(_numbers, lines)) or "a row that the draft was asked for")
    return Row("rows of q", str(len(found)), str(least)) if len(found) < least else None


def _numbers(row: Sequence[float]) -> str:
    return ", ".join(f"{x:.4g}" for x in row)


@prop("DRV-006", "Draft tokens, where they are told, follow the rows of q that are reported, each drawn afresh.", source="theory S1 (i), S13; faults, Q-MISMATCH, B002, B003",
      guards="joint", statistical=True, after=("DRV-001",), applies=rows.needs_wide,
      first=lambda subject: [loops.case(loops.dtype_of(subject), shape, places=PLACES) for shape in (loops.SMALL[3], loops.SMALL[2])])  # fmt: skip
def test_drafts_follow_q(trial: Trial, case: Case) -> None:
    if any(one.drafted is None for _, one in single(trial, case, 0)):
        raise NotJudged("the subject does not tell its draft tokens")
    uniform = itertools.product(range(PLACES), repeat=int(str(case["gamma"])))
    trial.law(case, Law.of(dict.fromkeys(uniform, 1.0)), lambda outcome: Draw(*outcome).places)


@prop("DRV-007", "Where the target is sure of every token, those are emitted, whatever is drafted, in the second round too.", source="theory S10, S12c; faults, BONUS, P-MISMATCH",
      guards="position", statistical=True, after=("DRV-001",),
      first=lambda s: [loops.sure(loops.dtype_of(s), *sizes, draft) for sizes in ((2, 1), (1, 2)) for draft in ("right", "wrong", "open")])  # fmt: skip
def test_sure_rows(trial: Trial, case: Case) -> None:
    trial.holds(case, on_draws(lambda d: impossible(case, d.rounds) is None), "Another token than the target's is emitted")


@prop("DRV-008", "The emitted tokens, completed by the target, follow the target.", source=THEOREM, guards="joint", statistical=True, after=("DRV-003",), applies=rows.needs_wide,
      first=lambda subject: [*loops.first(subject), loops.case(loops.dtype_of(subject), loops.WIDER)], cases=loops.wide, limit=2)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    trial.law(case, loops.right_law(case), lambda outcome: Draw(*outcome).tokens)


def several(subject: Description) -> list[Case]:
    """Two rounds, whose law can be explored; three, and two of two drafts, which are drawn."""
    return [loops.case(loops.dtype_of(subject), loops.SMALL[shape], rounds=rounds) for shape, rounds in ((0, 2), (0, 3), (3, 2))]


@prop("DRV-009", "Over two and three rounds, each on the text that the one before has left, the tokens follow the target.", source=f"{THEOREM}; faults, SEED, P-MISMATCH",
      guards="joint", statistical=True, after=("DRV-008",), first=several, applies=rows.needs_wide, drawn_too=True)  # fmt: skip
def test_rounds(trial: Trial, case: Case) -> None:
    trial.law(case, loops.right_law(case), lambda outcome: Draw(*outcome).tokens)


@prop("DRV-010", "Two calls on one text draw afresh: their tokens are independent.", source="2211.17192, appendix A.1; faults, SEED, B053, B058", guards="joint",
      statistical=True, after=("DRV-008",), first=lambda subject: loops.first(subject)[:1], applies=rows.needs_wide, drawn_too=True)  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    once = loops.right_law(case).probabilities
    both = Law({(*a, *b): x * y for (a, x), (b, y) in itertools.product(once.items(), repeat=2)})
    trial.law(case, both, lambda outcome: tuple(token for one in outcome for token in Draw(*one).tokens), spans=2)


@prop("DRV-011", "Accepted length and tokens have the joint law of the standard rule: the verifier's draws are independent of the drafter's.",
      source="theory S1 (ii), S4; faults, RNG, B052", guards="joint", statistical=True, after=("DRV-005",), applies=_as_they_are("standard"),
      first=lambda subject: [loops.first(subject)[place] for place in (0, 2, 3)])  # fmt: skip
def test_independent_draws(trial: Trial, case: Case) -> None:
    trial.law(case, loops.standard_law(case), lambda outcome: (len(Draw(*outcome).rounds[0][0]) - 1, Draw(*outcome).tokens))


@prop("DRV-012", "Where target and draft are equal every draft token is accepted.", source="theory S12d", guards="joint", statistical=True, after=("DRV-001",),
      applies=_as_they_are("standard", "block"), first=lambda s: [{**case, "draft": case["target"]} for case in loops.first(s)])  # fmt: skip
def test_equal_rows_accept(trial: Trial, case: Case) -> None:
    whole = int(str(case["gamma"])) + 1
    trial.holds(case, on_draws(lambda d: all(len(tokens) == whole for tokens, _ in d.rounds)), "A draft token is rejected though p and q are equal")


@prop("DRV-013", "Without drafts, gamma = 0, a token of the target is drawn; refusing is an advisory unless `without_drafts` is declared.", source="theory S3",
      guards="joint", statistical=True, after=("DRV-008",), applies=rows.needs_wide,
      first=lambda subject: [{**case, "gamma": 0} for case in loops.first(subject)[:2]])  # fmt: skip
def test_without_drafts(trial: Trial, case: Case) -> None:
    reply = trial.call(case)
    if not isinstance(reply, Value):
        declared = trial.subject.conventions.get("without_drafts") == "plain"
        raise Violation(f"With gamma 0, the subject {reply}.", kind="refused", severity=None if declared else "advisory")
    trial.law(case, loops.right_law(case), lambda outcome: Draw(*outcome).tokens)


@prop("DRV-014", "The same seed gives the same tokens, drafts and q.", source="contracts, hygiene; faults, SEED, B058", guards="hygiene", severity="advisory",
      after=("DRV-001",), first=loops.first, applies=takes_a_seed)  # fmt: skip
def test_same_seed(trial: Trial, case: Case) -> None:
    same_seed(trial, case)


@prop("DRV-015", "The call leaves the rows that target and draft give as they were.", source="contracts, hygiene; theory L17", guards="hygiene", severity="advisory",
      after=("DRV-001",), first=loops.first)  # fmt: skip
def test_rows_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("DRV-016", "Target and draft are asked about beginnings of the text and what may follow it, and nothing else.", source="faults, P-MISMATCH; theory L5",
      guards="efficiency", severity="advisory", after=("DRV-001",), first=lambda subject: [{**case, "rounds": 2} for case in loops.first(subject)])  # fmt: skip
def test_questions(trial: Trial, case: Case) -> None:
    for number in range(CALLS):
        for text, one in single(trial, case, number):
            strange = [p for p in (*one.of_target, *one.of_draft) if p[: len(text)] != text[: len(p)]]
            if strange:
                table = (Row("prefix asked", _shown(strange[0]), f"a beginning of {_shown(text)}, or what may follow it"),)
                raise Violation("A model is asked about another text.", table, kind="question")


@prop("DRV-017", "No bound of a uniform generator's range leads to a token of target probability zero or to an exception.",
      source="theory S12c, C6, C7; faults B030, B073", guards="support", severity="grid", after=("DRV-003",),
      first=lambda subject: loops.first(subject)[1:3])  # fmt: skip
def test_boundary_draws(trial: Trial, case: Case) -> None:
    at_the_bounds(trial, case, lambda rounds: impossible(case, rounds), lambda outcome: Draw(*outcome).rounds)
