"""PyTorch tensors whose memory does not hold their values (disagreement D12), exported by DLPack.

PyTorch's ``__dlpack__`` refuses conjugated tensors but exports their imaginary part. Its exchange table exports everything, including
tensors that require a gradient, which ``__dlpack__`` refuses.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable
from typing import Any

import dlpack_tensors as tensors
import numpy as np
import pytest
from dlpack_tables import library

import cuarray

Make = Callable[..., Any]

COMPLEX64, FLOAT32, INT32 = (tensors.COMPLEX, 64, 1), (tensors.FLOAT, 32, 1), (tensors.INT, 32, 1)


class LazyState:
    """The lazy-state methods of a PyTorch tensor; records how often each is called."""

    def __init__(self, *, conj: bool = False, neg: bool = False, requires_grad: bool = False) -> None:
        self.state = {"conj": conj, "neg": neg, "requires_grad": requires_grad}
        self.calls: list[str] = []

    def _read(self, name: str) -> bool:
        self.calls.append(name)
        return self.state[name]

    def is_conj(self) -> bool:
        return self._read("conj")

    def is_neg(self) -> bool:
        return self._read("neg")

    @property
    def requires_grad(self) -> bool:
        return self._read("requires_grad")


class ByMethod(LazyState):
    def __init__(self, producer: tensors.Producer, **state: bool) -> None:
        super().__init__(**state)
        self.producer = producer

    def __dlpack__(self, **request: Any) -> Any:
        return self.producer.__dlpack__(**request)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.producer.__dlpack_device__()


def by_table(producer: tensors.Producer, **state: bool) -> Any:
    return type("ByTable", (library(producer), LazyState), {})(**state)


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch, driver: str) -> None:
    """A module named ``torch`` whose tensors are of this test's classes."""
    module = types.ModuleType("torch")
    monkeypatch.setattr(module, "Tensor", LazyState, raising=False)
    monkeypatch.setitem(sys.modules, "torch", module)


either = pytest.mark.parametrize("make", [ByMethod, by_table], ids=["method", "table"])


@either
@pytest.mark.parametrize("dtype", [COMPLEX64, FLOAT32], ids=["complex", "float"])
@pytest.mark.parametrize(("method", "remedy"), [("conj", "resolve_conj"), ("neg", "resolve_neg")])
@pytest.mark.parametrize("how", [{}, {"stream": 2}, {"copy": True}], ids=str)
def test_conjugated_or_negated_tensor_is_refused_and_deleted(
    make: Make, dtype: tuple[int, int, int], method: str, remedy: str, how: dict[str, Any]
) -> None:
    producer = tensors.Producer(cuarray.to_device(np.zeros(4, "float64")), dtype=dtype)
    with pytest.raises(BufferError, match=rf"is_{method}\(\) of the .* is true.*{remedy}\(\)"):
        cuarray.from_dlpack(make(producer, **{method: True}), **how)
    gc.collect()
    assert producer.deleted == 1


def test_tensor_that_requires_grad_is_refused_through_table() -> None:
    producer = tensors.Producer(cuarray.to_device(np.zeros(4, "float32")))
    with pytest.raises(BufferError, match=r"requires_grad of the .* detach\(\)"):
        cuarray.from_dlpack(by_table(producer, requires_grad=True))
    gc.collect()
    assert producer.deleted == 1


def test_negated_host_tensor_is_refused() -> None:
    host = np.zeros(2, "float32")
    producer = tensors.Producer(data=host.ctypes.data, device=(tensors.CPU, 0))
    with pytest.raises(BufferError, match=r"is_neg\(\)"):
        cuarray.from_dlpack(ByMethod(producer, neg=True), copy=True)
    gc.collect()
    assert producer.deleted == 1


@either
def test_resolved_tensor_is_imported(make: Make) -> None:
    for dtype, is_called in ((COMPLEX64, True), (FLOAT32, True), (INT32, False)):
        tensor = make(tensors.Producer(cuarray.to_device(np.zeros(4, "float64")), dtype=dtype))
        for _ in range(2):
            assert cuarray.from_dlpack(tensor).shape == (2,)
        assert bool(tensor.calls) == is_called


@either
def test_exception_of_lazy_state_method_is_the_cause(make: Make) -> None:
    producer = tensors.Producer(cuarray.to_device(np.zeros(4, "float32")))
    tensor = make(producer)
    del tensor.state["neg"]
    with pytest.raises(TypeError, match=r"is_neg\(\) raised") as raised:
        cuarray.from_dlpack(tensor)
    assert isinstance(raised.value.__cause__, KeyError)


@either
def test_lazy_state_methods_of_other_libraries_are_not_called(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["torch"], "Tensor", type("Tensor", (), {}))
    tensor = make(tensors.Producer(cuarray.to_device(np.zeros(4, "float32"))), neg=True)
    cuarray.from_dlpack(tensor)
    assert tensor.calls == []
