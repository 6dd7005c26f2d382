"""Layers of the stand-in for cuDNN against NumPy: pooling, activations, softmax, normalization, dropout, and operations on elements."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import driver_probe
import numpy as np
import pytest
from dnn_probe import (
    BAD_PARAM,
    FORMS,
    KINDS,
    NOT_SUPPORTED,
    SUCCESS,
    Dnn,
    Long,
    close,
    decoded,
    encoded,
    ints,
    of,
)

EACH = [pytest.mark.parametrize("kind", list(KINDS)), pytest.mark.parametrize("form", FORMS)]
FACTORS = ((1.0, 0.0), (2.0, -1.0))


def each_type(test: Any) -> Any:
    for mark in EACH:
        test = mark(test)
    return test


def rounded(values: np.ndarray, kind: str) -> np.ndarray:
    return decoded(encoded(values, kind), kind)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def slope(function: Any, x: np.ndarray) -> np.ndarray:
    """The derivative by differences, at places where the function has one."""
    step: np.ndarray = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    return step


CURVES: dict[int, Any] = {
    0: sigmoid,
    1: lambda x: np.maximum(x, 0),
    2: np.tanh,
    3: lambda x: np.clip(x, 0, 1.5),
    4: lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)),
    6: lambda x: x * sigmoid(0.5 * x),
}
"""The functions of `cudnnActivationMode_t`, with a coefficient of 1.5 and a factor of 0.5 in the swish."""


@pytest.mark.parametrize("mode", list(CURVES))
@each_type
def test_activation_and_gradient(dnn: Dnn, mode: int, kind: str, form: str) -> None:
    x, dy, before = (
        rounded(dnn.rng.standard_normal((2, 3, 4, 2)), kind),
        dnn.random((2, 3, 4, 2)),
        dnn.random((2, 3, 4, 2)),
    )
    curve = dnn.made("Activation", mode, 0, 1.5)
    assert dnn.plain("SetActivationDescriptorSwishBeta", curve, 0.5) == SUCCESS
    expected = CURVES[mode](x)
    for alpha, beta in FACTORS:
        factors = dnn.scalar(alpha, kind), dnn.scalar(beta, kind)
        given, y, dx = dnn.tensor(x, kind, form), dnn.tensor(before, kind, form), dnn.tensor(before, kind, form)
        assert dnn.call("ActivationForward", curve, factors[0], *of(given), factors[1], *of(y)) == SUCCESS
        close(dnn.values(y), alpha * expected + beta * before, kind)
        known = *of(dnn.tensor(expected, kind, form)), *of(dnn.tensor(dy, kind, form)), *of(given)
        assert dnn.call("ActivationBackward", curve, factors[0], *known, factors[1], *of(dx)) == SUCCESS
        # Differences are less exact than `double`.
        close(
            dnn.values(dx), alpha * dy * slope(CURVES[mode], x) + beta * before, "float" if kind == "double" else kind
        )


def test_identity_is_no_activation_of_its_own(dnn: Dnn) -> None:
    x = dnn.tensor(np.zeros((1, 1, 2, 2)))
    curve = dnn.made("Activation", 5, 0, 0.0)
    assert dnn.call("ActivationForward", curve, dnn.scalar(1), *of(x), dnn.scalar(0), *of(x)) == NOT_SUPPORTED


@pytest.mark.parametrize("algorithm", [0, 1, 2], ids=["fast", "accurate", "log"])
@pytest.mark.parametrize("mode", [0, 1], ids=["instance", "channel"])
@each_type
def test_softmax_and_gradient(dnn: Dnn, algorithm: int, mode: int, kind: str, form: str) -> None:
    x, dy, before = (dnn.random((2, 5, 3, 2)) for _ in range(3))
    axes = (1, 2, 3) if mode == 0 else (1,)
    logarithm = x - x.max(axes, keepdims=True)
    logarithm -= np.log(np.exp(logarithm).sum(axes, keepdims=True))
    part = np.exp(logarithm)
    expected = logarithm if algorithm == 2 else part
    known = decoded(encoded(expected, kind), kind)
    if algorithm == 2:
        gradient = dy - np.exp(known) * dy.sum(axes, keepdims=True)
    else:
        gradient = known * (dy - (dy * known).sum(axes, keepdims=True))
    for alpha, beta in FACTORS:
        factors = dnn.scalar(alpha, kind), dnn.scalar(beta, kind)
        y, dx = dnn.tensor(before, kind, form), dnn.tensor(before, kind, form)
        start = algorithm, mode, factors[0]
        assert dnn.call("SoftmaxForward", *start, *of(dnn.tensor(x, kind, form)), factors[1], *of(y)) == SUCCESS
        close(dnn.values(y), alpha * expected + beta * before, kind)
        given = *of(dnn.tensor(expected, kind, form)), *of(dnn.tensor(dy, kind, form))
        assert dnn.call("SoftmaxBackward", *start, *given, factors[1], *of(dx)) == SUCCESS
        close(dnn.values(dx), alpha * gradient + beta * before, kind)


def test_accurate_softmax_keeps_large_values(dnn: Dnn) -> None:
    x, y = dnn.tensor(np.array([1000.0, 1000, -1000]).reshape(1, 3, 1, 1)), dnn.tensor(np.zeros((1, 3, 1, 1)))
    assert dnn.call("SoftmaxForward", 1, 1, dnn.scalar(1), *of(x), dnn.scalar(0), *of(y)) == SUCCESS
    np.testing.assert_array_equal(dnn.values(y).ravel(), [0.5, 0.5, 0])


def normalized(x: np.ndarray, window: int, alpha: float, beta: float, k: float) -> tuple[np.ndarray, np.ndarray]:
    """The normalization of images by their neighbouring channels, and the sums of squares."""
    behind = (window - 1) // 2
    sums = np.stack([(x[:, max(c - behind, 0) : c - behind + window] ** 2).sum(1) for c in range(x.shape[1])], axis=1)
    sums = k + alpha / window * sums
    return x * sums**-beta, sums


@pytest.mark.parametrize("window", [1, 2, 5, 16])
@each_type
def test_normalization_by_channels_and_gradient(dnn: Dnn, window: int, kind: str, form: str) -> None:
    shape, numbers = (2, 7, 3, 2), (0.9, 0.75, 1.5)
    x = rounded(dnn.rng.standard_normal(shape), kind)
    dy, before = rounded(dnn.rng.standard_normal(shape), kind), dnn.random(shape)
    alpha, beta, _ = numbers
    expected, sums = normalized(x, window, *numbers)
    gradient = dy * sums**-beta
    behind = (window - 1) // 2
    for channel in range(shape[1]):
        shared = (2 * alpha * beta / window * dy * x * sums ** (-beta - 1))[:, channel : channel + 1]
        around = slice(max(channel - behind, 0), channel - behind + window)
        gradient[:, around] -= shared * x[:, around]
    lrn = dnn.made("LRN", window, *numbers)
    for first, second in FACTORS:
        factors = dnn.scalar(first, kind), dnn.scalar(second, kind)
        given, y, dx = dnn.tensor(x, kind, form), dnn.tensor(before, kind, form), dnn.tensor(before, kind, form)
        assert dnn.call("LRNCrossChannelForward", lrn, 0, factors[0], *of(given), factors[1], *of(y)) == SUCCESS
        close(dnn.values(y), first * expected + second * before, kind)
        known = *of(dnn.tensor(expected, kind, form)), *of(dnn.tensor(dy, kind, form)), *of(given)
        assert dnn.call("LRNCrossChannelBackward", lrn, 0, factors[0], *known, factors[1], *of(dx)) == SUCCESS
        close(dnn.values(dx), first * gradient + second * before, kind)


def test_normalization_by_channels_has_documented_numbers_and_limits(dnn: Dnn) -> None:
    lrn, window = ctypes.c_void_p(), ctypes.c_uint()
    numbers = [ctypes.c_double() for _ in range(3)]
    places = ctypes.byref(window), *(ctypes.byref(each) for each in numbers)
    assert dnn.plain("CreateLRNDescriptor", ctypes.byref(lrn)) == SUCCESS
    assert dnn.plain("GetLRNDescriptor", lrn, *places) == SUCCESS
    assert (window.value, *(each.value for each in numbers)) == (5, 1e-4, 0.75, 2.0)
    for wrong in ((0, 1.0, 0.75, 2.0), (17, 1.0, 0.75, 2.0), (5, 1.0, 0.001, 2.0), (5, 1.0, 0.75, 0.0)):
        assert dnn.plain("SetLRNDescriptor", lrn, *wrong) == BAD_PARAM
    x, other = dnn.tensor(np.zeros((1, 2, 2, 2))), dnn.tensor(np.zeros((1, 2, 2, 3)))
    for mode, y in ((1, x), (0, other)):
        start = mode, dnn.scalar(1), *of(x)
        assert dnn.call("LRNCrossChannelForward", lrn, *start, dnn.scalar(0), *of(y)) == BAD_PARAM
    assert dnn.plain("DestroyLRNDescriptor", lrn) == SUCCESS


def windows(size: int, window: int, pad: int, stride: int) -> list[range]:
    count = (size + 2 * pad - window) // stride + 1
    starts = [index * stride - pad for index in range(count)]
    return [range(max(start, 0), min(start + window, size)) for start in starts]


def pooled(
    mode: int, window: tuple[int, ...], places: Any, x: np.ndarray, dy: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The results of pooling and the gradients, window by window."""
    y, dx = np.zeros_like(dy), np.zeros_like(x)
    for image in np.ndindex(x.shape[:2]):
        for out in np.ndindex(dy.shape[2:]):
            inside = list(itertools.product(*(axis[index] for axis, index in zip(places, out, strict=True))))
            values = [x[image][place] for place in inside]
            if mode in (0, 3):
                y[image][out] = max(values)
                dx[image][inside[int(np.argmax(values))]] += dy[image][out]
            else:
                divisor = np.prod(window) if mode == 1 else len(inside)
                y[image][out] = sum(values) / divisor
                for place in inside:
                    dx[image][place] += dy[image][out] / divisor
    return y, dx


POOLS = {
    "plain": ((2, 3, 6, 4), (2, 2), (0, 0), (2, 2)),
    "overlapping": ((1, 2, 7, 5), (3, 4), (1, 2), (2, 1)),
    "volumes": ((1, 2, 4, 5, 4), (2, 3, 2), (1, 1, 0), (2, 2, 1)),
}


@pytest.mark.parametrize("mode", range(4), ids=["max", "padded", "average", "deterministic"])
@pytest.mark.parametrize("name", list(POOLS))
@each_type
def test_pooling_and_gradient(dnn: Dnn, mode: int, name: str, kind: str, form: str) -> None:
    shape, *steps = POOLS[name]
    places = [windows(*each) for each in zip(shape[2:], *steps, strict=True)]
    x, before = dnn.random(shape), dnn.random(shape)
    dy = dnn.random((*shape[:2], *map(len, places)))
    expected, gradient = pooled(mode, steps[0], places, x, dy)
    pooling = dnn.made("Pooling", mode, 0, len(steps[0]), *map(ints, steps), of="PoolingNd")
    sizes = ints([0] * len(shape))
    given = dnn.tensor(x, kind, form)
    assert dnn.plain("GetPoolingNdForwardOutputDim", pooling, given.descriptor, len(shape), sizes) == SUCCESS
    assert tuple(sizes) == dy.shape
    for alpha, beta in FACTORS:
        factors = dnn.scalar(alpha, kind), dnn.scalar(beta, kind)
        y, dx = dnn.tensor(dy, kind, form), dnn.tensor(before, kind, form)
        assert dnn.call("PoolingForward", pooling, factors[0], *of(given), factors[1], *of(y)) == SUCCESS
        close(dnn.values(y), alpha * expected + beta * dy, kind)
        known = *of(dnn.tensor(expected, kind, form)), *of(dnn.tensor(dy, kind, form)), *of(given)
        assert dnn.call("PoolingBackward", pooling, factors[0], *known, factors[1], *of(dx)) == SUCCESS
        close(dnn.values(dx), alpha * gradient + beta * before, kind)


def test_pooling_of_what_is_no_number(dnn: Dnn) -> None:
    x, y = dnn.tensor(np.array([[[[1, np.nan], [3, 2]]]])), dnn.tensor(np.zeros((1, 1, 1, 1)))
    for propagates in (0, 1):
        pooling = dnn.made("Pooling", 0, propagates, 2, 2, 0, 0, 2, 2, of="Pooling2d")
        assert dnn.call("PoolingForward", pooling, dnn.scalar(1), *of(x), dnn.scalar(0), *of(y)) == SUCCESS
        np.testing.assert_equal(dnn.values(y).item(), np.nan if propagates else 3)


def test_pooling_descriptor_keeps_what_is_set(dnn: Dnn) -> None:
    pooling = dnn.made("Pooling", 2, 1, 4, 5, 1, 2, 3, 6, of="Pooling2d")
    numbers = [ctypes.c_int() for _ in range(8)]
    assert dnn.plain("GetPooling2dDescriptor", pooling, *map(ctypes.byref, numbers)) == SUCCESS
    assert [each.value for each in numbers] == [2, 1, 4, 5, 1, 2, 3, 6]
    assert dnn.plain("SetPooling2dDescriptor", pooling, 2, 1, 4, 5, 4, 2, 3, 6) == BAD_PARAM
    assert dnn.plain("SetPooling2dDescriptor", pooling, 9, 1, 4, 5, 1, 2, 3, 6) == BAD_PARAM
    x = dnn.tensor(np.zeros((1, 1, 2, 9)))
    assert dnn.plain("GetPooling2dForwardOutputDim", pooling, x.descriptor, *map(ctypes.byref, numbers[:4])) == SUCCESS
    assert [each.value for each in numbers[:4]] == [1, 1, 1, 2]


MODES = pytest.mark.parametrize("mode", [0, 1, 2], ids=["activations", "spatial", "persistent"])


def parameter_shape(mode: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1, *shape[1:]) if mode == 0 else (1, shape[1], *(1 for _ in shape[2:]))


@MODES
@pytest.mark.parametrize("shape", [(4, 3, 2, 5), (3, 2, 2, 2, 3)], ids=["2d", "3d"])
@each_type
def test_batch_normalization(dnn: Dnn, mode: int, shape: tuple[int, ...], kind: str, form: str) -> None:
    x, dy, before, epsilon = dnn.random(shape), dnn.random(shape), dnn.random(shape), 0.01
    of_kind = "double" if kind == "double" else "float"
    small = parameter_shape(mode, shape)
    scale, bias, mean, variance = (dnn.random(small) for _ in range(4))
    variance = abs(variance)
    axes = (0,) if mode == 0 else (0, *range(2, len(shape)))
    count = x.size // scale.size
    derived = dnn.made("Tensor")
    given = dnn.tensor(x, kind, form)
    assert dnn.plain("DeriveBNTensorDescriptor", derived, given.descriptor, mode) == SUCCESS
    means, variances = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    inverses = 1 / np.sqrt(variances + epsilon)
    normal = (x - means) * inverses
    d_bias, d_scale = dy.sum(axes, keepdims=True), (dy * normal).sum(axes, keepdims=True)
    gradient = scale * inverses * (dy - (d_bias + normal * d_scale) / count)
    for alpha, beta in FACTORS:
        factors = dnn.scalar(alpha, kind), dnn.scalar(beta, kind)
        y = dnn.tensor(before, kind, form)
        parameters = [dnn.tensor(each, of_kind) for each in (scale, bias, mean, variance)]
        addresses = [each.address for each in parameters]
        start = mode, *factors, *of(given)
        end = derived, *addresses, epsilon
        assert dnn.call("BatchNormalizationForwardInference", *start, *of(y), *end) == SUCCESS
        expected = (x - mean) / np.sqrt(variance + epsilon) * scale + bias
        close(dnn.values(y), alpha * expected + beta * before, kind)
        saved = [dnn.tensor(np.zeros(small), of_kind) for _ in range(2)]
        y = dnn.tensor(before, kind, form)
        end = (derived, *addresses[:2], 0.25, *addresses[2:], epsilon, *(each.address for each in saved))
        if alpha == 1:
            assert dnn.call("BatchNormalizationForwardTraining", *start, *of(y), *end) == SUCCESS
        else:
            extended = mode, 0, *factors, *of(given), None, None
            rest = None, None, Long(0), None, Long(0)
            assert dnn.call("BatchNormalizationForwardTrainingEx", *extended, *of(y), *end, *rest) == SUCCESS
        close(dnn.values(y), alpha * (normal * scale + bias) + beta * before, kind)
        close(dnn.values(parameters[2]), 0.75 * mean + 0.25 * means, of_kind)
        close(dnn.values(parameters[3]), 0.75 * variance + 0.25 * variances * count / (count - 1), of_kind)
        close(dnn.values(saved[0]), means, of_kind)
        close(dnn.values(saved[1]), inverses, of_kind)
        for kept in (True, False):
            dx = dnn.tensor(before, kind, form)
            gradients = [dnn.tensor(each, of_kind) for each in (bias, scale)]
            last = [each.address for each in saved] if kept else [None, None]
            middle = *of(given), *of(dnn.tensor(dy, kind, form)), *of(dx), derived, addresses[0]
            end = (*(each.address for each in gradients), epsilon, *last)
            assert dnn.call("BatchNormalizationBackward", mode, *factors, *factors, *middle, *end) == SUCCESS
            close(dnn.values(dx), alpha * gradient + beta * before, kind)
            close(dnn.values(gradients[0]), alpha * d_scale + beta * bias, of_kind)
            close(dnn.values(gradients[1]), alpha * d_bias + beta * scale, of_kind)


def test_batch_normalization_with_an_activation_is_refused(dnn: Dnn) -> None:
    size = ctypes.c_size_t(9)
    for operations, expected in ((0, SUCCESS), (1, NOT_SUPPORTED), (2, NOT_SUPPORTED), (7, BAD_PARAM)):
        arguments = 1, operations, None, None, ctypes.byref(size)
        assert dnn.call("GetBatchNormalizationTrainingExReserveSpaceSize", *arguments) == expected


OPERATIONS: dict[int, Any] = {
    0: np.add,
    1: np.multiply,
    2: np.minimum,
    3: np.maximum,
    4: lambda a, _: np.sqrt(a),
    5: lambda a, _: 1 - a,
}


@pytest.mark.parametrize("operation", list(OPERATIONS))
@pytest.mark.parametrize("small", [(2, 3, 4, 2), (1, 3, 1, 1), (1, 1, 4, 2)], ids=["whole", "channels", "image"])
@each_type
def test_operation_on_two_tensors(dnn: Dnn, operation: int, small: tuple[int, ...], kind: str, form: str) -> None:
    a, b, c = abs(dnn.random((2, 3, 4, 2))), dnn.random(small), dnn.random((2, 3, 4, 2))
    described = dnn.made("OpTensor", operation, int(kind == "double"), 0)
    first, second, beta = dnn.scalar(2, kind), dnn.scalar(-1, kind), dnn.scalar(3, kind)
    to = dnn.tensor(c, kind, form)
    given = first, *of(dnn.tensor(a, kind, form)), second, *of(dnn.tensor(b, kind, form)), beta
    assert dnn.call("OpTensor", described, *given, *of(to)) == SUCCESS
    close(dnn.values(to), OPERATIONS[operation](2 * a, -b) + 3 * c, kind)


@each_type
def test_sums_copies_factors_and_constants(dnn: Dnn, kind: str, form: str) -> None:
    values, bias = dnn.random((2, 3, 4, 2)), dnn.random((1, 3, 1, 1))
    for alpha, beta in FACTORS:
        factors = dnn.scalar(alpha, kind), dnn.scalar(beta, kind)
        to = dnn.tensor(values, kind, form)
        assert dnn.call("AddTensor", factors[0], *of(dnn.tensor(bias, kind)), factors[1], *of(to)) == SUCCESS
        close(dnn.values(to), alpha * bias + beta * values, kind)
        for other in FORMS:
            to, given = dnn.tensor(values, kind, other), dnn.tensor(values + 1, kind, form)
            assert dnn.call("TransformTensor", factors[0], *of(given), factors[1], *of(to)) == SUCCESS
            close(dnn.values(to), alpha * (values + 1) + beta * values, kind)
    to = dnn.tensor(values, kind, form)
    assert dnn.call("ScaleTensor", *of(to), dnn.scalar(-3, kind)) == SUCCESS
    close(dnn.values(to), -3 * values, kind)
    constant = encoded(np.array([2.5]), kind)
    assert dnn.call("SetTensor", *of(to), constant.ctypes.data_as(ctypes.c_void_p)) == SUCCESS
    np.testing.assert_array_equal(dnn.values(to), 2.5)


def test_copy_changes_the_type(dnn: Dnn) -> None:
    values = dnn.random((1, 2, 3, 4))
    for kind in ("half", "bfloat16"):
        given, to = dnn.tensor(values), dnn.tensor(np.zeros_like(values), kind)
        assert dnn.call("TransformTensor", dnn.scalar(1), *of(given), dnn.scalar(0), *of(to)) == SUCCESS
        np.testing.assert_array_equal(dnn.values(to), values)
    wide = dnn.tensor(values, "double")
    assert dnn.call("TransformTensor", dnn.scalar(1), *of(wide), dnn.scalar(0), *of(to)) == NOT_SUPPORTED


REDUCTIONS: list[Any] = [
    np.sum,
    np.prod,
    np.min,
    np.max,
    lambda a, **how: abs(a).max(**how),
    np.mean,
    lambda a, **how: abs(a).sum(**how),
    lambda a, **how: np.sqrt((a * a).sum(**how)),
    lambda a, **how: np.where(a == 0, 1, a).prod(**how),
]


@pytest.mark.parametrize("operation", range(9))
@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (1,), (0, 2, 3)], ids=str)
@each_type
def test_reduction_has_the_results_of_numpy(
    dnn: Dnn, operation: int, axes: tuple[int, ...], kind: str, form: str
) -> None:
    # Products of the numbers -1, 1 and 2 are powers of two, which no type rounds.
    values = dnn.rng.choice([-1.0, 1, 1, 1, 1, 1, 1, 1, 2, 0], (2, 3, 2, 2))
    expected = REDUCTIONS[operation](values, axis=axes, keepdims=True)
    before = dnn.random(expected.shape)
    reduction = dnn.made("ReduceTensor", operation, int(kind == "double"), 0, 0, 0)
    for alpha, beta in FACTORS:
        to = dnn.tensor(before, kind, form)
        start = reduction, None, Long(0), None, Long(0), dnn.scalar(alpha, kind)
        given = dnn.tensor(values, kind, form)
        assert dnn.call("ReduceTensor", *start, *of(given), dnn.scalar(beta, kind), *of(to)) == SUCCESS
        close(dnn.values(to), alpha * expected + beta * before, kind)


@each_type
def test_dropout_keeps_and_drops_the_same_in_both_directions(dnn: Dnn, kind: str, form: str) -> None:
    shape = (4, 8, 16, 16)
    size, reserve = ctypes.c_size_t(), ctypes.c_size_t()
    x, y, dx = (dnn.tensor(np.ones(shape), kind, form) for _ in range(3))
    assert dnn.call("DropoutGetStatesSize", ctypes.byref(size)) == SUCCESS
    assert dnn.plain("DropoutGetReserveSpaceSize", x.descriptor, ctypes.byref(reserve)) == SUCCESS
    states, dropout = dnn.memory(size.value), dnn.made("Dropout")
    described = dropout, dnn.handle, ctypes.c_float(0.25), states, size, ctypes.c_ulonglong(7)
    assert dnn.plain("SetDropoutDescriptor", *described) == SUCCESS
    kept = dnn.memory(reserve.value), reserve
    masks = []
    for _ in range(2):
        assert dnn.call("DropoutForward", dropout, *of(x), *of(y), *kept) == SUCCESS
        assert dnn.call("DropoutBackward", dropout, *of(x), *of(dx), *kept) == SUCCESS
        found = dnn.values(y)
        close(found[found != 0], np.full((found != 0).sum(), 4 / 3), kind)
        assert abs((found != 0).mean() - 0.75) < 0.03
        np.testing.assert_array_equal(dnn.values(dx), found)
        masks.append(found != 0)
    # A second call draws other numbers, and the seed gives the first ones again.
    assert 0.2 < (masks[0] != masks[1]).mean() < 0.55
    assert dnn.plain("SetDropoutDescriptor", *described) == SUCCESS
    assert dnn.call("DropoutForward", dropout, *of(x), *of(y), *kept) == SUCCESS
    np.testing.assert_array_equal(dnn.values(y) != 0, masks[0])
    probability, at, seed = ctypes.c_float(), ctypes.c_void_p(), ctypes.c_ulonglong()
    places = ctypes.byref(probability), ctypes.byref(at), ctypes.byref(seed)
    assert dnn.plain("GetDropoutDescriptor", dropout, dnn.handle, *places) == SUCCESS
    assert (probability.value, at.value, seed.value) == (0.25, states.value, 7)
    short = kept[0], ctypes.c_size_t(reserve.value - 1)
    assert dnn.call("DropoutForward", dropout, *of(x), *of(y), *short) == BAD_PARAM


def test_dropout_restores_its_states(dnn: Dnn) -> None:
    x, y = (dnn.tensor(np.ones((1, 1, 8, 8))) for _ in range(2))
    states, dropout, kept = dnn.memory(16), dnn.made("Dropout"), (dnn.memory(8), Long(8))
    described = dnn.handle, ctypes.c_float(0.5), states, Long(16), ctypes.c_ulonglong(3)
    assert dnn.plain("SetDropoutDescriptor", dropout, *described) == SUCCESS
    driver_probe.call("cuStreamSynchronize", dnn.stream)
    found = []
    for _ in range(2):
        other = dnn.made("Dropout")
        assert dnn.plain("RestoreDropoutDescriptor", other, *described) == SUCCESS
        assert dnn.call("DropoutForward", other, *of(x), *of(y), *kept) == SUCCESS
        found.append(dnn.values(y))
    assert (found[0] != found[1]).any()
