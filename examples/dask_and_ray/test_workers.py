"""Each example runs with two workers, without a finding."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("library", ["dask", "ray"])
def test_workers_exchange_device_arrays_without_a_finding(library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed; `make test-distributed` installs it")
    done = subprocess.run(
        [sys.executable, "-m", "cuarray_sim", str(Path(__file__).with_name(f"{library}_workers.py"))],
        capture_output=True,
        text=True,
        timeout=300,
    )
    # The status is 66 if the simulated driver found a race, a use after free or a leak.
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2 workers added 3 to each of 4000 elements"
    assert "[1] " not in done.stderr
