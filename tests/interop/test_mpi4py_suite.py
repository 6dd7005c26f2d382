"""mpi4py's own tests of buffers (`mpi4py_suite.py`) pass between two processes on simulated drivers, without findings.

They are in mpi4py's source distribution, which `make mpi4py-suite` fetches. docs/results/peer-suites.md has the results of the modules that
are left out here to save time.
"""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

import peer_mpi4py
import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "build" / "mpi4py-tests" / "test"
PINNED = ROOT / "requirements" / "mpi4py-tests.txt"

POINT_TO_POINT = {"test_p2p_buf": 52, "test_p2p_buf_matched": 11, "test_p2p_buf_part": 12}
COLLECTIVE = {"test_cco_buf": 72, "test_cco_nb_buf": 70, "test_cco_vec": 62, "test_cco_buf_inter": 16}
EXPECTED = {"cuarray": {**POINT_TO_POINT, **COLLECTIVE, "test_pack": 6}, "numba": POINT_TO_POINT}
"""Numbers of tests in each module. All of them pass."""


@pytest.mark.parametrize("arrays", EXPECTED)
def test_mpi4py_tests_pass_on_both_ranks(simulator: str, arrays: str) -> None:
    if importlib.util.find_spec("mpi4py") is None or importlib.util.find_spec("numba_cuda") is None:
        pytest.skip(
            "mpi4py or numba-cuda is not installed; `make peers` installs the versions of requirements/peers.txt"
        )
    if not TESTS.exists():
        pytest.skip("mpi4py's tests are missing; `make mpi4py-tests` fetches them")
    assert f"mpi4py=={metadata.version('mpi4py')} " in PINNED.read_text(), (
        "the fetched tests have another version than mpi4py"
    )
    modules = EXPECTED[arrays]
    output = peer_mpi4py.run_ranks(
        ROOT / "tests" / "interop" / "mpi4py_suite.py",
        [TESTS, arrays, *modules],
        {
            "CUARRAY_SIM_HOST_READABLE": "1",
            "CUARRAY_SIM_EXIT_STATUS": "66",
            "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    summaries = sorted(line for line in output.splitlines() if line[:2] in ("0 ", "1 "))
    assert summaries == sorted(f"{rank} {name} {count} 0 0" for rank in (0, 1) for name, count in modules.items()), (
        output
    )
