"""The loss of connectionist temporal classification by cuDNN, compared with a sum over all paths."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from dnn_probe import BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, SUCCESS, Dnn, Long, close, ints, of

STEPS, ALPHABET = 5, 4
SAMPLES: list[tuple[list[int], int]] = [([1, 2], 5), ([3, 3], 4), ([2], 3), ([], 5), ([1, 1, 1], 4)]
"""Labels and time steps. The last sample has no path: equal labels need blanks between them."""


def softmax(x: np.ndarray) -> np.ndarray:
    terms = np.exp(x - x.max(-1, keepdims=True))
    values: np.ndarray = terms / terms.sum(-1, keepdims=True)
    return values


def cost(probabilities: np.ndarray, labels: Sequence[int]) -> float:
    """Return the cost of one sample from all paths: equal symbols in turn count once, and blanks do not count."""
    total = 0.0
    for path in itertools.product(range(ALPHABET), repeat=len(probabilities)):
        if [symbol for symbol, _ in itertools.groupby(path) if symbol] == list(labels):
            total += float(np.prod([row[symbol] for row, symbol in zip(probabilities, path, strict=True)]))
    return float(-np.log(total)) if total else np.inf


def expected(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the costs, and the gradients by differences."""
    costs, gradients = np.zeros(len(SAMPLES)), np.zeros(values.shape)
    for number, (labels, steps) in enumerate(SAMPLES):
        own = values[:steps, number]
        costs[number] = cost(softmax(own), labels)
        if np.isfinite(costs[number]):
            for at in np.ndindex(own.shape):
                step = np.zeros(own.shape)
                step[at] = 1e-5
                both = cost(softmax(own + step), labels), cost(softmax(own - step), labels)
                gradients[(at[0], number, at[1])] = (both[0] - both[1]) / 2e-5
    return costs, gradients


def host(samples: Sequence[tuple[list[int], int]] = SAMPLES) -> tuple[Any, Any, Any]:
    labels = [label for labels, _ in samples for label in labels]
    return ints(labels), ints([len(labels) for labels, _ in samples]), ints([steps for _, steps in samples])


def descriptor(dnn: Dnn, *settings: int) -> ctypes.c_void_p:
    made = dnn.made("CTCLoss")
    assert dnn.plain("SetCTCLossDescriptor_v9", made, *settings) == SUCCESS
    return made


@pytest.mark.parametrize("algorithm", [0, 1])
@pytest.mark.parametrize("is_normalized", [False, True], ids=["activations", "probabilities"])
def test_costs_and_gradients(dnn: Dnn, algorithm: int, is_normalized: bool) -> None:
    values = dnn.random((STEPS, len(SAMPLES), ALPHABET)) / 2
    given = dnn.tensor(softmax(values) if is_normalized else values)
    gradients, costs = dnn.tensor(np.ones(values.shape)), dnn.put(np.ones(len(SAMPLES), np.float32))
    made = descriptor(dnn, 0, int(not is_normalized), 0, 3)
    size = ctypes.c_size_t(99)
    arguments = *host(), algorithm, made, ctypes.byref(size)
    assert dnn.call("GetCTCLossWorkspaceSize", given.descriptor, gradients.descriptor, *arguments) == SUCCESS
    assert size.value == 0
    arguments = *of(given), *host(), costs
    assert dnn.call("CTCLoss", *arguments, *of(gradients), algorithm, made, None, Long(0)) == SUCCESS
    right_costs, right_gradients = expected(values)
    close(dnn.values(gradients), right_gradients, "float")
    found = dnn.get(costs, np.zeros(len(SAMPLES), np.float32))
    np.testing.assert_allclose(found, right_costs, rtol=1e-5)
    # Without gradients, the costs are the same.
    other = dnn.put(np.ones(len(SAMPLES), np.float32))
    assert dnn.call("CTCLoss", *of(given), *host(), other, None, None, algorithm, made, None, Long(0)) == SUCCESS
    np.testing.assert_array_equal(dnn.get(other, found), found)


def test_descriptor_tells_its_settings(dnn: Dnn) -> None:
    made = dnn.made("CTCLoss")
    found = [ctypes.c_int(-1) for _ in range(4)]
    at = [ctypes.byref(each) for each in found]
    for version, settings in (("", [0]), ("Ex", [0, 1, 1]), ("_v8", [0, 1, 1, 7]), ("_v9", [0, 1, 1, 9])):
        name = f"CTCLossDescriptor{version}"
        assert dnn.plain(f"Set{name}", made, *settings) == SUCCESS
        assert dnn.plain(f"Get{name}", made, *at[: len(settings)]) == SUCCESS
        assert [each.value for each in found[: len(settings)]] == settings
    for wrong, status in (((7, 0, 0, 0), NOT_SUPPORTED), ((1, 0, 0, 0), NOT_SUPPORTED), ((0, 2, 0, 0), BAD_PARAM)):
        assert dnn.plain("SetCTCLossDescriptor_v9", made, *wrong) == status
    assert dnn.plain("CreateCTCLossDescriptor", None) == NULL_POINTER


def test_wrong_arguments_are_refused(dnn: Dnn) -> None:
    shape = (STEPS, len(SAMPLES), ALPHABET)
    given, gradients, costs = dnn.tensor(np.ones(shape)), dnn.tensor(np.ones(shape)), dnn.memory(4 * len(SAMPLES))
    made = descriptor(dnn, 0, 1, 0, 3)

    def status(samples: Any = SAMPLES, at: Any = gradients, algorithm: int = 0, loss: Any = made) -> int:
        return dnn.call("CTCLoss", *of(given), *host(samples), costs, *of(at), algorithm, loss, None, Long(0))

    for label, steps in ((0, 5), (ALPHABET, 5), (-1, 5), (1, STEPS + 1), (1, -1)):
        assert status([([label], steps), *SAMPLES[1:]]) == BAD_PARAM
    assert status(at=dnn.tensor(np.ones((STEPS, 2, ALPHABET)))) == BAD_PARAM
    assert status(at=dnn.tensor(np.ones(shape), "double")) == NOT_SUPPORTED
    assert status(algorithm=2) == BAD_PARAM
    assert (
        dnn.call("CTCLoss", *of(given), None, None, None, costs, *of(gradients), 0, made, None, Long(0)) == NULL_POINTER
    )


def on_device(dnn: Dnn, samples: Sequence[tuple[list[int], int]] = SAMPLES) -> list[Any]:
    """The labels, their numbers and the time steps in device memory, without room for more."""
    labels = [label for labels, _ in samples for label in labels]
    lists = labels, [len(labels) for labels, _ in samples], [steps for _, steps in samples]
    return [dnn.put(np.array(each, np.int32)) for each in lists]


def loss_on_device(dnn: Dnn, made: Any, samples: Sequence[tuple[list[int], int]] = SAMPLES) -> tuple[Any, Any, Any]:
    """Return the values, the costs and the gradients, which were 7."""
    values = dnn.random((STEPS, len(samples), ALPHABET)) / 2
    given, gradients = dnn.tensor(values), dnn.tensor(np.full(values.shape, 7.0))
    costs, size = dnn.put(np.ones(len(samples), np.float32)), ctypes.c_size_t()
    tensors = given.descriptor, gradients.descriptor
    assert dnn.call("GetCTCLossWorkspaceSize_v8", 0, made, *tensors, ctypes.byref(size)) == SUCCESS
    arguments = *on_device(dnn, samples), costs, *of(gradients), Long(size.value), dnn.memory(size.value)
    assert dnn.call("CTCLoss_v8", 0, made, *of(given), *arguments) == SUCCESS
    return values, dnn.get(costs, np.zeros(len(samples), np.float32)), dnn.values(gradients)


@pytest.mark.parametrize("longest", [3, 255])
def test_labels_on_the_device(dnn: Dnn, longest: int) -> None:
    values, costs, gradients = loss_on_device(dnn, descriptor(dnn, 0, 1, 0, longest))
    right_costs, right_gradients = expected(values)
    np.testing.assert_allclose(costs, right_costs, rtol=1e-5)
    close(gradients, right_gradients, "float")


@pytest.mark.parametrize("host_labels", [False, True], ids=["device", "host"])
def test_gradients_of_a_sample_without_a_path_stay(dnn: Dnn, host_labels: bool) -> None:
    keeps = descriptor(dnn, 0, 1, 1, 3)
    if host_labels:
        values = dnn.random((STEPS, len(SAMPLES), ALPHABET)) / 2
        given, kept = dnn.tensor(values), dnn.tensor(np.full(values.shape, 7.0))
        arguments = *of(given), *host(), dnn.memory(4 * len(SAMPLES)), *of(kept), 0, keeps, None, Long(0)
        assert dnn.call("CTCLoss", *arguments) == SUCCESS
        gradients = dnn.values(kept)
    else:
        values, _, gradients = loss_on_device(dnn, keeps)
    _, right = expected(values)
    close(gradients[:, :4], right[:, :4], "float")
    assert (gradients[:, 4] == 7).all()


def test_sample_that_the_device_describes_wrongly_has_no_numbers(dnn: Dnn) -> None:
    made = descriptor(dnn, 0, 1, 0, 3)
    for wrong in (([ALPHABET], 5), ([0], 5), ([1], STEPS + 1), ([1], -1)):
        _, costs, gradients = loss_on_device(dnn, made, [*SAMPLES[:2], wrong, SAMPLES[2], SAMPLES[3]])
        assert np.isnan(costs[2])
        assert np.isnan(gradients[:, 2]).all()
        assert np.isfinite(np.delete(costs, 2)).all()


def test_arguments_with_labels_on_the_device_are_checked(dnn: Dnn) -> None:
    made, values = descriptor(dnn, 0, 1, 0, 3), np.ones((STEPS, len(SAMPLES), ALPHABET))
    given, gradients, work = dnn.tensor(values), dnn.tensor(values), dnn.memory(4)
    costs, lists = dnn.memory(4 * len(SAMPLES)), on_device(dnn)

    def status(algorithm: int = 0, loss: Any = made, size: int = 4, work: Any = work, lists: list[Any] = lists) -> int:
        arguments = *of(given), *lists, costs, *of(gradients), Long(size), work
        return dnn.call("CTCLoss_v8", algorithm, loss, *arguments)

    assert status() == SUCCESS
    assert status(algorithm=2) == BAD_PARAM
    assert status(size=3) == BAD_PARAM
    assert status(loss=descriptor(dnn, 0, 1, 0, 0)) == BAD_PARAM
    assert status(work=None) == NULL_POINTER
    assert status(lists=[lists[0], None, lists[2]]) == NULL_POINTER
