"""What the statistics do with bad input, in parts and in another order."""

import itertools
import json
import math

import numpy as np
import pytest

from specverify.law import Law
from specverify.stats import (
    WEIGHTS,
    Refused,
    RunWide,
    average,
    coarse,
    coarsening,
    draft_excess,
    exact_p_value,
    goodness_of_fit,
    log_directed,
    log_e_value,
    log_ratios,
    log_screen,
    log_within,
    monte_carlo_p_value,
    ranking,
    surprisal,
    tv_lower,
    tv_upper,
    tv_upper_suite,
)

RIGHT = Law({0: 0.5, 1: 0.3, 2: 0.2})
FAULTS = {"a": Law({0: 0.4, 1: 0.4, 2: 0.2}), "b": Law({0: 0.5, 1: 0.5}), "c": Law({0: 0.5, 9: 0.5})}
RNG = np.random.default_rng(0)
CASES = {f"case {i}": log_ratios(dict(enumerate(RNG.multinomial(50, [0.5, 0.3, 0.2]).tolist())), RIGHT, FAULTS) for i in range(6)}


def run(*names: str) -> RunWide:
    made = RunWide(FAULTS)
    for name in names:
        made.add(name, CASES[name])
    return made


def test_the_run_wide_process_is_the_same_in_every_order_and_number_of_shards() -> None:
    whole = run(*CASES)
    assert all(run(*order).as_dict() == whole.as_dict() for order in itertools.permutations(CASES))
    for shards in (2, 3, 6):
        names = list(CASES)
        parts = [run(*names[i::shards]) for i in range(shards)]
        merged = RunWide(FAULTS)
        for part in reversed(parts):
            merged = merged.merge(RunWide.of(json.loads(json.dumps(part.as_dict()))))
        assert merged.as_dict() == whole.as_dict()
        assert merged.log_e == whole.log_e


def test_the_run_wide_sums_are_those_of_the_ratios_rounded_down() -> None:
    sums = run(*CASES).ratios
    for name, w in itertools.product(FAULTS, range(len(WEIGHTS))):
        exact = math.fsum(ratios[name][w] for ratios in CASES.values())
        assert (sums[name][w] == exact) if exact == -math.inf else exact - 1e-10 < sums[name][w] <= exact


def test_a_case_counts_once() -> None:
    part = run("case 0")
    assert not part.add("case 0", CASES["case 0"])
    assert part.as_dict() == run("case 0").as_dict()
    with pytest.raises(ValueError, match="in common"):
        part.merge(run("case 0", "case 1"))


def test_a_run_knows_its_alternatives_beforehand() -> None:
    with pytest.raises(ValueError, match="not among"):
        RunWide(["a"]).add("x", CASES["case 0"])
    with pytest.raises(ValueError, match="other alternatives"):
        RunWide(["a"]).merge(RunWide(["b"]))
    with pytest.raises(ValueError, match="another version"):
        RunWide.of({**run("case 0").as_dict(), "steps": 1})


def test_a_case_without_an_alternative_leaves_it_as_it_is() -> None:
    part = run("case 0")
    before = part.ratios["b"]
    part.add("new", {"a": (1.0, 1.0, 1.0, 1.0)})
    assert part.ratios["b"] == before


def test_the_alarm_is_one_over_alpha() -> None:
    part = RunWide(["a"])
    part.add("x", {"a": (math.log(4e6),) + (-math.inf,) * 3})
    assert part.alarm(1.001e-6)
    assert not part.alarm(0.999e-6)


def test_a_run_in_which_everything_was_ruled_out_has_no_evidence() -> None:
    part = RunWide(["a"])
    part.add("x", {"a": (-math.inf,) * 4})
    assert part.log_e == -math.inf
    assert RunWide.of(json.loads(json.dumps(part.as_dict()))).log_e == -math.inf


def test_the_directed_average_is_the_mean_of_the_products() -> None:
    counts = {0: 3, 1: 2}
    products = [((1 - w) + w * law[0] / 0.5) ** 3 * ((1 - w) + w * law[1] / 0.3) ** 2 for law in FAULTS.values() for w in WEIGHTS]
    assert log_directed(counts, RIGHT, FAULTS) == pytest.approx(math.log(sum(products) / len(products)))


def test_no_alternatives_no_directed_test() -> None:
    assert log_screen({0: 5}, RIGHT, {}) == log_e_value({0: 5}, RIGHT)
    with pytest.raises(ValueError, match="alternative"):
        average({})
    with pytest.raises(ValueError, match="alternative"):
        log_within({0: 1}, RIGHT, {}, tau=0.1)
    with pytest.raises(ValueError, match="tau"):
        log_within({0: 1}, RIGHT, FAULTS, tau=2)


def test_faults_of_equal_law_rank_by_name() -> None:
    twins = {"z": FAULTS["a"], "y": FAULTS["a"], "b": FAULTS["b"]}
    assert [name for name, _ in ranking(log_ratios({0: 40, 1: 40, 2: 20}, RIGHT, twins))] == ["y", "z", "b"]


def test_goodness_of_fit_is_refused_where_cells_expect_too_few() -> None:
    few = goodness_of_fit({0: 100, 1: 60, 2: 40}, RIGHT, alpha=1e-6)  # expects 100, and 60 and 40 pooled
    assert not isinstance(few, Refused)
    assert few.pearson.pooled == 2
    refused = goodness_of_fit({0: 50, 1: 30, 2: 20}, RIGHT, alpha=1e-6)
    assert isinstance(refused, Refused)
    assert "100" in refused.reason


def test_a_table_beyond_all_doubt_has_a_p_value_of_nothing() -> None:
    fit = goodness_of_fit({0: 0, 1: 100_000, 2: 0}, RIGHT, alpha=1e-6)
    assert not isinstance(fit, Refused)
    assert max(fit.pearson.p_value, fit.g.p_value) == 0


def test_draws_outside_the_support_need_no_approximation() -> None:
    fit = goodness_of_fit({0: 5, 9: 1}, RIGHT, alpha=1e-6)
    assert not isinstance(fit, Refused)
    assert (fit.pearson.p_value, fit.g.p_value) == (0, 0)
    assert exact_p_value({9: 1}, RIGHT) == 0
    assert monte_carlo_p_value({9: 1}, RIGHT, simulations=99) == 0.01
    with pytest.raises(ValueError, match="zero"):
        surprisal([(9, RIGHT)])
    for step in ((True, 0.0), (False, 1.0)):
        with pytest.raises(ValueError, match="zero"):
            draft_excess([step])


def test_sure_steps_say_nothing() -> None:
    assert draft_excess([(True, 1.0), (False, 0.0)]) == draft_excess([])
    assert surprisal([(0, Law({0: 1.0}))]).z == 0


def test_the_exact_test_is_the_binomial_one_in_two_cells() -> None:
    """Three of three in a cell of 0.2: 0.008, and nothing else is as unlikely."""
    assert exact_p_value({0: 3}, Law({0: 0.2, 1: 0.8})) == pytest.approx(0.008)
    assert exact_p_value({1: 1, 0: 1}, Law({0: 0.5, 1: 0.5})) == pytest.approx(1)
    with pytest.raises(ValueError, match="too many"):
        exact_p_value({0: 1_000_000}, RIGHT)


def test_bounds_are_of_the_draws_that_there_are() -> None:
    counts = {0: 500, 1: 300, 2: 200}
    assert tv_upper(counts, RIGHT, 1e-6) == pytest.approx(math.sqrt(math.log(1e6) / 2_000))
    assert tv_upper_suite([(counts, RIGHT)] * 4, 1e-6) == pytest.approx(math.sqrt(math.log(1e6) / 8_000))
    assert tv_lower(counts, counts, RIGHT, 1e-6) == 0
    assert tv_upper({0: 1}, RIGHT, 1e-6) == 1
    with pytest.raises(ValueError, match="nothing"):
        tv_upper({}, RIGHT, 1e-6)


def test_a_coarsening_keeps_the_likely_and_hashes_the_rest() -> None:
    right = Law.of({token: 1 / (1 + token) for token in range(2_000)})
    onto = coarsening(right)
    image = right.project(onto)
    assert len(image.probabilities) <= 512
    assert image[0] == right[0]
    assert onto(254) == 254
    assert onto(255)[0] == onto("never seen")[0] == "tail"
    assert coarse({0: 3, 1_999: 1}, onto) == {0: 3, onto(1_999): 1}
