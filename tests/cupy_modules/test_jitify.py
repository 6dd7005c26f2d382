"""Kernels that CuPy compiles by jitify, which searches their headers. Its first use compiles one kernel for several minutes."""

from __future__ import annotations

import warnings
from typing import Any


def test_module_by_jitify_has_its_templates(cp: Any) -> None:
    code = "template <typename T> __global__ void fill(T *x, T value) { x[threadIdx.x] = value; }"
    with warnings.catch_warnings():
        # CuPy warns that it is deprecated, and of the long first use.
        warnings.simplefilter("ignore")
        module = cp.RawModule(code=code, name_expressions=["fill<float>"], jitify=True)
        array = cp.zeros(8, dtype=cp.float32)
        module.get_function("fill<float>")((1,), (8,), (array, cp.float32(3)))
    assert array.get().tolist() == [3] * 8
