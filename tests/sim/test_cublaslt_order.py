"""The stand-in for cublasLt keeps the order of streams, names its arguments in findings, and checks its descriptors."""

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
    at,
    close,
)
from device_probe import order, second_stream
from lt_probe import COMPUTE_32F, R_32F, Lt, Matrix, Result

ALLOC_FAILED = 3


def write(address: int, stream: ctypes.c_void_p, size: int = 32) -> None:
    driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(1), ctypes.c_size_t(size), stream)


class Product:
    """`D = relu(A B + C + bias)` with the bits of ReLU, for two matrices, and a workspace."""

    def __init__(self, lt: Lt) -> None:
        self.lt = lt
        self.a, self.b, self.c = (Matrix(lt, lt.random((2, 8, 8), np.float32), R_32F) for _ in range(3))
        self.d = Matrix(lt, np.zeros((2, 8, 8), np.float32), R_32F)
        self.bias, self.aux, self.workspace = lt.put(np.zeros(8, np.float32)), lt.memory(2 * 8 * 16), lt.memory(4096)
        self.one = lt.scalar(1, np.float32)
        self.addresses = {name: getattr(self, name.lower()).address for name in "ABCD"}
        self.addresses |= {"bias": self.bias, "aux": self.aux, "workspace": self.workspace}

    def run(self) -> int:
        values = {"epilogue": 2 | 4 | 128, "bias": self.bias, "aux": self.aux, "aux_ld": 128, "aux_stride": 1024}
        description = self.lt.description(COMPUTE_32F, R_32F, **values)
        matrices = self.one, self.a, self.b, self.one, self.c, self.d
        return self.lt.matmul(description, *matrices, (self.workspace, 4096))

    def expected(self) -> np.ndarray:
        result: np.ndarray = np.maximum(self.a.values @ self.b.values + self.c.values, 0)
        return result


ARGUMENTS = {"A": "read", "B": "read", "C": "read", "D": "write", "bias": "read", "aux": "write", "workspace": "write"}
"""The access of each argument. Address 0 of `aux` has the bits of one column."""


def size_of(name: str) -> int:
    return 1 if name == "aux" else 32


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.cuarray_sim(expect="data-race")
def test_argument_that_another_stream_writes_before_without_a_wait_is_a_race(
    lt: Lt, name: str, findings_of: Any
) -> None:
    product = Product(lt)
    with second_stream() as other:
        write(product.addresses[name], other, size_of(name))
        assert product.run() == SUCCESS
    found = [side for finding in findings_of() for side in finding["sides"] if side["call"] == "cublasLtMatmul"]
    assert {(side["detail"], side["access"]) for side in found} == {(f"argument {name}", ARGUMENTS[name])}
    assert {Path(side["site"]["user"]["file"]).name for side in found} == {"lt_probe.py"}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_argument_that_another_stream_writes_before_with_a_wait_is_none(lt: Lt, name: str) -> None:
    product = Product(lt)
    with second_stream() as other:
        write(product.addresses[name], other, size_of(name))
        order(other, lt.stream)
        assert product.run() == SUCCESS


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.cuarray_sim(expect="data-race")
def test_argument_that_another_stream_writes_after_without_a_wait_is_a_race(
    lt: Lt, name: str, findings_of: Any
) -> None:
    product = Product(lt)
    with second_stream() as other:
        assert product.run() == SUCCESS
        write(product.addresses[name], other, size_of(name))
    details = {
        side["detail"] for finding in findings_of() for side in finding["sides"] if side["call"] == "cublasLtMatmul"
    }
    assert details == {f"argument {name}"}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_argument_that_another_stream_writes_after_a_wait_is_none(lt: Lt, name: str) -> None:
    product = Product(lt)
    with second_stream() as other:
        assert product.run() == SUCCESS
        order(lt.stream, other)
        write(product.addresses[name], other, size_of(name))


def run_with_gaps(lt: Lt, offset: int) -> None:
    """Multiply batches with gaps between columns, after a write of 32 bytes of `A` in another stream without a wait."""
    a, b = (Matrix(lt, lt.random((2, 8, 8), np.float32), R_32F, gap=8) for _ in range(2))
    d = Matrix(lt, np.zeros((2, 8, 8), np.float32), R_32F)
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    with second_stream() as other:
        write(a.address + offset, other)
        assert lt.matmul(lt.description(COMPUTE_32F, R_32F), one, a, b, zero, d, d) == SUCCESS


@pytest.mark.parametrize("offset", [0, 512 + 448], ids=["first column", "last column of the batch"])
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_of_any_matrix_of_a_batch_is_a_race(lt: Lt, offset: int, findings_of: Any) -> None:
    run_with_gaps(lt, offset)
    assert [side["detail"] for finding in findings_of() for side in finding["sides"] if side["detail"]] == [
        "argument A"
    ]


@pytest.mark.parametrize("offset", [32, 512 + 480], ids=["first column", "last column of the batch"])
def test_write_of_the_gap_after_a_column_is_none(lt: Lt, offset: int) -> None:
    run_with_gaps(lt, offset)


@pytest.mark.cuarray_sim(expect="uninitialized-read")
def test_bias_that_nothing_wrote_is_found(lt: Lt, findings_of: Any) -> None:
    product = Product(lt)
    product.bias = lt.memory(32)
    assert product.run() == SUCCESS
    product.d.get(lt)
    assert [each["sides"][0]["detail"] for each in findings_of()] == ["argument bias"]


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_summand_is_not_read_if_its_factor_is_zero(lt: Lt, on_device: bool) -> None:
    product = Product(lt)
    product.c.address, lt.on_device = lt.memory(512), on_device
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    description = lt.description(COMPUTE_32F, R_32F, pointer_mode=int(on_device))
    assert lt.matmul(description, one, product.a, product.b, zero, product.c, product.d) == SUCCESS
    close(product.d.get(lt), product.a.values @ product.b.values)


def test_graph_computes_again_at_each_launch(lt: Lt) -> None:
    product = Product(lt)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", lt.stream, 0)
    assert product.run() == SUCCESS
    driver_probe.call("cuStreamEndCapture", lt.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    driver_probe.call("cuGraphDestroy", graph)
    assert not product.d.get(lt).any()
    for _ in range(2):
        driver_probe.call("cuGraphLaunch", executable, lt.stream)
        close(product.d.get(lt), product.expected())
        write(product.d.address, lt.stream, product.d.memory.nbytes)
    driver_probe.call("cuGraphExecDestroy", executable)


def test_arguments_are_checked(lt: Lt) -> None:
    product = Product(lt)
    a, one, d = product.a, product.one, product.d
    description = lt.description(COMPUTE_32F, R_32F)
    matmul = lt.library.cublasLtMatmul

    def status(**changes: Any) -> int:
        arguments: dict[str, Any] = {"handle": lt.handle, "description": description, "alpha": one}
        for name in "abcd":
            arguments |= {name: at(a.address), f"layout_{name}": a.layout}
            if name == "b":
                arguments["beta"] = one
        arguments |= {"d": at(d.address), "algo": None, "workspace": None, "size": ctypes.c_size_t(0)}
        found: int = matmul(*(arguments | changes).values(), lt.stream)
        return found

    wide = lt.layout(R_32F, 8, 9, 8, count=2, stride=72)
    wrong: list[dict[str, Any]] = [{name: None} for name in ("description", "alpha", "a", "b", "beta", "c", "d")]
    wrong += [{f"layout_{name}": None} for name in "abcd"]
    wrong += [{"layout_a": wide}, {"layout_c": wide}, {"workspace": at(product.workspace, 4)}]
    wrong += [{"layout_a": lt.layout(R_32F, 8, 8, 7)}, {"layout_a": lt.layout(R_32F, 8, 8, 8, count=3, stride=64)}]
    wrong += [
        {"layout_d": lt.layout(R_32F, 8, 8, 8, count=2)},
        {"layout_a": description},
        {"algo": ctypes.byref(Result())},
    ]
    for changes in wrong:
        assert status(**changes) == INVALID_VALUE, changes
    assert status(handle=None) == status(handle=ctypes.c_void_p(8)) == NOT_INITIALIZED
    assert not d.get(lt).any()
    assert status() == SUCCESS


def test_descriptors_keep_their_attributes_in_memory_of_the_caller(lt: Lt) -> None:
    memory = (ctypes.c_uint64 * 32)()
    descriptor = ctypes.byref(memory)
    initialize = lt.library.cublasLtMatmulDescInit_internal
    assert initialize(descriptor, ctypes.c_size_t(64), COMPUTE_32F, R_32F) == ALLOC_FAILED
    assert initialize(descriptor, ctypes.c_size_t(256), COMPUTE_32F, R_32F) == SUCCESS
    number, written = ctypes.c_int(130), ctypes.c_size_t()
    setter, getter = lt.library.cublasLtMatmulDescSetAttribute, lt.library.cublasLtMatmulDescGetAttribute
    four = ctypes.c_size_t(4)
    assert setter(descriptor, 7, ctypes.byref(number), four) == SUCCESS
    copied = (ctypes.c_uint64 * 32)(*memory)
    number.value = 0
    assert getter(ctypes.byref(copied), 7, ctypes.byref(number), four, ctypes.byref(written)) == SUCCESS
    assert (number.value, written.value) == (130, 4)
    assert getter(descriptor, 8, None, ctypes.c_size_t(0), ctypes.byref(written)) == SUCCESS
    assert written.value == 8
    assert setter(descriptor, 7, None, four) == INVALID_VALUE
    assert setter(descriptor, 7, ctypes.byref(number), ctypes.c_size_t(8)) == INVALID_VALUE
    assert setter(descriptor, 9, ctypes.byref(number), four) == INVALID_VALUE
    assert getter(descriptor, 7, ctypes.byref(number), ctypes.c_size_t(2), None) == INVALID_VALUE
    assert lt.library.cublasLtMatmulDescDestroy(descriptor) == SUCCESS
    assert setter(descriptor, 7, ctypes.byref(number), four) == INVALID_VALUE


def test_algorithm_of_the_list_is_the_one_of_the_heuristic(lt: Lt) -> None:
    product = Product(lt)
    identifiers, count = (ctypes.c_int * 4)(), ctypes.c_int()
    kinds = (COMPUTE_32F, *[R_32F] * 5)
    assert lt.library.cublasLtMatmulAlgoGetIds(lt.handle, *kinds, 4, identifiers, ctypes.byref(count)) == SUCCESS
    assert count.value == 1
    algorithm, result = (ctypes.c_uint64 * 8)(), Result()
    made = lt.library.cublasLtMatmulAlgoInit
    assert made(lt.handle, *kinds, identifiers[0] + 1, algorithm) == INVALID_VALUE
    assert made(lt.handle, *kinds, identifiers[0], algorithm) == SUCCESS
    layouts = [each.layout for each in (product.a, product.b, product.c, product.d)]
    description = lt.description(COMPUTE_32F, R_32F)
    check = lt.library.cublasLtMatmulAlgoCheck
    assert check(lt.handle, description, *layouts, algorithm, ctypes.byref(result)) == SUCCESS
    assert (result.state, result.workspace) == (SUCCESS, 0)
    tile, written, mask = ctypes.c_uint32(20), ctypes.c_size_t(), ctypes.c_uint32()
    four = ctypes.c_size_t(4)
    assert lt.library.cublasLtMatmulAlgoConfigSetAttribute(algorithm, 1, ctypes.byref(tile), four) == SUCCESS
    tile.value = 0
    get = lt.library.cublasLtMatmulAlgoConfigGetAttribute
    assert get(algorithm, 1, ctypes.byref(tile), four, ctypes.byref(written)) == SUCCESS
    assert (tile.value, written.value) == (20, 4)
    assert lt.library.cublasLtMatmulAlgoConfigSetAttribute(algorithm, 0, ctypes.byref(tile), four) == NOT_SUPPORTED
    capability = lt.library.cublasLtMatmulAlgoCapGetAttribute
    assert capability(algorithm, 11, ctypes.byref(mask), four, None) == SUCCESS
    assert mask.value == 31
    assert capability(algorithm, 99, ctypes.byref(mask), four, None) == INVALID_VALUE


def test_handle_of_cublas_is_one_of_cublas_lt(lt: Lt) -> None:
    """Programs cast the handle of the other library, as documented."""
    name = Path(lt.library._name).name.replace("Lt", "")
    blas = ctypes.CDLL(str(Path(lt.library._name).parents[1] / "cublas" / name))
    own, other = lt.handle, ctypes.c_void_p()
    assert blas.cublasCreate_v2(ctypes.byref(other)) == SUCCESS
    product = Product(lt)
    lt.handle = other
    assert product.run() == SUCCESS
    lt.handle = own
    close(product.d.get(lt), product.expected())
    assert blas.cublasDestroy_v2(other) == SUCCESS


def test_arguments_at_random_never_crash(lt: Lt) -> None:
    import cuarray_sim

    memory, host = lt.put(np.zeros(64 * 1024, np.uint8)), np.ones(4)
    sizes = [0, 1, 1, 2, 3, 4, 4, 4, 8, 2**31, 2**62]
    addresses = [0, memory, memory, memory, memory + 1024, memory + 64 * 1024 - 8, 0x1234]
    choices = {
        "pointer_mode": [0, 0, 0, 1, 2, 3, 4, 9],
        "transa": [0, 0, 1, 2, 3],
        "transb": [0, 0, 1, 2],
        "epilogue": [1, 1, 1, 2, 4, 6, 36, 130, 134, 152, 164, 208, 256, 512, 3],
        "bias": addresses,
        "bias_stride": [0, 4, -1, 2**62],
        "aux": addresses,
        "aux_ld": [128, 128, 8, 0, 2**62],
        "aux_stride": [0, 1024, 2**62],
        "alpha_stride": [0, 4, -1],
        "scale_a": [0, 0, 0, memory],
        "scale_d": [0, 0, 0, memory],
        "bias_type": [-1, -1, 0, 2, 77],
    }

    def one_of(values: list[int]) -> int:
        return values[int(lt.rng.integers(len(values)))]

    def maybe(usual: int, others: list[int]) -> int:
        return one_of(others) if lt.rng.integers(16) == 0 else usual

    def layout(kind: int) -> ctypes.c_void_p:
        rows, columns, ld = (maybe(4, sizes) for _ in range(3))
        values = {"order": maybe(0, [1, 2, 9]), "count": maybe(1, [2, 0, -1]), "stride": maybe(16, [0, 2**62])}
        return lt.layout(kind, rows, columns, ld, **values, mode=maybe(0, [1, 2]))

    seen = set()
    for _ in range(600):
        compute, kind = [(68, 0), (70, 1), (68, 2), (72, 3), (68, 4)][int(lt.rng.integers(5))]
        scale = kind if kind in (0, 1, 4) else 0
        values = {name: one_of(of) for name, of in choices.items() if lt.rng.integers(6) == 0}
        description = lt.description(compute, scale, **values)
        operands = [(at(maybe(memory, addresses)), layout(kind)) for _ in range(4)]
        factors = [maybe(host.ctypes.data, [0]) for _ in range(2)]
        if mode := values.get("pointer_mode", 0):
            factors = [memory, factors[1] if mode == 4 else memory]
        alpha, beta = (at(each) if each else None for each in factors)
        (a, b, c, d) = operands
        arguments = (description, alpha, *a, *b, beta, *c, *d, None, at(maybe(0, [memory, 8])), ctypes.c_size_t(512))
        seen.add(lt.library.cublasLtMatmul(lt.handle, *arguments, lt.stream))
    driver_probe.call("cuStreamSynchronize", lt.stream)
    assert seen <= {SUCCESS, ALLOC_FAILED, INVALID_VALUE, EXECUTION_FAILED, NOT_SUPPORTED}
    assert seen >= {SUCCESS, INVALID_VALUE, NOT_SUPPORTED}
    cuarray_sim.clear_findings()
