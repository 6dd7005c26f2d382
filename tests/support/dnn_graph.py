"""The graph interface of cuDNN for tests: descriptors with attributes, plans and their execution."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from dnn_probe import KINDS, SUCCESS, Dnn, Tensor

NOT_FINALIZED, GRAPH_PATTERN = 2004, 3001
POINTWISE, CONVOLUTION, ENGINE, CONFIGURATION, HEURISTICS, PLAN = range(6)
FORWARD, FILTER, DATA, OPERATION_POINTWISE, GRAPH, PACK, TENSOR = 10, 11, 12, 13, 15, 16, 17
HANDLE, DATA_TYPE, BOOLEAN, INT64, FLOAT, DOUBLE, VOID_PTR, CONVOLUTION_MODE, HEUR_MODE = range(9)
POINTWISE_MODE, DESCRIPTOR, CHAR = 14, 15, 24
TYPES: dict[int, Any] = {
    HANDLE: np.uint64,
    BOOLEAN: np.uint8,
    INT64: np.int64,
    FLOAT: np.float32,
    DOUBLE: np.float64,
    VOID_PTR: np.uint64,
    CHAR: np.uint8,
    DESCRIPTOR: np.uint64,
}
"""The elements of attributes by their type. Those of other types are enumerations of 32 bits."""
Attribute = tuple[int, int, Sequence[Any]]


def number(value: Any) -> Any:
    return (value.value or 0) if isinstance(value, ctypes.c_void_p) else value


class Graphs:
    """Descriptors of the graph interface, which the end of the test destroys."""

    def __init__(self, dnn: Dnn) -> None:
        self.dnn, self.made = dnn, list[ctypes.c_void_p]()

    def create(self, kind: int) -> ctypes.c_void_p:
        descriptor = ctypes.c_void_p()
        assert self.dnn.plain("BackendCreateDescriptor", kind, ctypes.byref(descriptor)) == SUCCESS
        self.made.append(descriptor)
        return descriptor

    def set(self, descriptor: Any, attribute: int, kind: int, values: Sequence[Any]) -> int:
        array = np.array([number(value) for value in values], TYPES.get(kind, np.int32))
        at = array.ctypes.data_as(ctypes.c_void_p)
        return self.dnn.plain("BackendSetAttribute", descriptor, attribute, kind, ctypes.c_int64(len(array)), at)

    def get(self, descriptor: Any, attribute: int, kind: int, values: np.ndarray) -> tuple[int, int]:
        count, at = ctypes.c_int64(-1), values.ctypes.data_as(ctypes.c_void_p)
        requested = ctypes.c_int64(len(values))
        to = ctypes.byref(count), at
        return self.dnn.plain("BackendGetAttribute", descriptor, attribute, kind, requested, *to), count.value

    def finalize(self, descriptor: Any) -> int:
        return self.dnn.plain("BackendFinalize", descriptor)

    def described(self, kind: int, *attributes: Attribute) -> ctypes.c_void_p:
        """A descriptor with attributes, not finalized."""
        descriptor = self.create(kind)
        for attribute in attributes:
            assert self.set(descriptor, *attribute) == SUCCESS, attribute
        return descriptor

    def final(self, kind: int, *attributes: Attribute) -> ctypes.c_void_p:
        descriptor = self.described(kind, *attributes)
        assert self.finalize(descriptor) == SUCCESS, (kind, self.dnn.last_error())
        return descriptor

    def tensor(self, identity: int, tensor: Tensor, *flags: Attribute) -> ctypes.c_void_p:
        """The descriptor of a tensor that the other interface has described."""
        item = tensor.whole.itemsize
        view = np.moveaxis(tensor.whole, -1, 1) if tensor.form == "NHWC" else tensor.whole
        strides = [stride // item for stride in view.strides]
        return self.layout(identity, tensor.shape, strides, KINDS[tensor.kind], *flags)

    def layout(
        self, identity: int, shape: Sequence[int], strides: Sequence[int], kind: int = 0, *flags: Attribute
    ) -> ctypes.c_void_p:
        sizes: list[Attribute] = [(902, INT64, shape), (903, INT64, strides), (906, INT64, [identity])]
        return self.final(TENSOR, (901, DATA_TYPE, [kind]), (900, INT64, [16]), *sizes, *flags)

    def virtual(self, identity: int, shape: Sequence[int]) -> ctypes.c_void_p:
        strides = np.cumprod([1, *shape[:0:-1]])[::-1]
        return self.layout(identity, shape, list(strides), 0, (907, BOOLEAN, [1]))

    def convolution(self, case: Any, compute: int = 0) -> ctypes.c_void_p:
        steps: list[Attribute] = [(102, INT64, case.dilation), (103, INT64, case.stride)]
        pads: list[Attribute] = [(104, INT64, case.pad), (105, INT64, case.pad), (106, INT64, [len(case.pad)])]
        return self.final(CONVOLUTION, (100, DATA_TYPE, [compute]), (101, CONVOLUTION_MODE, [case.mode]), *steps, *pads)

    def pointwise(self, mode: int, operands: dict[int, Any], *settings: Attribute) -> ctypes.c_void_p:
        settings_of = self.final(POINTWISE, (0, POINTWISE_MODE, [mode]), (1, DATA_TYPE, [0]), *settings)
        tensors: list[Attribute] = [(750 + index, DESCRIPTOR, [each]) for index, each in operands.items()]
        return self.final(OPERATION_POINTWISE, (750, DESCRIPTOR, [settings_of]), *tensors)

    def plan(self, *operations: Any) -> ctypes.c_void_p:
        """A plan of the configuration that heuristics choose."""
        handle: Attribute = (800, HANDLE, [self.dnn.handle])
        graph = self.final(GRAPH, handle, (801, DESCRIPTOR, operations))
        heuristics = self.final(HEURISTICS, (200, HEUR_MODE, [0]), (201, DESCRIPTOR, [graph]))
        configuration = self.create(CONFIGURATION)
        found = np.array([number(configuration)], np.uint64)
        assert self.get(heuristics, 202, DESCRIPTOR, found) == (SUCCESS, 1)
        return self.final(PLAN, (400, HANDLE, [self.dnn.handle]), (401, DESCRIPTOR, [configuration]))

    def pack(self, pointers: dict[int, Any]) -> ctypes.c_void_p:
        given: list[Attribute] = [(1000, INT64, list(pointers)), (1001, VOID_PTR, list(pointers.values()))]
        return self.final(PACK, *given, (1003, VOID_PTR, [0]))

    def run(self, plan: Any, pointers: dict[int, Any]) -> int:
        return self.dnn.call("BackendExecute", plan, self.pack(pointers))

    def end(self) -> None:
        for descriptor in self.made:
            assert self.dnn.plain("BackendDestroyDescriptor", descriptor) == SUCCESS


@pytest.fixture
def graphs(dnn: Dnn) -> Iterator[Graphs]:
    made = Graphs(dnn)
    yield made
    made.end()
