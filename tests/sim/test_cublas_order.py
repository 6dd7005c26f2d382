"""The stand-in for cuBLAS keeps the order of streams, names its arguments in findings, and checks them."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
from blas_probe import (
    EXECUTION_FAILED,
    INVALID_VALUE,
    NOT_INITIALIZED,
    NOT_SUPPORTED,
    SUCCESS,
    TYPES,
    Blas,
    N,
    at,
    close,
)
from device_probe import order, second_stream

from cuarray_sim.stand_ins import STAND_INS


def gemm(blas: Blas, addresses: list[int], n: int, *, beta: float = 0.0, letter: str = "S") -> int:
    """Multiply square matrices of order n."""
    dtype = TYPES[letter]
    a, b, c = (at(each) for each in addresses)
    return blas.call(
        f"cublas{letter}gemm_v2", N, N, n, n, n, blas.scalar(1, dtype), a, n, b, n, blas.scalar(beta, dtype), c, n
    )


def squares(blas: Blas, n: int = 4) -> tuple[list[np.ndarray], list[int]]:
    values = [blas.random((n, n), np.float32) for _ in range(3)]
    return values, [blas.put(each) for each in values]


def write(address: int, stream: ctypes.c_void_p, size: int = 64) -> None:
    driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(1), ctypes.c_size_t(size), stream)


@pytest.mark.parametrize("index", range(3), ids=["A", "B", "C"])
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_of_a_matrix_without_a_wait_is_a_race(blas: Blas, index: int, findings_of: Any) -> None:
    _, addresses = squares(blas)
    with second_stream() as other:
        write(addresses[index], other)
        gemm(blas, addresses, 4, beta=1)
    found = [side for finding in findings_of() for side in finding["sides"] if side["call"] == "cublasSgemm_v2"]
    named = {(side["detail"], side["access"]) for side in found}
    assert named == {(f"argument {'ABC'[index]}", access) for access in (["read", "write"] if index == 2 else ["read"])}
    assert {Path(side["site"]["user"]["file"]).name for side in found} == {"blas_probe.py"}


@pytest.mark.parametrize("index", range(3), ids=["A", "B", "C"])
def test_write_of_a_matrix_after_a_wait_has_no_findings(blas: Blas, index: int) -> None:
    _, addresses = squares(blas)
    with second_stream() as other:
        write(addresses[index], other)
        order(other, blas.stream)
        gemm(blas, addresses, 4, beta=1)


@pytest.mark.parametrize("schedule", ["lazy", "eager"])
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_of_an_input_after_the_call_is_a_race(blas: Blas, schedule: str, findings_of: Any) -> None:
    import cuarray_sim

    before = cuarray_sim.schedule()
    cuarray_sim.set_schedule(schedule)
    _, addresses = squares(blas)
    with second_stream() as other:
        gemm(blas, addresses, 4)
        write(addresses[0], other)
    cuarray_sim.set_schedule(before)
    assert len(findings_of()) == 1


@pytest.mark.cuarray_sim(expect="uninitialized-read")
def test_input_that_nothing_wrote_is_found(blas: Blas, findings_of: Any) -> None:
    values, addresses = squares(blas)
    addresses[1] = blas.memory(values[1].nbytes)
    gemm(blas, addresses, 4)
    blas.get(addresses[2], values[2])
    assert [each["sides"][0]["detail"] for each in findings_of()] == ["argument B"]


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_result_is_not_read_if_beta_is_zero(blas: Blas, on_device: bool) -> None:
    blas.set_pointer_mode(on_device)
    values, addresses = squares(blas)
    addresses[2] = blas.memory(values[2].nbytes)
    assert gemm(blas, addresses, 4) == SUCCESS
    close(blas.get(addresses[2], values[2]), values[0] @ values[1])


def test_graph_computes_again_at_each_launch(blas: Blas) -> None:
    values, addresses = squares(blas)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", blas.stream, 0)
    assert gemm(blas, addresses, 4, beta=1) == SUCCESS
    driver_probe.call("cuStreamEndCapture", blas.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    driver_probe.call("cuGraphDestroy", graph)
    close(blas.get(addresses[2], values[2]), values[2])
    for _ in range(3):
        driver_probe.call("cuGraphLaunch", executable, blas.stream)
    close(blas.get(addresses[2], values[2]), values[2] + 3 * (values[0] @ values[1]))
    driver_probe.call("cuGraphExecDestroy", executable)


def test_arguments_are_checked(blas: Blas, blas_library: ctypes.CDLL) -> None:
    """Wrong arguments have the documented status, and nothing is written."""
    a = blas.random((4, 4), np.float32)
    put = blas.put(a)
    one = blas.scalar(1, np.float32)

    def status(**changes: Any) -> int:
        arguments = {
            "ta": 0,
            "tb": 0,
            "m": 4,
            "n": 4,
            "k": 4,
            "alpha": one,
            "a": at(put),
            "lda": 4,
            "b": at(put),
            "ldb": 4,
        }
        arguments |= {"beta": one, "c": at(put), "ldc": 4} | changes
        return blas.call("cublasSgemm_v2", *arguments.values())

    wrong = [{"ta": 3}, {"tb": -1}, {"m": -1}, {"n": -1}, {"k": -1}, {"lda": 3}, {"ldb": 0}, {"ldc": 3}]
    wrong += [{name: None} for name in ("alpha", "beta", "a", "b", "c")]
    for changes in wrong:
        assert status(**changes) == INVALID_VALUE, changes
    assert status(m=0, a=None) == SUCCESS
    assert blas_library.cublasSgemm_v2(None, 0, 0, 1, 1, 1) == NOT_INITIALIZED
    np.testing.assert_array_equal(blas.get(put, a), a)
    assert blas_library.cublasGetStatusName(INVALID_VALUE) == b"CUBLAS_STATUS_INVALID_VALUE"
    assert blas_library.cublasGetStatusString(SUCCESS) == b"success"


def test_handle_keeps_its_modes(blas: Blas, blas_library: ctypes.CDLL, request: pytest.FixtureRequest) -> None:
    number, stream = ctypes.c_int(), ctypes.c_void_p()
    for name, value in (("PointerMode_v2", 1), ("AtomicsMode", 1), ("MathMode", 3), ("SmCountTarget", 7)):
        assert getattr(blas_library, f"cublasSet{name}")(blas.handle, value) == SUCCESS
        assert getattr(blas_library, f"cublasGet{name}")(blas.handle, ctypes.byref(number)) == SUCCESS
        assert number.value == value
        assert getattr(blas_library, f"cublasSet{name}")(blas.handle, -1) == INVALID_VALUE
    assert blas_library.cublasGetStream_v2(blas.handle, ctypes.byref(stream)) == SUCCESS
    assert stream.value == blas.stream.value
    assert blas_library.cublasGetVersion_v2(blas.handle, ctypes.byref(number)) == SUCCESS
    major = int(blas_library._name.rpartition(".")[2])
    assert number.value // 10_000 == major
    assert blas_library.cublasGetProperty(0, ctypes.byref(number)) == SUCCESS
    assert number.value == major
    assert blas_library.cublasGetProperty(3, ctypes.byref(number)) == INVALID_VALUE


def test_vectors_and_matrices_are_copied_to_the_device_and_back(blas: Blas, blas_library: ctypes.CDLL) -> None:
    x = blas.random((9,), np.float32)
    put, back = blas.put(np.zeros(5, np.float32)), np.zeros(9, np.float32)
    assert blas_library.cublasSetVector(5, 4, x.ctypes.data_as(ctypes.c_void_p), 2, at(put), 1) == SUCCESS
    assert blas_library.cublasGetVector(5, 4, at(put), 1, back.ctypes.data_as(ctypes.c_void_p), 2) == SUCCESS
    np.testing.assert_array_equal(back[::2], x[::2])
    assert not back[1::2].any()
    a = blas.random((4, 3), np.float64)
    put, back = blas.put(np.zeros((3, 3))), np.zeros((5, 3), order="F")
    assert blas_library.cublasSetMatrix(3, 3, 8, a.ctypes.data_as(ctypes.c_void_p), 4, at(put), 3) == SUCCESS
    stream = blas.stream
    assert (
        blas_library.cublasGetMatrixAsync(3, 3, 8, at(put), 3, back.ctypes.data_as(ctypes.c_void_p), 5, stream)
        == SUCCESS
    )
    driver_probe.call("cuStreamSynchronize", stream)
    np.testing.assert_array_equal(back[:3], a[:3])
    assert blas_library.cublasSetVector(5, 4, None, 1, at(put), 1) == INVALID_VALUE
    assert blas_library.cublasSetVector(5, 0, at(put), 1, at(put), 1) == INVALID_VALUE


def test_function_that_is_not_there_says_so_once(
    blas: Blas, blas_library: ctypes.CDLL, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert blas_library.cublasUint8gemmBias() == NOT_SUPPORTED
    text = capfd.readouterr().err
    assert text.count("cublasUint8gemmBias is not supported: libcublas.so.1") == 1


FUZZED = {
    "Sgemm_v2": "nnnnnspnpnspn",
    "Dgemv_v2": "nnnspnpnspn",
    "Ctrsm_v2": "nnnnnnspnpn",
    "Zher2k_v2": "nnnnspnpnspn",
    "Sgbmv_v2": "nnnnnspnpnspn",
    "Dtbsv_v2": "nnnnnpnpn",
    "Caxpy_v2": "nspnpn",
    "Sdot_v2": "npnpns",
    "Zgeam": "nnnnspnspnpn",
    "Stpmv_v2": "nnnnppn",
    "Csyr2_v2": "nnspnpnpn",
    "Dtpttr": "nnppn",
}
"""The parameters of functions: a number, the address of a scalar or result on the host, the address of an array."""


@pytest.mark.parametrize("name", FUZZED)
def test_arguments_at_random_never_crash(blas: Blas, name: str) -> None:
    import cuarray_sim

    put = blas.put(np.zeros((8, 8), np.complex128))
    host = np.ones(8, np.complex128)
    choices = {
        "n": [-(2**31), -1, 0, 0, 1, 1, 1, 2, 3, 4, 40, 2**31 - 1],
        "s": [None, *[host.ctypes.data_as(ctypes.c_void_p)] * 5],
        "p": [None, *[at(put)] * 5, at(put, 1000), at(0x1234)],
    }
    seen = set()
    for _ in range(400):
        lists = [choices[kind] for kind in FUZZED[name]]
        arguments = [each[int(blas.rng.integers(len(each)))] for each in lists]
        seen.add(blas.call(f"cublas{name}", *arguments))
    assert seen <= {SUCCESS, 3, INVALID_VALUE, EXECUTION_FAILED}
    assert INVALID_VALUE in seen
    cuarray_sim.clear_findings()


@pytest.mark.parametrize("major", [12, 13])
def test_cublas_lt_has_handles_and_versions(simulator: str, major: int, capfd: pytest.CaptureFixture[str]) -> None:
    (stand_in,) = (each for each in STAND_INS if each.name == "cublasLt")
    path = stand_in.path / f"libcublasLt.so.{major}"
    if not path.is_file():
        pytest.skip("the package was built without cublasLt")
    library, handle = ctypes.CDLL(str(path)), ctypes.c_void_p()
    with driver_probe.primary_context(0):
        assert library.cublasLtCreate(ctypes.byref(handle)) == SUCCESS
        library.cublasLtGetVersion.restype = ctypes.c_size_t
        assert library.cublasLtGetVersion() // 10_000 == major
        assert library.cublasLtGroupedMatrixLayoutCreate(handle) == NOT_SUPPORTED
        assert f"cublasLtGroupedMatrixLayoutCreate is not supported: libcublasLt.so.{major}" in capfd.readouterr().err
        assert library.cublasLtDestroy(handle) == SUCCESS
        assert library.cublasLtDestroy(handle) == NOT_INITIALIZED
