"""Properties of `verify_packed`: each request of a ragged batch is verified as on its own, under its own parameters, in whichever form the batch is handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specprops import batch_claims as claims
from specprops import batches, company, packed, rows
from specprops.boundary import at_the_bounds
from specprops.hygiene import inputs_unchanged
from specprops.suite import prop
from specprops.trial import Trial
from specprops.verify_batch import FEW, FRESH, THEOREM, takes_temperatures
from specprops.verify_chain import declares
from specverify.contracts import Case, array, array_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from specverify.subjects.subject import Description


@prop("PCK-001", "Every call gives each request 1 to length + 1 token ids of the target's vocabulary, and no exception.", source="2211.17192, algorithm 1; contracts, Packed batches",
      guards="well-formed", statistical=True, first=packed.first, cases=packed.cases, limit=12)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda _: True, "The batch fails")


@prop("PCK-002", "All tokens of a request but the last are its own first draft tokens.", source="theory S12a; faults ROW", guards="well-formed", statistical=True,
      after=("PCK-001",), first=packed.first, cases=packed.cases, limit=8)  # fmt: skip
def test_accepted_prefix(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.follows_draft, "Tokens before a request's last differ from its draft")


@prop("PCK-003", "No request emits a token that its own target rows give probability zero.", source="theory S12c; faults ROW, BONUS, PADDING", guards="support",
      statistical=True, after=("PCK-001",), first=packed.first, cases=packed.cases, limit=12)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.keeps_support, "A request emits a token of target probability zero")


@prop("PCK-005", "The token at a request's stop is not the draft token that was rejected there.", source="theory S12b", guards="joint", statistical=True,
      after=("PCK-002",), first=packed.first, cases=packed.wide, limit=6, applies=declares("standard", "block", "sample-and-match"))  # fmt: skip
def test_rejected_token_is_not_emitted(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.replaces_the_rejected, "A rejected draft token is emitted")


@prop("PCK-006", "The token at a rejection has more probability under the request's own target row than under its draft row.", source="theory S12b; faults ROW, Q-MISMATCH",
      guards="joint", statistical=True, after=("PCK-002",), first=packed.first, cases=packed.wide, limit=6, applies=declares("standard"))  # fmt: skip
def test_replacement_lies_in_the_residual(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.in_the_residual(trial.subject, case), "A replacement comes from outside its request's residual")


@prop("PCK-007", "A greedy request emits its draft up to the first token that is not the argmax, then the argmax, whoever is beside it.", source="theory S10; faults MIXED",
      guards="greedy", statistical=True, after=("PCK-001",), first=packed.first, cases=packed.cases, limit=8, applies=takes_temperatures)  # fmt: skip
def test_greedy_requests(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.greedy_tokens, "A greedy request emits other tokens")


@prop("PCK-008", "With drafts drawn from q, the tokens of each request, completed from p, follow its own rows, and requests are independent.", source=f"{THEOREM}; statistics 2.7",
      guards="joint", statistical=True, after=("PCK-003",), first=packed.first, cases=packed.wide, limit=6, applies=rows.needs_wide)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    claims.law(trial, case)


@prop("PCK-009", "Successive calls draw afresh: the tokens of two calls are independent.", source="2211.17192, appendix A.1; faults B053, B058", guards="joint", statistical=True,
      after=("PCK-008",), first=lambda subject: packed.first(subject)[2:3], applies=rows.needs_wide, drawn_too=True)  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    claims.twice(trial, case)


@prop("PCK-010", "The call leaves the batch as it was.", source="theory, L17; faults B019", guards="hygiene", severity="advisory", after=("PCK-001",),
      first=lambda subject: packed.seeded_first(subject)[:6])  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("PCK-011", "Over a large vocabulary each request keeps to its draft's prefix and to its target's support.", source="theory S12a, S12c", guards="support", statistical=True,
      after=("PCK-002", "PCK-003"), first=batches.spread, cases=batches.large, limit=4, applies=rows.needs_wide)  # fmt: skip
def test_large_vocabulary(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.keeps_both, "The prefix or the support is not kept", draws=40, fresh=FRESH // 10)


@prop("PCK-012", "In a batch of 64 unlike requests each keeps to its own draft's prefix and to its own target's support.", source="theory S12a, S12c; faults ROW", guards="support",
      statistical=True, after=("PCK-002", "PCK-003"), first=packed.many)  # fmt: skip
def test_many_requests(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.keeps_both, "A request of many breaks its prefix or its support", fresh=FRESH // 10)


@prop("PCK-013", "In a batch of 64 unlike requests the tokens of each, and of two neighbours, have their law.", source=THEOREM, guards="joint", statistical=True,
      after=("PCK-008", "PCK-012"), first=packed.many, applies=rows.needs_wide)  # fmt: skip
def test_law_of_many(trial: Trial, case: Case) -> None:
    claims.law(trial, case, draws=FEW, fresh=FRESH)


@prop("PCK-014", "With the same seeds, a batch gives the same rows again, whatever the state of the global generators.", source="contracts, Pathwise; faults SEED", guards="requests",
      after=("PCK-001",), first=packed.seeded_first, applies=company.needs_seeds)  # fmt: skip
def test_seeds_decide(trial: Trial, case: Case) -> None:
    company.asked_again(trial, case)


@prop("PCK-015", "With the same seeds, a permutation of the requests permutes their rows.", source="contracts, Pathwise; faults ROW, SEED", guards="requests", after=("PCK-014",),
      first=packed.seeded_first, cases=packed.seeded, limit=10, applies=company.needs_seeds)  # fmt: skip
def test_permutation(trial: Trial, case: Case) -> None:
    company.reordered(trial, case)


@prop("PCK-016", "With its own seed, a request gives the same tokens alone and beside any other requests.", source="contracts, Pathwise; faults SEED, RNG", guards="requests",
      after=("PCK-014",), first=packed.seeded_first, cases=packed.seeded, limit=10, applies=company.needs_seeds)  # fmt: skip
def test_neighbours(trial: Trial, case: Case) -> None:
    company.other_neighbours(trial, case)


@prop("PCK-017", "With its own seed, a request gives the same tokens under any K and any padding.", source="contracts, Pathwise; theory A4; faults PADDING", guards="requests",
      after=("PCK-014",), first=packed.seeded_first, cases=packed.seeded, limit=10, applies=company.needs_seeds)  # fmt: skip
def test_padding(trial: Trial, case: Case) -> None:
    company.other_padding(trial, case)


@prop("PCK-018", "With its own seed, a request gives the same tokens beside a request without drafts and beside a greedy one.", source="contracts, Pathwise; faults B059, MIXED",
      guards="requests", after=("PCK-014",), first=packed.seeded_first, cases=packed.seeded, limit=10, applies=company.needs_seeds)  # fmt: skip
def test_guests(trial: Trial, case: Case) -> None:
    company.guests(trial, case)


@prop("PCK-019", "Beside requests of any parameters, the tokens of each have the law of its own temperature, top-k and top-p.", source="theory S11; faults P-MISMATCH, MIXED",
      guards="joint", statistical=True, after=("PCK-003",), first=packed.parameters, cases=packed.with_parameters, limit=6, applies=packed.needs_logits)  # fmt: skip
def test_parameters(trial: Trial, case: Case) -> None:
    claims.law(trial, case)


@prop("PCK-020", "Where the draft has a vocabulary of its own, tokens are the target's, and follow it.", source=f"{THEOREM}; faults VOCAB, Q-MISMATCH", guards="joint", statistical=True,
      after=("PCK-003",), first=packed.mapped, cases=packed.with_maps, limit=6, applies=packed.takes("id map", "it takes no vocabulary of the draft's own"))  # fmt: skip
def test_vocabulary_of_the_draft(trial: Trial, case: Case) -> None:
    claims.law(trial, case)


@prop("PCK-021", "Where the draft is no random choice and q is not handed over, tokens follow the target.", source="theory S8; faults Q-MISMATCH", guards="joint", statistical=True,
      after=("PCK-003",), first=packed.certain, applies=packed.takes("no q", "it needs the draft's rows"))  # fmt: skip
def test_drafts_without_q(trial: Trial, case: Case) -> None:
    claims.law(trial, case)


def seeded_and(feature: str, why: str) -> Callable[[Description], str | None]:
    """Why a feature is not looked at from call to call, or none."""
    return lambda subject: why if feature not in (*subject.supports, *(["scratch"] if subject.scratch else [])) else company.needs_seeds(subject)


@prop("PCK-022", "Ids of 32 and of 64 bits give a request the same tokens.", source="contracts, Packed batches; faults VOCAB", guards="requests", after=("PCK-014",),
      first=packed.seeded_first, applies=seeded_and("int32", "it takes ids of 64 bits alone"))  # fmt: skip
def test_width_of_ids(trial: Trial, case: Case) -> None:
    company.told_otherwise(trial, case, {"when ids have 32 bits": {"ids": "int32"}})


@prop("PCK-023", "A map that gives each id itself changes no token.", source="contracts, Packed batches; faults VOCAB", guards="requests", after=("PCK-014",),
      first=packed.seeded_first, applies=seeded_and("id map", "it takes no vocabulary of the draft's own"))  # fmt: skip
def test_identity_map(trial: Trial, case: Case) -> None:
    v = array_of(case, "p").shape[2]
    company.told_otherwise(trial, case, {"with a map of each id to itself": {"id_map": array("int64", (v,), range(v))}})


@prop("PCK-024", "What lies in the buffers for output changes no token.", source="contracts, Packed batches; faults PADDING", guards="requests", after=("PCK-014",),
      first=packed.seeded_first, applies=seeded_and("scratch", "it declares no scratch"))  # fmt: skip
def test_scratch(trial: Trial, case: Case) -> None:
    company.told_otherwise(trial, case, {f"when buffers hold {poison}": {"poison": poison} for poison in (0, *packed.POISONS)})


@prop("PCK-025", "With its own seed, a request gives the same tokens beside requests under other parameters.", source="contracts, Pathwise; faults MIXED, P-MISMATCH", guards="requests",
      after=("PCK-014",), first=packed.seeded_parameters, applies=packed.needs_logits_and_seeds)  # fmt: skip
def test_other_parameters(trial: Trial, case: Case) -> None:
    company.beside(trial, case, packed.others(trial.subject), "beside a request under other parameters")


@prop("PCK-004", "No bound of a uniform generator's range leads to a token of target probability zero or to an exception.", source="theory S12c, C6, C7; faults B030, B073",
      guards="support", severity="grid", after=("PCK-001", "PCK-003"), first=lambda subject: packed.seeded_first(subject)[:6])  # fmt: skip
def test_boundary_draws(trial: Trial, case: Case) -> None:
    at_the_bounds(trial, case, claims.impossible(case), claims.emitted)
