"""cublasXt of the stand-in for cuBLAS: level 3 on matrices in any memory, whose results are there when a call returns."""

from __future__ import annotations

import ctypes
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
from blas_probe import (
    GAP,
    INVALID_VALUE,
    LEFT,
    LOWER,
    NON_UNIT,
    NOT_INITIALIZED,
    NOT_SUPPORTED,
    RIGHT,
    SUCCESS,
    TYPES,
    UNIT,
    UPPER,
    Blas,
    C,
    N,
    T,
    at,
    close,
    op,
    symmetric,
    triangle,
    triangular,
)
from device_probe import second_stream


class Xt(Blas):
    """A handle of cublasXt on device 0, and a stream in which it does not work."""

    def begin(self) -> None:
        assert self.library.cublasXtCreate(ctypes.byref(self.handle)) == SUCCESS
        assert self.select(0) == SUCCESS

    def end(self) -> None:
        assert self.library.cublasXtDestroy(self.handle) == SUCCESS

    def select(self, *devices: int) -> int:
        numbers = (ctypes.c_int * len(devices))(*devices)
        result: int = self.library.cublasXtDeviceSelect(self.handle, len(devices), numbers)
        return result

    def level3(self, name: str, modes: tuple[int, ...], *arguments: Any) -> int:
        """Call a function. Sizes are numbers, scalars and matrices of the host are arrays, and matrices of a device are addresses."""
        converted: list[Any] = [ctypes.c_int(mode) for mode in modes]
        for each in arguments:
            if isinstance(each, np.ndarray):
                converted.append(each.ctypes.data_as(ctypes.c_void_p))
            else:
                converted.append(ctypes.c_size_t(each) if isinstance(each, int) else each)
        result: int = getattr(self.library, f"cublasXt{name}")(self.handle, *converted)
        return result


@pytest.fixture
def xt(simulator: str, blas_library: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[Xt]:
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        made = Xt(blas_library, np.random.default_rng(zlib.crc32(request.node.name.encode())))
        yield made
        made.close()


def number(value: Any, dtype: Any) -> np.ndarray:
    return np.array([value], dtype)


def squares(xt: Xt, n: int = 4) -> list[np.ndarray]:
    return [xt.random((n, n), np.float32) for _ in range(3)]


def gemm(xt: Xt, a: Any, b: Any, c: Any, n: int = 4, beta: float = 0) -> int:
    """Multiply square matrices of order n."""
    one, factor = number(1, np.float32), number(beta, np.float32)
    return xt.level3("Sgemm", (N, N), n, n, n, one, a, n, b, n, factor, c, n)


@pytest.mark.parametrize("on_host", list(itertools.product((True, False), repeat=3)))
@pytest.mark.parametrize("letter", TYPES)
def test_gemm_takes_matrices_of_the_host_and_of_the_device(xt: Xt, letter: str, on_host: tuple[bool, ...]) -> None:
    dtype = TYPES[letter]
    for kind_a, kind_b in itertools.product((N, T, C), repeat=2):
        m, n, k = (int(each) for each in xt.rng.integers(1, 20, 3))
        a = xt.random((m, k) if kind_a == N else (k, m), dtype)
        b = xt.random((k, n) if kind_b == N else (n, k), dtype)
        c = xt.random((m, n), dtype)
        alpha, beta = (2 - 1j, 3 + 1j) if np.dtype(dtype).kind == "c" else (2, 3)
        whole = [xt.padded(each, gap) for each, gap in ((a, 3), (b, 1), (c, 2))]
        inputs = [each if host else at(xt.put(each)) for each, host in zip(whole, on_host, strict=True)]
        status = xt.level3(
            f"{letter}gemm",
            (kind_a, kind_b),
            m,
            n,
            k,
            number(alpha, dtype),
            inputs[0],
            a.shape[0] + 3,
            inputs[1],
            b.shape[0] + 1,
            number(beta, dtype),
            inputs[2],
            m + 2,
        )
        assert status == SUCCESS
        result = whole[2] if on_host[2] else xt.get(inputs[2].value, whole[2])
        close(result[:m], (alpha * op(a, kind_a) @ op(b, kind_b) + beta * c).astype(dtype))
        assert (result[m:] == GAP).all()


def packed(matrix: np.ndarray, uplo: int) -> np.ndarray:
    n = len(matrix)
    columns = [matrix[j:, j] if uplo == LOWER else matrix[: j + 1, j] for j in range(n)]
    return np.concatenate(columns)


@pytest.mark.parametrize(
    "name", ["Ssymm", "Dsymm", "Csymm", "Zsymm", "Chemm", "Zhemm", "Sspmm", "Dspmm", "Cspmm", "Zspmm"]
)
def test_product_with_a_symmetric_matrix_of_the_host_reads_its_triangle(xt: Xt, name: str) -> None:
    dtype = TYPES[name[0]]
    for side, uplo in itertools.product((LEFT, RIGHT), (LOWER, UPPER)):
        m, n = (int(each) for each in xt.rng.integers(1, 15, 2))
        order = m if side == LEFT else n
        a, b, c = (xt.random(shape, dtype) for shape in ((order, order), (m, n), (m, n)))
        whole = xt.padded(c, 1)
        stored = (packed(a, uplo),) if "spmm" in name else (triangle(a, uplo), order)
        two, minus_one = number(2, dtype), number(-1, dtype)
        status = xt.level3(name, (side, uplo), m, n, two, *stored, b, m, minus_one, whole, m + 1)
        assert status == SUCCESS
        full = symmetric(a, uplo, hermitian="hemm" in name)
        close(whole[:m], 2 * (full @ b if side == LEFT else b @ full) - c)
        assert (whole[m:] == GAP).all()


RANKED = [*(f"{t}{f}" for f in ("syrk", "syr2k", "syrkx") for t in TYPES)]
RANKED += [f"{t}{f}" for f in ("herk", "her2k", "herkx") for t in "CZ"]


@pytest.mark.parametrize("name", RANKED)
def test_update_of_a_triangle_of_the_host_leaves_the_other_one(xt: Xt, name: str) -> None:
    dtype, hermitian = TYPES[name[0]], name[1:3] == "he"
    real = np.empty(0, dtype).real.dtype
    for uplo, kind in itertools.product((LOWER, UPPER), (N, C if hermitian else T)):
        n, k = (int(each) for each in xt.rng.integers(1, 15, 2))
        shape = (n, k) if kind == N else (k, n)
        a, b, c = xt.random(shape, dtype), xt.random(shape, dtype), xt.random((n, n), dtype)
        left, right = op(a, kind), op(a if name.endswith("rk") else b, kind)
        alpha = 2 - 1j if np.dtype(dtype).kind == "c" and not name.endswith("herk") else 2
        expected = alpha * left @ (right.conj().T if hermitian else right.T)
        if name.endswith("2k"):
            other = left.conj().T if hermitian else left.T
            expected = expected + (np.conj(alpha) if hermitian else alpha) * right @ other
        expected = expected + 3 * (symmetric(c, uplo, hermitian=True) if hermitian else c)
        if hermitian:
            np.fill_diagonal(expected, np.diag(expected).real)
        result = triangle(c, uplo)
        factors = number(alpha, real if name.endswith("herk") else dtype), number(3, real if hermitian else dtype)
        second = () if name.endswith("rk") else (b, shape[0])
        arguments = (n, k, factors[0], a, shape[0], *second, factors[1], result, n)
        assert xt.level3(name, (uplo, kind), *arguments) == SUCCESS
        inside = np.tril(np.ones((n, n), bool)) if uplo == LOWER else np.triu(np.ones((n, n), bool))
        close(result[inside], expected.astype(dtype)[inside])
        assert np.isnan(result[~inside]).all()


@pytest.mark.parametrize("letter", TYPES)
def test_trmm_and_trsm_use_a_triangle_of_the_host(xt: Xt, letter: str) -> None:
    dtype = TYPES[letter]
    for side, uplo, kind, diag in itertools.product((LEFT, RIGHT), (LOWER, UPPER), (N, T, C), (NON_UNIT, UNIT)):
        m, n = (int(each) for each in xt.rng.integers(1, 12, 2))
        order = m if side == LEFT else n
        a = xt.random((order, order), dtype) / np.array(8 * order, dtype)
        np.fill_diagonal(a, a.diagonal() + 2)
        b = xt.random((m, n), dtype)
        full = op(triangular(a, uplo, diag), kind)
        stored, modes = triangle(a, uplo, unit=diag == UNIT), (side, uplo, kind, diag)
        put_b, put_c = xt.padded(b, 2), xt.padded(b, 1)
        shape = (m, n, number(2, dtype), stored, order)
        assert xt.level3(f"{letter}trmm", modes, *shape, put_b, m + 2, put_c, m + 1) == SUCCESS
        close(put_c[:m], 2 * (full @ b if side == LEFT else b @ full))
        assert xt.level3(f"{letter}trsm", modes, *shape, put_b, m + 2) == SUCCESS
        solved = put_b[:m]
        close(full @ solved if side == LEFT else solved @ full, 2 * b)
        assert (put_c[m:] == GAP).all()
        assert (put_b[m:] == GAP).all()


def test_matrices_lie_on_devices_that_do_not_compute(xt: Xt) -> None:
    a, b, c = squares(xt)
    with driver_probe.primary_context(1):
        address = xt.memory(a.nbytes)
        driver_probe.call("cuMemcpyHtoD_v2", at(address), a.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(a.nbytes))
    assert gemm(xt, at(address), b, c) == SUCCESS
    close(c, a @ b)
    assert xt.select(1, 0) == SUCCESS
    result = at(xt.put(np.zeros_like(c)))
    assert gemm(xt, at(address), b, result) == SUCCESS
    assert result.value is not None
    close(xt.get(result.value, c), a @ b)


def test_managed_memory_is_memory_of_both(xt: Xt) -> None:
    values, addresses = squares(xt), []
    for value in values:
        address = ctypes.c_void_p()
        driver_probe.call("cuMemAllocManaged", ctypes.byref(address), ctypes.c_size_t(value.nbytes), 1)
        ctypes.memmove(address, value.ctypes.data, value.nbytes)
        addresses.append(address)
    assert gemm(xt, *addresses, beta=1) == SUCCESS
    result = np.empty_like(values[2])
    ctypes.memmove(result.ctypes.data, addresses[2], result.nbytes)
    close(result, values[0] @ values[1] + values[2])
    for address in addresses:
        driver_probe.call("cuMemFree_v2", address)


def pinned(size: int) -> ctypes.c_void_p:
    address = ctypes.c_void_p()
    driver_probe.call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(size), 0)
    return address


def write_and_multiply(xt: Xt, index: int, where: str, *, waits: bool) -> None:
    """Write a matrix in another stream, and multiply."""
    values = squares(xt)
    matrices: list[Any] = list(values)
    matrices[index] = at(xt.put(values[index])) if where == "device" else pinned(64)
    zeros = xt.put(np.zeros(16, np.float32))
    with second_stream() as other:
        driver_probe.call("cuMemcpyAsync", matrices[index], at(zeros), ctypes.c_size_t(64), other)
        if waits:
            driver_probe.call("cuStreamSynchronize", other)
        assert gemm(xt, *matrices, beta=1) == SUCCESS
    if where == "pinned":
        driver_probe.call("cuMemFreeHost", matrices[index])


@pytest.mark.parametrize("where", ["device", "pinned"])
@pytest.mark.parametrize("index", range(3), ids=["A", "B", "C"])
@pytest.mark.cuarray_sim(expect="data-race")
def test_pending_write_of_a_matrix_is_a_race(xt: Xt, index: int, where: str, findings_of: Any) -> None:
    write_and_multiply(xt, index, where, waits=False)
    found = [side for finding in findings_of() for side in finding["sides"] if side["call"] == "cublasXtSgemm"]
    accesses = ["read", "write"] if index == 2 else ["read"]
    named = {(side["detail"], side["access"]) for side in found}
    assert named == {(f"argument {'ABC'[index]}", access) for access in accesses}
    assert {Path(side["site"]["user"]["file"]).name for side in found} == {Path(__file__).name}


@pytest.mark.parametrize("where", ["device", "pinned"])
@pytest.mark.parametrize("index", range(3), ids=["A", "B", "C"])
def test_write_for_which_the_host_has_waited_has_no_findings(xt: Xt, index: int, where: str) -> None:
    write_and_multiply(xt, index, where, waits=True)


def test_result_needs_no_wait_in_any_stream(xt: Xt) -> None:
    a, b, c = squares(xt)
    result = at(xt.put(c))
    assert gemm(xt, a, b, result) == SUCCESS
    with second_stream() as other:
        again = np.zeros_like(c)
        target = again.ctypes.data_as(ctypes.c_void_p)
        driver_probe.call("cuMemcpyAsync", target, result, ctypes.c_size_t(c.nbytes), other)
    close(again, a @ b)


def test_call_is_ordered_after_the_default_stream_of_its_device(xt: Xt) -> None:
    a, b, c = squares(xt)
    device = at(xt.put(a))
    driver_probe.call("cuMemsetD8Async", device, ctypes.c_ubyte(0), ctypes.c_size_t(a.nbytes), None)
    assert gemm(xt, device, b, c) == SUCCESS
    close(c, np.zeros_like(c))


@pytest.mark.cuarray_sim(expect="uninitialized-read")
def test_device_memory_that_nothing_wrote_is_found(xt: Xt, findings_of: Any) -> None:
    a, _, c = squares(xt)
    assert gemm(xt, a, at(xt.memory(64)), c) == SUCCESS
    assert [each["sides"][0]["detail"] for each in findings_of()] == ["argument B"]


def test_result_on_the_host_is_not_read_if_beta_is_zero(xt: Xt) -> None:
    a, b, c = squares(xt)
    c[:] = np.nan
    assert gemm(xt, a, b, c) == SUCCESS
    close(c, a @ b)


def test_handle_without_devices_computes_nothing(xt: Xt, blas_library: ctypes.CDLL) -> None:
    a, b, c = squares(xt)
    before, usual = c.copy(), xt.handle
    xt.handle = ctypes.c_void_p()
    assert blas_library.cublasXtCreate(ctypes.byref(xt.handle)) == SUCCESS
    assert gemm(xt, a, b, c) == NOT_INITIALIZED
    for devices in [(), (2,), (-1,), (0, 7)]:
        assert xt.select(*devices) == INVALID_VALUE
    assert blas_library.cublasXtDeviceSelect(xt.handle, 1, None) == INVALID_VALUE
    assert blas_library.cublasXtDestroy(xt.handle) == SUCCESS
    assert blas_library.cublasXtDestroy(xt.handle) == NOT_INITIALIZED
    assert gemm(xt, a, b, c) == NOT_INITIALIZED
    assert xt.select(0) == NOT_INITIALIZED
    xt.handle = usual
    assert (c == before).all()


def test_settings_are_kept_and_checked(xt: Xt, blas_library: ctypes.CDLL) -> None:
    value = ctypes.c_int()
    for name, good, bad in [("BlockDim", (1, 4096), (0, -1)), ("PinningMemMode", (1, 0), (2, -1))]:
        for setting in good:
            assert getattr(blas_library, f"cublasXtSet{name}")(xt.handle, setting) == SUCCESS
            for wrong in bad:
                assert getattr(blas_library, f"cublasXtSet{name}")(xt.handle, wrong) == INVALID_VALUE
            assert getattr(blas_library, f"cublasXtGet{name}")(xt.handle, ctypes.byref(value)) == SUCCESS
            assert value.value == setting
        assert getattr(blas_library, f"cublasXtGet{name}")(xt.handle, None) == INVALID_VALUE
        assert getattr(blas_library, f"cublasXtSet{name}")(None, good[0]) == NOT_INITIALIZED
    for name, argument in [("Routine", None), ("Ratio", ctypes.c_float(0.5))]:
        hybrid = getattr(blas_library, f"cublasXtSetCpu{name}")
        assert [hybrid(xt.handle, 0, kind, argument) for kind in range(4)] == [SUCCESS] * 4
        assert [hybrid(xt.handle, operation, 0, argument) for operation in range(1, 12)] == [NOT_SUPPORTED] * 11
        assert [hybrid(xt.handle, *each, argument) for each in ((12, 0), (-1, 0), (0, 4), (0, -1))] == [
            INVALID_VALUE
        ] * 4
    numbers = (ctypes.c_int * 2)(0, 1)
    assert blas_library.cublasXtGetNumBoards(2, numbers, ctypes.byref(value)) == SUCCESS
    assert value.value == 2
    assert blas_library.cublasXtGetNumBoards(0, numbers, ctypes.byref(value)) == INVALID_VALUE
    assert blas_library.cublasXtMaxBoards(ctypes.byref(value)) == SUCCESS
    assert value.value == 2


def test_arguments_are_checked(xt: Xt) -> None:
    a, b, c = squares(xt)
    before, one, none = c.copy(), number(1, np.float32), ctypes.c_void_p()
    usual = [4, 4, 4, one, a, 4, b, 4, one, c, 4]
    for modes in [(3, N), (N, -1)]:
        assert xt.level3("Sgemm", modes, *usual) == INVALID_VALUE
    # Sizes without a sign: the largest ones are no negative numbers of the caller.
    for place, wrong in itertools.product((0, 1, 2), (2**63, 2**64 - 1)):
        assert xt.level3("Sgemm", (N, N), *usual[:place], wrong, *usual[place + 1 :]) == INVALID_VALUE
    for place in (5, 7, 10):
        assert xt.level3("Sgemm", (N, N), *usual[:place], 3, *usual[place + 1 :]) == INVALID_VALUE
    for place in (3, 4, 6, 8, 9):
        assert xt.level3("Sgemm", (N, N), *usual[:place], none, *usual[place + 1 :]) == INVALID_VALUE
    assert (c == before).all()
    assert xt.level3("Sgemm", (N, N), 0, 4, 4, one, none, 4, none, 4, one, none, 4) == SUCCESS
