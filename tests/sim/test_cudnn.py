"""Handles, versions, descriptors and errors of the stand-in for cuDNN, and the functions that it refuses by name."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import driver_probe
import numpy as np
import pytest
from dnn_probe import (
    BAD_PARAM,
    EXECUTION_FAILED,
    GAP,
    KINDS,
    NOT_INITIALIZED,
    NOT_SUPPORTED,
    NULL_POINTER,
    SUCCESS,
    Dnn,
    Long,
    ints,
    of,
)
from dnn_recurrent import Recurrent, Sizes


def test_handle_keeps_its_stream(dnn: Dnn) -> None:
    handle, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert dnn.plain("Create", ctypes.byref(handle)) == SUCCESS
    assert dnn.plain("SetStream", handle, dnn.stream) == SUCCESS
    assert dnn.plain("GetStream", handle, ctypes.byref(stream)) == SUCCESS
    assert stream.value == dnn.stream.value
    assert dnn.plain("GetStream", handle, None) == NULL_POINTER
    assert dnn.plain("Destroy", handle) == SUCCESS
    assert dnn.plain("Destroy", handle) == NOT_INITIALIZED
    assert dnn.plain("Destroy", None) == NULL_POINTER
    assert dnn.plain("Create", None) == NULL_POINTER


def test_version_and_its_parts_agree(dnn: Dnn) -> None:
    parts = []
    for kind in range(3):
        value = ctypes.c_int()
        assert dnn.plain("GetProperty", kind, ctypes.byref(value)) == SUCCESS
        parts.append(value.value)
    assert dnn.library.cudnnGetVersion() == parts[0] * 10_000 + parts[1] * 100 + parts[2]
    assert dnn.plain("GetProperty", 3, ctypes.byref(value)) == BAD_PARAM


def test_refusal_prints_its_name_once(dnn_library: ctypes.CDLL) -> None:
    program = (
        "import ctypes, sys; library = ctypes.CDLL(sys.argv[1])\nprint(library.cudnnIm2Col(), library.cudnnIm2Col())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, dnn_library._name], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(NOT_SUPPORTED)] * 2
    assert done.stderr.count("cudnnIm2Col is not supported") == 1
    assert dnn_library.cudnnGetErrorString(NOT_SUPPORTED) == b"CUDNN_STATUS_NOT_SUPPORTED"


def test_last_error_names_the_function_and_its_status(dnn: Dnn) -> None:
    assert dnn.plain("Create", None) == NULL_POINTER
    assert dnn.last_error() == "cudnnCreate returns CUDNN_STATUS_BAD_PARAM_NULL_POINTER"
    assert dnn.last_error() == ""


TYPE_SIZES = {0: 4, 1: 8, 2: 2, 3: 1, 4: 4, 6: 1, 9: 2, 10: 8}


@pytest.mark.parametrize("kind", list(TYPE_SIZES))
def test_tensor_descriptor_keeps_what_is_set(dnn: Dnn, kind: int) -> None:
    numbers, size = [ctypes.c_int() for _ in range(9)], ctypes.c_size_t()
    places = [ctypes.byref(each) for each in numbers]
    dims = [2, 3, 4, 5]
    for setter, arguments, strides in (
        ("Tensor4d", (0, kind, *dims), [60, 20, 5, 1]),
        ("Tensor4d", (1, kind, *dims), [60, 1, 15, 3]),
        ("TensorNd", (kind, 4, ints(dims), ints([100, 30, 6, 1])), [100, 30, 6, 1]),
    ):
        tensor = dnn.made("Tensor", *arguments, of=setter)
        assert dnn.plain("GetTensor4dDescriptor", tensor, *places) == SUCCESS
        assert [each.value for each in numbers] == [kind, *dims, *strides]
        assert dnn.plain("GetTensorSizeInBytes", tensor, ctypes.byref(size)) == SUCCESS
        span = 1 + sum((count - 1) * stride for count, stride in zip(dims, strides, strict=True))
        assert size.value == span * TYPE_SIZES[kind]
        found = ints([0] * 8)
        assert dnn.plain("GetTensorNdDescriptor", tensor, 8, *places[:2], found, found) == SUCCESS
        assert (numbers[1].value, list(found)[:4]) == (4, strides)
    tensor = dnn.made("Tensor")
    assert dnn.plain("SetTensor4dDescriptorEx", tensor, kind, *dims, 60, 20, 5, 1) == SUCCESS
    assert dnn.plain("SetTensorNdDescriptorEx", tensor, 1, kind, 5, ints([2, 3, 4, 5, 6])) == SUCCESS
    assert dnn.plain("GetTensorNdDescriptor", tensor, 8, *places[:2], ints([0] * 8), found) == SUCCESS
    assert list(found)[:5] == [360, 1, 90, 18, 3]
    assert dnn.plain("GetTensor4dDescriptor", tensor, *places) == BAD_PARAM


def test_filter_descriptor_keeps_what_is_set(dnn: Dnn) -> None:
    numbers, size = [ctypes.c_int() for _ in range(6)], ctypes.c_size_t()
    places = [ctypes.byref(each) for each in numbers]
    filters = dnn.made("Filter", 2, 1, 6, 5, 4, 3, of="Filter4d")
    assert dnn.plain("GetFilter4dDescriptor", filters, *places) == SUCCESS
    assert [each.value for each in numbers] == [2, 1, 6, 5, 4, 3]
    assert dnn.plain("GetFilterSizeInBytes", filters, ctypes.byref(size)) == SUCCESS
    assert size.value == 720
    dims = ints([0] * 4)
    assert dnn.plain("GetFilterNdDescriptor", filters, 3, *places[:3], dims) == SUCCESS
    assert [*(each.value for each in numbers[:3]), *dims] == [2, 1, 4, 6, 5, 4, 0]


def test_wrong_descriptors_are_refused(dnn: Dnn) -> None:
    tensor, dims = dnn.made("Tensor"), ints([2, 3, 4, 5])
    assert dnn.plain("SetTensor4dDescriptor", tensor, 0, 77, 1, 1, 1, 1) == BAD_PARAM
    assert dnn.plain("SetTensor4dDescriptor", tensor, 5, 0, 1, 1, 1, 1) == BAD_PARAM
    assert dnn.plain("SetTensor4dDescriptor", tensor, 2, 0, 1, 1, 1, 1) == NOT_SUPPORTED
    assert dnn.plain("SetTensor4dDescriptor", tensor, 0, 5, 1, 1, 1, 1) == NOT_SUPPORTED
    assert dnn.plain("SetTensor4dDescriptor", tensor, 0, 0, 1, 0, 1, 1) == BAD_PARAM
    assert dnn.plain("SetTensor4dDescriptor", tensor, 0, 0, 1, -1, 1, 1) == BAD_PARAM
    assert dnn.plain("SetTensor4dDescriptor", tensor, 0, 0, 2**16, 2**16, 1, 1) == NOT_SUPPORTED
    assert dnn.plain("SetTensorNdDescriptor", tensor, 0, 9, dims, dims) == BAD_PARAM
    assert dnn.plain("SetTensorNdDescriptor", tensor, 0, 2, dims, dims) == BAD_PARAM
    assert dnn.plain("SetTensorNdDescriptor", tensor, 0, 4, None, dims) == NULL_POINTER
    assert dnn.plain("SetTensorNdDescriptor", tensor, 0, 4, dims, ints([1, 1, 1, -1])) == BAD_PARAM
    assert dnn.plain("SetTensor4dDescriptor", None, 0, 0, 1, 1, 1, 1) == NULL_POINTER
    assert dnn.plain("SetTensor4dDescriptor", ctypes.c_void_p(123), 0, 0, 1, 1, 1, 1) == BAD_PARAM
    # A failed call leaves the descriptor as it was.
    assert dnn.plain("GetTensorSizeInBytes", tensor, ctypes.byref(ctypes.c_size_t())) == BAD_PARAM
    assert dnn.plain("CreateTensorDescriptor", None) == NULL_POINTER
    assert dnn.plain("DestroyTensorDescriptor", None) == SUCCESS
    assert dnn.plain("DestroyTensorDescriptor", ctypes.c_void_p(123)) == BAD_PARAM


def test_descriptor_of_another_kind_is_refused(dnn: Dnn) -> None:
    kinds = (
        "Tensor",
        "Filter",
        "Convolution",
        "Pooling",
        "Activation",
        "OpTensor",
        "ReduceTensor",
        "Dropout",
        "LRN",
        "CTCLoss",
        "RNN",
        "RNNData",
    )
    made = {kind: dnn.made(kind) for kind in kinds}
    for kind in kinds:
        for other, descriptor in made.items():
            if other != kind:
                assert dnn.plain(f"Destroy{kind}Descriptor", descriptor) == BAD_PARAM, (kind, other)


def test_tensor_with_two_elements_at_one_place_is_refused(dnn: Dnn) -> None:
    x = dnn.tensor(np.ones((2, 3, 4, 5)))
    wrong = dnn.made("Tensor", 0, 4, ints([2, 3, 4, 5]), ints([60, 20, 4, 1]), of="TensorNd")
    one, zero = dnn.scalar(1), dnn.scalar(0)
    assert dnn.call("TransformTensor", one, *of(x), zero, wrong, dnn.memory(480)) == BAD_PARAM


def test_integers_have_no_arithmetic(dnn: Dnn) -> None:
    integers = dnn.made("Tensor", 0, 4, 1, 1, 2, 2, of="Tensor4d")
    at, one = dnn.memory(16), dnn.scalar(1)
    assert dnn.call("AddTensor", one, integers, at, one, integers, at) == NOT_SUPPORTED


def test_descriptors_of_operations_keep_what_is_set(dnn: Dnn) -> None:
    numbers, coefficient = [ctypes.c_int() for _ in range(5)], ctypes.c_double()
    places = [ctypes.byref(each) for each in numbers]
    curve = dnn.made("Activation", 3, 1, 2.5)
    assert dnn.plain("GetActivationDescriptor", curve, *places[:2], ctypes.byref(coefficient)) == SUCCESS
    assert (numbers[0].value, numbers[1].value, coefficient.value) == (3, 1, 2.5)
    assert dnn.plain("SetActivationDescriptorSwishBeta", curve, 0.25) == SUCCESS
    assert dnn.plain("GetActivationDescriptorSwishBeta", curve, ctypes.byref(coefficient)) == SUCCESS
    assert coefficient.value == 0.25
    assert dnn.plain("SetActivationDescriptor", curve, 8, 0, 1.0) == BAD_PARAM
    operation = dnn.made("OpTensor", 2, 1, 1)
    assert dnn.plain("GetOpTensorDescriptor", operation, *places[:3]) == SUCCESS
    assert [each.value for each in numbers[:3]] == [2, 1, 1]
    assert dnn.plain("SetOpTensorDescriptor", operation, 6, 0, 0) == BAD_PARAM
    assert dnn.plain("SetOpTensorDescriptor", operation, 0, 2, 0) == NOT_SUPPORTED
    reduction = dnn.made("ReduceTensor", 7, 0, 1, 0, 2)
    assert dnn.plain("GetReduceTensorDescriptor", reduction, *places) == SUCCESS
    assert [each.value for each in numbers] == [7, 0, 1, 0, 2]
    assert dnn.plain("SetReduceTensorDescriptor", reduction, 3, 0, 0, 1, 0) == NOT_SUPPORTED
    assert dnn.plain("SetReduceTensorDescriptor", reduction, 9, 0, 0, 0, 0) == BAD_PARAM


def test_address_that_is_no_memory_of_the_device_fails(dnn: Dnn) -> None:
    x, one, zero = dnn.tensor(np.ones((1, 2, 3, 4))), dnn.scalar(1), dnn.scalar(0)
    nowhere = ctypes.c_void_p(4096)
    assert dnn.call("TransformTensor", one, *of(x), zero, x.descriptor, nowhere) == EXECUTION_FAILED
    assert dnn.call("TransformTensor", one, x.descriptor, nowhere, zero, *of(x)) == EXECUTION_FAILED


CALLS = {
    "AddTensor": "sTpsTp",
    "TransformTensor": "sTpsTp",
    "ScaleTensor": "Tps",
    "SetTensor": "Tps",
    "OpTensor": "OsTpsTpsTp",
    "ReduceTensor": "RplplsTpsTp",
    "SoftmaxForward": "iisTpsTp",
    "SoftmaxBackward": "iisTpTpsTp",
    "PoolingForward": "PsTpsTp",
    "PoolingBackward": "PsTpTpTpsTp",
    "ActivationForward": "AsTpsTp",
    "ActivationBackward": "AsTpTpTpsTp",
    "BatchNormalizationForwardInference": "issTpTpTppppd",
    "BatchNormalizationForwardTraining": "issTpTpTppdppdpp",
    "BatchNormalizationBackward": "issssTpTpTpTpppdpp",
    "ConvolutionForward": "sTpFpCiplsTp",
    "ConvolutionBackwardData": "sFpTpCiplsTp",
    "ConvolutionBackwardFilter": "sTpTpCiplsFp",
    "ConvolutionBackwardBias": "sTpsTp",
    "ConvolutionBiasActivationForward": "sTpFpCiplsTpTpATp",
    "DropoutForward": "DTpTppl",
    "DropoutBackward": "DTpTppl",
    "RNNForward": "NipQpQpTppTpplplplp",
    "RNNBackwardData_v8": "NpQppQpTpppTppplplplp",
    "RNNBackwardWeights_v8": "NipQpTpQplplplp",
    "GetRNNWeightParams": "NilpiTnTn",
    "GetRNNTempSpaceSizes": "NiQnn",
    "GetConvolutionForwardAlgorithm_v7": "TFCTinn",
    "FindConvolutionForwardAlgorithmEx": "TpFpCTpinnpl",
    "FindConvolutionBackwardDataAlgorithm": "FTCTinn",
    "GetConvolutionBackwardFilterWorkspaceSize": "TTCFin",
}
"""The arguments of each function after its handle: descriptors by the capital of their type, pointers, scalars, numbers."""


def test_arguments_of_any_values_crash_nothing_and_write_nothing_else(dnn: Dnn) -> None:
    rng = dnn.rng
    guard = np.full(4096, GAP, np.uint8)
    untouched, memory = dnn.put(guard), dnn.put(np.ones(1 << 12))
    recurrent, *others = (Recurrent(dnn, Sizes(mode, layers=1)) for mode in (2, 0, 1, 3))
    shapes = [(1, 1, 1, 1), (2, 3, 4, 4), (1, 3, 1, 1), (2, 3, 2, 2), (2, 3, 2, 4, 4), (1, 1, 1)]
    values: dict[str, list[Any]] = {
        "T": [dnn.tensor(np.zeros(shape), kind).descriptor for shape in shapes for kind in KINDS],
        "F": [dnn.filter(np.zeros(shape), kind).descriptor for shape in shapes for kind in ("float", "half")],
        "C": [dnn.made("Convolution", pad, pad, 1, 2, 1, 1, pad % 2, 0, of="Convolution2d") for pad in range(3)],
        "P": [dnn.made("Pooling", mode, 0, 2, 2, 1, 0, 2, 2, of="Pooling2d") for mode in range(4)],
        "A": [dnn.made("Activation", mode, 0, 1.0) for mode in range(7)],
        "O": [dnn.made("OpTensor", operation, 0, 0) for operation in range(6)],
        "R": [dnn.made("ReduceTensor", operation, 0, 0, 0, 0) for operation in range(9)],
        "D": [dnn.made("Dropout")],
        "N": [each.descriptor for each in (recurrent, *others)],
        "Q": [recurrent.of_x, recurrent.of_y],
        "p": [memory],
        "s": [dnn.scalar(value) for value in (0, 1, -2)],
        "n": [ctypes.create_string_buffer(4096)],
        "i": [-1, 0, 1, 2, 5, 77, 2**31 - 1],
        "l": [Long(0), Long(512), Long(2**63)],
        "d": [-1.0, 0.0, 0.5, float("nan"), float("inf")],
    }
    values["T"] += [recurrent.of_h, recurrent.of_c] * 4
    for kind in "TFCPAORDNQ":
        values[kind] += [None, ctypes.c_void_p(8), dnn.made("Tensor"), values["T"][0]]
    values["p"] += [memory] * 4 + [None]
    succeeded = set()
    for name, kinds in CALLS.items():
        for _ in range(250):
            arguments = [values[kind][int(rng.integers(len(values[kind])))] for kind in kinds]
            status = dnn.call(name, *arguments)
            assert status in (SUCCESS, BAD_PARAM, NULL_POINTER, NOT_SUPPORTED, EXECUTION_FAILED), (name, arguments)
            succeeded |= {name} if status == SUCCESS else set()
    driver_probe.call("cuStreamSynchronize", dnn.stream)
    np.testing.assert_array_equal(dnn.get(untouched, guard), guard)
    # Random arguments are right often enough that calls which compute are among them.
    assert {"AddTensor", "ScaleTensor", "SetTensor", "TransformTensor", "SoftmaxForward"} <= succeeded
