"""Equations with sparse matrices by the stand-in for cuSOLVER, with arrays of the device and of the host."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import second_stream
from solver_probe import EXECUTION_FAILED, INVALID_VALUE, NOT_INITIALIZED, SUCCESS, TYPES, Solver, close

from cuarray_sim.stand_ins import STAND_INS

MATRIX_TYPE_NOT_SUPPORTED = 8
KINDS = pytest.mark.parametrize("kind", list(TYPES))
BASES = pytest.mark.parametrize("base", [0, 1])
# cuSOLVER has LU for arrays of the host only.
METHODS = pytest.mark.parametrize(
    ("method", "host"), [("qr", False), ("chol", False), ("qr", True), ("chol", True), ("lu", True)]
)


@pytest.fixture
def sparse(solver: Solver) -> Iterator[Sparse]:
    made = Sparse(solver)
    yield made
    made.close()


class Sparse:
    """A handle of the sparse interface with its stream, and a descriptor of cuSPARSE."""

    def __init__(self, solver: Solver) -> None:
        (stand_in,) = (each for each in STAND_INS if each.name == "cuSPARSE")
        self.solver, self.library = solver, solver.library
        self.cusparse = ctypes.CDLL(str(stand_in.path / "libcusparse.so.12"))
        self.handle, self.descriptor = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.library.cusolverSpCreate(ctypes.byref(self.handle)) == SUCCESS
        assert self.library.cusolverSpSetStream(self.handle, solver.stream) == SUCCESS
        assert self.cusparse.cusparseCreateMatDescr(ctypes.byref(self.descriptor)) == 0

    def close(self) -> None:
        assert self.cusparse.cusparseDestroyMatDescr(self.descriptor) == 0
        assert self.library.cusolverSpDestroy(self.handle) == SUCCESS

    def solve(
        self,
        kind: str,
        method: str,
        matrix: tuple[np.ndarray, ...],
        b: np.ndarray,
        *,
        host: bool,
        reorder: int = 0,
        tol: float = 0,
    ) -> tuple[int, np.ndarray, int]:
        """Return the status, the solution and the column of a singular matrix."""
        put = self.on_host if host else self.solver.put
        rows, columns, values = matrix
        self.keep, x = [], np.full(len(b), 77, TYPES[kind])
        at_x, singular = put(x), ctypes.c_int(-9)
        tolerance = (ctypes.c_float if kind in "SC" else ctypes.c_double)(tol)
        status = getattr(self.library, f"cusolverSp{kind}csrlsv{method}{'Host' if host else ''}")(
            *(self.handle, len(rows) - 1, len(columns), self.descriptor, put(values), put(rows), put(columns), put(b)),
            *(tolerance, reorder, at_x, ctypes.byref(singular)),
        )
        return status, self.keep[0] if host else self.solver.get(at_x, x), singular.value

    def on_host(self, values: np.ndarray) -> Any:
        self.keep.append(values)
        return values.ctypes.data_as(ctypes.c_void_p)


def compressed(dense: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(len(dense) + 1))
    return (
        (starts + base).astype(np.int32),
        (columns + base).astype(np.int32),
        np.ascontiguousarray(dense[rows, columns]),
    )


def grid(solver: Solver, side: int, dtype: Any, *, hermitian: bool) -> np.ndarray:
    """The matrix of a grid of unknowns: each has its neighbours."""
    n = side * side
    dense = np.zeros((n, n), dtype)
    for index in range(n):
        for step in (1, side):
            if index + step < n and (step > 1 or (index + 1) % side):
                value = solver.random((2,), dtype)
                dense[index, index + step] = value[0]
                dense[index + step, index] = value[0].conj() if hermitian else value[1]
    return dense + np.diag(np.abs(dense).sum(1) + np.abs(dense).sum(0) + 1).astype(dtype)


@KINDS
@BASES
@METHODS
@pytest.mark.parametrize("side", [1, 4, 9])
def test_solution_is_that_of_the_dense_matrix(
    sparse: Sparse, solver: Solver, kind: str, base: int, method: str, host: bool, side: int
) -> None:
    assert sparse.cusparse.cusparseSetMatIndexBase(sparse.descriptor, base) == 0
    dense = grid(solver, side, TYPES[kind], hermitian=method == "chol")
    b = solver.random((len(dense),), TYPES[kind])
    for reorder in range(4):
        status, x, singular = sparse.solve(kind, method, compressed(dense, base), b, host=host, reorder=reorder)
        assert (status, singular) == (SUCCESS, -1)
        close(x, np.linalg.solve(dense, b), kind)


def test_rows_without_order_and_duplicates_are_added(sparse: Sparse) -> None:
    rows, columns = np.array([0, 3, 5], np.int32), np.array([1, 0, 0, 1, 0], np.int32)
    matrix = rows, columns, np.array([1.0, 2, 2, 5, 3])
    status, x, singular = sparse.solve("D", "qr", matrix, np.array([5.0, 8]), host=False)
    assert (status, singular) == (SUCCESS, -1)
    close(x, np.linalg.solve([[4.0, 1], [3, 5]], [5.0, 8]), "D")


@METHODS
def test_singular_matrix_has_its_column(sparse: Sparse, method: str, host: bool) -> None:
    dense = np.diag([1.0, 2, 3, 4])
    for value, tol in ((0.0, 0.0), (1e-20, 1e-6)):
        dense[2, 2] = value
        status, x, singular = sparse.solve("D", method, compressed(dense, 0), np.ones(4), host=host, tol=tol)
        assert (status, singular) == (SUCCESS, 2)
        # A small pivot has a solution all the same.
        close(x, np.linalg.solve(dense, np.ones(4)), "D") if value else np.testing.assert_array_equal(x, np.nan)
    rank = np.ones((3, 3)) + np.diag([0, 0, 1.0])
    assert sparse.solve("D", method, compressed(rank, 0), np.ones(3), host=host)[2] >= 0
    if method == "chol":
        assert sparse.solve("D", method, compressed(-np.eye(3), 0), np.ones(3), host=host)[2] == 0


@pytest.mark.parametrize("host", [False, True], ids=["device", "host"])
def test_arrays_that_describe_no_matrix_and_wrong_options_are_refused(sparse: Sparse, host: bool) -> None:
    good, b = compressed(np.eye(3), 0), np.ones(3)
    for rows, columns in (
        ([0, 1, 2, 9], [0, 1, 2]),
        ([0, 2, 1, 3], [0, 1, 2]),
        ([0, 1, 2, 3], [0, 1, 3]),
        ([0, 1, 2, 3], [-1, 1, 2]),
    ):
        wrong = np.array(rows, np.int32), np.array(columns, np.int32), good[2]
        assert sparse.solve("D", "qr", wrong, b, host=host)[0] == EXECUTION_FAILED, rows
    assert sparse.solve("D", "qr", good, b, host=host, reorder=4)[0] == INVALID_VALUE
    assert sparse.solve("D", "qr", good, b, host=host, tol=-1)[0] == INVALID_VALUE
    assert sparse.cusparse.cusparseSetMatType(sparse.descriptor, 1) == 0
    assert sparse.solve("D", "qr", good, b, host=host)[0] == MATRIX_TYPE_NOT_SUPPORTED
    stream = ctypes.c_void_p()
    assert sparse.library.cusolverSpGetStream(sparse.handle, ctypes.byref(stream)) == SUCCESS
    assert stream.value == sparse.solver.stream.value
    assert sparse.library.cusolverSpGetStream(ctypes.c_void_p(), ctypes.byref(stream)) == NOT_INITIALIZED


@pytest.mark.cuarray_sim(expect="data-race")
def test_write_of_an_array_without_a_wait_is_a_race(sparse: Sparse, solver: Solver, findings_of: Any) -> None:
    rows, columns, values = (solver.put(each) for each in compressed(np.eye(3), 0))
    b, x, singular = solver.put(np.ones(3)), solver.put(np.ones(3)), ctypes.c_int()
    with second_stream() as other:
        driver_probe.call("cuMemsetD8Async", values, ctypes.c_ubyte(1), ctypes.c_size_t(8), other)
        arrays = (sparse.handle, 3, 3, sparse.descriptor, values, rows, columns, b, ctypes.c_double(), 0, x)
        assert sparse.library.cusolverSpDcsrlsvqr(*arrays, ctypes.byref(singular)) == SUCCESS
    found = [side for finding in findings_of() for side in finding["sides"] if side["call"] == "cusolverSpDcsrlsvqr"]
    assert {side["detail"] for side in found} == {"argument csrVal"}


@KINDS
@BASES
@pytest.mark.parametrize("host", [False, True], ids=["device", "host"])
def test_eigenvalue_next_to_a_number_is_found(sparse: Sparse, solver: Solver, kind: str, base: int, host: bool) -> None:
    dtype = TYPES[kind]
    assert sparse.cusparse.cusparseSetMatIndexBase(sparse.descriptor, base) == 0
    dense = grid(solver, 4, dtype, hermitian=True)
    values = np.linalg.eigvalsh(dense)
    near = values[5] + (values[6] - values[5]) / 10
    status, value, vector = nearest(sparse, kind, compressed(dense, base), near, host=host)
    assert status == SUCCESS
    close(np.array([value, np.linalg.norm(vector)]), np.array([values[5], 1]), kind)
    close(dense @ vector, value * vector, kind)


def nearest(
    sparse: Sparse,
    kind: str,
    matrix: tuple[np.ndarray, ...],
    near: complex,
    *,
    host: bool,
    most: int = 100,
    size: int | None = None,
) -> tuple[int, Any, np.ndarray]:
    """Return the status, the eigenvalue and its vector."""
    rows, columns, values = matrix
    put, dtype, n = sparse.on_host if host else sparse.solver.put, TYPES[kind], len(rows) - 1
    sparse.keep, single = [], kind in "SC"
    real = ctypes.c_float if single else ctypes.c_double
    places = [put(np.full(count, 77, dtype)) for count in (1, n)]
    kept = sparse.keep[:]

    class Pair(ctypes.Structure):
        _fields_ = (("re", real), ("im", real))

    shift = Pair(near.real, near.imag) if np.dtype(dtype).kind == "c" else real(near.real)
    status = getattr(sparse.library, f"cusolverSp{kind}csreigvsi{'Host' if host else ''}")(
        *(
            sparse.handle,
            n if size is None else size,
            len(columns),
            sparse.descriptor,
            put(values),
            put(rows),
            put(columns),
        ),
        *(shift, put(np.ones(n, dtype)), most, real(1e-5 if single else 1e-12), *places),
    )
    found = (
        kept
        if host
        else [sparse.solver.get(place, np.empty(count, dtype)) for place, count in zip(places, (1, n), strict=True)]
    )
    return status, found[0][0], found[1]


@pytest.mark.parametrize("host", [False, True], ids=["device", "host"])
def test_search_of_an_eigenvalue_checks_its_arguments(sparse: Sparse, host: bool) -> None:
    rows, columns, values = compressed(np.diag([1.0, 2.0, 3.0]), 0)
    for options, expected in (
        ({"size": 0}, INVALID_VALUE),
        ({"size": -1}, INVALID_VALUE),
        ({"most": -1}, INVALID_VALUE),
    ):
        status, value, vector = nearest(sparse, "D", (rows, columns, values), 1.1, host=host, **options)
        assert status == expected
        assert value == 77
        assert (vector == 77).all()
    assert nearest(sparse, "D", (rows, columns + 7, values), 1.1, host=host)[0] == EXECUTION_FAILED
    # No equations have a solution if the number is an eigenvalue.
    assert np.isnan(nearest(sparse, "D", (rows, columns, values), 2.0, host=host)[1])
    assert nearest(sparse, "D", (rows, columns, values), 1.9, host=host)[1] == pytest.approx(2)
