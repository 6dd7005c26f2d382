"""The graph interface of the stand-in for cuDNN: descriptors, convolutions with pointwise operations, order of streams and errors."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device_probe import Address, order, second_stream
from dnn_convolution import CASES
from dnn_graph import (
    BOOLEAN,
    CONFIGURATION,
    DATA,
    DATA_TYPE,
    DESCRIPTOR,
    DOUBLE,
    ENGINE,
    FILTER,
    FLOAT,
    FORWARD,
    GRAPH,
    GRAPH_PATTERN,
    HANDLE,
    HEUR_MODE,
    HEURISTICS,
    INT64,
    NOT_FINALIZED,
    OPERATION_POINTWISE,
    PACK,
    PLAN,
    POINTWISE,
    POINTWISE_MODE,
    TENSOR,
    VOID_PTR,
    Attribute,
    Graphs,
    number,
)
from dnn_probe import (
    BAD_PARAM,
    FORMS,
    KINDS,
    NOT_INITIALIZED,
    NOT_SUPPORTED,
    NULL_POINTER,
    SUCCESS,
    Dnn,
    close,
    sides_of,
    write,
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(CASES))
def test_convolution_and_gradients(dnn: Dnn, graphs: Graphs, name: str, kind: str, form: str) -> None:
    case = CASES[name]
    values = [dnn.random(shape) for shape in (case.x, case.w, case.output())]
    results = [*case.gradients(*values), case.forward(*values[:2])]
    conv = graphs.convolution(case, int(kind == "double"))
    scalar = DOUBLE if kind == "double" else FLOAT
    # The attributes of x, w and y, the first of the operation, and the tensor that it writes.
    for operation, first, attributes, written in (
        (FORWARD, 700, (704, 703, 705), 2),
        (DATA, 706, (710, 709, 711), 0),
        (FILTER, 712, (716, 715, 717), 1),
    ):
        for alpha, beta in ((1.0, 0.0), (2.0, -1.0)):
            tensors = [dnn.tensor(each, kind, form) for each in values]
            described = [graphs.tensor(index, each) for index, each in enumerate(tensors)]
            factors: list[Attribute] = [(first, scalar, [alpha]), (first + 1, scalar, [beta])]
            given: list[Attribute] = [(each, DESCRIPTOR, [at]) for each, at in zip(attributes, described, strict=True)]
            made = graphs.final(operation, *factors, (first + 2, DESCRIPTOR, [conv]), *given)
            assert graphs.run(graphs.plan(made), {index: each.address for index, each in enumerate(tensors)}) == SUCCESS
            close(dnn.values(tensors[written]), alpha * results[written] + beta * values[written], kind)


def forward(graphs: Graphs, conv: Any, x: Any, w: Any, y: Any) -> ctypes.c_void_p:
    factors: list[Attribute] = [(700, FLOAT, [1.0]), (701, FLOAT, [0.0])]
    tensors: list[Attribute] = [(704, DESCRIPTOR, [x]), (703, DESCRIPTOR, [w]), (705, DESCRIPTOR, [y])]
    return graphs.final(FORWARD, *factors, (702, DESCRIPTOR, [conv]), *tensors)


@pytest.mark.parametrize("kind", ["float", "half", "bfloat16"])
def test_convolution_with_a_residual_a_bias_and_a_relu(dnn: Dnn, graphs: Graphs, kind: str) -> None:
    case = CASES["plain"]
    shape = case.output()
    x, w, z, bias = (dnn.random(each) for each in (case.x, case.w, shape, (1, shape[1], 1, 1)))
    tensors = [dnn.tensor(each, kind, "NHWC") for each in (x, w, np.zeros(shape), z, bias)]
    described = [graphs.tensor(index, each) for index, each in enumerate(tensors)]
    first, second, third = (graphs.virtual(index, shape) for index in (10, 11, 12))
    operations = [
        forward(graphs, graphs.convolution(case), *described[:2], first),
        graphs.pointwise(0, {1: first, 2: described[3], 3: second}),
        graphs.pointwise(0, {1: second, 2: described[4], 3: third}),
        graphs.pointwise(100, {1: third, 3: described[2]}),
    ]
    expected = np.maximum(case.forward(x, w) + z + bias, 0)
    # The order in which a program lists the operations does not matter.
    for listed in (operations, operations[::-1]):
        plan = graphs.plan(*listed)
        assert graphs.run(plan, {index: each.address for index, each in enumerate(tensors)}) == SUCCESS
        close(dnn.values(tensors[2]), expected, kind)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    value: np.ndarray = x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return value


ONE: dict[int, Callable[[np.ndarray], Any]] = {
    4: np.sqrt,
    10: np.abs,
    11: np.ceil,
    12: np.cos,
    13: np.exp,
    14: np.floor,
    15: np.log,
    16: np.negative,
    17: lambda x: 1 / np.sqrt(x),
    18: np.sin,
    19: np.tan,
    20: np.vectorize(math.erf),
    21: lambda x: x,
    22: lambda x: 1 / x,
    100: lambda x: np.maximum(x, 0),
    101: np.tanh,
    102: sigmoid,
    103: lambda x: np.where(x > 0, x, np.expm1(x)),
    104: lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    105: lambda x: np.log1p(np.exp(x)),
    106: lambda x: x * sigmoid(x),
    107: gelu,
    402: np.logical_not,
}
TWO: dict[int, Callable[[np.ndarray, np.ndarray], Any]] = {
    0: np.add,
    1: np.multiply,
    2: np.minimum,
    3: np.maximum,
    5: lambda x, b: x + b * b,
    6: np.divide,
    7: np.fmod,
    8: np.power,
    9: np.subtract,
    23: np.arctan2,
    24: np.mod,
    300: np.equal,
    301: np.not_equal,
    302: np.greater,
    303: np.greater_equal,
    304: np.less,
    305: np.less_equal,
    400: np.logical_and,
    401: np.logical_or,
}


def computed(dnn: Dnn, graphs: Graphs, mode: int, inputs: dict[int, np.ndarray], output: int, *settings: Any) -> Any:
    tensors = {index: dnn.tensor(values, "double") for index, values in inputs.items()}
    tensors[output] = dnn.tensor(np.zeros((2, 3, 4)), "double")
    operands = {index: graphs.tensor(index, each) for index, each in tensors.items()}
    plan = graphs.plan(graphs.pointwise(mode, operands, *settings))
    assert graphs.run(plan, {index: each.address for index, each in tensors.items()}) == SUCCESS
    return dnn.values(tensors[output])


@pytest.mark.parametrize("mode", list(ONE))
def test_pointwise_function(dnn: Dnn, graphs: Graphs, mode: int) -> None:
    x = dnn.rng.uniform(0.1, 3, (2, 3, 4)) if mode in (4, 15, 17) else dnn.rng.uniform(-3, 3, (2, 3, 4))
    close(computed(dnn, graphs, mode, {1: x}, 3), ONE[mode](x), "double")


@pytest.mark.parametrize("mode", list(TWO))
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 1)], ids=["whole", "spread"])
def test_pointwise_function_of_two(dnn: Dnn, graphs: Graphs, mode: int, shape: tuple[int, ...]) -> None:
    x, b = np.abs(dnn.random((2, 3, 4))) + 1, np.abs(dnn.random(shape)) + 1
    close(computed(dnn, graphs, mode, {1: x, 2: b}, 3), TWO[mode](x, b).astype(float), "double")


@pytest.mark.parametrize("mode", [*range(100, 108)])
def test_gradient_of_an_activation(dnn: Dnn, graphs: Graphs, mode: int) -> None:
    x, dy = dnn.rng.uniform(-3, 3, (2, 3, 4)), dnn.random((2, 3, 4))
    slope = (ONE[mode](x + 1e-6) - ONE[mode](x - 1e-6)) / 2e-6
    close(computed(dnn, graphs, mode + 100, {1: x, 7: dy}, 6), dy * slope, "float")


def test_relu_with_bounds_and_selection(dnn: Dnn, graphs: Graphs) -> None:
    x, b, t = (dnn.random((2, 3, 4)) for _ in range(3))
    settings = [(3, FLOAT, [-1.0]), (4, DOUBLE, [2.0]), (5, FLOAT, [0.5])]
    expected = np.where(x < -1, -1 + (x + 1) / 2, np.minimum(x, 2))
    close(computed(dnn, graphs, 100, {1: x}, 3, *settings), expected, "double")
    close(computed(dnn, graphs, 601, {1: x, 2: b, 8: t}, 3), np.where(t != 0, x, b), "double")


@pytest.mark.parametrize("mode", [0, 9], ids=["sum", "difference"])
def test_term_whose_factor_is_zero_may_be_unwritten(dnn: Dnn, graphs: Graphs, mode: int) -> None:
    x, y = dnn.tensor(np.full((1, 2, 3), 4.0)), dnn.tensor(np.zeros((1, 2, 3)))
    operands = {1: graphs.tensor(1, x), 2: graphs.layout(2, [1, 2, 3], [6, 3, 1]), 3: graphs.tensor(3, y)}
    settings = graphs.final(POINTWISE, (0, POINTWISE_MODE, [mode]), (1, DATA_TYPE, [0]))
    factors: list[Attribute] = [(750, DESCRIPTOR, [settings]), (754, FLOAT, [2.0]), (755, FLOAT, [0.0])]
    tensors: list[Attribute] = [(750 + index, DESCRIPTOR, [each]) for index, each in operands.items()]
    plan = graphs.plan(graphs.final(OPERATION_POINTWISE, *factors, *tensors))
    assert graphs.run(plan, {1: x.address, 2: dnn.memory(24), 3: y.address}) == SUCCESS
    np.testing.assert_array_equal(dnn.values(y), 8)


def test_number_of_the_host_is_read_during_the_call(dnn: Dnn, graphs: Graphs) -> None:
    x, y = dnn.tensor(np.full((1, 2, 3), 4.0)), dnn.tensor(np.zeros((1, 2, 3)))
    factor = np.array([2.5], np.float32)
    by_value = graphs.layout(2, [1, 1, 1], [1, 1, 1], 0, (908, BOOLEAN, [1]))
    plan = graphs.plan(graphs.pointwise(1, {1: graphs.tensor(1, x), 2: by_value, 3: graphs.tensor(3, y)}))
    assert graphs.run(plan, {1: x.address, 2: factor.ctypes.data, 3: y.address}) == SUCCESS
    factor[0] = 7
    np.testing.assert_array_equal(dnn.values(y), 10)


def test_descriptors_tell_their_attributes(dnn: Dnn, graphs: Graphs) -> None:
    tensor = graphs.layout(5, [2, 3, 4], [12, 4, 1])
    sizes = np.zeros(8, np.int64)
    assert graphs.get(tensor, 902, INT64, sizes) == (SUCCESS, 3)
    np.testing.assert_array_equal(sizes[:3], [2, 3, 4])
    assert graphs.get(tensor, 902, INT64, sizes[:0]) == (SUCCESS, 3)
    assert graphs.get(tensor, 902, DATA_TYPE, sizes)[0] == BAD_PARAM
    assert graphs.get(tensor, 100, INT64, sizes)[0] == NOT_SUPPORTED
    assert graphs.set(tensor, 906, INT64, [3]) == NOT_INITIALIZED
    assert graphs.finalize(tensor) == SUCCESS
    graph = graphs.final(
        GRAPH, (801, DESCRIPTOR, [graphs.pointwise(21, {1: tensor, 3: graphs.layout(6, [2, 3, 4], [12, 4, 1])})])
    )
    assert graphs.get(graph, 802, INT64, sizes) == (SUCCESS, 1)
    assert sizes[0] == 1
    engine = graphs.final(ENGINE, (1300, DESCRIPTOR, [graph]), (1301, INT64, [0]))
    for attribute, kind in ((1302, DESCRIPTOR), (1303, 11), (1305, 19)):
        assert graphs.get(engine, attribute, kind, np.zeros(9, np.uint64)) == (SUCCESS, 0)
    assert graphs.finalize(graphs.described(ENGINE, (1300, DESCRIPTOR, [graph]), (1301, INT64, [1]))) == BAD_PARAM
    configuration = graphs.final(CONFIGURATION, (300, DESCRIPTOR, [engine]))
    copied = graphs.create(ENGINE)
    assert graphs.get(configuration, 300, DESCRIPTOR, np.array([number(copied)], np.uint64)) == (SUCCESS, 1)
    assert graphs.get(copied, 1301, INT64, sizes) == (SUCCESS, 1)
    wrong = np.array([number(tensor)], np.uint64)
    assert graphs.get(configuration, 300, DESCRIPTOR, wrong)[0] == BAD_PARAM
    plan = graphs.final(PLAN, (400, HANDLE, [dnn.handle]), (401, DESCRIPTOR, [configuration]))
    assert graphs.get(plan, 402, INT64, sizes) == (SUCCESS, 1)
    size = ctypes.c_size_t(9)
    assert dnn.call("GetExecutionPlanWorkspaceSize", plan, graphs.pack({}), ctypes.byref(size)) == SUCCESS
    assert size.value == sizes[0] == 0


def test_wrong_descriptors_are_refused(dnn: Dnn, graphs: Graphs) -> None:
    descriptor = ctypes.c_void_p()
    to = ctypes.byref(descriptor)
    assert dnn.plain("BackendCreateDescriptor", TENSOR, None) == NULL_POINTER
    assert dnn.plain("BackendCreateDescriptor", 43, to) == NOT_SUPPORTED
    assert dnn.plain("BackendCreateDescriptor", 99, to) == BAD_PARAM
    assert dnn.plain("BackendFinalize", None) == NULL_POINTER
    assert dnn.plain("BackendFinalize", ctypes.c_void_p(8)) == BAD_PARAM
    tensor = graphs.create(TENSOR)
    assert graphs.finalize(tensor) == BAD_PARAM
    assert graphs.get(tensor, 902, INT64, np.zeros(8, np.int64))[0] == NOT_INITIALIZED
    assert graphs.set(tensor, 902, DATA_TYPE, [1]) == BAD_PARAM
    assert graphs.set(tensor, 902, INT64, [1] * 9) == BAD_PARAM
    assert graphs.set(tensor, 913, DESCRIPTOR, [1]) == NOT_SUPPORTED
    assert dnn.plain("BackendSetAttribute", tensor, 902, INT64, ctypes.c_int64(-1), None) == BAD_PARAM
    assert dnn.plain("BackendSetAttribute", tensor, 902, INT64, ctypes.c_int64(3), None) == NULL_POINTER
    shape: list[Attribute] = [
        (901, DATA_TYPE, [0]),
        (902, INT64, [1, -2, 3]),
        (903, INT64, [6, 3, 1]),
        (906, INT64, [1]),
    ]
    assert graphs.finalize(graphs.described(TENSOR, *shape)) == BAD_PARAM
    unfinished = graphs.create(TENSOR)
    operation = graphs.described(OPERATION_POINTWISE, (751, DESCRIPTOR, [unfinished]))
    settings = graphs.final(POINTWISE, (0, POINTWISE_MODE, [21]), (1, DATA_TYPE, [0]))
    assert graphs.set(operation, 750, DESCRIPTOR, [settings]) == SUCCESS
    assert graphs.finalize(operation) == NOT_FINALIZED
    assert graphs.finalize(graphs.described(POINTWISE, (0, POINTWISE_MODE, [20]), (1, DATA_TYPE, [4]))) == NOT_SUPPORTED
    assert graphs.finalize(graphs.described(POINTWISE, (0, POINTWISE_MODE, [77]), (1, DATA_TYPE, [0]))) == BAD_PARAM


def test_wrong_graphs_are_refused(dnn: Dnn, graphs: Graphs) -> None:
    a, b, c = (graphs.layout(index, [1, 2, 3], [6, 3, 1]) for index in range(3))
    other = graphs.layout(0, [1, 2, 4], [8, 4, 1])
    virtual = graphs.virtual(9, [1, 2, 3])
    copy = graphs.pointwise(21, {1: a, 3: b})

    def status(*operations: Any) -> int:
        return graphs.finalize(graphs.described(GRAPH, (801, DESCRIPTOR, operations)))

    assert status() == BAD_PARAM
    assert status(copy, copy) == BAD_PARAM
    assert status(copy, graphs.pointwise(21, {1: b, 3: a})) == GRAPH_PATTERN
    # A part of an operation, which no engine executes.
    part = graphs.final(GRAPH, (801, DESCRIPTOR, [graphs.pointwise(21, {1: virtual, 3: b})]))
    assert graphs.finalize(graphs.described(HEURISTICS, (200, HEUR_MODE, [0]), (201, DESCRIPTOR, [part]))) == BAD_PARAM
    assert status(copy, graphs.pointwise(21, {1: other, 3: graphs.layout(7, [1, 2, 4], [8, 4, 1])})) == BAD_PARAM
    plan = graphs.plan(copy, graphs.pointwise(21, {1: b, 3: c}))
    at = {index: dnn.memory(24) for index in range(3)}
    assert graphs.run(plan, {0: at[0], 1: at[1]}) == BAD_PARAM
    assert graphs.run(plan, {0: at[0], 1: at[1], 2: 0}) == NULL_POINTER
    assert graphs.run(graphs.pack({}), at) == BAD_PARAM
    pack = graphs.described(PACK, (1000, INT64, [1, 1]), (1001, VOID_PTR, [at[0], at[1]]))
    assert graphs.finalize(pack) == BAD_PARAM


def prepared(dnn: Dnn, graphs: Graphs) -> tuple[dict[str, Address], Callable[[], int]]:
    case = CASES["points"]
    tensors = [dnn.tensor(np.ones(shape)) for shape in (case.x, case.w, case.output(), (1, case.w[0], 1, 1))]
    x, w, y, bias = (graphs.tensor(index, each) for index, each in enumerate(tensors))
    between = graphs.virtual(9, case.output())
    product = forward(graphs, graphs.convolution(case), x, w, between)
    plan = graphs.plan(product, graphs.pointwise(0, {1: between, 2: bias, 3: y}))
    pack = graphs.pack({index: each.address for index, each in enumerate(tensors)})
    at = dict(zip("xwyb", (each.address for each in tensors), strict=True))
    return at, lambda: dnn.call("BackendExecute", plan, pack)


@pytest.mark.parametrize("argument", list("xwyb"))
@pytest.mark.parametrize("first", ["write", "call"])
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_without_a_wait_is_a_race(
    dnn: Dnn, graphs: Graphs, argument: str, first: str, schedule: str, findings_of: Any
) -> None:
    at, call = prepared(dnn, graphs)
    with second_stream() as other:
        if first == "write":
            write(at[argument], other)
        assert call() == SUCCESS
        if first == "call":
            write(at[argument], other)
    assert {side["detail"] for side in sides_of(findings_of(), "BackendExecute")} == {f"argument {argument}"}


@pytest.mark.parametrize("argument", list("xwyb"))
@pytest.mark.parametrize("first", ["write", "call"])
def test_write_with_a_wait_has_no_findings(dnn: Dnn, graphs: Graphs, argument: str, first: str, schedule: str) -> None:
    at, call = prepared(dnn, graphs)
    with second_stream() as other:
        if first == "write":
            write(at[argument], other)
            order(other, dnn.stream)
        assert call() == SUCCESS
        if first == "call":
            order(dnn.stream, other)
            write(at[argument], other)


def test_attributes_of_any_values_crash_nothing(dnn: Dnn, graphs: Graphs) -> None:
    rng = dnn.rng
    settled = [graphs.layout(index, [1, 2, 3], [6, 3, 1], kind) for index, kind in enumerate((0, 1, 2, 4))]
    conv = graphs.convolution(CASES["points"])
    settled += [conv, graphs.pointwise(21, {1: settled[0], 3: graphs.layout(8, [1, 2, 3], [6, 3, 1])})]
    attributes = [*range(10), *range(100, 107), *range(700, 718), *range(750, 759), *range(800, 804), *range(900, 911)]
    attributes += [200, 201, 300, 302, 400, 401, 1000, 1001, 1002, 1003, 1300, 1301, 1500, 1503, *range(1520, 1528)]
    attributes += [1600, 1601, 1610, 1611, 1612, 2200, 2201, 2202, *range(2300, 2306), *range(2310, 2314)]
    attributes += [*range(2800, 2819), *range(3000, 3008), *range(3100, 3107), 3200, 3201, 3202, 405]
    for _ in range(1500):
        kind = int(
            rng.choice([0, 1, 2, 3, 4, 5, 7, *range(10, 14), *range(15, 20), 21, 22, 31, 32, 33, 38, 41, 44, 45, 46])
        )
        descriptor = graphs.create(kind)
        for _ in range(6):
            of = int(rng.choice([DATA_TYPE, BOOLEAN, INT64, FLOAT, VOID_PTR, POINTWISE_MODE, DESCRIPTOR]))
            values: list[Any] = [int(each) for each in rng.integers(0, 5, int(rng.integers(0, 5)))]
            if of == DESCRIPTOR:
                values = [settled[int(rng.integers(len(settled)))] for _ in values]
            status = graphs.set(descriptor, int(rng.choice(attributes)), of, values)
            assert status in (SUCCESS, BAD_PARAM, NULL_POINTER, NOT_SUPPORTED)
        status = graphs.finalize(descriptor)
        assert status in (SUCCESS, BAD_PARAM, NULL_POINTER, NOT_SUPPORTED, NOT_FINALIZED, GRAPH_PATTERN)
        status, _ = graphs.get(descriptor, int(rng.choice(attributes)), INT64, np.zeros(8, np.int64))
        assert status in (SUCCESS, BAD_PARAM, NOT_SUPPORTED, NOT_INITIALIZED)
        assert dnn.call("BackendExecute", descriptor, settled[0]) == BAD_PARAM
