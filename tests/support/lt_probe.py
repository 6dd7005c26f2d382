"""A handle of cublasLt for tests: its descriptors, and products of matrices in the layouts that tests name."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator

import driver_probe
import numpy as np
import pytest
from blas_probe import GAP, SUCCESS, Blas, at

from cuarray_sim.stand_ins import STAND_INS

R_32F, R_64F, R_16F, R_8I, C_32F, C_64F, R_32I, R_16BF, E4M3, E5M2 = 0, 1, 2, 3, 4, 5, 10, 14, 28, 29
COMPUTE_16F, COMPUTE_32F, COMPUTE_64F, COMPUTE_32I, COMPUTE_TF32 = 64, 68, 70, 72, 77
COL, ROW = range(2)
LAYOUT = {"type": (0, "i"), "order": (1, "i"), "ld": (4, "q"), "count": (5, "i"), "stride": (6, "q"), "mode": (8, "i")}
MATMUL = {
    "pointer_mode": (2, "i"),
    "transa": (3, "i"),
    "transb": (4, "i"),
    "transc": (5, "i"),
    "fill": (6, "i"),
    "epilogue": (7, "i"),
    "bias": (8, "q"),
    "bias_stride": (10, "q"),
    "aux": (11, "q"),
    "aux_ld": (12, "q"),
    "aux_stride": (13, "q"),
    "alpha_stride": (14, "q"),
    "scale_a": (17, "q"),
    "scale_b": (18, "q"),
    "scale_d": (20, "q"),
    "amax_d": (21, "q"),
    "aux_type": (22, "i"),
    "bias_type": (26, "i"),
    "mode_a": (31, "i"),
    "mode_b": (32, "i"),
}
"""The number and the C type of each attribute that tests set."""
INTEGERS = {"i": ctypes.c_int32, "q": ctypes.c_int64}


class Result(ctypes.Structure):
    """The answer of the heuristic."""

    _fields_ = (
        ("algo", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class Matrix:
    """A matrix or a batch of them in device memory: `values` has the axes batch, row and column."""

    def __init__(self, lt: Lt, values: np.ndarray, kind: int, *, order: int = COL, gap: int = 0) -> None:
        self.values, self.order = values, order
        count, rows, columns = values.shape
        inner, outer = (rows, columns) if order == COL else (columns, rows)
        memory = np.full((count, outer, inner + gap), GAP, values.dtype)
        memory[:, :, :inner] = values.swapaxes(1, 2) if order == COL else values
        self.memory, self.inner = memory, inner
        self.address = lt.put(memory.reshape(-1))
        self.layout = lt.layout(
            kind, rows, columns, inner + gap, order=order, count=count, stride=outer * (inner + gap)
        )

    def get(self, lt: Lt) -> np.ndarray:
        """The values in device memory. The gaps have not changed."""
        memory = lt.get(self.address, self.memory.reshape(-1)).reshape(self.memory.shape)
        assert memory[:, :, self.inner :].tobytes() == self.memory[:, :, self.inner :].tobytes()
        return memory[:, :, : self.inner].swapaxes(1, 2) if self.order == COL else memory[:, :, : self.inner]


class Lt(Blas):
    """A handle, a stream, and memory in the primary context of device 0."""

    def begin(self) -> None:
        assert self.library.cublasLtCreate(ctypes.byref(self.handle)) == SUCCESS

    def set(self, kind: str, descriptor: ctypes.c_void_p, table: dict[str, tuple[int, str]], **values: int) -> None:
        for name, value in values.items():
            number, letter = table[name]
            memory = INTEGERS[letter](value)
            setter = getattr(self.library, f"cublasLt{kind}SetAttribute")
            size = ctypes.c_size_t(ctypes.sizeof(memory))
            assert setter(descriptor, number, ctypes.byref(memory), size) == SUCCESS, name

    def layout(self, kind: int, rows: int, columns: int, ld: int, **values: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        sizes = ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(ld)
        assert self.library.cublasLtMatrixLayoutCreate(ctypes.byref(made), kind, *sizes) == SUCCESS
        self.set("MatrixLayout", made, LAYOUT, **values)
        return made

    def description(self, compute: int, scale: int, **values: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        assert self.library.cublasLtMatmulDescCreate(ctypes.byref(made), compute, scale) == SUCCESS
        self.set("MatmulDesc", made, MATMUL, **values)
        return made

    def matmul(
        self,
        description: ctypes.c_void_p,
        alpha: ctypes.c_void_p | None,
        a: Matrix,
        b: Matrix,
        beta: ctypes.c_void_p | None,
        c: Matrix,
        d: Matrix,
        workspace: tuple[int, int] = (0, 0),
    ) -> int:
        status: int = self.library.cublasLtMatmul(
            self.handle,
            description,
            alpha,
            at(a.address),
            a.layout,
            at(b.address),
            b.layout,
            beta,
            at(c.address),
            c.layout,
            at(d.address),
            d.layout,
            None,
            at(workspace[0]),
            ctypes.c_size_t(workspace[1]),
            self.stream,
        )
        return status

    def heuristic(self, description: ctypes.c_void_p, *matrices: Matrix) -> tuple[int, int, Result]:
        """The status of the heuristic, the number of algorithms, and the first one."""
        preference, result, count = ctypes.c_void_p(), Result(), ctypes.c_int(-1)
        assert self.library.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)) == SUCCESS
        layouts = [each.layout for each in matrices]
        status = self.library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, description, *layouts, preference, 1, ctypes.byref(result), ctypes.byref(count)
        )
        assert self.library.cublasLtMatmulPreferenceDestroy(preference) == SUCCESS
        return status, count.value, result

    def end(self) -> None:
        assert self.library.cublasLtDestroy(self.handle) == SUCCESS


@pytest.fixture(scope="module", params=["13", "12"])
def lt_library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "cublasLt")
    path = stand_in.path / f"libcublasLt.so.{request.param}"
    if not path.is_file():
        pytest.skip("the package was built without cublasLt")
    return ctypes.CDLL(str(path))


@pytest.fixture
def lt(simulator: str, lt_library: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[Lt]:
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        made = Lt(lt_library, np.random.default_rng(zlib.crc32(request.node.name.encode())))
        yield made
        made.close()


def bfloat(values: np.ndarray) -> np.ndarray:
    """The bits of the nearest `__nv_bfloat16` of small integers, which are exact."""
    bits: np.ndarray = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return bits


def of_bfloat(bits: np.ndarray) -> np.ndarray:
    floats: np.ndarray = (bits.astype(np.uint32) << 16).view(np.float32)
    return floats
