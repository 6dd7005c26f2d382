"""The stand-in for cuSOLVER keeps the order of streams, and names its arguments in findings."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import order, second_stream
from solver_probe import (
    EXECUTION_FAILED,
    GAP,
    INVALID_VALUE,
    NOT_INITIALIZED,
    NOT_SUPPORTED,
    SUCCESS,
    Address,
    Solver,
    close,
    parameters,
)

# The functions of the tests, their arguments in device memory, and which of these are read before anything is written.
READ = {
    "Dpotrf": ["A"],
    "Dgetrf": ["A"],
    "Dgetrs": ["A", "devIpiv", "B"],
    "Dgeqrf": ["A"],
    "Dormqr": ["A", "tau", "C"],
    "Dsyevd": ["A"],
    "Dgesvd": ["A"],
    "Dsyevj": ["A"],
    "DsyevjBatched": ["A"],
    "Dgesvdj": ["A"],
    "DgesvdjBatched": ["A"],
    "DpotrfBatched": ["Aarray"],
    "DpotrsBatched": ["A", "B"],
    "Xpotrf": ["A"],
    "Xpotrs": ["A", "B"],
    "Xgetrf": ["A"],
    "Xgetrs": ["A", "ipiv", "B"],
    "Xgeqrf": ["A"],
    "Xsyevd": ["A"],
    "Xgeev": ["A"],
    "Xgesvd": ["A"],
}
WRITTEN = {
    "Dpotrf": ["Workspace", "devInfo"],
    "Dgetrf": ["Workspace", "devIpiv", "devInfo"],
    "Dgetrs": ["devInfo"],
    "Dgeqrf": ["TAU", "Workspace", "devInfo"],
    "Dormqr": ["work", "devInfo"],
    "Dsyevd": ["W", "work", "info"],
    "Dgesvd": ["S", "U", "VT", "work", "info"],
    "Dsyevj": ["W", "work", "info"],
    "DsyevjBatched": ["W", "work", "info"],
    "Dgesvdj": ["S", "U", "V", "work", "info"],
    "DgesvdjBatched": ["S", "U", "V", "work", "info"],
    "DpotrfBatched": ["infoArray"],
    "DpotrsBatched": ["d_info"],
    "Xpotrf": ["bufferOnDevice", "info"],
    "Xpotrs": ["info"],
    "Xgetrf": ["ipiv", "bufferOnDevice", "info"],
    "Xgetrs": ["info"],
    "Xgeqrf": ["tau", "bufferOnDevice", "info"],
    "Xsyevd": ["W", "bufferOnDevice", "info"],
    "Xgeev": ["W", "VR", "bufferOnDevice", "info"],
    "Xgesvd": ["S", "U", "VT", "bufferOnDevice", "info"],
}
ARGUMENTS = [(name, argument) for name in READ for argument in READ[name] + WRITTEN[name]]
N = 4

Prepared = tuple[dict[str, Address], Callable[[], int]]


def prepared(solver: Solver, name: str) -> Prepared:
    """The arguments of a function in device memory, and a call with them."""
    at = {each: solver.put(np.zeros((N, N))) for each in READ[name] + WRITTEN[name]}
    at |= {each: solver.put(solver.definite(N, np.float64)) for each in {"A", "Aarray"} & set(at)}
    for work in {"work", "Workspace", "bufferOnDevice"} & set(at):
        at[work] = solver.memory(1 << 14)
    for each in {"devInfo", "info", "infoArray", "d_info"} & set(at):
        at[each] = solver.put(np.zeros(1, np.int32))
    for pivots, kind in (("devIpiv", np.int32), ("ipiv", np.int64)):
        if pivots in at:
            at[pivots] = solver.put(np.arange(1, N + 1, dtype=kind))
    given = dict(at)
    for kind in ("syevj", "gesvdj"):
        if kind in name:
            given["params"] = parameters(solver, kind)
    if name in ("DpotrfBatched", "DpotrsBatched"):
        # The call takes arrays of addresses. The tests write the matrices there.
        for each in {"Aarray", "A", "B"} & set(at):
            given[each] = solver.put(np.array([at[each].value], np.uint64))
    n, double = ctypes.c_int64(N), ctypes.c_int(1)
    of_x = ["bufferOnDevice", ctypes.c_size_t(1 << 14), None, ctypes.c_size_t(0), "info"]
    arguments: dict[str, list[Any]] = {
        "Dpotrf": [0, N, "A", N, "Workspace", 2048, "devInfo"],
        "Dgetrf": [N, N, "A", N, "Workspace", "devIpiv", "devInfo"],
        "Dgetrs": [0, N, N, "A", N, "devIpiv", "B", N, "devInfo"],
        "Dgeqrf": [N, N, "A", N, "TAU", "Workspace", 2048, "devInfo"],
        "Dormqr": [0, 0, N, N, N, "A", N, "tau", "C", N, "work", 2048, "devInfo"],
        "Dsyevd": [1, 0, N, "A", N, "W", "work", 2048, "info"],
        "Dgesvd": ["A ", "A ", N, N, "A", N, "S", "U", N, "VT", N, "work", 2048, None, "info"],
        "Dsyevj": [1, 0, N, "A", N, "W", "work", 2048, "info", "params"],
        "DsyevjBatched": [1, 0, N, "A", N, "W", "work", 2048, "info", "params", 1],
        "Dgesvdj": [1, 0, N, N, "A", N, "S", "U", N, "V", N, "work", 2048, "info", "params"],
        "DgesvdjBatched": [1, N, N, "A", N, "S", "U", N, "V", N, "work", 2048, "info", "params", 1],
        "DpotrfBatched": [0, N, "Aarray", N, "infoArray", 1],
        "DpotrsBatched": [0, N, 1, "A", N, "B", N, "d_info", 1],
        "Xpotrf": [None, 0, n, double, "A", n, double, *of_x],
        "Xpotrs": [None, 0, n, n, double, "A", n, double, "B", n, "info"],
        "Xgetrf": [None, n, n, double, "A", n, "ipiv", double, *of_x],
        "Xgetrs": [None, 0, n, n, double, "A", n, "ipiv", double, "B", n, "info"],
        "Xgeqrf": [None, n, n, double, "A", n, double, "tau", double, *of_x],
        "Xsyevd": [None, 1, 0, n, double, "A", n, double, "W", double, *of_x],
        "Xgeev": [
            *[None, 0, 1, n, double, "A", n, double, "W", double, None, n, double, "VR", n, double],
            *of_x,
        ],
        "Xgesvd": [
            *[None, "A ", "A ", n, n, double, "A", n, double, "S", double],
            *["U", n, double, "VT", n, double, *of_x],
        ],
    }
    converted = [
        each[0] if each == "A " else given[each] if isinstance(each, str) else each for each in arguments[name]
    ]
    return at, lambda: solver.call(f"cusolverDn{name}", *converted)


def sides_of(findings: Any, name: str) -> list[Any]:
    return [side for finding in findings for side in finding["sides"] if side["call"] == f"cusolverDn{name}"]


def write(address: Address, stream: ctypes.c_void_p, size: int = 4) -> None:
    driver_probe.call("cuMemsetD8Async", address, ctypes.c_ubyte(1), ctypes.c_size_t(size), stream)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_before_the_call_without_a_wait_is_a_race(
    solver: Solver, name: str, argument: str, schedule: str, findings_of: Any
) -> None:
    at, call = prepared(solver, name)
    with second_stream() as other:
        write(at[argument], other)
        assert call() == SUCCESS
    found = sides_of(findings_of(), name)
    assert {side["detail"] for side in found} == {f"argument {argument}"}
    assert {side["access"] for side in found} <= {"read", "write"}
    assert ("read" if argument in READ[name] else "write") in {side["access"] for side in found}
    assert {Path(side["site"]["user"]["file"]).name for side in found} == {"solver_probe.py"}


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_write_before_the_call_with_a_wait_has_no_findings(
    solver: Solver, name: str, argument: str, schedule: str
) -> None:
    at, call = prepared(solver, name)
    with second_stream() as other:
        write(at[argument], other)
        order(other, solver.stream)
        assert call() == SUCCESS


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_after_the_call_without_a_wait_is_a_race(
    solver: Solver, name: str, argument: str, schedule: str, findings_of: Any
) -> None:
    at, call = prepared(solver, name)
    with second_stream() as other:
        assert call() == SUCCESS
        write(at[argument], other)
    assert {side["detail"] for side in sides_of(findings_of(), name)} == {f"argument {argument}"}


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_write_after_the_call_with_a_wait_has_no_findings(
    solver: Solver, name: str, argument: str, schedule: str
) -> None:
    at, call = prepared(solver, name)
    with second_stream() as other:
        assert call() == SUCCESS
        order(solver.stream, other)
        write(at[argument], other)


@pytest.mark.cuarray_sim(expect="uninitialized-read")
def test_unwritten_matrix_is_found_as_argument(solver: Solver, findings_of: Any) -> None:
    a, work, info = solver.memory(8 * N * N), solver.memory(1 << 12), solver.memory(4)
    assert solver.call("cusolverDnDpotrf", 0, N, a, N, work, 512, info) == SUCCESS
    driver_probe.call("cuStreamSynchronize", solver.stream)
    assert {side["detail"] for side in sides_of(findings_of(), "Dpotrf")} == {"argument A"}


def test_triangle_that_is_not_read_may_be_unwritten_and_in_use(solver: Solver) -> None:
    matrix = solver.definite(N, np.float64)
    a, work, info = solver.memory(8 * N * N), solver.memory(1 << 12), solver.memory(4)
    for column in range(N):
        part = np.ascontiguousarray(matrix[column:, column])
        target = Address((a.value or 0) + 8 * (column * N + column))
        driver_probe.call("cuMemcpyHtoD_v2", target, part.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(part.nbytes))
    driver_probe.call("cuCtxSynchronize")
    with second_stream() as other:
        write(Address((a.value or 0) + 8 * N), other, 8)
        assert solver.call("cusolverDnDpotrf", 0, N, a, N, work, 512, info) == SUCCESS


def test_captured_calls_run_again_with_each_launch(solver: Solver) -> None:
    matrices = [solver.definite(N, np.float64) for _ in range(2)]
    right = solver.random((N, 2), np.float64)
    at, call = prepared(solver, "Dpotrf")
    b, (info, _) = solver.put(right), solver.integers()
    graph, launchable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", solver.stream, 2)
    assert call() == SUCCESS
    assert solver.call("cusolverDnDpotrs", 0, N, 2, at["A"], N, b, N, info) == SUCCESS
    driver_probe.call("cuStreamEndCapture", solver.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(launchable), graph, ctypes.c_ulonglong(0))
    np.testing.assert_array_equal(solver.get(b, right), right)
    for matrix in matrices:
        for address, values in ((at["A"], matrix), (b, right)):
            source = values.ctypes.data_as(ctypes.c_void_p)
            driver_probe.call("cuMemcpyHtoD_v2", address, source, ctypes.c_size_t(values.nbytes))
        driver_probe.call("cuCtxSynchronize")
        driver_probe.call("cuGraphLaunch", launchable, solver.stream)
        close(matrix @ solver.get(b, right), right, "D", 3)
    driver_probe.call("cuGraphExecDestroy", launchable)
    driver_probe.call("cuGraphDestroy", graph)


def test_wrong_arguments_give_the_documented_status_and_write_nothing(solver: Solver) -> None:
    matrix = solver.definite(N, np.float64)
    a, b, (info, like) = solver.put(matrix), solver.put(matrix), solver.integers()
    work, pivots = solver.memory(1 << 12), solver.integers(N)[0]
    none, nowhere = Address(0), Address(0x10)
    good: dict[str, list[Any]] = {
        "potrf": [0, N, a, N, work, 512, info],
        "potrs": [0, N, N, a, N, b, N, info],
        "getrf": [N, N, a, N, work, pivots, info],
        "getrs": [0, N, N, a, N, pivots, b, N, info],
        "geqrf": [N, N, a, N, b, work, 512, info],
        "orgqr": [N, N, N, a, N, b, work, 512, info],
        "ormqr": [0, 0, N, N, N, a, N, b, b, N, work, 512, info],
        "syevd": [1, 0, N, a, N, b, work, 512, info],
    }
    for name, arguments in good.items():
        function = f"cusolverDnD{name}"
        for index, argument in enumerate(arguments):
            wrong = -1 if isinstance(argument, int) else none
            if argument is not pivots:
                status = solver.call(function, *arguments[:index], wrong, *arguments[index + 1 :])
                assert status == INVALID_VALUE, (name, index)
            if not isinstance(argument, int) and argument is not work:
                status = solver.call(function, *arguments[:index], nowhere, *arguments[index + 1 :])
                assert status == EXECUTION_FAILED, (name, index)
        handle, solver.handle = solver.handle, ctypes.c_void_p(0)
        assert solver.call(function, *arguments) == NOT_INITIALIZED
        solver.handle = handle
    for address in (a, b):
        np.testing.assert_array_equal(solver.get(address, matrix), matrix)
    np.testing.assert_array_equal(solver.get(info, like), GAP)


@pytest.mark.cuarray_sim(expect="out-of-bounds")
def test_workspace_at_a_wrong_address_is_found_and_nothing_is_written(solver: Solver, findings_of: Any) -> None:
    matrix = solver.definite(N, np.float64)
    a, (info, like) = solver.put(matrix), solver.integers()
    assert solver.call("cusolverDnDpotrf", 0, N, a, N, Address(0x10), 512, info) == EXECUTION_FAILED
    assert {side["detail"] for side in sides_of(findings_of(), "Dpotrf")} == {"argument Workspace"}
    np.testing.assert_array_equal(solver.get(a, matrix), matrix)
    np.testing.assert_array_equal(solver.get(info, like), GAP)


def test_leading_dimensions_and_sizes_that_do_not_fit_are_refused(solver: Solver) -> None:
    a, (info, _), work = solver.put(np.eye(N)), solver.integers(), solver.memory(1 << 12)
    assert solver.call("cusolverDnDpotrf", 0, N, a, N - 1, work, 512, info) == INVALID_VALUE
    assert solver.call("cusolverDnDpotrf", 2, N, a, N, work, 512, info) == INVALID_VALUE
    assert solver.call("cusolverDnDpotrf", 0, N, a, N, work, 1, info) == INVALID_VALUE
    assert solver.call("cusolverDnDorgqr", N, N + 1, N, a, N, a, work, 512, info) == INVALID_VALUE
    assert solver.call("cusolverDnDorgqr", N, N - 1, N, a, N, a, work, 512, info) == INVALID_VALUE
    assert solver.call("cusolverDnZunmqr", 0, 1, N, N, N, a, N, a, a, N, work, 512, info) == INVALID_VALUE


def test_handles_streams_versions_and_parameters(solver: Solver) -> None:
    library = solver.library
    stream, version, part = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
    assert library.cusolverDnGetStream(solver.handle, ctypes.byref(stream)) == SUCCESS
    assert stream.value == solver.stream.value
    assert library.cusolverGetVersion(ctypes.byref(version)) == SUCCESS
    assert library.cusolverGetProperty(0, ctypes.byref(part)) == SUCCESS
    assert version.value // 1000 == part.value
    assert library.cusolverGetProperty(3, ctypes.byref(part)) == INVALID_VALUE
    params = ctypes.c_void_p()
    assert library.cusolverDnCreateParams(ctypes.byref(params)) == SUCCESS
    assert library.cusolverDnSetAdvOptions(params, 0, 1) == SUCCESS
    assert library.cusolverDnSetAdvOptions(params, 0, 7) == INVALID_VALUE
    assert library.cusolverDnDestroyParams(params) == SUCCESS
    assert library.cusolverDnDestroyParams(params) == INVALID_VALUE
    mode = ctypes.c_int()
    assert library.cusolverDnSetDeterministicMode(solver.handle, 2) == SUCCESS
    assert library.cusolverDnGetDeterministicMode(solver.handle, ctypes.byref(mode)) == SUCCESS
    assert mode.value == 2
    assert library.cusolverDnSetDeterministicMode(solver.handle, 0) == INVALID_VALUE
    assert library.cusolverDnCreate(None) == INVALID_VALUE
    assert library.cusolverDnDestroy(None) == NOT_INITIALIZED


def test_other_functions_are_refused_and_told_once(solver: Solver, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert solver.library.cusolverRfCreate(None) == NOT_SUPPORTED
    told = capfd.readouterr().err
    assert told.count("cuarray-sim: cusolverRfCreate is not supported") == 1
    assert "CUARRAY_SIM_CUSOLVER=0" in told
