"""Recurrent networks by cuDNN, compared with their equations in NumPy and with differences of the results."""

from __future__ import annotations

import ctypes
from typing import Any

import driver_probe
import numpy as np
import pytest
from dnn_probe import BAD_PARAM, KINDS, NOT_SUPPORTED, NULL_POINTER, SUCCESS, Dnn, Long, close, ints
from dnn_recurrent import BATCH_MAJOR, GRU, LSTM, PACKED, RELU, STEP_MAJOR, TANH, Recurrent, Sizes, Vectors

MODES = {"relu": RELU, "tanh": TANH, "lstm": LSTM, "gru": GRU}
LAYOUTS = {"step-major": STEP_MAJOR, "packed": PACKED, "batch-major": BATCH_MAJOR}
UNSORTED, SORTED = (2, 5, 0, 3), (5, 3, 3, 1)


def lengths_of(layout: int) -> tuple[int, ...]:
    return SORTED if layout == PACKED else UNSORTED


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("layout", list(LAYOUTS.values()), ids=list(LAYOUTS))
@pytest.mark.parametrize("mode", list(MODES.values()), ids=list(MODES))
def test_results_are_those_of_the_equations(dnn: Dnn, mode: int, layout: int, kind: str) -> None:
    network = Recurrent(dnn, Sizes(mode, directions=2), kind=kind, lengths=lengths_of(layout), longest=6, layout=layout)
    # The values as the type represents them.
    network.weights = rounded(network, network.weights)
    x, hx, cx = network.random()
    x, hx, cx = [rounded(network, sequence) for sequence in x], rounded(network, hx), rounded(network, cx)
    y, hy, cy = network.results(network.forward(x, hx, cx))
    right_y, right_hy, right_cy = network.expected(x, hx, cx)
    for found, right in zip(y, right_y, strict=True):
        close(found, right, kind)
    close(hy, right_hy, kind)
    if mode == LSTM:
        close(cy, right_cy, kind)


def rounded(network: Recurrent, values: np.ndarray) -> np.ndarray:
    return network.get(network.dnn.put(network.space(values)), values.shape)


@pytest.mark.parametrize("bias", range(4))
@pytest.mark.parametrize("skips", [False, True], ids=["matrix", "skip"])
@pytest.mark.parametrize("mode", list(MODES.values()), ids=list(MODES))
def test_biases_and_input_modes(dnn: Dnn, mode: int, skips: bool, bias: int) -> None:
    network = Recurrent(dnn, Sizes(mode, bias, skips=skips, inputs=4), kind="double", lengths=(3, 3))
    x, hx, _ = network.random()
    # The states that a program does not give are zero.
    y, hy, _ = network.results(network.forward(x, hx, None, mode=0))
    right_y, right_hy, _ = network.expected(x, hx, None)
    for found, right in zip(y, right_y, strict=True):
        close(found, right, "double")
    close(hy, right_hy, "double")


def change(network: Recurrent, size: float) -> tuple[Vectors, np.ndarray, np.ndarray, np.ndarray]:
    x, hx, cx = network.random()
    return [size * sequence for sequence in x], size * hx, size * cx, size * dnn_uniform(network, network.weights.shape)


def dnn_uniform(network: Recurrent, shape: Any) -> np.ndarray:
    return network.dnn.rng.uniform(-1, 1, shape)


GRADIENTS = {
    **{name: (Sizes(mode, directions=2), 0.0) for name, mode in MODES.items()},
    "dropout": (Sizes(LSTM, directions=2, layers=3), 0.4),
    "projection": (Sizes(LSTM, directions=2, projected=2), 0.0),
    "one bias": (Sizes(GRU, bias=3, layers=1), 0.0),
}


@pytest.mark.parametrize("layout", list(LAYOUTS.values()), ids=list(LAYOUTS))
@pytest.mark.parametrize("name", list(GRADIENTS))
def test_gradients_are_the_differences_of_the_results(dnn: Dnn, name: str, layout: int) -> None:
    sizes, probability = GRADIENTS[name]
    network = Recurrent(
        dnn, sizes, kind="double", lengths=lengths_of(layout), longest=5, layout=layout, probability=probability
    )
    (x, hx, cx), weights = network.random(), network.weights
    dy = [dnn_uniform(network, (length, sizes.width)) for length in network.lengths]
    dhy, dcy = dnn_uniform(network, hx.shape), dnn_uniform(network, cx.shape)
    steps = change(network, 1e-5)

    def loss(sign: float) -> float:
        network.draw_again()
        network.weights = weights + sign * steps[3]
        moved = [sequence + sign * step for sequence, step in zip(x, steps[0], strict=True)]
        y, hy, cy = network.results(network.forward(moved, hx + sign * steps[1], cx + sign * steps[2]))
        cells = float((cy * dcy).sum()) if sizes.mode == LSTM else 0.0
        return sum(float((a * b).sum()) for a, b in zip(y, dy, strict=True)) + float((hy * dhy).sum()) + cells

    expected = (loss(1) - loss(-1)) / 2
    network.weights = weights
    network.draw_again()
    at = network.forward(x, hx, cx)
    dx, dhx, dcx, dw = network.backward(at, dy, dhy, dcy)
    cells = float((dcx * steps[2]).sum()) if sizes.mode == LSTM else 0.0
    found = sum(float((a * b).sum()) for a, b in zip(dx, steps[0], strict=True))
    found += float((dhx * steps[1]).sum()) + cells + float((dw * steps[3]).sum())
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-10)
    # The first call leaves the reserve space right for another, whose gradients are added.
    before = dnn_uniform(network, weights.shape)
    close(network.backward(at, dy, dhy, dcy, add=before)[3], before + dw, "double")


@pytest.mark.parametrize("kind", ["half", "bfloat16", "float"])
def test_gradients_of_small_types_are_close_to_those_of_double(dnn: Dnn, kind: str) -> None:
    found = []
    rng = np.random.default_rng(3)
    values = [rng.uniform(-1, 1, (4, 3)) for _ in range(2)]
    changes = [rng.uniform(-1, 1, (4, 8)) for _ in range(2)]
    for each in (kind, "double"):
        network = Recurrent(dnn, Sizes(LSTM, directions=2), kind=each)
        network.weights = np.random.default_rng(5).uniform(-0.5, 0.5, network.weights.shape)
        dx, _, _, dw = network.backward(network.forward(values, None, None), changes, None, None)
        found.append((np.array(dx), dw))
    for ours, right in zip(*found, strict=True):
        # A rounded sum of rounded values.
        np.testing.assert_allclose(ours, right, rtol=0, atol={"half": 1e-2, "bfloat16": 8e-2, "float": 1e-5}[kind])


@pytest.mark.parametrize("layout", [STEP_MAJOR, BATCH_MAJOR], ids=["step-major", "batch-major"])
def test_padding_of_results_is_filled_or_untouched(dnn: Dnn, layout: int) -> None:
    for fill, expected in ((-1.5, -1.5), (None, 77)):
        network = Recurrent(dnn, Sizes(GRU), lengths=UNSORTED, longest=6, layout=layout, fill=fill)
        x, hx, _ = network.random()
        at = network.forward(x, hx, None)
        padding = network.taken(at.y, network.sizes.width)[1]
        assert len(padding) == 14 * network.sizes.width
        assert (padding == expected).all()


@pytest.mark.parametrize("layout", [STEP_MAJOR, PACKED, BATCH_MAJOR], ids=list(LAYOUTS))
def test_sequences_without_steps_keep_their_states(dnn: Dnn, layout: int) -> None:
    network = Recurrent(dnn, Sizes(LSTM, directions=2), lengths=(0, 0), longest=3, layout=layout)
    x, hx, cx = network.random()
    at = network.forward(x, hx, cx)
    _, hy, cy = network.results(at)
    close(hy, hx, "float")
    close(cy, cx, "float")
    _, dhx, dcx, dw = network.backward(at, [np.zeros((0, 8))] * 2, 2 * hx, 3 * cx)
    close(dhx, 2 * hx, "float")
    close(dcx, 3 * cx, "float")
    assert not dw.any()


def test_captured_pass_computes_at_each_launch(dnn: Dnn) -> None:
    network = Recurrent(dnn, Sizes(GRU))
    x, hx, _ = network.random()
    at = network.forward(x, hx, None)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", dnn.stream, 2)
    # The last state is the next first one.
    assert dnn.call("RNNForward", *network.arguments(at._replace(hy=at.hx))) == SUCCESS
    driver_probe.call("cuStreamEndCapture", dnn.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    for _ in range(2):
        driver_probe.call("cuGraphLaunch", executable, dnn.stream)
    state = hx
    for _ in range(2):
        y, state, _ = network.expected(x, state, None)
    close(np.array(network.results(at)[0]), np.array(y), "float")
    driver_probe.call("cuGraphExecDestroy", executable)
    driver_probe.call("cuGraphDestroy", graph)


def test_dropout_draws_anew_and_is_none_in_inference(dnn: Dnn) -> None:
    network = Recurrent(dnn, Sizes(TANH, layers=3), probability=0.5)
    x, hx, _ = network.random()
    first, second = (np.array(network.results(network.forward(x, hx, None))[0]) for _ in range(2))
    assert (first != second).any()
    network.draw_again()
    np.testing.assert_array_equal(network.results(network.forward(x, hx, None))[0], first)
    without = network.results(network.forward(x, hx, None, mode=0))[0]
    for found, right in zip(without, network.expected(x, hx, None)[0], strict=True):
        close(found, right, "float")


def test_dropout_of_everything_leaves_the_biases(dnn: Dnn) -> None:
    network, other = (Recurrent(dnn, Sizes(TANH), probability=probability) for probability in (1.0, 0.0))
    other.weights = network.weights
    x, hx, _ = network.random()
    y = network.results(network.forward(x, hx, None))[0]
    # The matrix of the second layer's input has no effect.
    matrix = network.parameter(1, 0)[0]
    assert matrix is not None
    matrix[...] = 0
    for found, right in zip(y, other.results(other.forward(x, hx, None))[0], strict=True):
        close(found, right, "float")


def test_states_of_cells_are_bounded(dnn: Dnn) -> None:
    network = Recurrent(dnn, Sizes(LSTM, layers=1), kind="double")
    mode, nan, bounds = ctypes.c_int(), ctypes.c_int(), (ctypes.c_double(), ctypes.c_double())
    places = [ctypes.byref(each) for each in (mode, nan, *bounds)]
    assert dnn.plain("RNNSetClip_v8", network.descriptor, 1, 0, -0.25, 0.125) == SUCCESS
    assert dnn.plain("RNNGetClip_v8", network.descriptor, *places) == SUCCESS
    assert (mode.value, nan.value, bounds[0].value, bounds[1].value) == (1, 0, -0.25, 0.125)
    assert dnn.plain("RNNSetClip_v9", network.descriptor, 1, -0.1, 0.1) == SUCCESS
    assert dnn.plain("RNNGetClip_v9", network.descriptor, None, None, places[3]) == SUCCESS
    assert bounds[1].value == 0.1
    x, hx, cx = network.random()
    cy = network.results(network.forward(x, hx, cx))[2]
    assert np.abs(cy).max() == 0.1
    for wrong in ((2, 0.0, 1.0), (1, 1.0, 0.0), (1, float("nan"), 1.0), (1, 0.0, float("inf"))):
        assert dnn.plain("RNNSetClip_v9", network.descriptor, *wrong) == BAD_PARAM
    assert dnn.plain("RNNSetClip_v8", network.descriptor, 1, 2, 0.0, 1.0) == BAD_PARAM
    assert dnn.plain("RNNSetClip_v9", dnn.made("RNN"), 0, 0.0, 1.0) == BAD_PARAM


def test_parameters_that_a_network_lacks_are_null(dnn: Dnn) -> None:
    network = Recurrent(dnn, Sizes(GRU, bias=1, skips=True, inputs=4))
    assert [each is None for each in network.parameter(0, 2)] == [True, False]
    assert [each is None for each in network.parameter(0, 5)] == [False, True]
    assert [each is None for each in network.parameter(1, 2)] == [False, False]
    assert network.parameter(0, 6) == network.parameter(0, 8) == (None, None)
    tensor, address, space = dnn.made("Tensor"), ctypes.c_void_p(), network.space(network.weights).nbytes

    def status(pseudo: int, number: int, size: int = space, descriptor: Any = tensor) -> int:
        start = network.descriptor, pseudo, Long(size), ctypes.c_void_p(64), number
        return dnn.call("GetRNNWeightParams", *start, descriptor, ctypes.byref(address), None, None)

    assert status(0, 0) == SUCCESS
    # A tensor without dimensions has no elements for a call.
    assert dnn.call("SetTensor", tensor, dnn.memory(64), dnn.scalar(0)) == BAD_PARAM
    assert [status(2, 0), status(-1, 0), status(0, 9), status(0, -1), status(0, 0, space - 1)] == [BAD_PARAM] * 5
    assert status(0, 0, descriptor=ctypes.c_void_p(123)) == BAD_PARAM


def test_descriptors_tell_their_settings(dnn: Dnn) -> None:
    dropout = dnn.made("Dropout")
    settings = [0, LSTM, 1, 1, 0, KINDS["half"], KINDS["float"], 2, 5, 4, 3, 2]
    network, numbers = dnn.made("RNN"), [ctypes.c_int() for _ in range(12)]
    assert dnn.plain("SetRNNDescriptor_v8", network, *settings, dropout, 1) == SUCCESS
    found, flags = ctypes.c_void_p(), ctypes.c_uint()
    places = [*(ctypes.byref(each) for each in numbers), ctypes.byref(found), ctypes.byref(flags)]
    assert dnn.plain("GetRNNDescriptor_v8", network, *places) == SUCCESS
    assert [each.value for each in numbers] == settings
    assert (found.value, flags.value) == (dropout.value, 1)
    assert dnn.plain("GetRNNDescriptor_v8", network, None, *places[1:]) == NULL_POINTER
    fill = np.array([2.5], np.float16)
    at = fill.ctypes.data_as(ctypes.c_void_p)
    data = dnn.made("RNNData", KINDS["half"], BATCH_MAJOR, 6, 3, 5, ints([6, 0, 2]), at)
    lengths, told = ints([9] * 4), np.zeros(2, np.float16)
    arguments = *places[:5], 2, lengths, told.ctypes.data_as(ctypes.c_void_p)
    assert dnn.plain("GetRNNDataDescriptor", data, *arguments) == SUCCESS
    assert [each.value for each in numbers[:5]] == [KINDS["half"], BATCH_MAJOR, 6, 3, 5]
    assert (list(lengths), list(told)) == ([6, 0, 9, 9], [2.5, 0])


def test_wrong_networks_are_refused(dnn: Dnn) -> None:
    network = dnn.made("RNN")
    right = [0, LSTM, 2, 0, 0, 0, 0, 0, 3, 4, 4, 2, None, 1]

    def status(**changed: Any) -> int:
        names = "algorithm mode bias direction input kind compute math inputs hidden projected layers dropout flags"
        arguments = dict(zip(names.split(), right, strict=True)) | changed
        return dnn.plain("SetRNNDescriptor_v8", network, *arguments.values())

    assert status() == SUCCESS
    for name, last in (("algorithm", 3), ("mode", 3), ("bias", 3), ("direction", 1), ("input", 1), ("math", 3)):
        assert [status(**{name: last + 1}), status(**{name: -1})] == [BAD_PARAM] * 2, name
    for name in ("inputs", "hidden", "layers"):
        assert [status(**{name: 0}), status(**{name: -1})] == [BAD_PARAM] * 2, name
    assert [status(projected=5), status(projected=-1), status(input=1), status(flags=2)] == [BAD_PARAM] * 4
    assert [status(projected=3), status(projected=0), status(mode=GRU, projected=4)] == [SUCCESS] * 3
    assert [status(projected=3, mode=GRU), status(projected=3, algorithm=1)] == [NOT_SUPPORTED] * 2
    assert [status(kind=3), status(kind=1), status(compute=2), status(kind=7)] == [NOT_SUPPORTED] * 4
    assert status(hidden=2**31 - 1, inputs=2**31 - 1, projected=0, layers=2**31 - 1) == NOT_SUPPORTED
    assert status(dropout=ctypes.c_void_p(123)) == BAD_PARAM
    assert dnn.plain("SetRNNDescriptor_v8", None, *right) == NULL_POINTER
    assert dnn.call("GetRNNWeightSpaceSize", dnn.made("RNN"), ctypes.byref(ctypes.c_size_t())) == BAD_PARAM


def test_wrong_sequences_are_refused(dnn: Dnn) -> None:
    data = dnn.made("RNNData")

    def status(kind: int, layout: int, longest: int, batch: int, vector: int, lengths: Any) -> int:
        return dnn.plain("SetRNNDataDescriptor", data, kind, layout, longest, batch, vector, lengths, None)

    assert status(0, PACKED, 4, 3, 2, ints([4, 2, 2])) == SUCCESS
    assert status(0, PACKED, 4, 3, 2, ints([2, 4, 2])) == BAD_PARAM
    assert status(0, STEP_MAJOR, 4, 3, 2, ints([2, 4, 2])) == SUCCESS
    for lengths in ([5, 1, 1], [1, 1, -1]):
        assert status(0, STEP_MAJOR, 4, 3, 2, ints(lengths)) == BAD_PARAM
    for sizes in ((0, 3, 2), (4, 0, 2), (4, 3, 0), (-1, 3, 2)):
        assert status(0, STEP_MAJOR, *sizes, ints([0, 0, 0])) == BAD_PARAM
    assert status(0, 3, 4, 3, 2, ints([4, 2, 2])) == BAD_PARAM
    assert status(4, 0, 4, 3, 2, ints([4, 2, 2])) == NOT_SUPPORTED
    assert status(0, 0, 2**31 - 1, 3, 2, ints([4, 2, 2])) == NOT_SUPPORTED
    assert status(0, 0, 4, 3, 2, None) == NULL_POINTER


def test_wrong_arguments_of_a_pass_are_refused(dnn: Dnn) -> None:
    network = Recurrent(dnn, Sizes(LSTM, directions=2), lengths=(3, 2), longest=4)
    at = network.forward(*network.random())
    names = (
        "network mode devSeqLengths xDesc x yDesc y hDesc hx hy cDesc cx cy weightSpaceSize weightSpace workSpaceSize workSpace "
        "reserveSpaceSize reserveSpace"
    )
    right = dict(zip(names.split(), network.arguments(at), strict=True))

    def status(**changed: Any) -> int:
        return dnn.call("RNNForward", *(right | changed).values())

    assert status() == SUCCESS
    # An inference needs no reserve space, and states are optional with their descriptors.
    assert status(mode=0, reserveSpaceSize=Long(0), reserveSpace=None) == SUCCESS
    assert status(hDesc=None, hx=None, hy=None, cDesc=None, cx=None, cy=None) == SUCCESS
    assert [status(hDesc=None), status(hDesc=dnn.made("Tensor"))] == [NULL_POINTER, BAD_PARAM]
    for name in ("network", "xDesc", "yDesc", "x", "y", "weightSpace", "workSpace", "reserveSpace"):
        assert status(**{name: None}) == NULL_POINTER, name
    for name in ("weightSpaceSize", "workSpaceSize", "reserveSpaceSize"):
        assert status(**{name: Long(right[name] - 1)}) == BAD_PARAM, name
    assert [status(mode=2), status(hDesc=dnn.tensor(np.zeros((4, 3, 4))).descriptor)] == [BAD_PARAM] * 2
    strided = dnn.tensor(np.zeros(network.hidden_shape), form="gaps").descriptor
    assert [status(hDesc=strided), status(cDesc=dnn.tensor(np.zeros(network.cell_shape), "double").descriptor)] == [
        BAD_PARAM
    ] * 2
    # More dimensions of one element, as PyTorch describes states.
    assert status(hDesc=dnn.tensor(np.zeros((*network.hidden_shape, 1, 1))).descriptor) == SUCCESS
    assert [status(yDesc=network.of_x), status(xDesc=network.of_y)] == [BAD_PARAM] * 2
    network.lengths = [3, 3]
    assert status(yDesc=network.data(8)) == BAD_PARAM


def test_padded_sequences_need_the_flag(dnn: Dnn) -> None:
    network = Recurrent(dnn, Sizes(LSTM), layout=PACKED)
    at = network.forward(*network.random())
    network.layout = STEP_MAJOR
    network.of_x, network.of_y = network.data(3), network.data(4)
    assert dnn.call("RNNForward", *network.arguments(at)) == BAD_PARAM


def test_algorithms_have_their_conditions(dnn: Dnn) -> None:
    for algorithm, kind, lengths, expected in (
        (1, "float", (3, 3), SUCCESS),
        (1, "float", (3, 2), NOT_SUPPORTED),
        (1, "double", (3, 3), NOT_SUPPORTED),
        (3, "float", (3, 2), SUCCESS),
    ):
        network = Recurrent(dnn, Sizes(GRU), kind=kind, lengths=lengths, algorithm=algorithm)
        template = Recurrent(dnn, Sizes(GRU), kind=kind, lengths=lengths)
        at = template.forward(*template.random())
        assert dnn.call("RNNForward", *network.arguments(at)) == expected
        assert dnn.call("BuildRNNDynamic", network.descriptor, 2) == BAD_PARAM
    network, template = (Recurrent(dnn, Sizes(GRU), algorithm=algorithm) for algorithm in (2, 0))
    at = template.forward(*template.random())
    assert dnn.call("RNNForward", *network.arguments(at)) == BAD_PARAM
    assert dnn.call("BuildRNNDynamic", network.descriptor, 0) == BAD_PARAM
    assert dnn.call("BuildRNNDynamic", network.descriptor, 2) == SUCCESS
    assert dnn.call("RNNForward", *network.arguments(at)) == SUCCESS
    assert dnn.call("BuildRNNDynamic", network.descriptor, 3) == SUCCESS
    assert dnn.call("RNNForward", *network.arguments(at)) == BAD_PARAM


def test_settings_of_any_values_crash_nothing(dnn: Dnn) -> None:
    rng, values = dnn.rng, [-1, 0, 1, 2, 3, 4, 5, 9, 77, 2**20, 2**31 - 1]
    network, data, size = dnn.made("RNN"), dnn.made("RNNData"), ctypes.c_size_t()
    allowed = (SUCCESS, BAD_PARAM, NOT_SUPPORTED, NULL_POINTER)
    for _ in range(2000):
        numbers = [int(each) for each in rng.choice(values, 13)]
        assert dnn.plain("SetRNNDescriptor_v8", network, *numbers[:12], None, numbers[12]) in allowed
        small = [int(each) for each in rng.choice(values[:7], 6)]
        assert dnn.plain("SetRNNDataDescriptor", data, *small[:5], ints(small), None) in allowed
        both = ctypes.byref(size), ctypes.byref(size)
        assert dnn.call("GetRNNTempSpaceSizes", network, numbers[0] % 2, data, *both) in allowed
        assert dnn.call("GetRNNWeightSpaceSize", network, ctypes.byref(size)) in allowed
