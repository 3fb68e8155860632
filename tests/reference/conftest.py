"""`--device cuda` runs the reference's device tests there; without it they run on the CPU, where they hold trivially but for the code that they run."""

import pytest
import torch

torch.set_num_threads(1)  # the tensors are small, and pytest-xdist has the cores


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="device of the reference's tests, such as cuda")


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> torch.device:
    """Where the tensors are."""
    chosen = torch.device(request.config.getoption("--device", default="cpu"))
    if chosen.type == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    return chosen
