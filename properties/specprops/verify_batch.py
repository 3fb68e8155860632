"""Properties of `verify_batch`: each request of a batch is verified as on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specprops import batch_claims as claims
from specprops import batches, company, rows
from specprops.boundary import at_the_bounds
from specprops.hygiene import inputs_unchanged
from specprops.suite import prop
from specprops.trial import Trial
from specprops.verify_chain import declares
from specverify.contracts import Case

if TYPE_CHECKING:
    from specverify.subjects.subject import Description

THEOREM = "theory S3, S12h; contracts, verify_batch"
FEW = 500
"""Draws of a large batch, where each takes milliseconds."""
FRESH = 2_000
"""Of its confirmation at most, ten seconds; of a claim that no draw may break a tenth suffices."""


def seeded_first(subject: Description) -> list[Case]:
    """Small batches with seeds and drafts."""
    return [batches.decided(case, 1) for case in batches.first(subject)]


def drafted_first(subject: Description) -> list[Case]:
    """The smallest batches with a draft."""
    return [batches.decided(case, 1) for case in batches.first(subject)[:6]]


@prop("BAT-001", "Every call gives each request 1 to length + 1 token ids of the vocabulary, and no exception.", source="2211.17192, algorithm 1; contracts, verify_batch",
      guards="well-formed", statistical=True, first=batches.first, cases=batches.batches, limit=12)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda _: True, "The batch fails")


@prop("BAT-002", "All tokens of a request but the last are its own first draft tokens.", source="theory S12a; faults ROW", guards="well-formed", statistical=True,
      after=("BAT-001",), first=batches.first, cases=batches.batches, limit=8)  # fmt: skip
def test_accepted_prefix(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.follows_draft, "Tokens before a request's last differ from its draft")


@prop("BAT-003", "No request emits a token that its own target rows give probability zero.", source="theory S12c; faults ROW, BONUS, PADDING", guards="support",
      statistical=True, after=("BAT-001",), first=batches.first, cases=batches.batches, limit=12)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.keeps_support, "A request emits a token of target probability zero")


@prop("BAT-005", "The token at a request's stop is not the draft token that was rejected there.", source="theory S12b", guards="joint", statistical=True,
      after=("BAT-002",), first=batches.first, cases=batches.wide, limit=6, applies=declares("standard", "block", "sample-and-match"))  # fmt: skip
def test_rejected_token_is_not_emitted(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.replaces_the_rejected, "A rejected draft token is emitted")


@prop("BAT-006", "The token at a rejection has more probability under the request's own target row than under its draft row.", source="theory S12b; faults ROW, Q-MISMATCH",
      guards="joint", statistical=True, after=("BAT-002",), first=batches.first, cases=batches.wide, limit=6, applies=declares("standard"))  # fmt: skip
def test_replacement_lies_in_the_residual(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.in_the_residual(trial.subject, case), "A replacement comes from outside its request's residual")


def takes_temperatures(subject: Description) -> str | None:
    """Why greedy requests are not looked at."""
    return None if "temperature" in subject.supports else "it takes no temperature of single requests"


@prop("BAT-007", "A greedy request emits its draft up to the first token that is not the argmax, then the argmax, whoever is beside it.", source="theory S10; faults MIXED",
      guards="greedy", statistical=True, after=("BAT-001",), first=batches.first, cases=batches.batches, limit=8, applies=takes_temperatures)  # fmt: skip
def test_greedy_requests(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.greedy_tokens, "A greedy request emits other tokens")


@prop("BAT-008", "With drafts drawn from q, the tokens of each request, completed from p, follow its own rows, and requests are independent.", source=f"{THEOREM}; statistics 2.7",
      guards="joint", statistical=True, after=("BAT-003",), first=batches.first, cases=batches.wide, limit=6, applies=rows.needs_wide)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    claims.law(trial, case)


@prop("BAT-009", "Successive calls draw afresh: the tokens of two calls are independent.", source="2211.17192, appendix A.1; faults B053, B058", guards="joint", statistical=True,
      after=("BAT-008",), first=lambda subject: batches.first(subject)[2:3], applies=rows.needs_wide, drawn_too=True)  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    claims.twice(trial, case)


@prop("BAT-010", "The call leaves its arguments as they were.", source="theory, L17; faults B019", guards="hygiene", severity="advisory", after=("BAT-001",),
      first=drafted_first)  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("BAT-011", "Over a large vocabulary each request keeps to its draft's prefix and to its target's support.", source="theory S12a, S12c", guards="support", statistical=True,
      after=("BAT-002", "BAT-003"), first=batches.spread, cases=batches.large, limit=4, applies=rows.needs_wide)  # fmt: skip
def test_large_vocabulary(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.keeps_both, "The prefix or the support is not kept", draws=40, fresh=FRESH // 10)


@prop("BAT-012", "In a batch of 64 unlike requests each keeps to its own draft's prefix and to its own target's support.", source="theory S12a, S12c; faults ROW", guards="support",
      statistical=True, after=("BAT-002", "BAT-003"), first=batches.many)  # fmt: skip
def test_many_requests(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.keeps_both, "A request of many breaks its prefix or its support", fresh=FRESH // 10)


@prop("BAT-013", "In a batch of 64 unlike requests the tokens of each, and of two neighbours, have their law.", source=THEOREM, guards="joint", statistical=True,
      after=("BAT-008", "BAT-012"), first=batches.many, applies=rows.needs_wide)  # fmt: skip
def test_law_of_many(trial: Trial, case: Case) -> None:
    claims.law(trial, case, draws=FEW, fresh=FRESH)


@prop("BAT-014", "With the same seeds, a batch gives the same rows again, whatever the state of the global generators.", source="contracts, Pathwise; faults SEED", guards="requests",
      after=("BAT-001",), first=seeded_first, applies=company.needs_seeds)  # fmt: skip
def test_seeds_decide(trial: Trial, case: Case) -> None:
    company.asked_again(trial, case)


@prop("BAT-015", "With the same seeds, a permutation of the requests permutes their rows.", source="contracts, Pathwise; faults ROW, SEED", guards="requests", after=("BAT-014",),
      first=seeded_first, cases=batches.seeded, limit=10, applies=company.needs_seeds)  # fmt: skip
def test_permutation(trial: Trial, case: Case) -> None:
    company.reordered(trial, case)


@prop("BAT-016", "With its own seed, a request gives the same tokens alone and beside any other requests.", source="contracts, Pathwise; faults SEED, RNG", guards="requests",
      after=("BAT-014",), first=seeded_first, cases=batches.seeded, limit=10, applies=company.needs_seeds)  # fmt: skip
def test_neighbours(trial: Trial, case: Case) -> None:
    company.other_neighbours(trial, case)


@prop("BAT-017", "With its own seed, a request gives the same tokens under any K and any padding.", source="contracts, Pathwise; theory A4; faults PADDING", guards="requests",
      after=("BAT-014",), first=seeded_first, cases=batches.seeded, limit=10, applies=company.needs_seeds)  # fmt: skip
def test_padding(trial: Trial, case: Case) -> None:
    company.other_padding(trial, case)


@prop("BAT-018", "With its own seed, a request gives the same tokens beside a request without drafts and beside a greedy one.", source="contracts, Pathwise; faults B059, MIXED",
      guards="requests", after=("BAT-014",), first=seeded_first, cases=batches.seeded, limit=10, applies=company.needs_seeds)  # fmt: skip
def test_guests(trial: Trial, case: Case) -> None:
    company.guests(trial, case)


@prop("BAT-004", "No bound of a uniform generator's range leads to a token of target probability zero or to an exception.", source="theory S12c, C6, C7; faults B030, B073",
      guards="support", severity="grid", after=("BAT-001", "BAT-003"), first=drafted_first)  # fmt: skip
def test_boundary_draws(trial: Trial, case: Case) -> None:
    at_the_bounds(trial, case, claims.impossible(case), claims.emitted)
