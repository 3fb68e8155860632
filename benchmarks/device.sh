#!/bin/sh
# The reference on a GPU: its tests, then the table of throughput. Under five minutes; from the repository's root, with an environment that has torch and pytest.
set -eu
export PYTHONPATH="$PWD/reference:$PWD"
python -c 'import torch; print(torch.__version__, torch.cuda.get_device_name())'
python -m pytest -q tests/reference/test_device.py --device cuda -p no:cacheprovider -o addopts="--import-mode=importlib"
python -m benchmarks.reference --device cuda
