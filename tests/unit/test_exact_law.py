"""An explored law beside the right one: what is equal, rounding, a grid effect, open, or different."""

import pytest

from specverify.law import ExactLaw, Law

RIGHT = Law({"a": 0.5, "b": 0.5})

LAWS = [
    (ExactLaw({"a": 0.5, "b": 0.5}), "equal"),
    (ExactLaw({"a": 0.5 + 1e-7, "b": 0.5 - 1e-7}, tolerance=1e-6), "rounding"),
    (ExactLaw({"a": 0.5 + 1e-5, "b": 0.5 - 1e-5}, tolerance=1e-6), "different"),
    (ExactLaw({"a": 0.5, "b": 0.5 - 2.0**-24, "c": 2.0**-24}, tolerance=1e-6), "grid"),
    (ExactLaw({"a": 0.5, "b": 0.5 - 2.0**-10, "c": 2.0**-10}, tolerance=1e-6), "different"),
    (ExactLaw({"a": 0.5, "b": 0.5 - 2.0**-24, ("raised", "ValueError"): 2.0**-24}, tolerance=1e-6), "grid"),
    (ExactLaw({"a": 0.5, "b": 0.25}, open_mass=0.25, kind="bounds"), "open"),
    (ExactLaw({"a": 0.6, "b": 0.2}, open_mass=0.2, kind="bounds"), "different"),
    (ExactLaw({"a": 0.5, "b": 0.5 - 1e-9}, open_mass=1e-9), "equal"),
]


@pytest.mark.parametrize(("law", "verdict"), LAWS, ids=[f"{verdict} {i}" for i, (_, verdict) in enumerate(LAWS)])
def test_verdict(law: ExactLaw, verdict: str) -> None:
    assert law.compare(RIGHT).verdict == verdict


def test_bounds_are_certain() -> None:
    law = ExactLaw({"a": 0.6, "b": 0.2}, open_mass=0.2, kind="bounds")
    assert (law.lower("b"), law.upper("b")) == (0.2, 0.4)
    comparison = law.compare(RIGHT)
    assert comparison.tv == pytest.approx(0.1)
    assert comparison.worst == "b"


def test_impossible_outcomes_are_named() -> None:
    assert ExactLaw({"a": 0.5, "c": 0.5}).compare(RIGHT).impossible == {"c": 0.5}
