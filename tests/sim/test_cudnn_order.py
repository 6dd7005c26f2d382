"""The stand-in for cuDNN keeps the order of streams, accesses exactly the elements of its tensors, and names them in findings."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import Address, order, second_stream
from dnn_probe import SUCCESS, Dnn, Long, Tensor, ints, of, sides_of, write
from dnn_recurrent import PACKED, Recurrent, Sizes

Prepared = tuple[dict[str, Address], Callable[[], int]]
SHAPE = (2, 3, 4, 4)


def tensors(dnn: Dnn, names: str, shape: tuple[int, ...] = SHAPE) -> tuple[list[Tensor], dict[str, Address]]:
    made = [dnn.tensor(np.ones(shape)) for _ in names.split()]
    return made, {name: each.address for name, each in zip(names.split(), made, strict=True)}


def factors(dnn: Dnn) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
    return dnn.scalar(1), dnn.scalar(0)


def convolution(dnn: Dnn, name: str) -> Prepared:
    (x, y), _ = tensors(dnn, "x y")
    w = dnn.filter(np.ones((3, 3, 1, 1)))
    ones, zeros = ints([1, 1]), ints([0, 0])
    conv = dnn.made("Convolution", 2, zeros, ones, ones, 1, 0, of="ConvolutionNd")
    (one, zero), workspace = factors(dnn), dnn.memory(512)
    first, second, third = {"Forward": (x, w, y), "BackwardData": (w, y, x), "BackwardFilter": (x, y, w)}[name]
    names = {"Forward": "x w y", "BackwardData": "w dy dx", "BackwardFilter": "x dy dw"}[name].split()
    at = {given: each.address for given, each in zip(names, (first, second, third), strict=True)}
    at["workSpace"] = workspace
    arguments = one, *of(first), *of(second), conv, 1, workspace, Long(512), zero, *of(third)
    return at, lambda: dnn.call(f"Convolution{name}", *arguments)


def bias_gradient(dnn: Dnn) -> Prepared:
    (dy,), at = tensors(dnn, "dy")
    (db,), to = tensors(dnn, "db", (1, 3, 1, 1))
    one, zero = factors(dnn)
    return at | to, lambda: dnn.call("ConvolutionBackwardBias", one, *of(dy), zero, *of(db))


def fused(dnn: Dnn) -> Prepared:
    (x, z, y), at = tensors(dnn, "x z y")
    (bias,), to = tensors(dnn, "bias", (1, 3, 1, 1))
    w = dnn.filter(np.ones((3, 3, 1, 1)))
    ones, zeros = ints([1, 1]), ints([0, 0])
    conv = dnn.made("Convolution", 2, zeros, ones, ones, 1, 0, of="ConvolutionNd")
    relu, (one, _) = dnn.made("Activation", 1, 0, 0.0), factors(dnn)
    arguments = one, *of(x), *of(w), conv, 0, None, Long(0), one, *of(z), *of(bias), relu, *of(y)
    return at | to | {"w": w.address}, lambda: dnn.call("ConvolutionBiasActivationForward", *arguments)


def layer(dnn: Dnn, name: str) -> Prepared:
    """A layer with one input."""
    (x, y), at = tensors(dnn, "x y")
    one, zero = factors(dnn)
    before: tuple[Any, ...] = {
        "Activation": lambda: (dnn.made("Activation", 1, 0, 0.0),),
        "Softmax": lambda: (1, 1),
        "Pooling": lambda: (dnn.made("Pooling", 0, 0, 1, 1, 0, 0, 1, 1, of="Pooling2d"),),
    }[name]()
    return at, lambda: dnn.call(f"{name}Forward", *before, one, *of(x), zero, *of(y))


def gradient(dnn: Dnn, name: str) -> Prepared:
    (y, dy, x, dx), at = tensors(dnn, "y dy x dx")
    one, zero = factors(dnn)
    if name == "Softmax":
        del at["x"]
        return at, lambda: dnn.call("SoftmaxBackward", 1, 1, one, *of(y), *of(dy), zero, *of(dx))
    if name == "Activation":
        descriptor = dnn.made("Activation", 1, 0, 0.0)
    else:
        descriptor = dnn.made("Pooling", 0, 0, 1, 1, 0, 0, 1, 1, of="Pooling2d")
    return at, lambda: dnn.call(f"{name}Backward", descriptor, one, *of(y), *of(dy), *of(x), zero, *of(dx))


def inference(dnn: Dnn) -> Prepared:
    (x, y), at = tensors(dnn, "x y")
    parameters, to = tensors(dnn, "bnScale bnBias estimatedMean estimatedVariance", (1, 3, 1, 1))
    given = parameters[0].descriptor, *(each.address for each in parameters)
    one, zero = factors(dnn)
    start = 1, one, zero, *of(x), *of(y)
    return at | to, lambda: dnn.call("BatchNormalizationForwardInference", *start, *given, 0.1)


def training(dnn: Dnn) -> Prepared:
    (x, y), at = tensors(dnn, "x y")
    names = "bnScale bnBias resultRunningMean resultRunningVariance resultSaveMean resultSaveInvVariance"
    parameters, to = tensors(dnn, names, (1, 3, 1, 1))
    scale, bias, mean, variance, *saved = (each.address for each in parameters)
    one, zero = factors(dnn)
    start = 1, one, zero, *of(x), *of(y), parameters[0].descriptor, scale, bias
    return at | to, lambda: dnn.call("BatchNormalizationForwardTraining", *start, 0.5, mean, variance, 0.1, *saved)


def normalization(dnn: Dnn) -> Prepared:
    (x, dy, dx), at = tensors(dnn, "x dy dx")
    parameters, to = tensors(dnn, "bnScale dBnScaleResult dBnBiasResult savedMean savedInvVariance", (1, 3, 1, 1))
    scale, d_scale, d_bias, *saved = (each.address for each in parameters)
    one, zero = factors(dnn)
    start = 1, one, zero, one, zero, *of(x), *of(dy), *of(dx), parameters[0].descriptor, scale
    return at | to, lambda: dnn.call("BatchNormalizationBackward", *start, d_scale, d_bias, 0.1, *saved)


def addition(dnn: Dnn) -> Prepared:
    (a, c), at = tensors(dnn, "A C")
    one, _ = factors(dnn)
    return at, lambda: dnn.call("AddTensor", one, *of(a), one, *of(c))


def operation(dnn: Dnn) -> Prepared:
    (a, b, c), at = tensors(dnn, "A B C")
    (one, zero), described = factors(dnn), dnn.made("OpTensor", 0, 0, 0)
    return at, lambda: dnn.call("OpTensor", described, one, *of(a), one, *of(b), zero, *of(c))


def reduction(dnn: Dnn) -> Prepared:
    (a,), at = tensors(dnn, "A")
    (c,), to = tensors(dnn, "C", (1, 1, 1, 1))
    (one, zero), described = factors(dnn), dnn.made("ReduceTensor", 0, 0, 0, 0, 0)
    start = described, None, Long(0), None, Long(0), one
    return at | to, lambda: dnn.call("ReduceTensor", *start, *of(a), zero, *of(c))


def transformation(dnn: Dnn) -> Prepared:
    (x, y), at = tensors(dnn, "x y")
    one, zero = factors(dnn)
    return at, lambda: dnn.call("TransformTensor", one, *of(x), zero, *of(y))


def scaling(dnn: Dnn) -> Prepared:
    (y,), at = tensors(dnn, "y")
    factor = dnn.scalar(2)
    return at, lambda: dnn.call("ScaleTensor", *of(y), factor)


def constant(dnn: Dnn) -> Prepared:
    (y,), at = tensors(dnn, "y")
    value = dnn.scalar(2)
    return at, lambda: dnn.call("SetTensor", *of(y), value)


def classification(dnn: Dnn) -> Prepared:
    (probs, gradients), at = tensors(dnn, "probs gradients", (4, 2, 3))
    costs, loss = dnn.put(np.ones(2, np.float32)), dnn.made("CTCLoss")
    assert dnn.plain("SetCTCLossDescriptor_v9", loss, 0, 1, 0, 2) == SUCCESS
    arguments = *of(probs), ints([1, 2]), ints([1, 1]), ints([4, 3]), costs, *of(gradients), 0, loss, None, Long(0)
    return at | {"costs": costs}, lambda: dnn.call("CTCLoss", *arguments)


def dropout(dnn: Dnn, name: str) -> Prepared:
    (x, y), _ = tensors(dnn, "x y")
    states, reserve, described = dnn.memory(16), dnn.put(np.zeros(12, np.uint8)), dnn.made("Dropout")
    arguments = dnn.handle, ctypes.c_float(0.5), states, Long(16), ctypes.c_ulonglong(3)
    assert dnn.plain("SetDropoutDescriptor", described, *arguments) == SUCCESS
    driver_probe.call("cuStreamSynchronize", dnn.stream)
    names = ("x", "y") if name == "Forward" else ("dy", "dx")
    at = {names[0]: x.address, names[1]: y.address, "reserveSpace": reserve}
    if name == "Forward":
        at["states"] = states
    return at, lambda: dnn.call(f"Dropout{name}", described, *of(x), *of(y), reserve, Long(12))


def recurrent(dnn: Dnn, name: str) -> Prepared:
    network = Recurrent(dnn, Sizes(directions=2), probability=0.5)
    (x, dx), (y, dy) = ([network.placed([np.ones((4, size))] * 2) for _ in range(2)] for size in (3, 8))
    states = "hx hy dhx dhy", network.hidden_shape, "cx cy dcx dcy", network.cell_shape
    at = {
        each: dnn.put(np.ones(shape, np.float32)) for names, shape in (states[:2], states[2:]) for each in names.split()
    }
    sizes = network.weights.size * 4, network.reserve_size
    weights, reserve = (dnn.put(np.ones(size, np.uint8)) for size in sizes)
    space, work = (Long(sizes[0]), weights), dnn.memory(512)
    end = Long(512), work, Long(sizes[1]), reserve
    at |= {"workSpace": work, "reserveSpace": reserve, "weightSpace": weights, "dweightSpace": weights}
    at |= {"x": x, "dx": dx, "y": y, "dy": dy, "states": network.states}
    start, of_h, of_c = network.descriptor, network.of_h, network.of_c
    if name == "Forward":
        states_of_call = of_h, at["hx"], at["hy"], of_c, at["cx"], at["cy"]
        arguments = start, 1, None, network.of_x, x, network.of_y, y, *states_of_call, *space, *end
    elif name == "BackwardData_v8":
        hidden, cells = (at["hx"], at["dhy"], at["dhx"]), (at["cx"], at["dcy"], at["dcx"])
        arguments = start, None, network.of_y, y, dy, network.of_x, dx, of_h, *hidden, of_c, *cells, *space, *end
    else:
        arguments = start, 0, None, network.of_x, x, of_h, at["hx"], network.of_y, y, *space, *end
    driver_probe.call("cuStreamSynchronize", dnn.stream)
    return at, lambda: dnn.call(f"RNN{name}", *arguments)


CALLS: dict[str, tuple[Callable[[Dnn], Prepared], str]] = {
    "ConvolutionForward": (lambda dnn: convolution(dnn, "Forward"), "x w"),
    "ConvolutionBackwardData": (lambda dnn: convolution(dnn, "BackwardData"), "w dy"),
    "ConvolutionBackwardFilter": (lambda dnn: convolution(dnn, "BackwardFilter"), "x dy"),
    "ConvolutionBackwardBias": (bias_gradient, "dy"),
    "ConvolutionBiasActivationForward": (fused, "x w z bias"),
    "ActivationForward": (lambda dnn: layer(dnn, "Activation"), "x"),
    "ActivationBackward": (lambda dnn: gradient(dnn, "Activation"), "y dy x"),
    "SoftmaxForward": (lambda dnn: layer(dnn, "Softmax"), "x"),
    "SoftmaxBackward": (lambda dnn: gradient(dnn, "Softmax"), "y dy"),
    "PoolingForward": (lambda dnn: layer(dnn, "Pooling"), "x"),
    "PoolingBackward": (lambda dnn: gradient(dnn, "Pooling"), "y dy x"),
    "BatchNormalizationForwardInference": (inference, "x bnScale bnBias estimatedMean estimatedVariance"),
    "BatchNormalizationForwardTraining": (training, "x bnScale bnBias resultRunningMean resultRunningVariance"),
    "BatchNormalizationBackward": (normalization, "x dy bnScale savedMean savedInvVariance"),
    "AddTensor": (addition, "A C"),
    "OpTensor": (operation, "A B"),
    "ReduceTensor": (reduction, "A"),
    "TransformTensor": (transformation, "x"),
    "ScaleTensor": (scaling, "y"),
    "SetTensor": (constant, ""),
    "CTCLoss": (classification, "probs"),
    "DropoutForward": (lambda dnn: dropout(dnn, "Forward"), "x states"),
    "DropoutBackward": (lambda dnn: dropout(dnn, "Backward"), "dy reserveSpace"),
    "RNNForward": (lambda dnn: recurrent(dnn, "Forward"), "x hx cx weightSpace states"),
    "RNNBackwardData_v8": (
        lambda dnn: recurrent(dnn, "BackwardData_v8"),
        "y dy hx dhy cx dcy weightSpace reserveSpace",
    ),
    "RNNBackwardWeights_v8": (
        lambda dnn: recurrent(dnn, "BackwardWeights_v8"),
        "x hx y reserveSpace dweightSpace",
    ),
}
"""Functions of cuDNN: how a test prepares a call, and the arguments that it reads."""
WRITTEN = {
    "ConvolutionForward": "y workSpace",
    "ConvolutionBackwardData": "dx workSpace",
    "ConvolutionBackwardFilter": "dw workSpace",
    "ConvolutionBackwardBias": "db",
    "ConvolutionBiasActivationForward": "y",
    "ActivationForward": "y",
    "ActivationBackward": "dx",
    "SoftmaxForward": "y",
    "SoftmaxBackward": "dx",
    "PoolingForward": "y",
    "PoolingBackward": "dx",
    "BatchNormalizationForwardInference": "y",
    "BatchNormalizationForwardTraining": "y resultSaveMean resultSaveInvVariance",
    "BatchNormalizationBackward": "dx dBnScaleResult dBnBiasResult",
    "OpTensor": "C",
    "ReduceTensor": "C",
    "TransformTensor": "y",
    "SetTensor": "y",
    "CTCLoss": "costs gradients",
    "DropoutForward": "y reserveSpace",
    "DropoutBackward": "dx",
    "RNNForward": "y hy cy reserveSpace workSpace",
    "RNNBackwardData_v8": "dx dhx dcx workSpace",
    "RNNBackwardWeights_v8": "workSpace",
}
"""The other arguments, which a call overwrites."""
ARGUMENTS = [
    (name, argument) for name, (_, read) in CALLS.items() for argument in (read + " " + WRITTEN.get(name, "")).split()
]


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_before_the_call_without_a_wait_is_a_race(
    dnn: Dnn, name: str, argument: str, schedule: str, findings_of: Any
) -> None:
    prepare, read = CALLS[name]
    at, call = prepare(dnn)
    with second_stream() as other:
        write(at[argument], other)
        assert call() == SUCCESS
    found = sides_of(findings_of(), name)
    assert {side["detail"] for side in found} == {f"argument {argument}"}
    assert ("read" if argument in read.split() else "write") in {side["access"] for side in found}
    assert {Path(side["site"]["user"]["file"]).name for side in found} == {"dnn_probe.py"}


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_write_before_the_call_with_a_wait_has_no_findings(dnn: Dnn, name: str, argument: str, schedule: str) -> None:
    at, call = CALLS[name][0](dnn)
    with second_stream() as other:
        write(at[argument], other)
        order(other, dnn.stream)
        assert call() == SUCCESS


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_after_the_call_without_a_wait_is_a_race(
    dnn: Dnn, name: str, argument: str, schedule: str, findings_of: Any
) -> None:
    at, call = CALLS[name][0](dnn)
    with second_stream() as other:
        assert call() == SUCCESS
        write(at[argument], other)
    assert {side["detail"] for side in sides_of(findings_of(), name)} == {f"argument {argument}"}


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_write_after_the_call_with_a_wait_has_no_findings(dnn: Dnn, name: str, argument: str, schedule: str) -> None:
    at, call = CALLS[name][0](dnn)
    with second_stream() as other:
        assert call() == SUCCESS
        order(dnn.stream, other)
        write(at[argument], other)


def test_elements_between_those_of_a_tensor_may_be_in_use(dnn: Dnn) -> None:
    (x, y) = (dnn.tensor(np.ones((2, 3, 4, 4)), form="gaps") for _ in range(2))
    one, zero = factors(dnn)
    with second_stream() as other:
        for tensor in (x, y):
            # The fifth element of a row of four.
            write(tensor.address, other, offset=16)
        assert dnn.call("TransformTensor", one, *of(x), zero, *of(y)) == SUCCESS


@pytest.mark.parametrize("layout", [0, 2], ids=["step-major", "batch-major"])
def test_padding_of_sequences_may_be_in_use(dnn: Dnn, layout: int) -> None:
    network = Recurrent(dnn, Sizes(), lengths=(4, 2), layout=layout)
    x, hx, cx = network.random()
    at = network.forward(x, hx, cx)
    # The third step of the second sequence.
    place = 2 * 2 + 1 if layout == 0 else 4 + 2
    with second_stream() as other:
        write(at.x, other, size=12, offset=12 * place)
        write(at.y, other, size=16, offset=16 * place)
        assert dnn.call("RNNForward", *network.arguments(at)) == SUCCESS


@pytest.mark.cuarray_sim(expect="data-race")
def test_last_vector_of_packed_sequences_is_read(dnn: Dnn, findings_of: Any) -> None:
    network = Recurrent(dnn, Sizes(), lengths=(4, 2), layout=PACKED)
    at = network.forward(*network.random())
    driver_probe.call("cuStreamSynchronize", dnn.stream)
    with second_stream() as other:
        write(at.x, other, size=12, offset=12 * 5)
        assert dnn.call("RNNForward", *network.arguments(at)) == SUCCESS
    assert {side["detail"] for side in sides_of(findings_of(), "RNNForward")} == {"argument x"}


@pytest.mark.cuarray_sim(expect="uninitialized-read")
def test_input_that_nothing_has_written_is_found(dnn: Dnn, findings_of: Any) -> None:
    (x, y), _ = tensors(dnn, "x y")
    one, zero = factors(dnn)
    assert dnn.call("SoftmaxForward", 1, 1, one, x.descriptor, dnn.memory(x.whole.nbytes), zero, *of(y)) == SUCCESS
    driver_probe.call("cuStreamSynchronize", dnn.stream)
    assert [side["detail"] for side in sides_of(findings_of(), "SoftmaxForward")] == ["argument x"]


def test_result_that_nothing_has_written_is_not_read(dnn: Dnn) -> None:
    (x, y), _ = tensors(dnn, "x y")
    one, zero = factors(dnn)
    assert dnn.call("SoftmaxForward", 1, 1, one, *of(x), zero, y.descriptor, dnn.memory(x.whole.nbytes)) == SUCCESS
    driver_probe.call("cuStreamSynchronize", dnn.stream)


def test_captured_call_computes_at_each_launch(dnn: Dnn) -> None:
    (x, y), _ = tensors(dnn, "x y")
    factor, one = dnn.scalar(2), dnn.scalar(1)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", dnn.stream, 2)
    assert dnn.call("AddTensor", factor, *of(x), one, *of(y)) == SUCCESS
    driver_probe.call("cuStreamEndCapture", dnn.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    for _ in range(3):
        driver_probe.call("cuGraphLaunch", executable, dnn.stream)
    np.testing.assert_array_equal(dnn.values(y), 7)
    driver_probe.call("cuGraphExecDestroy", executable)
    driver_probe.call("cuGraphDestroy", graph)
