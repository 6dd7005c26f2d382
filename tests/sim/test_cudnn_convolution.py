"""Convolutions of the stand-in for cuDNN against sums in NumPy: results, gradients, types, layouts and algorithms."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import pytest
from dnn_convolution import CASES, Case
from dnn_probe import (
    BAD_PARAM,
    FORMS,
    KINDS,
    NOT_SUPPORTED,
    NULL_POINTER,
    SUCCESS,
    Dnn,
    Long,
    Tensor,
    close,
    ints,
    of,
)


def descriptor(dnn: Dnn, case: Case, compute: int = 0) -> ctypes.c_void_p:
    steps = (ints(each) for each in (case.pad, case.stride, case.dilation))
    made = dnn.made("Convolution", len(case.pad), *steps, case.mode, compute, of="ConvolutionNd")
    assert dnn.plain("SetConvolutionGroupCount", made, case.groups) == SUCCESS
    return made


class Problem(NamedTuple):
    conv: ctypes.c_void_p
    x: Tensor
    w: Tensor
    y: Tensor
    values: tuple[np.ndarray, np.ndarray, np.ndarray]


def problem(dnn: Dnn, case: Case, kind: str = "float", form: str = "NCHW") -> Problem:
    x, w, y = (dnn.random(shape) for shape in (case.x, case.w, case.output()))
    conv = descriptor(dnn, case, int(kind == "double"))
    tensors = dnn.tensor(x, kind, form), dnn.filter(w, kind, form), dnn.tensor(y, kind, form)
    return Problem(conv, *tensors, (x, w, y))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(CASES))
def test_convolution_and_gradients(dnn: Dnn, name: str, kind: str, form: str) -> None:
    case = CASES[name]
    conv, x, w, y, values = problem(dnn, case, kind, form)
    d_input, d_weights = case.gradients(*values)
    for alpha, beta in ((1.0, 0.0), (2.0, -1.0)):
        y, dx, dw = (
            dnn.tensor(values[2], kind, form),
            dnn.tensor(values[0], kind, form),
            dnn.filter(values[1], kind, form),
        )
        dy = dnn.tensor(values[2], kind, form)
        factors = dnn.scalar(alpha, kind), dnn.scalar(beta, kind)
        rest = conv, 0, None, Long(0), factors[1]
        assert dnn.call("ConvolutionForward", factors[0], *of(x), *of(w), *rest, *of(y)) == SUCCESS
        assert dnn.call("ConvolutionBackwardData", factors[0], *of(w), *of(dy), *rest, *of(dx)) == SUCCESS
        assert dnn.call("ConvolutionBackwardFilter", factors[0], *of(x), *of(dy), *rest, *of(dw)) == SUCCESS
        close(dnn.values(y), alpha * case.forward(*values[:2]) + beta * values[2], kind)
        close(dnn.values(dx), alpha * d_input + beta * values[0], kind)
        close(dnn.values(dw), alpha * d_weights + beta * values[1], kind)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", list(KINDS))
def test_gradient_of_the_bias(dnn: Dnn, kind: str, form: str) -> None:
    values, before = dnn.random((3, 5, 2, 4)), dnn.random((1, 5, 1, 1))
    dy, db = dnn.tensor(values, kind, form), dnn.tensor(before, kind)
    factors = dnn.scalar(0.5, kind), dnn.scalar(2, kind)
    assert dnn.call("ConvolutionBackwardBias", factors[0], *of(dy), factors[1], *of(db)) == SUCCESS
    close(dnn.values(db), values.sum((0, 2, 3), keepdims=True) / 2 + 2 * before, kind)


@pytest.mark.parametrize("mode", [1, 5], ids=["relu", "identity"])
@pytest.mark.parametrize("factor", [0.0, 3.0])
def test_convolution_with_a_bias_and_an_activation(dnn: Dnn, mode: int, factor: float) -> None:
    case = CASES["steps"]
    conv, x, w, y, values = problem(dnn, case)
    z, bias = dnn.random(case.output()), dnn.random((1, case.w[0], 1, 1))
    last = *of(dnn.tensor(z)), *of(dnn.tensor(bias)), dnn.made("Activation", mode, 0, 0.0), *of(y)
    start = dnn.scalar(2), *of(x), *of(w), conv, 0, None, Long(0), dnn.scalar(factor)
    assert dnn.call("ConvolutionBiasActivationForward", *start, *last) == SUCCESS
    expected = 2 * case.forward(*values[:2]) + factor * z + bias
    close(dnn.values(y), np.maximum(expected, 0) if mode == 1 else expected, "float")
    tanh = *last[:4], dnn.made("Activation", 2, 0, 0.0), *of(y)
    assert dnn.call("ConvolutionBiasActivationForward", *start, *tanh) == NOT_SUPPORTED


class Performance(ctypes.Structure):
    _fields_ = (
        ("algo", ctypes.c_int),
        ("status", ctypes.c_int),
        ("time", ctypes.c_float),
        ("memory", ctypes.c_size_t),
        ("determinism", ctypes.c_int),
        ("math", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    )


@pytest.mark.parametrize("name", ["Forward", "BackwardData", "BackwardFilter"])
def test_algorithms_are_found_and_compute_in_their_workspace(dnn: Dnn, name: str) -> None:
    case = CASES["plain"]
    conv, *tensors, values = problem(dnn, case)
    x, w, y = tensors
    first, second, third = {"Forward": (x, w, y), "BackwardData": (w, y, x), "BackwardFilter": (x, y, w)}[name]
    described = first.descriptor, second.descriptor, conv, third.descriptor
    count, most = ctypes.c_int(), ctypes.c_int()
    assert dnn.call(f"GetConvolution{name}AlgorithmMaxCount", ctypes.byref(most)) == SUCCESS
    results = (Performance * most.value)()
    at = *of(first), *of(second), conv, *of(third)
    for function, arguments, end in (
        (f"GetConvolution{name}Algorithm_v7", described, ()),
        (f"FindConvolution{name}Algorithm", described, ()),
        (f"FindConvolution{name}AlgorithmEx", at, (dnn.memory(512), Long(512))),
    ):
        assert dnn.call(function, *arguments, 99, ctypes.byref(count), results, *end) == SUCCESS
        assert count.value == most.value
        assert sorted(each.algo for each in results) == list(range(most.value))
        assert dnn.call(function, *arguments, 0, ctypes.byref(count), results, *end) == BAD_PARAM
        assert dnn.call(function, *arguments, 1, None, results, *end) == NULL_POINTER
    expected = (case.forward(*values[:2]), *case.gradients(*values))
    close(dnn.values(third), expected[["Forward", "BackwardData", "BackwardFilter"].index(name)], "float")
    assert [each.status for each in results][:2] == [SUCCESS, SUCCESS]
    one, zero, size = dnn.scalar(1), dnn.scalar(0), ctypes.c_size_t()
    for each in results:
        status = dnn.call(f"GetConvolution{name}WorkspaceSize", *described, each.algo, ctypes.byref(size))
        assert status == each.status
        if status == SUCCESS:
            assert size.value == each.memory
            start = one, *of(first), *of(second), conv, each.algo
            workspace = dnn.memory(size.value), Long(size.value)
            assert dnn.call(f"Convolution{name}", *start, *workspace, zero, *of(third)) == SUCCESS
            if size.value:
                short = workspace[0], Long(size.value - 1)
                assert dnn.call(f"Convolution{name}", *start, *short, zero, *of(third)) == BAD_PARAM
                assert dnn.call(f"Convolution{name}", *start, None, workspace[1], zero, *of(third)) == NULL_POINTER
        else:
            start = one, *of(first), *of(second), conv, each.algo, None, Long(0), zero
            assert dnn.call(f"Convolution{name}", *start, *of(third)) == NOT_SUPPORTED


def test_descriptor_keeps_what_is_set(dnn: Dnn) -> None:
    conv = dnn.made("Convolution", 1, 2, 3, 4, 5, 6, 1, 0, of="Convolution2d")
    numbers = [ctypes.c_int() for _ in range(8)]
    assert dnn.plain("GetConvolution2dDescriptor", conv, *map(ctypes.byref, numbers)) == SUCCESS
    assert [each.value for each in numbers] == [1, 2, 3, 4, 5, 6, 1, 0]
    pad, stride, dilation = (ints([0, 0]) for _ in range(3))
    rank, mode, kind = (ctypes.c_int() for _ in range(3))
    end = ctypes.byref(mode), ctypes.byref(kind)
    assert dnn.plain("GetConvolutionNdDescriptor", conv, 2, ctypes.byref(rank), pad, stride, dilation, *end) == SUCCESS
    assert (rank.value, [*pad, *stride, *dilation]) == (2, [1, 2, 3, 4, 5, 6])
    for name, value, wrong in (("GroupCount", 7, 0), ("MathType", 2, 9), ("ReorderType", 1, 5)):
        assert dnn.plain(f"SetConvolution{name}", conv, value) == SUCCESS
        assert dnn.plain(f"SetConvolution{name}", conv, wrong) == BAD_PARAM
        assert dnn.plain(f"GetConvolution{name}", conv, ctypes.byref(rank)) == SUCCESS
        assert rank.value == value


def test_sizes_of_results(dnn: Dnn) -> None:
    for case in CASES.values():
        conv, x, w, _, _ = problem(dnn, case)
        rank = len(case.x)
        sizes = ints([0] * rank)
        arguments = conv, x.descriptor, w.descriptor
        assert dnn.plain("GetConvolutionNdForwardOutputDim", *arguments, rank, sizes) == SUCCESS
        assert tuple(sizes) == case.output()
        assert dnn.plain("GetConvolutionNdForwardOutputDim", *arguments, rank + 1, sizes) == BAD_PARAM
        places = [ctypes.c_int() for _ in range(4)]
        status = dnn.plain("GetConvolution2dForwardOutputDim", *arguments, *map(ctypes.byref, places))
        assert status == (SUCCESS if rank == 4 else BAD_PARAM)
        if rank == 4:
            assert tuple(each.value for each in places) == case.output()


def test_wrong_shapes_and_types_are_refused(dnn: Dnn) -> None:
    case = CASES["plain"]
    conv, x, w, y, _ = problem(dnn, case)
    one, zero = dnn.scalar(1), dnn.scalar(0)

    def forward(x: Tensor, w: Tensor, y: Tensor, conv: Any = conv, algo: int = 0, alpha: Any = one) -> int:
        return dnn.call("ConvolutionForward", alpha, *of(x), *of(w), conv, algo, None, Long(0), zero, *of(y))

    assert forward(x, w, y) == SUCCESS
    assert forward(x, w, dnn.tensor(np.zeros((2, 4, 4, 5)))) == BAD_PARAM
    assert forward(dnn.tensor(np.zeros((2, 2, 6, 5))), w, y) == BAD_PARAM
    assert forward(x, dnn.filter(np.zeros((4, 3, 9, 2))), y) == BAD_PARAM
    assert forward(dnn.tensor(np.zeros(case.x), "half"), w, y) == BAD_PARAM
    assert forward(x, w, y, conv=descriptor(dnn, case, KINDS["half"])) == NOT_SUPPORTED
    assert forward(x, w, y, algo=77) == BAD_PARAM
    assert forward(x, w, y, algo=6) == NOT_SUPPORTED
    assert forward(x, w, y, alpha=None) == NULL_POINTER
    assert forward(x, w, y, conv=None) == NULL_POINTER
    assert forward(x, w, y, conv=ctypes.c_void_p(12345)) == BAD_PARAM
    assert forward(x, w, y._replace(address=None)) == NULL_POINTER
    assert forward(x._replace(address=ctypes.c_void_p(64)), w, y) != SUCCESS
    assert "cudnnConvolutionForward" in dnn.last_error()
    assert dnn.last_error() == ""
    dnn.values(y)
