"""Attention and its gradients by the graph interface of cuDNN, as its frontend describes them to PyTorch and JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from dnn_graph import (
    BOOLEAN,
    CHAR,
    DATA_TYPE,
    DESCRIPTOR,
    FLOAT,
    HANDLE,
    INT64,
    PLAN,
    POINTWISE_MODE,
    Attribute,
    Graphs,
)
from dnn_probe import BAD_PARAM, NOT_SUPPORTED, SUCCESS, Dnn, Tensor, close

PRODUCT, OPERATION_PRODUCT, REDUCTION, OPERATION_REDUCTION, RESHAPE, RANDOM, OPERATION_RANDOM = (
    18,
    19,
    21,
    22,
    31,
    32,
    33,
)
ATTENTION, BAND_MASK, SOFTMAX, TRANSPOSITION, GRAPH = 41, 44, 45, 46, 15
OPERATOR, DISTRIBUTION, RESHAPE_MODE = 18, 29, 31
ADD, MUL, SUB, DIV, EXP, LOG, INDEX, GREATER_EQUAL, SELECT = 0, 1, 9, 6, 13, 15, 501, 303, 601
SUM, LARGEST = 0, 3
INT32, FLOATS = 4, 0
BATCH, HEADS, ROWS, COLUMNS, WIDTH = 2, 4, 6, 8, 5


class Attention:
    """A graph whose tensors get numbers in turn."""

    def __init__(self, dnn: Dnn, graphs: Graphs, kind: str = "float") -> None:
        self.dnn, self.graphs, self.kind = dnn, graphs, kind
        self.operations: list[Any] = []
        self.pointers: dict[int, Any] = {}
        self.next = 100

    def put(self, values: np.ndarray) -> tuple[Any, Tensor]:
        """Return the descriptor of a tensor in memory, and the tensor."""
        tensor = self.dnn.tensor(values, self.kind)
        self.next += 1
        self.pointers[self.next] = tensor.address
        return self.graphs.tensor(self.next, tensor), tensor

    def integers(self, values: Sequence[int]) -> Any:
        self.next += 1
        self.pointers[self.next] = self.dnn.put(np.array(values, np.int32))
        return self.graphs.layout(self.next, [len(values), 1, 1, 1], [1, 1, 1, 1], INT32)

    def number(self, value: float, dimensions: int = 4) -> Any:
        self.next += 1
        self.pointers[self.next] = self.dnn.scalar(value)
        return self.graphs.layout(self.next, [1] * dimensions, [1] * dimensions, FLOATS, (908, BOOLEAN, [1]))

    def virtual(self, shape: Sequence[int], strides: Sequence[int] | None = None) -> Any:
        self.next += 1
        if strides is None:
            return self.graphs.virtual(self.next, shape)
        return self.graphs.layout(self.next, shape, strides, FLOATS, (907, BOOLEAN, [1]))

    def pointwise(self, mode: int, shape: Sequence[int], *inputs: Any, y: Any = None, axis: int | None = None) -> Any:
        y = self.virtual(shape) if y is None else y
        operands = dict(zip((1, 2, 8), inputs, strict=False)) | {3: y}
        settings: list[Attribute] = [] if axis is None else [(9, INT64, [axis])]
        self.operations.append(self.graphs.pointwise(mode, operands, *settings))
        return y

    def product(self, a: Any, b: Any, c: Any, **limits: Any) -> Any:
        of = self.graphs.final(PRODUCT, (1500, DATA_TYPE, [FLOATS]))
        given: list[Attribute] = [(1520, DESCRIPTOR, [a]), (1521, DESCRIPTOR, [b]), (1522, DESCRIPTOR, [c])]
        given += [(1525 + "mnk".index(name), DESCRIPTOR, [limit]) for name, limit in limits.items()]
        self.operations.append(self.graphs.final(OPERATION_PRODUCT, (1523, DESCRIPTOR, [of]), *given))
        return c

    def reduction(self, operator: int, x: Any, y: Any) -> Any:
        of = self.graphs.final(REDUCTION, (1600, OPERATOR, [operator]), (1601, DATA_TYPE, [FLOATS]))
        tensors: list[Attribute] = [(1610, DESCRIPTOR, [x]), (1611, DESCRIPTOR, [y])]
        self.operations.append(self.graphs.final(OPERATION_REDUCTION, *tensors, (1612, DESCRIPTOR, [of])))
        return y

    def reshaped(self, x: Any, y: Any, mode: int = 0) -> Any:
        tensors: list[Attribute] = [(2200, DESCRIPTOR, [x]), (2201, DESCRIPTOR, [y])]
        self.operations.append(self.graphs.final(RESHAPE, *tensors, (2202, RESHAPE_MODE, [mode])))
        return y

    def run(self) -> None:
        assert self.graphs.run(self.graphs.plan(*self.operations), self.pointers) == SUCCESS


def softmax(scores: np.ndarray) -> np.ndarray:
    terms = np.exp(scores - scores.max(-1, keepdims=True))
    values: np.ndarray = terms / terms.sum(-1, keepdims=True)
    return values


def transposed(dnn: Dnn, attention: Attention, k: np.ndarray) -> Any:
    """Return the descriptor of the transposed matrices of ``k``, which lie in memory as they are."""
    attention.next += 1
    _, tensor = attention.put(k)
    batch, heads, columns, width = k.shape
    strides = [heads * columns * width, columns * width, 1, width]
    kinds = {"float": 0, "half": 2, "bfloat16": 9}
    attention.pointers[attention.next + 1] = attention.pointers.pop(attention.next)
    attention.next += 1
    assert tensor.shape == k.shape
    return attention.graphs.layout(attention.next, [batch, heads, width, columns], strides, kinds[attention.kind])


@pytest.mark.parametrize("kind", ["float", "half", "bfloat16"])
@pytest.mark.parametrize("groups", [1, 2], ids=["all-heads", "grouped-heads"])
def test_attention_by_its_operations_with_a_causal_mask(dnn: Dnn, graphs: Graphs, kind: str, groups: int) -> None:
    q = dnn.random((BATCH, HEADS, ROWS, WIDTH))
    k, v = (dnn.random((BATCH, HEADS // groups, COLUMNS, WIDTH)) for _ in range(2))
    whole, rows = (BATCH, HEADS, ROWS, COLUMNS), (BATCH, HEADS, ROWS, 1)
    a = Attention(dnn, graphs, kind)
    (of_q, _), (of_v, _) = a.put(q), a.put(v)
    (of_o, o), of_k = a.put(np.zeros(q.shape)), transposed(dnn, a, k)
    a.kind = "float"
    of_stats, stats = a.put(np.zeros(rows))

    scores = a.pointwise(MUL, whole, a.product(of_q, of_k, a.virtual(whole)), a.number(0.25))
    row, column = a.pointwise(INDEX, whole, scores, axis=2), a.pointwise(INDEX, whole, scores, axis=3)
    counts = a.pointwise(GREATER_EQUAL, whole, row, column)
    scores = a.pointwise(SELECT, whole, scores, a.number(-np.inf), counts)
    largest = a.reduction(LARGEST, scores, a.virtual(rows))
    terms = a.pointwise(EXP, whole, a.pointwise(SUB, whole, scores, largest))
    total = a.reduction(SUM, terms, a.virtual(rows))
    a.pointwise(ADD, rows, largest, a.pointwise(LOG, rows, total), y=of_stats)
    a.product(a.pointwise(DIV, whole, terms, total), of_v, of_o)
    a.run()

    k, v = (np.repeat(each, groups, axis=1) for each in (k, v))
    expected = np.where(np.tril(np.ones((ROWS, COLUMNS), bool)), q @ k.swapaxes(2, 3) / 4, -np.inf)
    close(dnn.values(o), softmax(expected) @ v, kind)
    close(dnn.values(stats), np.log(np.exp(expected).sum(-1, keepdims=True)), "float")


def test_gradients_with_grouped_heads(dnn: Dnn, graphs: Graphs) -> None:
    q, do = (dnn.random((BATCH, HEADS, ROWS, WIDTH)) for _ in range(2))
    k, v = (dnn.random((BATCH, HEADS // 2, COLUMNS, WIDTH)) for _ in range(2))
    wide_k, wide_v = (np.repeat(each, 2, axis=1) for each in (k, v))
    weights = softmax(q @ wide_k.swapaxes(2, 3) / 4)
    stats = np.log(np.exp(q @ wide_k.swapaxes(2, 3) / 4).sum(-1, keepdims=True))
    d_weights = do @ wide_v.swapaxes(2, 3)
    d_scores = weights * (d_weights - (d_weights * weights).sum(-1, keepdims=True)) / 4

    def grouped(each: np.ndarray) -> np.ndarray:
        value: np.ndarray = each.reshape(BATCH, HEADS // 2, 2, COLUMNS, WIDTH).sum(2)
        return value

    whole, rows = (BATCH, HEADS, ROWS, COLUMNS), (BATCH, HEADS, ROWS, 1)
    turned, steps = (BATCH, HEADS, COLUMNS, ROWS), (HEADS * ROWS * COLUMNS, ROWS * COLUMNS, 1, COLUMNS)
    wide = (BATCH, HEADS, COLUMNS, WIDTH)
    a = Attention(dnn, graphs)
    of_q, of_do, of_o, of_stats = (a.put(each)[0] for each in (q, do, weights @ wide_v, stats))
    (of_dq, dq), (of_dk, dk), (of_dv, dv) = (a.put(np.zeros(each.shape)) for each in (q, k, v))
    of_k, of_v = transposed(dnn, a, k), transposed(dnn, a, v)
    scale = a.number(0.25)

    total = a.reduction(SUM, a.pointwise(MUL, q.shape, of_do, of_o), a.virtual(rows))
    scores = a.pointwise(MUL, whole, a.product(of_q, of_k, a.virtual(whole)), scale)
    terms = a.pointwise(EXP, whole, a.pointwise(SUB, whole, scores, of_stats))
    a.reduction(SUM, a.product(a.reshaped(terms, a.virtual(turned, steps)), of_do, a.virtual(wide)), of_dv)
    change = a.pointwise(SUB, whole, a.product(of_do, of_v, a.virtual(whole)), total)
    change = a.pointwise(MUL, whole, a.pointwise(MUL, whole, change, terms), scale)
    a.reduction(SUM, a.product(a.reshaped(change, a.virtual(turned, steps)), of_q, a.virtual(wide)), of_dk)
    keys = (BATCH, HEADS // 2, COLUMNS, WIDTH)
    steps = (HEADS // 2 * COLUMNS * WIDTH, COLUMNS * WIDTH, WIDTH, 1)
    a.product(change, a.reshaped(of_k, a.virtual(keys, steps)), of_dq)
    a.run()

    close(dnn.values(dq), d_scores @ wide_k, "float")
    close(dnn.values(dk), grouped(d_scores.swapaxes(2, 3) @ q), "float")
    close(dnn.values(dv), grouped(weights.swapaxes(2, 3) @ do), "float")


@pytest.mark.parametrize("has_lengths", [False, True], ids=["whole", "lengths"])
@pytest.mark.parametrize("has_subgraph", [False, True], ids=["scores", "changed-scores"])
def test_attention_as_one_operation(dnn: Dnn, graphs: Graphs, has_lengths: bool, has_subgraph: bool) -> None:
    q = dnn.random((BATCH, HEADS, ROWS, WIDTH))
    k, v = (dnn.random((BATCH, HEADS // 2, COLUMNS, WIDTH)) for _ in range(2))
    bias = dnn.random((1, HEADS, ROWS, COLUMNS))
    whole, rows = (BATCH, HEADS, ROWS, COLUMNS), (BATCH, HEADS, ROWS, 1)
    a = Attention(dnn, graphs)
    of_q, of_k, of_v = (a.put(each)[0] for each in (q, k, v))
    (of_o, o), (of_stats, stats) = a.put(np.zeros(q.shape)), a.put(np.zeros(rows))
    given: list[Attribute] = [(2800 + index, DESCRIPTOR, [each]) for index, each in enumerate((of_q, of_k, of_v, of_o))]
    given += [(2804, DESCRIPTOR, [of_stats]), (2805, DESCRIPTOR, [a.number(0.25, 1 if has_subgraph else 4)])]
    lengths = ([4, 6], [8, 3]) if has_lengths else ([ROWS] * 2, [COLUMNS] * 2)
    if has_lengths:
        given += [(2809 + index, DESCRIPTOR, [a.integers(each)]) for index, each in enumerate(lengths)]
    if has_subgraph:
        scores = a.virtual(whole)
        source = a.next
        a.pointwise(ADD, whole, scores, a.put(bias)[0])
        result = a.next
        graph = graphs.final(GRAPH, (800, HANDLE, [dnn.handle]), (801, DESCRIPTOR, a.operations))
        given += [(2811, DESCRIPTOR, [graph]), (2812, INT64, [source]), (2813, INT64, [result])]
    a.operations = [graphs.final(ATTENTION, *given)]
    a.run()

    expected = q @ np.repeat(k, 2, axis=1).swapaxes(2, 3) / 4 + (bias if has_subgraph else 0)
    found, logarithms = dnn.values(o), dnn.values(stats)
    for image, (of_rows, of_columns) in enumerate(zip(*lengths, strict=True)):
        part = expected[image, :, :of_rows, :of_columns]
        close(found[image, :, :of_rows], softmax(part) @ np.repeat(v, 2, axis=1)[image, :, :of_columns], "float")
        close(logarithms[image, :, :of_rows], np.log(np.exp(part).sum(-1, keepdims=True)), "float")
        assert not found[image, :, of_rows:].any()


def test_descriptor_may_be_destroyed_once_another_names_it(dnn: Dnn, graphs: Graphs) -> None:
    x = dnn.random((1, 2, 3, 4))
    a = Attention(dnn, graphs)
    (of_x, _), (of_y, y) = a.put(x), a.put(np.zeros(x.shape))
    tensors: list[Attribute] = [(3100, DESCRIPTOR, [of_x]), (3101, DESCRIPTOR, [of_y])]
    operation = graphs.described(SOFTMAX, *tensors)
    for made in (of_x, of_y):
        graphs.made.remove(made)
        assert dnn.plain("BackendDestroyDescriptor", made) == SUCCESS
    assert graphs.finalize(operation) == SUCCESS
    a.operations = [operation]
    a.run()
    close(dnn.values(y), softmax(x), "float")


def test_limits_of_a_product(dnn: Dnn, graphs: Graphs) -> None:
    x, y = dnn.random((BATCH, HEADS, ROWS, WIDTH)), dnn.random((BATCH, HEADS, WIDTH, COLUMNS))
    a = Attention(dnn, graphs)
    (of_x, _), (of_y, _), (of_z, z) = a.put(x), a.put(y), a.put(np.ones((BATCH, HEADS, ROWS, COLUMNS)))
    a.product(of_x, of_y, of_z, m=a.integers([3, 9]), n=a.integers([8, -1]), k=a.integers([2, 5]))
    a.run()
    expected = np.zeros((BATCH, HEADS, ROWS, COLUMNS))
    expected[0, :, :3] = x[0, :, :3, :2] @ y[0, :, :2]
    close(dnn.values(z), expected, "float")


@pytest.mark.parametrize("has_sink", [False, True], ids=["plain", "sink"])
def test_softmax_and_its_other_results(dnn: Dnn, graphs: Graphs, has_sink: bool) -> None:
    x, sink = dnn.random((1, HEADS, ROWS, COLUMNS)), dnn.random((1, HEADS, 1, 1))
    x[0, 0, 0] = -np.inf
    a = Attention(dnn, graphs)
    of_x, _ = a.put(x)
    results = [a.put(np.zeros((1, HEADS, ROWS, size))) for size in (COLUMNS, 1, 1, 1)]
    given: list[Attribute] = [(3101 + index, DESCRIPTOR, [each]) for index, (each, _) in enumerate(results)]
    if has_sink:
        given.append((3105, DESCRIPTOR, [a.put(sink)[0]]))
    a.operations = [graphs.final(SOFTMAX, (3100, DESCRIPTOR, [of_x]), *given, (3106, BOOLEAN, [1]))]
    a.run()
    all_terms = np.concatenate([x, np.broadcast_to(sink, (1, HEADS, ROWS, 1))], -1) if has_sink else x
    largest = all_terms.max(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.nan_to_num(np.exp(all_terms - largest)).sum(-1, keepdims=True)
        values = np.nan_to_num(np.exp(x - largest) / total)
        expected = [values, (largest + np.log(total)) / np.log(2), largest, total]
    for (_, tensor), each in zip(results, expected, strict=True):
        np.testing.assert_allclose(dnn.values(tensor), each, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("side", ["left", "right"])
def test_mask_of_a_band(dnn: Dnn, graphs: Graphs, side: str) -> None:
    x = dnn.random((BATCH, 1, ROWS, COLUMNS))
    a = Attention(dnn, graphs)
    (of_x, _), (of_y, y) = a.put(x), a.put(np.zeros(x.shape))
    given: list[Attribute] = [(3000, DESCRIPTOR, [of_x]), (3005, DESCRIPTOR, [a.number(-9.0)])]
    given += [(3001, DESCRIPTOR, [a.integers([8, 5])]), (3002, DESCRIPTOR, [a.integers([6, 4])])]
    given += [(3003 if side == "left" else 3004, DESCRIPTOR, [a.integers([2])]), (3006, DESCRIPTOR, [of_y])]
    a.operations = [graphs.final(BAND_MASK, *given, (3007, POINTWISE_MODE, [GREATER_EQUAL]))]
    a.run()
    row, column = np.arange(ROWS)[:, None], np.arange(COLUMNS)
    ahead = np.array([2, 1])[:, None, None, None]
    stays = column + 2 - ahead >= row if side == "left" else row + 2 + ahead >= column
    close(dnn.values(y), np.where(stays, x, -9), "float")


def test_random_numbers_are_those_of_their_seed_and_offset(dnn: Dnn, graphs: Graphs) -> None:
    drawn = []
    for seed, offset in ((5, 0), (5, 0), (6, 0), (5, 1)):
        a = Attention(dnn, graphs)
        of_y, y = a.put(np.zeros((1, 4, 50, 50)))
        of = graphs.final(RANDOM, (2300, DISTRIBUTION, [0]), (2305, FLOAT, [0.75]))
        seeds: list[Attribute] = [(2311, DESCRIPTOR, [a.integers([seed])]), (2313, DESCRIPTOR, [a.integers([offset])])]
        tensors: list[Attribute] = [(2310, DESCRIPTOR, [of_y]), (2312, DESCRIPTOR, [of])]
        a.operations = [graphs.final(OPERATION_RANDOM, *tensors, *seeds)]
        a.run()
        drawn.append(dnn.values(y))
    assert set(np.unique(drawn[0])) == {0.0, 1.0}
    assert abs(drawn[0].mean() - 0.75) < 0.02
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert all((drawn[0] != other).mean() > 0.3 for other in drawn[2:])


def test_transposition_and_logical_reshape(dnn: Dnn, graphs: Graphs) -> None:
    x = dnn.random((2, 3, 4, 5))
    a = Attention(dnn, graphs)
    (of_x, _), (of_y, y), (of_z, z) = a.put(x), a.put(np.zeros((2, 4, 5, 3))), a.put(np.zeros((6, 2, 2, 5)))
    tensors: list[Attribute] = [(3200, DESCRIPTOR, [of_x]), (3201, DESCRIPTOR, [of_y])]
    a.operations.append(graphs.final(TRANSPOSITION, *tensors, (3202, INT64, [0, 2, 3, 1])))
    a.reshaped(of_x, of_z, mode=1)
    a.run()
    np.testing.assert_array_equal(dnn.values(y), x.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(dnn.values(z), x.reshape(6, 2, 2, 5))


def test_plan_as_text_becomes_a_plan_again(dnn: Dnn, graphs: Graphs) -> None:
    x, y = dnn.random((2, 3, 4, 5)), dnn.random((2, 3, 5, 6))
    a = Attention(dnn, graphs)
    (of_x, _), (of_y, _), (of_z, z) = a.put(x), a.put(y), a.put(np.zeros((2, 3, 4, 6)))
    a.product(of_x, of_y, of_z)
    plan = graphs.plan(*a.operations)
    status, length = graphs.get(plan, 405, CHAR, np.zeros(0, np.uint8))
    assert status == SUCCESS
    text = np.zeros(length, np.uint8)
    assert graphs.get(plan, 405, CHAR, text) == (SUCCESS, length)
    # The new plan is independent of the descriptors of the first one.
    graphs.end()
    graphs.made.clear()
    again = graphs.final(PLAN, (400, HANDLE, [dnn.handle]), (405, CHAR, text.tolist()))
    assert graphs.run(again, a.pointers) == SUCCESS
    close(dnn.values(z), x @ y, "float")
    for wrong in (b"", b"{}", b"[1]", bytes(text[:-1]), bytes(text).replace(b'"kind":15', b'"kind":17', 1)):
        made = graphs.described(PLAN, (405, CHAR, list(wrong)))
        assert graphs.finalize(made) == BAD_PARAM


def test_wrong_attentions_are_refused(dnn: Dnn, graphs: Graphs) -> None:
    a = Attention(dnn, graphs)
    x, y, z = (a.put(np.zeros(shape))[0] for shape in ((1, 2, 3, 4), (1, 2, 5, 6), (1, 2, 3, 6)))
    of = graphs.final(PRODUCT, (1500, DATA_TYPE, [FLOATS]))
    given: list[Attribute] = [(1520, DESCRIPTOR, [x]), (1521, DESCRIPTOR, [y]), (1522, DESCRIPTOR, [z])]
    assert graphs.finalize(graphs.described(OPERATION_PRODUCT, (1523, DESCRIPTOR, [of]), *given)) == BAD_PARAM
    assert graphs.finalize(graphs.described(OPERATION_PRODUCT, *given)) == BAD_PARAM
    assert graphs.finalize(graphs.described(RANDOM, (2300, DISTRIBUTION, [2]))) == NOT_SUPPORTED
    operands: list[Attribute] = [(2800 + index, DESCRIPTOR, [each]) for index, each in enumerate((x, x, x, x))]
    assert graphs.finalize(graphs.described(ATTENTION, *operands, (2818, FLOAT, [0.5]))) == NOT_SUPPORTED
    assert graphs.finalize(graphs.described(ATTENTION, *operands[:3])) == BAD_PARAM
    assert graphs.finalize(graphs.described(RESHAPE, (2200, DESCRIPTOR, [x]), (2201, DESCRIPTOR, [y]))) == BAD_PARAM
    assert (
        graphs.finalize(graphs.described(TRANSPOSITION, (3200, DESCRIPTOR, [x]), (3201, DESCRIPTOR, [x]))) == BAD_PARAM
    )
