"""The weakened instructions of right kernels have the verdicts of docs/results/kernel-sweep.md."""

from __future__ import annotations

import importlib.util

import pytest
from generated import differences
from racy_kernels.kernels import sources
from racy_kernels.running import headers

from kernel_sweep.running import KERNELS
from kernel_sweep.sweep import PAGE, complaints, page, run_all


def test_weakened_instructions_have_the_verdicts_of_the_page() -> None:
    if importlib.util.find_spec("cuda.bindings") is None or not headers():
        pytest.skip("NVRTC and the headers of CUDA are not installed; `make peers` installs them")
    swept = run_all()
    assert complaints(swept) == []
    assert differences(PAGE, page(swept)) == []


def test_sweep_has_40_kernels_with_unique_names_and_results() -> None:
    kernels = [kernel for source in sources(KERNELS) for kernel in source.kernels]
    assert len({kernel.name for kernel in kernels}) == len(kernels) >= 40
    assert [kernel.name for kernel in kernels if not kernel.results] == []
