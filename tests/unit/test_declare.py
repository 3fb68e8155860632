"""Declaring: options are checked where they are written, each with the nearest known word."""

import pytest

import specverify as sv
from specverify.subjects.declare import DECLARED

BAD = [
    ({"contract": "smaple"}, "Did you mean 'sample'"),
    ({"claim": "losless"}, "Did you mean 'lossless'"),
    ({"claim": "lossy"}, "lossy"),
    ({"rule": "standart"}, "Did you mean 'standard'"),
    ({"arrays": "jax"}, "kind of arrays"),
    ({"dtypes": "float32"}, "must be a tuple"),
    ({"dtypes": ("float23",)}, "Did you mean 'float32'"),
    ({"devices": ("tpu",)}, "device 'tpu'"),
    ({"seed": "integer"}, "Did you mean 'int'"),
    ({"conventions": {"epsilon": 1}}, "convention of sample"),
    ({"contract": "pad_path", "conventions": {"overlong": "raise"}}, "value of overlong 'raise'"),
    ({"contract": "positive_part", "conventions": {"eps": "small"}}, "takes a number"),
    ({"arrays": "numpy", "dtypes": ("bfloat16",)}, "numpy has no bfloat16"),
    ({"arrays": "list", "seed": "generator"}, "torch.Generator"),
]


@pytest.fixture(autouse=True)
def _clean():
    DECLARED.clear()
    yield
    DECLARED.clear()


@pytest.mark.parametrize(("options", "sentence"), BAD)
def test_a_bad_option_is_refused_where_it_stands(options: dict, sentence: str) -> None:
    with pytest.raises(sv.SpecverifyError, match=sentence):
        sv.subject(**{"contract": "sample", **options})


def test_a_decorator_returns_the_function_unchanged() -> None:
    def draw(probs):
        return 0

    assert sv.subject("sample", claim="lossy(typical)", name="mine")(draw) is draw
    (declared,) = DECLARED
    assert (declared.name, declared.claim, declared.function) == ("mine", "lossy(typical)", draw)


def test_what_is_no_callable_is_refused() -> None:
    with pytest.raises(sv.SpecverifyError, match="no callable"):
        sv.subject("sample")(3)
