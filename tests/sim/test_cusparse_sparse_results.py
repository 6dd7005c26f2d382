"""The stand-in for cuSPARSE gives products and sums of sparse matrices, whose sizes it counts."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from device_probe import Address
from sparse_probe import (
    GAP,
    INVALID_VALUE,
    MATRIX_TYPE_NOT_SUPPORTED,
    NOT_SUPPORTED,
    NUMBERS,
    SUCCESS,
    TYPES,
    Arrays,
    H,
    N,
    Sparse,
    T,
    close,
    op,
)

LETTERS = pytest.mark.parametrize("letter", TYPES)
BASES = pytest.mark.parametrize("base", [0, 1])
INTEGERS = pytest.mark.parametrize("integers", [np.int32, np.int64])
MODES = pytest.mark.parametrize("on_device", [False, True])


def count_of(sparse: Sparse, matrix: ctypes.c_void_p) -> int:
    sizes = [ctypes.c_int64() for _ in range(3)]
    assert sparse.plain("SpMatGetSize", matrix, *map(ctypes.byref, sizes)) == SUCCESS
    return sizes[2].value


def put(sparse: Sparse, values: np.ndarray) -> Address:
    """Device memory with these values; without an address if there are none."""
    return sparse.put(values) if values.size else Address(0)


def rebuilt(offsets: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, ...], base: int) -> Any:
    """The dense matrix of arrays in the format CSR, whose columns are in order."""
    dense = np.zeros(shape, values.dtype)
    for row in range(shape[0]):
        part = slice(offsets[row] - base, offsets[row + 1] - base)
        assert (np.diff(columns[part]) > 0).all()
        dense[row, columns[part] - base] = values[part]
    return dense


class Result:
    """A sparse matrix whose entries a call counts and writes."""

    def __init__(self, sparse: Sparse, shape: tuple[int, int], dtype: Any, base: int, integers: Any) -> None:
        self.sparse, self.base = sparse, base
        self.like = Arrays(np.zeros(shape, dtype), "csr", base=base, integers=integers)
        self.descriptor = sparse.matrix(self.like)

    def allocate(self, initial: float) -> None:
        count = count_of(self.sparse, self.descriptor)
        self.columns = np.full(count, GAP, self.like.indices.dtype)
        self.values = np.full(count, initial, self.like.values.dtype)
        self.places = self.sparse.places[0], put(self.sparse, self.columns), put(self.sparse, self.values)
        assert self.sparse.plain("CsrSetPointers", self.descriptor, *self.places) == SUCCESS

    def dense(self) -> np.ndarray:
        arrays = (self.like.offsets, self.columns, self.values)
        found = [self.sparse.get(place, array) for place, array in zip(self.places, arrays, strict=True)]
        result: np.ndarray = rebuilt(*found, self.like.shape, self.base)
        return result


def buffer_of(sparse: Sparse, name: str, *arguments: Any) -> Address:
    size = ctypes.c_size_t()
    assert sparse.call(name, *arguments, ctypes.byref(size), None) == SUCCESS
    buffer = sparse.memory(size.value)
    assert sparse.call(name, *arguments, ctypes.byref(size), buffer) == SUCCESS
    return buffer


@LETTERS
@BASES
@INTEGERS
@MODES
def test_product_of_sparse_matrices(sparse: Sparse, letter: str, base: int, integers: Any, on_device: bool) -> None:
    dtype = TYPES[letter]
    a, b = sparse.random((5, 7), dtype, 0.4), sparse.random((7, 6), dtype, 0.4)
    mat_a = sparse.matrix(Arrays(a, "csr", base=base, integers=integers))
    mat_b = sparse.matrix(Arrays(b, "csr", integers=integers))
    result = Result(sparse, (5, 6), dtype, base, integers)
    sparse.set_pointer_mode(on_device)
    scalars = sparse.scalar(2, dtype), sparse.scalar(3, dtype)
    descriptor = sparse.made("SpGEMM_destroyDescr", "SpGEMM_createDescr")
    arguments = N, N, scalars[0], mat_a, mat_b, scalars[1], result.descriptor, NUMBERS[np.dtype(dtype)], 0, descriptor
    assert sparse.call("SpGEMM_copy", *arguments) == INVALID_VALUE
    buffer_of(sparse, "SpGEMM_workEstimation", *arguments)
    products = ctypes.c_int64()
    assert sparse.plain("SpGEMM_getNumProducts", descriptor, ctypes.byref(products)) == SUCCESS
    assert products.value == int((a != 0).sum(axis=0) @ (b != 0).sum(axis=1))
    buffer_of(sparse, "SpGEMM_compute", *arguments)
    pattern = (a != 0).astype(int) @ (b != 0).astype(int) > 0
    assert count_of(sparse, result.descriptor) == pattern.sum()
    result.allocate(5)
    assert sparse.call("SpGEMM_copy", *arguments) == SUCCESS
    close(result.dense(), np.where(pattern, 2 * a @ b + 15, 0).astype(dtype))


def test_products_with_operations_or_other_types_are_refused(sparse: Sparse) -> None:
    a = sparse.matrix(Arrays(np.eye(4), "csr"))
    single = sparse.matrix(Arrays(np.eye(4, dtype=np.float32), "csr"))
    columns = sparse.matrix(Arrays(np.eye(4), "csc"))
    descriptor = sparse.made("SpGEMM_destroyDescr", "SpGEMM_createDescr")
    one, size = sparse.scalar(1, np.float64), ctypes.c_size_t()
    for kind, b, compute in ((T, a, 1), (N, single, 1), (N, columns, 1), (N, a, 0)):
        arguments = kind, N, one, a, b, one, a, compute, 0, descriptor, ctypes.byref(size), None
        assert sparse.call("SpGEMM_workEstimation", *arguments) == NOT_SUPPORTED


@LETTERS
def test_product_is_computed_again_for_new_values(sparse: Sparse, letter: str) -> None:
    dtype = TYPES[letter]
    a, b = sparse.random((5, 7), dtype, 0.4), sparse.random((7, 6), dtype, 0.4)
    arrays = Arrays(a, "csr")
    mat_a = sparse.matrix(arrays)
    at_a = sparse.places[2]
    mat_b = sparse.matrix(Arrays(b, "csr"))
    result = Result(sparse, (5, 6), dtype, 0, np.int32)
    descriptor = sparse.made("SpGEMM_destroyDescr", "SpGEMM_createDescr")
    short = N, N, mat_a, mat_b, result.descriptor, 0, descriptor
    buffer_of(sparse, "SpGEMMreuse_workEstimation", *short)
    sizes = [ctypes.c_size_t() for _ in range(3)]
    pairs = [each for size in sizes for each in (ctypes.byref(size), None)]
    assert sparse.call("SpGEMMreuse_nnz", *short, *pairs) == SUCCESS
    pairs = [each for size in sizes for each in (ctypes.byref(size), sparse.memory(size.value))]
    assert sparse.call("SpGEMMreuse_nnz", *short, *pairs) == SUCCESS
    result.allocate(1)
    buffer_of(sparse, "SpGEMMreuse_copy", *short)
    pattern = (a != 0).astype(int) @ (b != 0).astype(int) > 0
    expected = pattern.astype(dtype)
    scalars = sparse.scalar(2, dtype), sparse.scalar(3, dtype)
    compute = NUMBERS[np.dtype(dtype)], 0, descriptor
    for factor in (1, 4):
        new = sparse.put((arrays.values * factor).astype(dtype))
        assert sparse.plain("SpMatSetValues", mat_a, new) == SUCCESS
        arguments = N, N, scalars[0], mat_a, mat_b, scalars[1], result.descriptor, *compute
        assert sparse.call("SpGEMMreuse_compute", *arguments) == SUCCESS
        expected = np.where(pattern, 2 * factor * a @ b + 3 * expected, 0)
        close(result.dense(), expected.astype(dtype))
    assert at_a.value != 0


@LETTERS
@pytest.mark.parametrize("kinds", [(N, N), (T, N), (N, H)])
@INTEGERS
def test_sum_of_matrices_with_descriptors(sparse: Sparse, letter: str, kinds: tuple[int, int], integers: Any) -> None:
    dtype = TYPES[letter]
    a = sparse.random((5, 7) if kinds[0] == N else (7, 5), dtype, 0.4)
    b = sparse.random((5, 7) if kinds[1] == N else (7, 5), dtype, 0.4)
    mat_a, mat_b = (sparse.matrix(Arrays(each, "csr", integers=integers)) for each in (a, b))
    result = Result(sparse, (5, 7), dtype, 1, integers)
    descriptor = sparse.made("SpGEAM_destroyDescr", "SpGEAM_createDescr")
    scalars = sparse.scalar(2, dtype), sparse.scalar(3, dtype)
    arguments = *kinds, scalars[0], mat_a, scalars[1], mat_b, result.descriptor, NUMBERS[np.dtype(dtype)], 0, descriptor
    buffer = sparse.buffer("SpGEAM_bufferSize", *arguments)
    assert sparse.call("SpGEAM_nnz", *arguments, buffer) == SUCCESS
    result.allocate(GAP)
    assert sparse.call("SpGEAM", *arguments, buffer) == SUCCESS
    close(result.dense(), (2 * op(a, kinds[0]) + 3 * op(b, kinds[1])).astype(dtype))


def described(sparse: Sparse, base: int = 0, **settings: int) -> ctypes.c_void_p:
    made = sparse.made("DestroyMatDescr", "CreateMatDescr")
    assert sparse.plain("SetMatIndexBase", made, base) == SUCCESS
    for name, value in settings.items():
        assert sparse.plain(f"SetMat{name}", made, value) == SUCCESS
    return made


@LETTERS
@BASES
@MODES
def test_sum_of_matrices_whose_count_is_in_device_memory(
    sparse: Sparse, letter: str, base: int, on_device: bool
) -> None:
    dtype = TYPES[letter]
    a, b = sparse.random((5, 7), dtype, 0.4), sparse.random((5, 7), dtype, 0.4)
    of_a, of_b = Arrays(a, "csr", base=base), Arrays(b, "csr")
    at_a, at_b = ([sparse.put(each) for each in (of.offsets, of.indices, of.values)] for of in (of_a, of_b))
    descr_a, descr_b, descr_c = described(sparse, base), described(sparse), described(sparse, base)
    sparse.set_pointer_mode(on_device)
    offsets = sparse.put(np.zeros(6, np.int32))
    pattern = (a != 0) | (b != 0)
    count = int(pattern.sum())
    # Elements after those of the sum must not change.
    columns, values = np.full(count + 4, GAP, np.int32), np.full(count + 4, GAP, dtype)
    places = offsets, sparse.put(columns), sparse.put(values)
    scalars = sparse.scalar(2, dtype), sparse.scalar(3, dtype)
    given_a = descr_a, of_a.count, at_a[2], at_a[0], at_a[1]
    given_b = descr_b, of_b.count, at_b[2], at_b[0], at_b[1]
    arguments = 5, 7, scalars[0], *given_a, scalars[1], *given_b, descr_c, places[2], places[0], places[1]
    name = f"{letter}csrgeam2"
    buffer = sparse.buffer(f"{name}_bufferSizeExt", *arguments)
    total = np.zeros(1, np.int32)
    to = sparse.put(total) if on_device else total.ctypes.data_as(ctypes.c_void_p)
    short_a, short_b = (descr_a, of_a.count, *at_a[:2]), (descr_b, of_b.count, *at_b[:2])
    assert sparse.call("Xcsrgeam2Nnz", 5, 7, *short_a, *short_b, descr_c, offsets, to, buffer) == SUCCESS
    assert (sparse.get(to, total) if on_device else total).tolist() == [count]  # type: ignore[arg-type]
    assert sparse.call(name, *arguments, buffer) == SUCCESS
    found = [
        sparse.get(place, like) for place, like in zip(places, (np.zeros(6, np.int32), columns, values), strict=True)
    ]
    assert (found[1][count:] == GAP).all()
    assert (found[2][count:] == GAP).all()
    close(rebuilt(found[0], found[1], found[2], a.shape, base), (2 * a + 3 * b).astype(dtype))


def test_function_of_a_general_matrix_refuses_other_types(sparse: Sparse) -> None:
    symmetric = described(sparse, Type=1)
    general = described(sparse)
    zero, size = sparse.scalar(0, np.float32), ctypes.c_size_t()
    arguments = (
        1,
        1,
        zero,
        symmetric,
        0,
        None,
        None,
        None,
        zero,
        general,
        0,
        None,
        None,
        None,
        general,
        None,
        None,
        None,
    )
    assert sparse.call("Scsrgeam2_bufferSizeExt", *arguments, ctypes.byref(size)) == MATRIX_TYPE_NOT_SUPPORTED
    assert [sparse.library.cusparseGetMatType(each) for each in (symmetric, general)] == [1, 0]
    assert sparse.plain("SetMatType", general, 4) == INVALID_VALUE


@LETTERS
@BASES
@MODES
def test_small_entries_are_dropped(sparse: Sparse, letter: str, base: int, on_device: bool) -> None:
    dtype = TYPES[letter]
    a = sparse.random((6, 5), dtype, 0.7)
    arrays = Arrays(a, "csr", base=base)
    offsets, columns, values = (sparse.put(each) for each in (arrays.offsets, arrays.indices, arrays.values))
    descr = described(sparse, base)
    sparse.set_pointer_mode(on_device)
    kinds: dict[str, Any] = {"S": ctypes.c_float, "D": ctypes.c_double}
    if letter in kinds:
        tolerance = kinds[letter](2.5)
    else:

        class Complex(ctypes.Structure):
            _fields_ = (("re", kinds["S" if letter == "C" else "D"]), ("im", kinds["S" if letter == "C" else "D"]))

        tolerance = Complex(2.5, 0)
    kept = np.abs(a) > 2.5
    count = int(kept.sum())
    per_row, total = sparse.put(np.zeros(6, np.int32)), np.zeros(1, np.int32)
    to = sparse.put(total) if on_device else total.ctypes.data_as(ctypes.c_void_p)
    assert sparse.call(f"{letter}nnz_compress", 6, descr, values, offsets, per_row, to, tolerance) == SUCCESS
    assert sparse.get(per_row, np.zeros(6, np.int32)).tolist() == kept.sum(axis=1).tolist()
    assert (sparse.get(to, total) if on_device else total).tolist() == [count]  # type: ignore[arg-type]
    likes = np.full(count + 3, GAP, dtype), np.full(count + 3, GAP, np.int32), np.zeros(7, np.int32)
    places = [sparse.put(each) for each in likes]
    given = values, columns, offsets, arrays.count, per_row
    assert sparse.call(f"{letter}csr2csr_compress", 6, 5, descr, *given, *places, tolerance) == SUCCESS
    found = [sparse.get(place, like) for place, like in zip(places, likes, strict=True)]
    assert (found[0][count:] == GAP).all()
    assert (found[1][count:] == GAP).all()
    close(rebuilt(found[2], found[1], found[0], a.shape, base), np.where(kept, a, 0))
