"""Arrays as bytes, and rows that are described instead of listed."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specverify.contracts import Array, Family, array
from specverify.contracts.arrays import EPS, FLOATS, round_to
from specverify.contracts.families import FAMILIES


@given(st.lists(st.floats(-(2.0**60), 2.0**60, width=64), min_size=1, max_size=8), st.sampled_from(["float64", "float32", "bfloat16"]))
def test_rounding_is_torchs(values: list[float], dtype: str) -> None:
    """float64 to float32 to bfloat16, each to nearest even: the bytes that torch makes of float32 values."""
    single = torch.tensor(values, dtype=torch.float64).to(torch.float32) if dtype == "bfloat16" else torch.tensor(values, dtype=torch.float64)
    expected = single.to(getattr(torch, dtype)).double().tolist()
    assert list(round_to(dtype, values)) == expected


@given(st.lists(st.floats(-60000, 60000), min_size=1, max_size=8))
def test_half_rounding_is_numpys(values: list[float]) -> None:
    assert list(round_to("float16", values)) == np.array(values).astype(np.float16).astype(float).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_eps_is_the_step_above_one(dtype: str) -> None:
    assert EPS[dtype] == torch.finfo(getattr(torch, dtype)).eps


def test_nan_and_infinities_survive_bfloat16() -> None:
    nan, infinite = round_to("bfloat16", [float("nan"), float("inf")])
    assert nan != nan
    assert infinite == float("inf")


def test_rows_and_nesting() -> None:
    table = array("float32", (2, 3), range(6))
    assert list(table.rows()) == [(0, 1, 2), (3, 4, 5)]
    assert list(array("float64", (0, 0), ()).rows()) == []
    assert table.nested() == [[0, 1, 2], [3, 4, 5]]
    assert array("int64", (), [7]).nested() == 7


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "difference"])
def test_families_are_probabilities(name: str) -> None:
    for row in Family(name, 3, "float64", (2, 1000)).expand().rows():
        assert min(row) >= 0
        assert sum(row) == pytest.approx(1)


def test_families_are_the_same_bytes_in_another_process() -> None:
    family = Family("zipf", 5, "float32", (1000,))
    code = "from specverify.contracts import Family; import sys; sys.stdout.buffer.write(Family('zipf', 5, 'float32', (1000,)).expand().data)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == family.expand().data


def test_equal_arrays_are_one_outcome() -> None:
    assert len({array("float32", (2,), (0.5, 0.5)), Array("float32", (2,), array("float32", (2,), (0.5, 0.5)).data)}) == 1
