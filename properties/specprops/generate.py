"""Properties of `generate`: a whole loop writes the target's own text, over many rounds (2211.17192, algorithm 1; theory S1 to S12, 1f)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from specprops import rows, texts
from specprops.hygiene import inputs_unchanged, takes_a_seed
from specprops.hygiene import same_seed as holds_a_seed
from specprops.suite import prop
from specprops.trial import Trial
from specprops.violation import NotJudged, Row, Violation
from specverify.contracts import Case
from specverify.contracts.generate import number, prompts, room, tables
from specverify.contracts.table_models import Prefix
from specverify.law import Law, Outcome

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

THEOREM = "2211.17192, appendix A.1; theory S3"
DRAWS = {"module": 600, "transformers": 200, "seq2seq": 200, "whisper": 200}
"""Of a screen, where a text takes milliseconds; those of the run else. 200 show a total variation of 0.29 over 8 texts, 600 one of 0.17."""
FRESH = 4_000
"""Of a confirmation of such, for the same reason."""
SEEDS = 3
TEXTS = 16
"""Of which calls of the target are counted: 16 texts of 24 tokens are some 160 rounds."""
DEVIATIONS = 5.0
"""Standard deviations beyond which more calls than the standard rule's are told; by chance one subject in three million is."""


def heeds(*features: str) -> Callable[[Description], str | None]:
    """A condition: the loop draws, and heeds some parameters."""
    return lambda subject: rows.needs_wide(subject) or takes(*features)(subject)


def takes(*features: str) -> Callable[[Description], str | None]:
    """A condition: the loop heeds some parameters."""

    def applies(subject: Description) -> str | None:
        missing = [feature for feature in features if subject.supports and feature not in subject.supports]
        return f"the subject does not declare that it heeds {', '.join(missing)}" if missing else None

    return applies


def tokens_of(outcome: Outcome) -> Prefix:
    """The new tokens of the last call."""
    return tuple(outcome[-1][0])


def law(trial: Trial, case: Case, right: Law, project: Callable[[Outcome], Outcome] = tokens_of) -> None:
    """The law of the new tokens, on as many draws as a loop has time for."""
    slow = DRAWS.get(trial.subject.models or "callable")
    trial.laws(case, [(right, project)], draws=slow, fresh=FRESH if slow else None)


@prop("GEN-001", "Every call gives token ids of the vocabulary, and no exception.", source="2211.17192, algorithm 1; contracts, F", guards="well-formed",
      first=lambda s: [*texts.lengths(s)[:8], texts.sure(s, 3, texts.LONG)])  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.value(case)


@prop("GEN-002", "A text is as long as was asked for, for every number of drafts and of tokens that are left.", source="theory S12g; faults MAXTOKENS, B172, B175",
      guards="well-formed", after=("GEN-001",), first=texts.lengths)  # fmt: skip
def test_length(trial: Trial, case: Case) -> None:
    found, most = tokens_of(trial.value(case).outcome), room(case, prompts(case)[-1])
    if len(found) != most:
        message = f"{len(found)} token{'s' * (len(found) != 1)} came back with {number(case, 'gamma')} drafts a round, and {most} were asked for."
        raise Violation(message, (Row("new tokens", str(len(found)), str(most)),), kind="too long" if len(found) > most else "too short")


@prop("GEN-003", "Where the target is sure of every token, a long text is its own, whatever is drafted.", source="theory S10, S12c; faults KV-TARGET, ROW, B095, B097",
      guards="position", after=("GEN-002",),
      first=lambda s: [texts.sure(s, 1, 6), *(texts.sure(s, g, texts.LONG, d) for g, d in ((3, "right"), (3, "wrong"), (1, "half"), (3, "half"), (5, "half"))), *texts.across_pages(s)])  # fmt: skip
def test_sure_text(trial: Trial, case: Case) -> None:
    same_text(trial, case)


def same_text(trial: Trial, case: Case) -> None:
    """The text of the last call must be the right one; else the table shows where they part, and by how much the target's token is ahead there."""
    same_row(case, tokens_of(trial.value(case).outcome), prompts(case)[-1])


def same_row(case: Case, found: Prefix, prompt: Prefix, called: str = "The text") -> None:
    """The same for the new tokens of one row, behind its prompt."""
    right = texts.right_text(case, prompt)
    if found == right:
        return
    place = next((i for i, (a, b) in enumerate(zip(found, right, strict=False)) if a != b), min(len(found), len(right)))
    if place == min(len(found), len(right)):
        message = f"{called} ends after {len(found)} tokens, and plain decoding's after {len(right)}."
        raise Violation(message, (_texts(found, right, place),), kind="too long" if len(found) > len(right) else "too short")
    line = texts.warped({**case, "temperature": 1.0}, tables(case)[0], right[:place], prompt)
    margin = math.log(line[right[place]] / line[found[place]]) if line[found[place]] > 0 else math.inf
    message = f"{called} leaves plain decoding's at token {place}, where that is ahead by {margin:.2g} in the logits."
    raise Violation(message, (_texts(found, right, place),), kind="text")


def _texts(found: Prefix, right: Prefix, place: int) -> Row:
    return Row(f"tokens {max(0, place - 3)} to {place + 3}", *(" ".join(map(str, text[max(0, place - 3) : place + 4])) or "nothing" for text in (found, right)))


@prop("GEN-004", "A text ends with its first end token, wherever that stands in a block, drafted or not; an end that is drafted and rejected does not end it.",
      source="theory S12g; faults EOS, B162, B163", guards="well-formed", after=("GEN-002",), first=texts.ends, applies=takes("eos"))  # fmt: skip
def test_end(trial: Trial, case: Case) -> None:
    same_text(trial, case)


@prop("GEN-005", "Nothing is left over from a call before on the same models, be its prompt another, the same, or the beginning of a chat.", source="contracts, D; faults B122, B133, KV-TARGET",
      guards="position", after=("GEN-003",),
      first=lambda s: [texts.sure(s, 3, 12, d, p) for p in ([texts.OTHER, texts.PROMPT], [texts.PROMPT] * 2, [[*texts.PROMPT, 1], texts.PROMPT]) for d in ("half", "right")] + texts.turns(s))  # fmt: skip
def test_calls_before(trial: Trial, case: Case) -> None:
    same_text(trial, case)


@prop("GEN-006", "A token that the target gives probability zero behind the tokens before it is never written.", source="theory S12c", guards="support",
      statistical=True, after=("GEN-002",), first=lambda s: [texts.case(s, texts.SMALL[place]) for place in (1, 3)])  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    support = set(texts.right_law(case).probabilities)
    trial.holds(case, lambda outcome: tokens_of(outcome) in support, "A text of target probability zero is written")


@prop("GEN-007", "Over several rounds the new tokens follow the target.", source=f"{THEOREM}; faults Q-MISMATCH, BONUS, RNG, SEED", guards="joint", statistical=True,
      after=("GEN-006",), first=texts.first, cases=texts.drawn, limit=1, applies=rows.needs_wide)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    law(trial, case, texts.right_law(case))


@prop("GEN-008", "With an end token in target and draft, texts follow the target up to it.", source=f"{THEOREM}, S12g; faults EOS", guards="joint", statistical=True,
      after=("GEN-007", "GEN-004"), first=texts.with_end, applies=heeds("eos"))  # fmt: skip
def test_law_with_an_end(trial: Trial, case: Case) -> None:
    law(trial, case, texts.right_law(case))


@prop("GEN-009", "At temperature 0 a long text is that of plain decoding, whatever is drafted.", source="theory S10, 1f; faults KV-TARGET, DRAFT-STATE, ROW", guards="greedy",
      after=("GEN-001",), applies=takes("greedy"),
      first=lambda s: [texts.greedy(s, 1, 6), *(texts.greedy(s, g, texts.LONG, d) for g, d in ((3, "right"), (3, "wrong"), (3, "half"), (5, "half")))])  # fmt: skip
def test_greedy_text(trial: Trial, case: Case) -> None:
    same_text(trial, case)


@prop("GEN-010", "At temperature 0 the text depends neither on the drafter nor on the number of drafts.", source="theory S7, S10; faults B097", guards="greedy",
      after=("GEN-001",), applies=takes("greedy"), first=lambda s: [texts.greedy(s, 1, 24, "right", (1.01, 1, 0.5))])  # fmt: skip
def test_greedy_drafters(trial: Trial, case: Case) -> None:
    found: dict[Prefix, str] = {}
    for drafter, gamma in itertools.product(("right", "wrong", "half"), (1, 2, 4)):
        told = texts.greedy(trial.subject, gamma, number(case, "max_new_tokens"), drafter, (1.01, 1, 0.5))
        found.setdefault(tokens_of(trial.value(told).outcome), f"{drafter} drafts, {gamma} a round")
    if len(found) > 1:
        table = tuple(Row(how, " ".join(map(str, text)), " ".join(map(str, next(iter(found))))) for text, how in found.items())
        raise Violation("At temperature 0 another drafter gives another text.", table, kind="drafter")


@prop("GEN-011", "At another temperature than 1 the new tokens follow the target at that temperature.", source="theory S11; faults B008, B016", guards="joint",
      statistical=True, after=("GEN-007",), applies=heeds("temperature"), first=lambda s: [*texts.hot(s, 0.5), *texts.hot(s, 2.0)[:1]])  # fmt: skip
def test_temperature(trial: Trial, case: Case) -> None:
    law(trial, case, texts.right_law(case))


@prop("GEN-012", "With top-k the new tokens follow the filtered target.", source="theory S11; faults B009, B017", guards="joint", statistical=True, after=("GEN-007",),
      applies=heeds("top_k"), first=lambda s: [texts.case(s, texts.Shape(((5, 3, 1), (1, 3, 4), (2, 1, 6)), texts.Q3, 2, 3), top_k=2)])  # fmt: skip
def test_top_k(trial: Trial, case: Case) -> None:
    law(trial, case, texts.right_law(case))


@prop("GEN-013", "With top-p the new tokens follow the filtered target.", source="theory S11, C3; faults B011, B017", guards="joint", statistical=True, after=("GEN-007",),
      applies=heeds("top_p"), first=lambda s: [texts.case(s, texts.Shape(((5, 3, 1), (1, 3, 4), (2, 1, 6)), texts.Q3, 2, 3), top_p=0.8)])  # fmt: skip
def test_top_p(trial: Trial, case: Case) -> None:
    law(trial, case, texts.right_law(case))


def _of_its_own_numbers(subject: Description) -> str | None:
    return "numbers are a function of seed and position, and both calls have one seed" if subject.rng == "counter" else rows.needs_wide(subject)


@prop("GEN-014", "Two calls on one prompt draw afresh: their texts are independent.", source=f"{THEOREM}; faults SEED, B053, B058", guards="joint", statistical=True,
      after=("GEN-007",), applies=_of_its_own_numbers, first=lambda s: [texts.case(s, texts.TWO, prompts=[texts.PROMPT] * 2)])  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    once = texts.right_law(case).probabilities
    both = Law({(a, b): x * y for (a, x), (b, y) in itertools.product(once.items(), repeat=2)})
    law(trial, case, both, lambda outcome: tuple(tuple(one[0]) for one in outcome))


def open_text(subject: Description) -> list[Case]:
    """A long text of rows that are open."""
    return [texts.case(subject, texts.Shape(((1, 1, 1),), texts.Q3, 2, 24))]


@prop("GEN-015", "Another seed gives another text.", source="contracts, F; faults SEED, B056, B058", guards="joint", after=("GEN-002",), first=open_text,
      applies=takes_a_seed)  # fmt: skip
def test_other_seeds(trial: Trial, case: Case) -> None:
    found = [tokens_of(trial.value(case, seed=f"seed/{seed}").outcome) for seed in range(SEEDS)]
    if len(set(found)) == 1:
        message = f"{SEEDS} seeds give one text of {len(found[0])} tokens, each of which is open."
        raise Violation(message, (Row("texts", "1", str(SEEDS)),), kind="seed ignored")


@prop("GEN-016", "The same seed gives the same text.", source="contracts, hygiene; faults SEED, B058", guards="hygiene", severity="advisory", after=("GEN-001",),
      first=lambda s: texts.first(s)[:2], applies=takes_a_seed)  # fmt: skip
def test_same_seed(trial: Trial, case: Case) -> None:
    holds_a_seed(trial, case)


@prop("GEN-017", "The call leaves the prompt as it was.", source="contracts, hygiene", guards="hygiene", severity="advisory", after=("GEN-001",),
      first=lambda s: [texts.sure(s, 2, 6)])  # fmt: skip
def test_prompt_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("GEN-018", "With the target as its own draft every draft is accepted: each call of the target but one gives gamma + 1 tokens.",
      source="theory S12d, S5; faults DRAFT-STATE, B121, EFFICIENCY", guards="efficiency", severity="advisory", after=("GEN-003",),
      first=lambda s: [texts.sure(s, 3, 24, "right")], applies=lambda s: None if s.models in DRAWS else "each row is a call of such a model")  # fmt: skip
def test_own_draft(trial: Trial, case: Case) -> None:
    _, calls, of_draft = trial.value(case).outcome[-1]
    if not of_draft:
        raise NotJudged("the subject does not call the draft model")
    most, each = room(case, prompts(case)[-1]), number(case, "gamma") + 1
    if calls > math.ceil(most / each) + 1:
        table = (Row("calls of the target", str(calls), f"{math.ceil(most / each)} or one more"),)
        raise Violation(f"The target is called {calls} times for {most} tokens, {most / calls:.2g} a call.", table, kind="calls")


def in_batches(subject: Description) -> str | None:
    """A condition: several prompts at once."""
    return None if subject.batch else "the subject declares no batches"


def each_row(trial: Trial, case: Case) -> None:
    """Each row of a batch must have the right text behind its own prompt."""
    for place, (row, prompt) in enumerate(zip(trial.value(case).outcome, prompts(case), strict=True)):
        same_row(case, tuple(row[0]), prompt, f"Row {place}, behind {len(prompt)} ids,")


@prop("GEN-019", "In a batch each row has the text of plain decoding behind its own prompt, be that shorter or longer than the others.",
      source="theory S12h, A4; faults PADDING, ROW, KV-TARGET", guards="position", after=("GEN-003",), first=texts.batches, applies=in_batches)  # fmt: skip
def test_rows(trial: Trial, case: Case) -> None:
    each_row(trial, case)


@prop("GEN-020", "A row of a batch that has ended stays as it is, and the others go on to their own ends.", source="theory S12g, S12h; faults EOS", guards="well-formed",
      after=("GEN-019", "GEN-004"), first=texts.ends_apart, applies=lambda s: in_batches(s) or takes("eos")(s))  # fmt: skip
def test_ends_of_rows(trial: Trial, case: Case) -> None:
    each_row(trial, case)


@prop("GEN-021", "In a batch the rows follow the target, each behind its own prompt, and independently.", source=f"{THEOREM}, S12h; faults RNG, ROW", guards="requests",
      statistical=True, after=("GEN-019", "GEN-007"), first=texts.pair_of_rows, applies=lambda s: in_batches(s) or rows.needs_wide(s))  # fmt: skip
def test_law_of_rows(trial: Trial, case: Case) -> None:
    first, second = (texts.right_law(case, prompt).probabilities for prompt in prompts(case))
    both = Law({(a, b): x * y for (a, x), (b, y) in itertools.product(first.items(), second.items())})
    law(trial, case, both, lambda outcome: tuple(tuple(row[0]) for row in outcome))


@prop("GEN-022", "A text ends with the token that fills the context: none stands beyond it, and none is lost before.", source="contracts, F; faults MAXTOKENS, B176",
      guards="well-formed", after=("GEN-002",), first=texts.at_the_limit, applies=lambda s: None if "context" in s.conventions else "the subject declares no context limit")  # fmt: skip
def test_context(trial: Trial, case: Case) -> None:
    same_text(trial, case)


@prop("GEN-023", "With temperature, top-k and top-p at once the new tokens follow the target cut by all three.", source="theory S11, C1, C3; faults B009, B011, B017",
      guards="joint", statistical=True, after=("GEN-011", "GEN-012", "GEN-013"), applies=heeds("temperature", "top_k", "top_p"), first=texts.filtered)  # fmt: skip
def test_all_filters(trial: Trial, case: Case) -> None:
    law(trial, case, texts.right_law(case))


def _counted(subject: Description) -> str | None:
    """A condition: the loop draws, and its calls of the target are rounds."""
    if subject.claim == "greedy-exact":
        return "the subject is greedy alone"
    return rows.needs_wide(subject) if subject.models in DRAWS else "each row is a call of such a model"


@prop("GEN-024", "The target is called no more often than under the standard rule, which accepts sum min(p, q) of the drafts; how often is told.",
      source="theory S2, S5; contracts, F; faults EFFICIENCY", guards="efficiency", severity="advisory", after=("GEN-007",), first=texts.open_rows, applies=_counted)  # fmt: skip
def test_acceptance(trial: Trial, case: Case) -> None:
    last = [trial.value(case, stage=f"text/{number}").outcome[-1] for number in range(TEXTS)]
    if not any(of_draft for _, _, of_draft in last):
        raise NotJudged("the subject does not call the draft model")
    (mean, variance), tokens = texts.calls_expected(case), room(case, prompts(case)[-1])
    found = math.fsum(calls for _, calls, _ in last) / TEXTS
    trial.remark = f"{tokens / found:.2g} tokens a call of the target, {tokens / mean:.2g} by the standard rule"
    if found > mean + 1 + DEVIATIONS * math.sqrt(variance / TEXTS):  # one call more reads the prompt
        table = (Row("calls of the target", f"{found:.3g}", f"{mean:.3g} or one more"),)
        raise Violation(f"The target gives {trial.remark}.", table, kind="calls")
