"""Planted races across calls of cuDNN."""

from __future__ import annotations

import ctypes
from typing import Any

from .place import ONE, ZERO, N, Place, case, check, fill, library, read

DOUBLE = 1
IMAGE = (1, 1, N, N)
CHANNEL = (1, 1, 1, 1)
NOTHING = None, ctypes.c_size_t(0)
EPSILON = ctypes.c_double(0.1)


def handle(at: Place) -> ctypes.c_void_p:
    return at.handle("cuDNN", "cudnn")


def made(at: Place, kind: str, *arguments: Any, of: str = "") -> ctypes.c_void_p:
    """Return a descriptor that is set."""
    descriptor = at.made("cuDNN", f"cudnnCreate{kind}Descriptor", f"cudnnDestroy{kind}Descriptor")
    check(getattr(library("cuDNN"), f"cudnnSet{of or kind}Descriptor")(descriptor, *arguments))
    return descriptor


def tensor(at: Place, shape: tuple[int, ...] = IMAGE) -> ctypes.c_void_p:
    return made(at, "Tensor", 0, DOUBLE, *shape, of="Tensor4d")


def convolution(at: Place) -> tuple[ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]:
    """Return the descriptors of an image, of a filter and of a convolution that keeps the size."""
    filters = made(at, "Filter", DOUBLE, 0, 1, 1, 3, 3, of="Filter4d")
    return tensor(at), filters, made(at, "Convolution", 1, 1, 1, 1, 1, 1, 1, DOUBLE, of="Convolution2d")


@case("cudnnConvolutionForward", "x")
def images_of_a_convolution(at: Place) -> None:
    """Images are written in another stream before their convolution."""
    dnn, h, (x, w, conv), write = library("cuDNN"), handle(at), convolution(at), fill(at, at.a)
    start = h, ctypes.byref(ONE), x, at.a, w, at.b, conv, 0, *NOTHING, ctypes.byref(ZERO)
    check(write())  # first
    at.wait()
    check(dnn.cudnnConvolutionForward(*start, x, at.c))  # second


@case("cudnnConvolutionForward", "w")
def weights_are_updated_too_early(at: Place) -> None:
    """Weights are written in another stream while a convolution reads them."""
    dnn, h, (x, w, conv), write = library("cuDNN"), handle(at), convolution(at), fill(at, at.b)
    start = h, ctypes.byref(ONE), x, at.a, w, at.b, conv, 0, *NOTHING, ctypes.byref(ZERO)
    check(dnn.cudnnConvolutionForward(*start, x, at.c))  # first
    at.wait(of="side")
    check(write())  # second


@case("cudnnConvolutionForward", "workSpace")
def workspace_of_a_convolution(at: Place) -> None:
    """The workspace of a convolution is written in another stream."""
    dnn, h, (x, w, conv), write = library("cuDNN"), handle(at), convolution(at), fill(at, at.work)
    start = h, ctypes.byref(ONE), x, at.a, w, at.b, conv, 1, at.work, at.bytes, ctypes.byref(ZERO)
    check(write())  # first
    at.wait()
    check(dnn.cudnnConvolutionForward(*start, x, at.c))  # second


@case("cudnnConvolutionBackwardFilter", "dw")
def gradients_are_read_in_another_stream(at: Place) -> None:
    """Gradients of weights are copied in another stream, as for a sum over devices."""
    dnn, h, (x, w, conv), copy = library("cuDNN"), handle(at), convolution(at), read(at, at.c)
    start = h, ctypes.byref(ONE), x, at.a, x, at.b, conv, 0, *NOTHING, ctypes.byref(ZERO)
    check(dnn.cudnnConvolutionBackwardFilter(*start, w, at.c))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cudnnConvolutionBackwardData", "dy")
def gradients_of_results(at: Place) -> None:
    """Gradients of results are written in another stream before those of the inputs are computed."""
    dnn, h, (x, w, conv), write = library("cuDNN"), handle(at), convolution(at), fill(at, at.b)
    start = h, ctypes.byref(ONE), w, at.a, x, at.b, conv, 0, *NOTHING, ctypes.byref(ZERO)
    check(write())  # first
    at.wait()
    check(dnn.cudnnConvolutionBackwardData(*start, x, at.c))  # second


@case("cudnnSoftmaxForward", "y")
def result_of_a_softmax(at: Place) -> None:
    """The result of a softmax is copied in another stream."""
    dnn, h, x, copy = library("cuDNN"), handle(at), tensor(at), read(at, at.b)
    check(dnn.cudnnSoftmaxForward(h, 1, 0, ctypes.byref(ONE), x, at.a, ctypes.byref(ZERO), x, at.b))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cudnnPoolingForward", "x")
def images_of_a_pooling(at: Place) -> None:
    """Images are written in another stream before they are pooled."""
    dnn, h, x, write = library("cuDNN"), handle(at), tensor(at), fill(at, at.a)
    pooling = made(at, "Pooling", 0, 0, 1, 1, 0, 0, 1, 1, of="Pooling2d")
    check(write())  # first
    at.wait()
    check(dnn.cudnnPoolingForward(h, pooling, ctypes.byref(ONE), x, at.a, ctypes.byref(ZERO), x, at.b))  # second


@case("cudnnActivationForward", "y")
def result_of_an_activation_in_place(at: Place) -> None:
    """Memory that an activation changes in place is copied in another stream."""
    dnn, h, x, copy = library("cuDNN"), handle(at), tensor(at), read(at, at.a)
    relu = made(at, "Activation", 1, 0, ctypes.c_double(0))
    check(copy())  # first
    at.wait()
    check(dnn.cudnnActivationForward(h, relu, ctypes.byref(ONE), x, at.a, ctypes.byref(ZERO), x, at.a))  # second


@case("cudnnBatchNormalizationForwardTraining", "resultRunningMean")
def running_mean_is_read_in_another_stream(at: Place) -> None:
    """The running mean of a normalization is copied in another stream, as for a checkpoint."""
    dnn, h, x, copy = library("cuDNN"), handle(at), tensor(at), read(at, at.x)
    factor, parameters = ctypes.c_double(0.5), tensor(at, CHANNEL)
    start = h, 1, ctypes.byref(ONE), ctypes.byref(ZERO), x, at.a, x, at.b, parameters, at.y, at.z, factor
    check(dnn.cudnnBatchNormalizationForwardTraining(*start, at.x, at.c, EPSILON, None, None))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cudnnAddTensor", "C")
def bias_is_added_while_the_sum_is_read(at: Place) -> None:
    """Memory to which a bias is added is still copied in another stream."""
    dnn, h, x, copy = library("cuDNN"), handle(at), tensor(at), read(at, at.b)
    bias = tensor(at, CHANNEL)
    check(copy())  # first
    at.wait()
    check(dnn.cudnnAddTensor(h, ctypes.byref(ONE), bias, at.a, ctypes.byref(ONE), x, at.b))  # second


def network(at: Place) -> tuple[ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]:
    """Return the descriptors of an LSTM without biases, of its inputs and results, and of its states."""
    lstm, states = (
        at.made("cuDNN", f"cudnnCreate{kind}Descriptor", f"cudnnDestroy{kind}Descriptor") for kind in ("RNN", "Tensor")
    )
    dnn, sizes = library("cuDNN"), (ctypes.c_int * 3)(1, 2, 2)
    check(dnn.cudnnSetRNNDescriptor_v8(lstm, 0, 2, 0, 0, 0, DOUBLE, DOUBLE, 0, 2, 2, 2, 1, None, 1))
    check(dnn.cudnnSetTensorNdDescriptor(states, DOUBLE, 3, sizes, (ctypes.c_int * 3)(4, 2, 1)))
    return lstm, made(at, "RNNData", DOUBLE, 0, 2, 2, 2, (ctypes.c_int * 2)(2, 2), None), states


@case("cudnnRNNForward", "hx")
def state_of_a_network(at: Place) -> None:
    """The state of a recurrent network is written in another stream before the next sequence, as by a server."""
    dnn, h, (lstm, data, states), write = library("cuDNN"), handle(at), network(at), fill(at, at.c)
    start = h, lstm, 0, None, data, at.a, data, at.b, states, at.c, None, states, None, None
    check(write())  # first
    at.wait()
    check(dnn.cudnnRNNForward(*start, at.bytes, at.x, at.bytes, at.work, *NOTHING[::-1]))  # second


@case("cudnnRNNForward", "y")
def results_of_a_network(at: Place) -> None:
    """The results of a recurrent network are copied in another stream."""
    dnn, h, (lstm, data, states), copy = library("cuDNN"), handle(at), network(at), read(at, at.b)
    start = h, lstm, 0, None, data, at.a, data, at.b, states, at.c, None, states, None, None
    check(dnn.cudnnRNNForward(*start, at.bytes, at.x, at.bytes, at.work, *NOTHING[::-1]))  # first
    at.wait(of="side")
    check(copy())  # second
