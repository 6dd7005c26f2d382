"""Recurrent networks of cuDNN for tests: their descriptors, memory and calls, and their equations in NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from device_probe import Address
from dnn_probe import DTYPES, GAP, KINDS, SUCCESS, Dnn, Long, decoded, encoded, ints

RELU, TANH, LSTM, GRU = range(4)
STEP_MAJOR, PACKED, BATCH_MAJOR = range(3)
GATES = {RELU: 1, TANH: 1, LSTM: 4, GRU: 3}

Vectors = list[np.ndarray]
"""The vectors of each sequence: steps by elements."""


class Sizes(NamedTuple):
    """A network as `cudnnSetRNNDescriptor_v8` describes it."""

    mode: int = LSTM
    bias: int = 2
    directions: int = 1
    skips: bool = False
    inputs: int = 3
    hidden: int = 4
    projected: int = 0
    layers: int = 2

    @property
    def state(self) -> int:
        return self.projected or self.hidden

    @property
    def width(self) -> int:
        return self.directions * self.state


def placed(values: Vectors, longest: int, layout: int) -> np.ndarray:
    """Return vectors as they lie in memory. Padding is `GAP`."""
    if layout == PACKED:
        steps = [sequence[step] for step in range(longest) for sequence in values if step < len(sequence)]
        return np.array(steps).reshape(len(steps), values[0].shape[1])
    whole = np.full((len(values), longest, values[0].shape[1]), GAP, np.float64)
    for sequence, of_sequence in zip(whole, values, strict=True):
        sequence[: len(of_sequence)] = of_sequence
    return whole if layout == BATCH_MAJOR else np.ascontiguousarray(whole.swapaxes(0, 1))


def taken(memory: np.ndarray, lengths: Sequence[int], layout: int) -> tuple[Vectors, np.ndarray]:
    """Return the vectors of each sequence, and the elements of the padding."""
    if layout == PACKED:
        rows = iter(memory)
        found: list[list[np.ndarray]] = [[] for _ in lengths]
        for step in range(max(lengths)):
            for sequence, length in zip(found, lengths, strict=True):
                if step < length:
                    sequence.append(next(rows))
        return [np.array(sequence).reshape(-1, memory.shape[1]) for sequence in found], np.empty(0)
    whole = memory if layout == BATCH_MAJOR else memory.swapaxes(0, 1)
    padding = [sequence[length:].ravel() for sequence, length in zip(whole, lengths, strict=True)]
    return [sequence[:length] for sequence, length in zip(whole, lengths, strict=True)], np.concatenate(padding)


class Recurrent:
    """A network with its descriptors, its parameters, and memory for its calls."""

    def __init__(
        self,
        dnn: Dnn,
        sizes: Sizes,
        *,
        kind: str = "float",
        lengths: Sequence[int] = (4, 4),
        longest: int = 0,
        layout: int = STEP_MAJOR,
        fill: float | None = None,
        probability: float = 0.0,
        algorithm: int = 0,
    ) -> None:
        self.dnn, self.sizes, self.kind, self.lengths, self.layout = dnn, sizes, kind, list(lengths), layout
        self.longest = longest or max(lengths)
        self.states = dnn.memory(16)
        self.dropout, self.probability = dnn.made("Dropout"), probability
        self.draw_again()
        self.descriptor = dnn.made("RNN")
        settings = algorithm, sizes.mode, sizes.bias, sizes.directions - 1, int(sizes.skips)
        compute = KINDS["double" if kind == "double" else "float"]
        numbers = sizes.inputs, sizes.hidden, sizes.state, sizes.layers
        arguments = *settings, KINDS[kind], compute, 0, *numbers, self.dropout, int(layout != PACKED)
        assert dnn.plain("SetRNNDescriptor_v8", self.descriptor, *arguments) == SUCCESS
        self.of_x, self.of_y = self.data(sizes.inputs, fill), self.data(sizes.width, fill)
        states = sizes.layers * sizes.directions, len(lengths)
        self.hidden_shape, self.cell_shape = (*states, sizes.state), (*states, sizes.hidden)
        self.of_h, self.of_c = (
            dnn.tensor(np.zeros(shape), kind).descriptor for shape in (self.hidden_shape, self.cell_shape)
        )
        self.weights = dnn.rng.uniform(
            -0.7, 0.7, self.size("GetRNNWeightSpaceSize") // encoded(np.zeros(1), kind).itemsize
        )

    def data(self, vector: int, fill: float | None = None) -> ctypes.c_void_p:
        padding = None if fill is None else encoded(np.array([fill]), self.kind)
        at = None if padding is None else padding.ctypes.data_as(ctypes.c_void_p)
        shape = self.longest, len(self.lengths), vector
        return self.dnn.made("RNNData", KINDS[self.kind], self.layout, *shape, ints(self.lengths), at)

    def draw_again(self) -> None:
        """Let the dropout draw its numbers from the first."""
        arguments = self.dnn.handle, ctypes.c_float(self.probability), self.states, Long(16), ctypes.c_ulonglong(7)
        assert self.dnn.plain("SetDropoutDescriptor", self.dropout, *arguments) == SUCCESS

    def size(self, name: str, *arguments: Any) -> int:
        size = ctypes.c_size_t()
        assert self.dnn.call(name, self.descriptor, *arguments, ctypes.byref(size)) == SUCCESS
        return size.value

    @property
    def reserve_size(self) -> int:
        return self.size("GetRNNTempSpaceSizes", 1, self.of_x, None)

    def parameter(self, pseudo: int, number: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the matrix and the bias of a linear layer as views of the parameters."""
        made = self.dnn.made("Tensor"), self.dnn.made("Tensor")
        addresses = ctypes.c_void_p(), ctypes.c_void_p()
        space = self.space(self.weights)
        places = made[0], ctypes.byref(addresses[0]), made[1], ctypes.byref(addresses[1])
        arguments = self.descriptor, pseudo, Long(space.nbytes), ctypes.c_void_p(1 << 20), number
        assert self.dnn.call("GetRNNWeightParams", *arguments, *places) == SUCCESS
        found: list[np.ndarray | None] = []
        for descriptor, address in zip(made, addresses, strict=True):
            kind, rank, dims, strides = ctypes.c_int(-1), ctypes.c_int(-1), ints([0] * 3), ints([0] * 3)
            shown = ctypes.byref(kind), ctypes.byref(rank), dims, strides
            assert self.dnn.plain("GetTensorNdDescriptor", descriptor, 3, *shown) == SUCCESS
            assert kind.value == KINDS[self.kind]
            assert (rank.value == 0) == (address.value is None)
            if address.value is None:
                found.append(None)
                continue
            assert (rank.value, dims[0], strides[1]) == (3, 1, dims[2])
            start = (address.value - (1 << 20)) // space.itemsize
            found.append(self.weights[start : start + dims[1] * dims[2]].reshape(dims[1], dims[2]))
        return found[0], found[1]

    def space(self, values: np.ndarray) -> np.ndarray:
        return encoded(values, self.kind)

    def put(self, values: np.ndarray | None) -> Address | None:
        return None if values is None else self.dnn.put(self.space(values))

    def get(self, address: Address, shape: Sequence[int]) -> np.ndarray:
        return decoded(self.dnn.get(address, np.empty(shape, DTYPES[self.kind])), self.kind)

    def placed(self, values: Vectors) -> Address:
        return self.dnn.put(self.space(placed(values, self.longest, self.layout)))

    def taken(self, address: Address, vector: int) -> tuple[Vectors, np.ndarray]:
        steps = (sum(self.lengths),) if self.layout == PACKED else (self.longest, len(self.lengths))
        shape = steps if self.layout != BATCH_MAJOR else steps[::-1]
        return taken(self.get(address, (*shape, vector)), self.lengths, self.layout)

    def random(self) -> tuple[Vectors, np.ndarray, np.ndarray]:
        """Return random inputs and states."""
        x = [self.dnn.rng.uniform(-1, 1, (length, self.sizes.inputs)) for length in self.lengths]
        return x, *(self.dnn.rng.uniform(-1, 1, shape) for shape in (self.hidden_shape, self.cell_shape))

    def forward(self, x: Vectors, hx: np.ndarray | None, cx: np.ndarray | None, mode: int = 1) -> Forward:
        """Call `cudnnRNNForward` with memory for all results."""
        steps = placed(x, self.longest, self.layout).shape[:-1]
        results = (*steps, self.sizes.width), self.hidden_shape, self.cell_shape
        y, hy, cy = (self.dnn.put(self.space(np.full(shape, GAP))) for shape in results)
        reserve_size = self.reserve_size if mode else 0
        reserve = self.dnn.memory(reserve_size) if mode else None
        at = Forward(
            self.placed(x), y, hy, cy, self.put(hx), self.put(cx), self.put(self.weights), reserve, Long(reserve_size)
        )
        assert self.dnn.call("RNNForward", *self.arguments(at, mode)) == SUCCESS
        return at

    def work(self) -> tuple[Long, Address]:
        return Long(512), self.dnn.memory(512)

    def arguments(self, at: Forward, mode: int = 1) -> tuple[Any, ...]:
        weights = Long(self.space(self.weights).nbytes), at.weights
        states = self.of_h, at.hx, at.hy, self.of_c, at.cx, at.cy
        start = self.descriptor, mode, None, self.of_x, at.x, self.of_y, at.y
        return *start, *states, *weights, *self.work(), at.reserve_size, at.reserve

    def results(self, at: Forward) -> tuple[Vectors, np.ndarray, np.ndarray]:
        y, _ = self.taken(at.y, self.sizes.width)
        return y, self.get(at.hy, self.hidden_shape), self.get(at.cy, self.cell_shape)

    def backward(
        self, at: Forward, dy: Vectors, dhy: np.ndarray | None, dcy: np.ndarray | None, add: np.ndarray | None = None
    ) -> tuple[Vectors, np.ndarray, np.ndarray, np.ndarray]:
        """Call both gradients, and return those of the inputs, the states and the parameters. With `add` they are added to these."""
        weights = Long(self.space(self.weights).nbytes)
        dx, (dhx, dcx) = (
            self.placed([np.full((length, self.sizes.inputs), GAP) for length in self.lengths]),
            (self.dnn.put(self.space(np.full(shape, GAP))) for shape in (self.hidden_shape, self.cell_shape)),
        )
        start = self.descriptor, None, self.of_y, at.y, self.placed(dy), self.of_x, dx
        states = self.of_h, at.hx, self.put(dhy), dhx, self.of_c, at.cx, self.put(dcy), dcx
        end = *self.work(), at.reserve_size, at.reserve
        assert self.dnn.call("RNNBackwardData_v8", *start, *states, weights, at.weights, *end) == SUCCESS
        sums = self.put(np.full(self.weights.shape, GAP) if add is None else add)
        inputs = self.of_x, at.x, self.of_h, at.hx, self.of_y, at.y
        arguments = self.descriptor, int(add is None), None, *inputs, weights, sums, *end
        assert self.dnn.call("RNNBackwardWeights_v8", *arguments) == SUCCESS
        assert sums is not None
        found, padding = self.taken(dx, self.sizes.inputs)
        assert not padding.any()
        states_found = (self.get(dhx, self.hidden_shape), self.get(dcx, self.cell_shape))
        return found, *states_found, self.get(sums, self.weights.shape)

    def expected(
        self, x: Vectors, hx: np.ndarray | None, cx: np.ndarray | None
    ) -> tuple[Vectors, np.ndarray, np.ndarray]:
        """Return the results by the equations of cuDNN's manual, without dropout."""
        sizes, inputs = self.sizes, x
        hy = np.zeros(self.hidden_shape) if hx is None else hx.copy()
        cy = np.zeros(self.cell_shape) if cx is None else cx.copy()
        for layer in range(sizes.layers):
            outputs: list[list[np.ndarray]] = [[] for _ in inputs]
            for direction in range(sizes.directions):
                pseudo = layer * sizes.directions + direction
                gates = range(2 * GATES[sizes.mode])
                matrices, biases = zip(*(self.parameter(pseudo, number) for number in gates), strict=True)
                projection = self.parameter(pseudo, 8)[0]
                for number, sequence in enumerate(inputs):
                    rows = sequence[::-1] if direction else sequence
                    found = np.zeros((len(rows), sizes.state))
                    for step, row in enumerate(rows):
                        terms = [
                            (row if matrix is None else matrix @ row)
                            if gate < GATES[sizes.mode]
                            else matrix @ hy[pseudo, number]
                            for gate, matrix in enumerate(matrices)
                        ]
                        sums = [
                            term if bias is None else term + bias[:, 0]
                            for term, bias in zip(terms, biases, strict=True)
                        ]
                        h, c = cell(sizes.mode, sums, hy[pseudo, number], cy[pseudo, number])
                        found[step] = hy[pseudo, number] = h if projection is None else projection @ h
                        cy[pseudo, number] = c
                    outputs[number].append(found[::-1] if direction else found)
            inputs = [np.concatenate(parts, axis=1) for parts in outputs]
        return inputs, hy, cy


class Forward(NamedTuple):
    """The memory of a forward pass."""

    x: Address
    y: Address
    hy: Address
    cy: Address
    hx: Address | None
    cx: Address | None
    weights: Address | None
    reserve: Address | None
    reserve_size: Long


def sigmoid(values: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-values)))


def cell(mode: int, sums: Sequence[np.ndarray], h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the output and the state of a cell from the sums of its linear layers."""
    if mode == RELU:
        return np.maximum(sums[0] + sums[1], 0), c
    if mode == TANH:
        return np.tanh(sums[0] + sums[1]), c
    if mode == LSTM:
        inputs, forget, new, output = (sums[gate] + sums[gate + 4] for gate in range(4))
        c = sigmoid(forget) * c + sigmoid(inputs) * np.tanh(new)
        return sigmoid(output) * np.tanh(c), c
    reset, update = sigmoid(sums[0] + sums[3]), sigmoid(sums[1] + sums[4])
    return (1 - update) * np.tanh(sums[2] + reset * sums[5]) + update * h, c
