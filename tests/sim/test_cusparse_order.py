"""The stand-in for cuSPARSE keeps the order of streams, accesses exactly the elements of its arguments, and names them in findings."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import Address, order, second_stream
from sparse_probe import NOT_SUPPORTED, SUCCESS, Arrays, Long, N, Sparse, close

Call = Callable[[], int]
VALUES = np.array([[2.0, 0, 1, 0], [0, 3, 0, 1], [1, 0, 4, 0], [0, 1, 0, 5]])
INDICES = np.array([1, 3], np.int32)


def described(sparse: Sparse) -> ctypes.c_void_p:
    return sparse.made("DestroyMatDescr", "CreateMatDescr")


def with_matrix(sparse: Sparse) -> tuple[ctypes.c_void_p, dict[str, Address]]:
    a = sparse.matrix(Arrays(VALUES, "csr"))
    names = "matA.csrRowOffsets", "matA.csrColInd", "matA.csrValues"
    return a, dict(zip(names, sparse.places, strict=True))


def spmv(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    a, at = with_matrix(sparse)
    (x, at["vecX"]), (y, at["vecY"]) = sparse.vector(np.ones(4)), sparse.vector(np.ones(4))
    one, zero = sparse.scalar(1, np.float64), sparse.scalar(0, np.float64)
    arguments = N, one, a, x, zero, y, 1, 0
    at["externalBuffer"] = sparse.buffer("SpMV_bufferSize", *arguments)
    return at, lambda: sparse.call("SpMV", *arguments, at["externalBuffer"])


def spmm(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    a, at = with_matrix(sparse)
    (b, at["matB"], _), (c, at["matC"], _) = sparse.dense(np.ones((4, 3))), sparse.dense(np.ones((4, 3)))
    one = sparse.scalar(1, np.float64)
    arguments = N, N, one, a, b, one, c, 1, 0
    at["externalBuffer"] = sparse.buffer("SpMM_bufferSize", *arguments)
    return at, lambda: sparse.call("SpMM", *arguments, at["externalBuffer"])


def spsv(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    a, of_a = with_matrix(sparse)
    (x, at_x), (y, at_y) = sparse.vector(np.ones(4)), sparse.vector(np.ones(4))
    solver = sparse.made("SpSV_destroyDescr", "SpSV_createDescr")
    arguments = N, sparse.scalar(1, np.float64), a, x, y, 1, 0, solver
    assert sparse.call("SpSV_analysis", *arguments, sparse.buffer("SpSV_bufferSize", *arguments)) == SUCCESS
    driver_probe.call("cuStreamSynchronize", sparse.stream)
    at = {"matA.csrColInd": of_a["matA.csrColInd"], "vecX": at_x, "vecY": at_y}
    return at, lambda: sparse.call("SpSV_solve", *arguments)


def gather(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    x, values = sparse.sparse_vector(4, INDICES, np.ones(2))
    y, at_y = sparse.vector(np.ones(4))
    at = {"vecX.values": values, "vecY": Address((at_y.value or 0) + 8)}
    return at, lambda: sparse.call("Gather", y, x)


def scatter(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    at, _ = gather(sparse)
    (x, at["vecX.values"]), (y, at_y) = sparse.sparse_vector(4, INDICES, np.ones(2)), sparse.vector(np.ones(4))
    at["vecY"] = Address((at_y.value or 0) + 8)
    return at, lambda: sparse.call("Scatter", x, y)


def spgemm_copy(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    a = sparse.matrix(Arrays(VALUES, "csr"))
    c = sparse.matrix(Arrays(np.zeros((4, 4)), "csr"))
    offsets = sparse.places[0]
    descriptor = sparse.made("SpGEMM_destroyDescr", "SpGEMM_createDescr")
    one, zero, size = sparse.scalar(1, np.float64), sparse.scalar(0, np.float64), ctypes.c_size_t(512)
    arguments = N, N, one, a, a, zero, c, 1, 0, descriptor
    buffer = sparse.memory(512)
    assert sparse.call("SpGEMM_workEstimation", *arguments, ctypes.byref(size), buffer) == SUCCESS
    assert sparse.call("SpGEMM_compute", *arguments, ctypes.byref(size), buffer) == SUCCESS
    places = offsets, sparse.memory(4 * 16), sparse.memory(8 * 16)
    assert sparse.plain("CsrSetPointers", c, *places) == SUCCESS
    names = "matC.csrRowOffsets", "matC.csrColInd", "matC.csrValues"
    at = dict(zip(names, places, strict=True)) | {"externalBuffer2": buffer}
    return at, lambda: sparse.call("SpGEMM_copy", *arguments)


def csrgeam2(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    arrays = Arrays(VALUES, "csr")
    a = [sparse.put(each) for each in (arrays.values, arrays.offsets, arrays.indices)]
    c = [sparse.memory(8 * 16), sparse.put(arrays.offsets), sparse.memory(4 * 16)]
    one, descr, buffer = sparse.scalar(1, np.float64), described(sparse), sparse.memory(512)
    of_a = one, descr, arrays.count, *a
    names = "csrSortedValA", "csrSortedRowPtrA", "csrSortedColIndA"
    others = "csrSortedValC", "csrSortedRowPtrC", "csrSortedColIndC"
    at = dict(zip(others, c, strict=True)) | dict(zip(names, a, strict=True))
    b = [sparse.put(each) for each in (arrays.values, arrays.offsets, arrays.indices)]
    of_b = one, descr, arrays.count, *b
    return at, lambda: sparse.call("Dcsrgeam2", 4, 4, *of_a, *of_b, descr, *c, buffer)


def csr2csc(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    arrays = Arrays(VALUES, "csr")
    given = [sparse.put(each) for each in (arrays.values, arrays.offsets, arrays.indices)]
    places = [sparse.put(each) for each in (arrays.values, arrays.offsets, arrays.indices)]
    buffer = sparse.memory(512)
    names = "csrVal", "csrRowPtr", "csrColInd", "cscVal", "cscColPtr", "cscRowInd"
    arguments = 4, 4, arrays.count, *given, *places, 1, 1, 0, 1, buffer
    return dict(zip(names, given + places, strict=True)), lambda: sparse.call("Csr2cscEx2", *arguments)


def gtsv2(sparse: Sparse) -> tuple[dict[str, Address], Call]:
    at = {name: sparse.put(np.full(4, value)) for name, value in (("dl", 1.0), ("d", 4.0), ("du", 1.0), ("B", 1.0))}
    buffer = sparse.memory(512)
    return at, lambda: sparse.call("Dgtsv2", 4, 1, *at.values(), 4, buffer)


CALLS = {
    "SpMV": (spmv, "matA.csrRowOffsets matA.csrColInd matA.csrValues vecX", "vecY externalBuffer"),
    "SpMM": (spmm, "matA.csrRowOffsets matA.csrColInd matA.csrValues matB matC", "externalBuffer"),
    "SpSV_solve": (spsv, "matA.csrColInd vecX", "vecY"),
    "Gather": (gather, "vecY", "vecX.values"),
    "Scatter": (scatter, "vecX.values", "vecY"),
    "SpGEMM_copy": (spgemm_copy, "externalBuffer2", "matC.csrRowOffsets matC.csrColInd matC.csrValues"),
    "Dcsrgeam2": (
        csrgeam2,
        "csrSortedValA csrSortedRowPtrA csrSortedColIndA csrSortedRowPtrC",
        "csrSortedValC csrSortedColIndC",
    ),
    "Csr2cscEx2": (csr2csc, "csrVal csrRowPtr csrColInd", "cscVal cscColPtr cscRowInd"),
    "Dgtsv2": (gtsv2, "dl d du B", ""),
}
"""Functions of cuSPARSE: how a test prepares a call, the arguments that it reads first, and the others."""
ARGUMENTS = [
    (name, argument) for name, (_, read, written) in CALLS.items() for argument in (read + " " + written).split()
]


def sides_of(findings: Any, name: str) -> list[Any]:
    return [side for finding in findings for side in finding["sides"] if side["call"] == f"cusparse{name}"]


def write(address: Address, stream: ctypes.c_void_p, byte: int = 0, size: int = 4) -> None:
    driver_probe.call("cuMemsetD8Async", address, ctypes.c_ubyte(byte), ctypes.c_size_t(size), stream)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_before_the_call_without_a_wait_is_a_race(
    sparse: Sparse, name: str, argument: str, schedule: str, findings_of: Any
) -> None:
    prepare, read, _ = CALLS[name]
    at, call = prepare(sparse)
    with second_stream() as other:
        write(at[argument], other)
        assert call() == SUCCESS
    found = sides_of(findings_of(), name)
    assert {side["detail"] for side in found} == {f"argument {argument}"}
    assert ("read" if argument in read.split() else "write") in {side["access"] for side in found}
    assert {Path(side["site"]["user"]["file"]).name for side in found} == {"sparse_probe.py"}


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_write_before_the_call_with_a_wait_has_no_findings(
    sparse: Sparse, name: str, argument: str, schedule: str
) -> None:
    at, call = CALLS[name][0](sparse)
    with second_stream() as other:
        write(at[argument], other)
        order(other, sparse.stream)
        assert call() == SUCCESS


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_after_the_call_without_a_wait_is_a_race(
    sparse: Sparse, name: str, argument: str, schedule: str, findings_of: Any
) -> None:
    at, call = CALLS[name][0](sparse)
    with second_stream() as other:
        assert call() == SUCCESS
        write(at[argument], other)
    assert {side["detail"] for side in sides_of(findings_of(), name)} == {f"argument {argument}"}


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_write_after_the_call_with_a_wait_has_no_findings(
    sparse: Sparse, name: str, argument: str, schedule: str
) -> None:
    at, call = CALLS[name][0](sparse)
    with second_stream() as other:
        assert call() == SUCCESS
        order(sparse.stream, other)
        write(at[argument], other)


@pytest.mark.parametrize("name", ["Gather", "Scatter"])
def test_element_without_an_index_may_be_in_use(sparse: Sparse, name: str) -> None:
    x, _ = sparse.sparse_vector(4, INDICES, np.ones(2))
    y, address = sparse.vector(np.ones(4))
    with second_stream() as other:
        write(Address((address.value or 0) + 16), other, 1, 8)
        assert sparse.call(name, *((y, x) if name == "Gather" else (x, y))) == SUCCESS


def test_memory_after_the_entries_of_a_sum_may_be_in_use(sparse: Sparse) -> None:
    at, call = csrgeam2(sparse)
    count = int((VALUES != 0).sum())
    with second_stream() as other:
        for name, size in (("csrSortedValC", 8), ("csrSortedColIndC", 4)):
            write(Address((at[name].value or 0) + size * count), other, 1, size)
        assert call() == SUCCESS
    close(sparse.get(at["csrSortedValC"], np.empty(count)), 2 * VALUES[VALUES != 0])


def test_column_of_no_index_may_be_unwritten_and_in_use(sparse: Sparse) -> None:
    a, y = sparse.memory(8 * 4 * 4), sparse.put(np.zeros(4))
    for index in INDICES:
        write(Address((a.value or 0) + 32 * int(index)), sparse.stream, 0, 32)
    vector = sparse.put(np.ones(2)), sparse.put(INDICES)
    one, zero, buffer = sparse.scalar(1, np.float64), sparse.scalar(0, np.float64), sparse.memory(512)
    with second_stream() as other:
        write(a, other, 1, 8)
        assert sparse.call("Dgemvi", N, 4, 4, one, a, 4, 2, *vector, zero, y, 0, buffer) == SUCCESS


@pytest.mark.cuarray_sim(expect="uninitialized-read")
def test_unwritten_vector_is_found_as_argument(sparse: Sparse, findings_of: Any) -> None:
    a, _ = with_matrix(sparse)
    x, (y, _) = sparse.made("DestroyDnVec", "CreateDnVec", Long(4), sparse.memory(32), 1), sparse.vector(np.ones(4))
    scalars = sparse.scalar(1, np.float64), sparse.scalar(0, np.float64)
    assert sparse.call("SpMV", N, scalars[0], a, x, scalars[1], y, 1, 0, sparse.memory(512)) == SUCCESS
    driver_probe.call("cuStreamSynchronize", sparse.stream)
    assert {side["detail"] for side in sides_of(findings_of(), "SpMV")} == {"argument vecX"}


def test_result_without_a_factor_is_not_read(sparse: Sparse) -> None:
    a, _ = with_matrix(sparse)
    (x, _), address = sparse.vector(np.ones(4)), sparse.memory(32)
    y = sparse.made("DestroyDnVec", "CreateDnVec", Long(4), address, 1)
    sparse.set_pointer_mode(on_device=True)
    scalars = sparse.scalar(1, np.float64), sparse.scalar(0, np.float64)
    assert sparse.call("SpMV", N, scalars[0], a, x, scalars[1], y, 1, 0, sparse.memory(512)) == SUCCESS
    close(sparse.get(address, np.empty(4)), VALUES.sum(axis=1))


def test_scalars_in_device_memory_are_read_in_stream_order(sparse: Sparse) -> None:
    a, _ = with_matrix(sparse)
    (x, _), (y, address) = sparse.vector(np.ones(4)), sparse.vector(np.ones(4))
    sparse.set_pointer_mode(on_device=True)
    alpha, beta, two = sparse.put(np.zeros(1)), sparse.put(np.zeros(1)), sparse.put(np.full(1, 2.0))
    driver_probe.call("cuMemcpyAsync", alpha, two, ctypes.c_size_t(8), sparse.stream)
    assert sparse.call("SpMV", N, alpha, a, x, beta, y, 1, 0, sparse.memory(512)) == SUCCESS
    close(sparse.get(address, np.empty(4)), 2 * VALUES.sum(axis=1))


def test_captured_calls_run_again_with_each_launch(sparse: Sparse) -> None:
    a, _ = with_matrix(sparse)
    arrays = Arrays(VALUES, "csr")
    (x, at_x), (y, at_y) = sparse.vector(np.ones(4)), sparse.vector(np.zeros(4))
    elements, values = sparse.sparse_vector(4, INDICES, np.zeros(2))
    scalars = sparse.scalar(1, np.float64), sparse.scalar(0, np.float64)
    buffer, size = sparse.memory(512), ctypes.c_size_t(512)
    product = sparse.made("SpGEMM_destroyDescr", "SpGEMM_createDescr")
    graph, launchable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", sparse.stream, 2)
    assert sparse.call("SpMV", N, scalars[0], a, x, scalars[1], y, 1, 0, buffer) == SUCCESS
    assert sparse.call("Gather", y, elements) == SUCCESS
    # The number of entries is known when the call returns, which a capture cannot do.
    arguments = N, N, scalars[0], a, a, scalars[1], a, 1, 0, product, ctypes.byref(size), buffer
    assert sparse.call("SpGEMM_compute", *arguments) == NOT_SUPPORTED
    driver_probe.call("cuStreamEndCapture", sparse.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(launchable), graph, ctypes.c_ulonglong(0))
    for factor in (1.0, 3.0):
        new = np.full(4, factor)
        source = new.ctypes.data_as(ctypes.c_void_p)
        driver_probe.call("cuMemcpyHtoD_v2", at_x, source, ctypes.c_size_t(new.nbytes))
        driver_probe.call("cuCtxSynchronize")
        driver_probe.call("cuGraphLaunch", launchable, sparse.stream)
        expected = factor * VALUES.sum(axis=1)
        close(sparse.get(at_y, expected), expected)
        close(sparse.get(values, np.empty(2)), expected[INDICES])
    assert arrays.count == (VALUES != 0).sum()
    driver_probe.call("cuGraphExecDestroy", launchable)
    driver_probe.call("cuGraphDestroy", graph)
