"""D12: a lazy conjugate is exported without its conjugation.

``t.conj()`` of a complex PyTorch tensor, and ``.imag`` of that, only set a flag on a tensor over the same memory.
``__cuda_array_interface__`` exports the memory without the flag, so every consumer computes with wrong numbers.
(``__dlpack__`` refuses the first of the two, and DLPack's exchange table neither: tests/dlpack/test_lazy_tensors.py.)

The text does not mention it; the interface describes memory.

cuarray: asks PyTorch tensors, whose interfaces have version 2, for the flag, and refuses flagged ones with the remedy. It does not
ask tensors of types without such a flag, interfaces of version 3 and objects of other libraries.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import describe

import cuarray


class Tensor:
    """A stand-in for a PyTorch tensor that records each query of its flags."""

    def __init__(self, *, conj: bool = False, neg: bool = False, **entries: Any) -> None:
        self.__cuda_array_interface__ = describe(**{"typestr": "<c8", "version": 2, **entries})
        self.flags = {"conj": conj, "neg": neg}
        self.queried: list[str] = []

    def is_conj(self) -> bool:
        self.queried.append("conj")
        return self.flags["conj"]

    def is_neg(self) -> bool:
        self.queried.append("neg")
        return self.flags["neg"]


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a module ``torch`` with this class of tensors."""
    module = types.ModuleType("torch")
    monkeypatch.setattr(module, "Tensor", Tensor, raising=False)
    monkeypatch.setitem(sys.modules, "torch", module)


READS: list[Callable[[Any], Any]] = [cuarray.as_cuda_array, cuarray.interface]
reads = pytest.mark.parametrize("read", READS, ids=["as_cuda_array", "interface"])


@reads
@pytest.mark.parametrize("typestr", ["<c8", "<c16", "<f4", "<f8"])
def test_conjugate_or_negative_tensor_is_refused(read: Callable[[Any], Any], typestr: str) -> None:
    with pytest.raises(BufferError, match=r"is_neg\(\) of the .*Tensor is true.*resolve_neg\(\)"):
        read(Tensor(neg=True, typestr=typestr))
    with pytest.raises(BufferError, match=r"is_conj\(\) of the .*Tensor is true.*resolve_conj\(\)"):
        read(Tensor(conj=True, typestr=typestr))


@reads
def test_tensor_without_flags_is_read(read: Callable[[Any], Any]) -> None:
    assert read(Tensor()).typestr == "<c8"


def test_copy_from_conjugate_tensor_is_refused(driver: str) -> None:
    target = cuarray.to_device(np.zeros(2, "<c8"))
    with pytest.raises(BufferError, match="resolve_conj"):
        target.copy_to_device(Tensor(conj=True))
    with pytest.raises(BufferError, match="resolve_conj"):
        cuarray.to_device(Tensor(conj=True))
    assert target.copy_to_host().tolist() == [0, 0]


@reads
@pytest.mark.parametrize("entries", [{"version": 3}, {"typestr": "<i4"}, {"typestr": "|b1"}], ids=str)
def test_version_3_and_types_without_flags_are_not_queried(read: Callable[[Any], Any], entries: dict[str, Any]) -> None:
    tensor = Tensor(conj=True, neg=True, **entries)
    read(tensor)
    assert tensor.queried == []


@reads
@pytest.mark.parametrize("loaded", ["nothing", "None", "a module that is being imported", "torch"])
def test_array_of_another_library_is_not_queried(
    read: Callable[[Any], Any], loaded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Array:
        __cuda_array_interface__ = describe(typestr="<c8", version=2)

        def is_conj(self) -> bool:
            raise AssertionError("not a tensor")

    if loaded == "nothing":
        monkeypatch.delitem(sys.modules, "torch")
    elif loaded == "None":
        monkeypatch.setitem(sys.modules, "torch", None)
    elif loaded != "torch":
        monkeypatch.delattr(sys.modules["torch"], "Tensor")
    assert read(Array()).typestr == "<c8"


@reads
@pytest.mark.parametrize("question", ["is_conj", "is_neg"])
def test_exception_of_flag_query_is_the_cause_of_type_error(read: Callable[[Any], Any], question: str) -> None:
    raised = RuntimeError("no idea")

    def ask(self: Tensor) -> bool:
        raise raised

    broken = type("Broken", (Tensor,), {question: ask})
    with pytest.raises(TypeError, match=rf"Broken holds its values: {question}\(\) raised") as caught:
        read(broken())
    assert caught.value.__cause__ is raised


@reads
def test_keyboard_interrupt_in_flag_query_propagates(read: Callable[[Any], Any]) -> None:
    class Interrupted(Tensor):
        def is_conj(self) -> bool:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(Interrupted())
