"""A helper's domain: refused where it is no range, checked for each case, and filled by strategies that stay inside."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import specverify as sv
from specprops.domain import cases, corners
from specverify.contracts import CONTRACTS, Array, array, digest, fitted
from specverify.errors import SpecverifyError
from specverify.subjects.domain import Range, as_data
from specverify.subjects.subject import Description

DOMAIN = {
    "n": sv.ints(-2, 5), "t": sv.floats(0.1, 0.3), "path": sv.lists(sv.ints(0, 9), min_size=1, max_size=3), "x": sv.tensors(("n", "v"), sv.floats(0.1, 0.3)),
    "y": sv.tensors(("v", 2), sv.ints(0, 1)), "rows": sv.lists(sv.tensors(("v",), sv.floats(-1, 1)), max_size=2),
}  # fmt: skip
DTYPES = ("float64", "float32", "float16", "bfloat16")
DATA = as_data(DOMAIN, DTYPES)
TOLD = json.loads(json.dumps(DATA))
"""As it comes over the pipe."""
CONTRACT = fitted(CONTRACTS["helper"], TOLD)
X, Y = array("float32", (1, 2), (0.2, 0.3)), array("int64", (2, 2), (0, 1, 1, 0))
LAWFUL = {"n": 5, "t": 0.2, "path": [0], "x": X, "y": Y, "rows": [array("float32", (2,), (0, 1))]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: sv.ints(2, 1), lambda: sv.ints(0, 2**63), lambda: sv.ints(0, 1.5), lambda: sv.ints(False, True), lambda: sv.floats(1, 0), lambda: sv.floats(0, float("inf")),
        lambda: sv.lists([1]), lambda: sv.lists(sv.ints(0, 1), min_size=3, max_size=2), lambda: sv.tensors("nv", sv.floats(0, 1)), lambda: sv.tensors((-1,), sv.floats(0, 1)),
        lambda: sv.tensors(("n",), sv.lists(sv.ints(0, 1))), lambda: as_data({"n": 3}, DTYPES), lambda: as_data({"x": sv.tensors((2,), sv.floats(0, 1e6))}, DTYPES),
        lambda: as_data({"x": sv.lists(sv.tensors((2,), sv.floats(0, 1e39)))}, ("float32",)),
    ],
)  # fmt: skip
def test_what_is_no_range_is_refused(make) -> None:
    with pytest.raises(SpecverifyError) as caught:
        make()
    assert caught.value.hint


def test_a_helper_takes_what_its_domain_names() -> None:
    assert CONTRACT.signature == "(n, t, path, x, y, rows)"
    CONTRACT.check(CONTRACT.smoke)
    CONTRACT.check(LAWFUL)
    assert CONTRACT.smoke["n"] == 0
    assert CONTRACT.smoke["path"] == [0]
    assert fitted(CONTRACTS["sample"], None) is CONTRACTS["sample"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 6}, {"n": True}, {"n": 1.0}, {"t": 0.5}, {"t": 1}, {"path": []}, {"path": [1, 2, 3, 4]}, {"path": [10]}, {"path": (1,)}, {"x": [[0.2, 0.3]]}, {"x": X, "y": 1},
        {"x": array("float32", (2,), (0.2, 0.3))}, {"x": array("float32", (1, 2), (0.2, 0.4))}, {"x": array("int64", (1, 2), (0, 0))}, {"y": array("int32", (2, 2), (0, 1, 1, 0))},
        {"y": array("int64", (1, 2), (0, 1))}, {"y": array("int64", (2, 3), (0,) * 6)}, {"rows": [array("float32", (3,), (0, 1, 0))]}, {"z": 1},
    ],
)  # fmt: skip
def test_a_case_outside_the_domain_is_refused(wrong: dict) -> None:
    """Axes of one name must agree within a case: v is 2 in x, so it is in y and in the rows."""
    with pytest.raises(SpecverifyError, match="no case of helper"):
        CONTRACT.check({**LAWFUL, **wrong})


def test_limits_are_rounded_to_the_arrays_dtype() -> None:
    """0.1 in bfloat16 lies above 0.1, 0.3 below: what is drawn between the limits stays between the rounded ones."""
    for dtype in DTYPES:
        CONTRACT.check({**LAWFUL, "x": array(dtype, (1, 2), (0.1, 0.3))})


def subject(dtypes: tuple[str, ...] = DTYPES) -> Description:
    return Description("x", "helper", "lossless", dtypes=dtypes, domain=TOLD)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_is_drawn_lies_within_the_domain(data: st.DataObject) -> None:
    case = data.draw(cases(subject()))
    CONTRACT.check(case)
    assert {value.dtype for value in (case["x"], *case["rows"]) if isinstance(value, Array)} <= set(DTYPES)
    assert max(case["x"].shape) <= 6


def test_corners_are_different_cases_of_the_domain_smallest_first() -> None:
    found = corners(subject(("float16",)))
    for case in found:
        CONTRACT.check(case)
    assert len({digest(case) for case in found}) == len(found) > 8
    assert found[0]["n"] == 0
    assert {case["n"] for case in found} == {-2, 0, 5}
    assert {len(case["path"]) for case in found} == {1, 3}
    assert {case["x"].shape[0] for case in found} == {1, 6}


def test_a_function_without_arguments_has_one_case() -> None:
    bare = Description("x", "helper", "lossless", domain={})
    assert corners(bare) == [{}]
    fitted(CONTRACTS["helper"], {}).check({})


def test_a_range_is_its_data() -> None:
    assert sv.floats(0, 1) == Range({"kind": "floats", "low": 0.0, "high": 1.0})
