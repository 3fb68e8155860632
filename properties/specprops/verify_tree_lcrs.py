"""Properties of `verify_tree_lcrs`: each tree of a packed batch is verified as on its own, whatever stands beside it and in the slots that it leaves."""

from __future__ import annotations

from specprops import company, packed_trees, rows
from specprops import tree_claims as claims
from specprops.batch_claims import emitted
from specprops.boundary import at_the_bounds
from specprops.hygiene import inputs_unchanged
from specprops.suite import prop
from specprops.trial import Trial
from specprops.verify_batch import FRESH
from specprops.verify_packed import seeded_and
from specprops.verify_tree import THEOREM, refuses_for_good
from specverify.contracts import Case


@prop("TRE-013", "Every call gives each request of a batch one to its longest branch's length + 1 token ids, and no exception.", guards="well-formed", statistical=True,
      source="2305.09781, algorithm 2; contracts, Packed batches", first=packed_trees.first, cases=packed_trees.cases, limit=6)  # fmt: skip
def test_well_formed(trial: Trial, case: Case) -> None:
    trial.holds(case, lambda _: True, "The batch fails")


@prop("TRE-014", "All tokens of a request but the last stand on a path of its own tree, from a child of the context down.", source="theory A3; faults TREE, ROW", guards="well-formed",
      statistical=True, after=("TRE-013",), first=packed_trees.first, cases=packed_trees.cases, limit=4)  # fmt: skip
def test_path(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.follows_a_path, "Tokens before a request's last stand on no path of its tree")


@prop("TRE-015", "No request of a batch emits a token that its own target rows give probability zero.", source="theory S12c; faults ROW, BONUS, PADDING", guards="support",
      statistical=True, after=("TRE-013",), first=packed_trees.first, cases=packed_trees.cases, limit=5)  # fmt: skip
def test_support(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.keeps_support, "A request emits a token of target probability zero")


@prop("TRE-016", "In a batch no bound of a uniform generator's range leads to a token of target probability zero or to an exception.", source="theory S12c, C6, C7; faults B030, B073",
      guards="support", severity="grid", after=("TRE-013", "TRE-015"), first=lambda subject: packed_trees.seeded_first(subject)[:6])  # fmt: skip
def test_boundary_draws(trial: Trial, case: Case) -> None:
    at_the_bounds(trial, case, claims.impossible(case), emitted)


@prop("TRE-017", "The token at a request's stop is not that of a child which was refused there.", source="2305.09781, algorithm 2; theory S12b; faults B023", guards="joint",
      statistical=True, after=("TRE-014",), first=packed_trees.first, cases=packed_trees.wide, limit=4, applies=refuses_for_good)  # fmt: skip
def test_a_refused_token_is_not_emitted(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.replaces_the_refused, "The token of a refused child is emitted")


@prop("TRE-018", "With the children drawn as declared, the tokens of each request, completed by the target, follow its own rows, and requests are independent.",
      source=f"{THEOREM}; faults TREE, ROW, RNG", guards="joint", statistical=True, after=("TRE-014", "TRE-015"), first=packed_trees.first, cases=packed_trees.wide, limit=4,
      applies=rows.needs_wide)  # fmt: skip
def test_law(trial: Trial, case: Case) -> None:
    claims.law(trial, case)


@prop("TRE-019", "Successive calls on a batch draw afresh: the tokens of two calls are independent.", source="2305.09781, theorem 4.2; faults B053, B058", guards="joint", statistical=True,
      after=("TRE-018",), first=lambda subject: packed_trees.first(subject)[:1], applies=rows.needs_wide, drawn_too=True)  # fmt: skip
def test_successive_calls(trial: Trial, case: Case) -> None:
    claims.twice(trial, case)


@prop("TRE-020", "The call leaves the batch of trees as it was.", source="theory, L17; faults B019", guards="hygiene", severity="advisory", after=("TRE-013",),
      first=lambda subject: packed_trees.seeded_first(subject)[:6])  # fmt: skip
def test_inputs_unchanged(trial: Trial, case: Case) -> None:
    inputs_unchanged(trial, case)


@prop("TRE-021", "In a batch of 64 unlike trees each request keeps to a path of its own and to its own target's support.", source="theory A3, S12c; faults ROW", guards="support",
      statistical=True, after=("TRE-014", "TRE-015"), first=packed_trees.many)  # fmt: skip
def test_many_requests(trial: Trial, case: Case) -> None:
    claims.each_request(trial, case, claims.keeps_both, "A request of many leaves its tree or its support", fresh=FRESH // 10)


@prop("TRE-022", "With the same seeds, a batch of trees gives the same rows again, whatever the state of the global generators.", source="contracts, Pathwise; faults SEED",
      guards="requests", after=("TRE-013",), first=packed_trees.seeded_first, applies=company.needs_seeds)  # fmt: skip
def test_seeds_decide(trial: Trial, case: Case) -> None:
    company.asked_again(trial, case)


@prop("TRE-023", "With the same seeds, a permutation of the trees permutes their rows.", source="contracts, Pathwise; faults ROW, SEED", guards="requests", after=("TRE-022",),
      first=packed_trees.seeded_first, cases=packed_trees.seeded, limit=6, applies=company.needs_seeds)  # fmt: skip
def test_permutation(trial: Trial, case: Case) -> None:
    company.reordered(trial, case)


@prop("TRE-024", "With its own seed, a tree gives the same tokens alone and beside any other trees.", source="contracts, Pathwise; faults SEED, RNG, ROW", guards="requests",
      after=("TRE-022",), first=packed_trees.seeded_first, cases=packed_trees.seeded, limit=6, applies=company.needs_seeds)  # fmt: skip
def test_neighbours(trial: Trial, case: Case) -> None:
    company.other_neighbours(trial, case)


@prop("TRE-025", "With its own seed, a tree gives the same tokens in any number of slots, whatever those without a node hold.", source="contracts, Pathwise; theory A4; faults PADDING",
      guards="requests", after=("TRE-022",), first=packed_trees.seeded_first, cases=packed_trees.seeded, limit=6, applies=company.needs_seeds)  # fmt: skip
def test_padding(trial: Trial, case: Case) -> None:
    company.other_padding(trial, case)


@prop("TRE-026", "With its own seed, a tree gives the same tokens beside a request without a tree and beside a greedy one.", source="contracts, Pathwise; theory A8; faults B059, MIXED",
      guards="requests", after=("TRE-022",), first=packed_trees.seeded_first, cases=packed_trees.seeded, limit=6, applies=company.needs_seeds)  # fmt: skip
def test_guests(trial: Trial, case: Case) -> None:
    company.guests(trial, case)


@prop("TRE-027", "Ids and links of 32 and of 64 bits give a tree the same tokens.", source="contracts, Packed batches; faults VOCAB", guards="requests", after=("TRE-022",),
      first=packed_trees.seeded_first, applies=seeded_and("int32", "it takes ids of 64 bits alone"))  # fmt: skip
def test_width_of_ids(trial: Trial, case: Case) -> None:
    company.told_otherwise(trial, case, {"when ids have 32 bits": {"ids": "int32"}})


@prop("TRE-028", "What lies in the buffers for output changes no token of a tree.", source="contracts, Packed batches; faults PADDING", guards="requests", after=("TRE-022",),
      first=packed_trees.seeded_first, applies=seeded_and("scratch", "it declares no scratch"))  # fmt: skip
def test_scratch(trial: Trial, case: Case) -> None:
    company.told_otherwise(trial, case, {f"when buffers hold {poison}": {"poison": poison} for poison in (0, *packed_trees.POISONS)})
