"""A handle of cuSPARSE for tests, with its stream, memory and descriptors, and sparse matrices in all formats."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import Address, DeviceProbe

from cuarray_sim.stand_ins import STAND_INS

SUCCESS, NOT_INITIALIZED, INVALID_VALUE, EXECUTION_FAILED = 0, 1, 3, 6
MATRIX_TYPE_NOT_SUPPORTED, ZERO_PIVOT, NOT_SUPPORTED = 8, 9, 10
N, T, H = range(3)
COLUMN, ROW = 1, 2
TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
NUMBERS = {
    np.dtype(np.float32): 0,
    np.dtype(np.float64): 1,
    np.dtype(np.float16): 2,
    np.dtype(np.int8): 3,
    np.dtype(np.complex64): 4,
    np.dtype(np.complex128): 5,
    np.dtype(np.int32): 10,
}
"""The `cudaDataType` of each type."""
INTEGERS = {np.dtype(np.uint16): 1, np.dtype(np.int32): 2, np.dtype(np.int64): 3}
"""The `cusparseIndexType_t` of each type."""
FORMATS = ("csr", "csc", "coo", "bsr", "blocked_ell", "sliced_ell")
GAP = 77
"""The value of elements that no call may change."""


@pytest.fixture(scope="module")
def sparse_library() -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "cuSPARSE")
    path = stand_in.path / "libcusparse.so.12"
    if not path.is_file():
        pytest.skip("the package was built without cuSPARSE")
    library = ctypes.CDLL(str(path))
    library.cusparseGetErrorName.restype = ctypes.c_char_p
    library.cusparseGetErrorString.restype = ctypes.c_char_p
    return library


class Long(int):
    """A number of 64 bits, as an argument."""


class Arrays:
    """The arrays of a sparse matrix on the host, in one format."""

    def __init__(
        self, values: np.ndarray, form: str, *, base: int = 0, integers: Any = np.int32, block: int = 2
    ) -> None:
        self.form, self.base, self.block, self.shape = form, base, block, values.shape
        kept = values != 0
        rows, columns = values.shape
        if form == "coo":
            first, second = np.nonzero(kept)
            arrays = first + base, second + base, values[first, second]
        elif form in ("csr", "csc"):
            lines = values if form == "csr" else values.T
            first, second = np.nonzero(lines != 0)
            offsets = np.concatenate([[0], np.cumsum((lines != 0).sum(axis=1))])
            arrays = offsets + base, second + base, lines[first, second]
        elif form in ("bsr", "blocked_ell"):
            blocks = values.reshape(rows // block, block, columns // block, block).swapaxes(1, 2)
            used = (blocks != 0).any(axis=(2, 3))
            first, second = np.nonzero(used)
            if form == "bsr":
                offsets = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
                arrays = offsets + base, second + base, blocks[first, second].reshape(-1)
            else:
                across = int(used.sum(axis=1).max())
                listed = np.full((rows // block, across), -1)
                stored = np.full((rows // block, block, across, block), np.nan, values.dtype)
                for line, of_line in enumerate(used):
                    for slot, index in enumerate(np.flatnonzero(of_line)):
                        listed[line, slot] = index + base
                        stored[line, :, slot] = blocks[line, index]
                arrays = np.zeros(0), listed.reshape(-1), stored.reshape(-1)
                self.ell_columns = across * block
        else:
            widths = [int(kept[line : line + block].sum(axis=1).max()) for line in range(0, rows, block)]
            offsets = np.concatenate([[0], np.cumsum(np.array(widths) * block)])
            listed = np.full(offsets[-1], -1)
            stored = np.full(offsets[-1], np.nan, values.dtype)
            for row in range(rows):
                for slot, column in enumerate(np.flatnonzero(kept[row])):
                    place = offsets[row // block] + slot * block + row % block
                    listed[place], stored[place] = column + base, values[row, column]
            arrays = offsets + base, listed, stored
        self.count = int(used.sum()) if form == "bsr" else int(kept.sum())
        self.offsets, self.indices = arrays[0].astype(integers), arrays[1].astype(integers)
        self.values = np.ascontiguousarray(arrays[2].astype(values.dtype))


class Sparse(DeviceProbe[Address]):
    """A handle with its stream, and memory in the primary context of device 0."""

    address_type = Address
    order = "C"

    def __init__(self, library: ctypes.CDLL, rng: np.random.Generator) -> None:
        super().__init__()
        self.library, self.rng = library, rng
        self.handle = ctypes.c_void_p()
        self.ended: list[tuple[str, ctypes.c_void_p]] = []
        self.keep: list[np.ndarray] = []
        self.on_device = False
        assert library.cusparseCreate(ctypes.byref(self.handle)) == SUCCESS
        assert library.cusparseSetStream(self.handle, self.stream) == SUCCESS

    def random(self, shape: tuple[int, ...], dtype: Any, density: float = 1) -> np.ndarray:
        """Small integers, which all types represent; other elements are 0."""
        values = self.rng.integers(1, 5, shape) * self.rng.choice([-1, 1], shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * self.rng.integers(-4, 5, shape)
        return np.where(self.rng.random(shape) < density, values, 0).astype(dtype)

    def scalar(self, value: Any, dtype: Any) -> ctypes.c_void_p:
        array = np.array([value], dtype)
        if self.on_device:
            return self.put(array)
        self.keep.append(array)
        return array.ctypes.data_as(ctypes.c_void_p)

    def set_pointer_mode(self, on_device: bool) -> None:
        self.on_device = on_device
        assert self.library.cusparseSetPointerMode(self.handle, int(on_device)) == SUCCESS

    def plain(self, name: str, *arguments: Any) -> int:
        """Call a function without a handle."""
        converted = [
            ctypes.c_int64(each) if isinstance(each, Long) else ctypes.c_int(each) if isinstance(each, int) else each
            for each in arguments
        ]
        status: int = getattr(self.library, f"cusparse{name}")(*converted)
        return status

    def call(self, name: str, *arguments: Any) -> int:
        return self.plain(name, self.handle, *arguments)

    def made(self, kind: str, name: str, *arguments: Any) -> ctypes.c_void_p:
        """A descriptor, which the end of the test destroys."""
        descriptor = ctypes.c_void_p()
        assert self.plain(name, ctypes.byref(descriptor), *arguments) == SUCCESS, name
        self.ended.append((kind, descriptor))
        return descriptor

    def buffer(self, name: str, *arguments: Any) -> Address:
        """A workspace of the size that a function returns."""
        size = ctypes.c_size_t()
        assert self.call(name, *arguments, ctypes.byref(size)) == SUCCESS, name
        assert size.value > 0
        return self.memory(size.value)

    def vector(self, values: np.ndarray) -> tuple[ctypes.c_void_p, Address]:
        address = self.put(values)
        return self.made("DestroyDnVec", "CreateDnVec", Long(values.size), address, NUMBERS[values.dtype]), address

    def sparse_vector(
        self, size: int, indices: np.ndarray, values: np.ndarray, base: int = 0
    ) -> tuple[ctypes.c_void_p, Address]:
        address = self.put(values)
        kinds = INTEGERS[indices.dtype], base, NUMBERS[values.dtype]
        arguments = Long(size), Long(values.size), self.put(indices + indices.dtype.type(base)), address, *kinds
        return self.made("DestroySpVec", "CreateSpVec", *arguments), address

    def dense(
        self, values: np.ndarray, order: int = COLUMN, gap: int = 2
    ) -> tuple[ctypes.c_void_p, Address, np.ndarray]:
        """A dense matrix or a batch of them, with gaps: its descriptor, its address, and its memory."""
        stack = values if values.ndim == 3 else values[None]
        batch, rows, columns = stack.shape
        lines = stack.swapaxes(1, 2) if order == COLUMN else stack
        memory = np.full((batch, lines.shape[1], lines.shape[2] + gap), GAP, values.dtype)
        memory[:, :, : lines.shape[2]] = lines
        address = self.put(memory)
        sizes = Long(rows), Long(columns), Long(memory.shape[2])
        made = self.made("DestroyDnMat", "CreateDnMat", *sizes, address, NUMBERS[values.dtype], order)
        if values.ndim == 3:
            stride = Long(memory[0].size)
            assert self.plain("DnMatSetStridedBatch", made, batch, stride) == SUCCESS
        return made, address, memory

    def result(self, address: Address, memory: np.ndarray, order: int = COLUMN, gap: int = 2) -> np.ndarray:
        """The values of a dense matrix of `dense`. Its gaps have not changed."""
        found = self.get(address, memory)
        assert (found[:, :, memory.shape[2] - gap :] == GAP).all()
        lines = found[:, :, : memory.shape[2] - gap]
        values = lines.swapaxes(1, 2) if order == COLUMN else lines
        return values[0] if len(values) == 1 else values

    def matrix(self, arrays: Arrays) -> ctypes.c_void_p:
        rows, columns = arrays.shape
        kind, integers, base = NUMBERS[arrays.values.dtype], INTEGERS[arrays.indices.dtype], arrays.base
        self.places = [
            self.put(each) if each.size else Address(0) for each in (arrays.offsets, arrays.indices, arrays.values)
        ]
        offsets, indices, values = self.places
        sizes = Long(rows), Long(columns), Long(arrays.count)
        block = Long(arrays.block)
        if arrays.form in ("csr", "csc"):
            name = f"Create{arrays.form.capitalize()}"
            return self.made("DestroySpMat", name, *sizes, offsets, indices, values, integers, integers, base, kind)
        if arrays.form == "coo":
            return self.made("DestroySpMat", "CreateCoo", *sizes, offsets, indices, values, integers, base, kind)
        if arrays.form == "bsr":
            blocks = Long(rows // arrays.block), Long(columns // arrays.block), sizes[2], block, block
            places = offsets, indices, values, integers, integers, base, kind, ROW
            return self.made("DestroySpMat", "CreateBsr", *blocks, *places)
        if arrays.form == "blocked_ell":
            widths = block, Long(arrays.ell_columns)
            places = indices, values, integers, base, kind
            return self.made("DestroySpMat", "CreateBlockedEll", *sizes[:2], *widths, *places)
        stored = Long(arrays.values.size)
        places = offsets, indices, values, integers, integers, base, kind
        return self.made("DestroySpMat", "CreateSlicedEll", *sizes, stored, block, *places)

    def end(self) -> None:
        for name, descriptor in self.ended:
            assert self.plain(name, descriptor) == SUCCESS, name
        assert self.library.cusparseDestroy(self.handle) == SUCCESS


@pytest.fixture
def sparse(simulator: str, sparse_library: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[Sparse]:
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        made = Sparse(sparse_library, np.random.default_rng(zlib.crc32(request.node.name.encode())))
        yield made
        made.close()


def op(values: np.ndarray, kind: int) -> np.ndarray:
    """The matrix after an operation, for each of a batch."""
    turned = np.swapaxes(values, -1, -2) if values.ndim > 1 else values
    return values if kind == N else turned if kind == T else turned.conj()


def close(result: np.ndarray, expected: np.ndarray) -> None:
    precisions = {2: 1e-2, 4: 1e-5, 8: 1e-12}
    real = np.empty(0, result.dtype).real.dtype
    tolerance = precisions[real.itemsize] if real.kind == "f" else 0
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * 10)
