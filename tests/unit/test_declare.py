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
    ({"seed": "int", "rng": "counter", "peek": 3}, "peek must be a callable"),
    ({"seed": "int", "peek": max}, "by their seed"),
    ({"rng": "counter", "peek": max}, "by their seed"),
    ({"conventions": {"epsilon": 1}}, "convention of sample"),
    ({"contract": "verify_tree"}, "needs to know how siblings were drawn"),
    ({"contract": "verify_tree", "siblings": "with replacement"}, "Did you mean|way to draw siblings"),
    ({"contract": "pad_path", "conventions": {"overlong": "raise"}}, "value of overlong 'raise'"),
    ({"contract": "positive_part", "conventions": {"eps": "small"}}, "takes a number"),
    ({"arrays": "numpy", "dtypes": ("bfloat16",)}, "numpy has no bfloat16"),
    ({"arrays": "list", "seed": "generator"}, "torch.Generator"),
    ({"contract": "helper"}, "needs the domain"),
    ({"contract": "helper", "domain": {"n": 3}}, "The domain of n is 3"),
    ({"contract": "helper", "domain": {"x": sv.tensors((2,), sv.floats(0, 1e6))}, "dtypes": ("float32", "float16")}, "float16 cannot hold"),
    ({"contract": "helper", "domain": {}, "oracle": 3}, "oracle must be a callable"),
    ({"contract": "helper", "domain": {}, "raises": ValueError}, "raises must be a tuple"),
    ({"contract": "helper", "domain": {}, "raises": (int,)}, "raises must be a tuple"),
    ({"domain": {"n": sv.ints(0, 1)}}, "sample takes no domain"),
    ({"oracle": len}, "sample takes no oracle"),
    ({"raises": (ValueError,)}, "sample takes no raises"),
    ({"contract": "generate", "models": "whisper", "batch": True}, "gets one prompt a call"),
    ({"contract": "seeding", "supports": ("nunpy",)}, "Did you mean 'numpy'"),
    ({"contract": "seeding", "supports": "torch"}, "must be a tuple"),
    ({"supports": ("torch",)}, "feature of sample"),
    ({"contract": "warp", "conventions": {"filters": "top_k"}}, "value of filters 'top_k'"),
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


def test_the_numbers_of_a_counter_are_recorded() -> None:
    sv.subject("sample", rng="counter", seed="int", peek=max)(min)
    (declared,) = DECLARED
    assert (declared.rng, declared.later) == ("counter", {"peek": max})


def test_what_is_no_callable_is_refused() -> None:
    with pytest.raises(sv.SpecverifyError, match="no callable"):
        sv.subject("sample")(3)


def test_a_helpers_domain_is_kept_as_data() -> None:
    sv.subject("helper", domain={"n": sv.ints(0, 2), "x": sv.tensors(("v", 2), sv.floats(0, 1))}, raises=(KeyError, "LookupError"))(max)
    (declared,) = DECLARED
    floats = {"kind": "floats", "low": 0.0, "high": 1.0}
    assert declared.domain == {"n": {"kind": "ints", "low": 0, "high": 2}, "x": {"kind": "tensors", "shape": ("v", 2), "items": floats}}
    assert declared.raises == (KeyError, "LookupError")
