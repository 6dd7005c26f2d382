"""The object by which PyTorch tells the driver about the memory of tensors, without PyTorch: its table of methods, and what they do."""

from __future__ import annotations

import ctypes

import pytest

import cuarray_sim
from cuarray_sim.allocators import _methods

HEADER = """
struct C10_API PyInterpreterVTable {
  virtual ~PyInterpreterVTable() = default;
  // virtual void removed() const = 0;
  virtual std::string name() const = 0;
  virtual c10::intrusive_ptr<TensorImpl> detach(
      const TensorImpl* self) const = 0;
  virtual void trace_gpu_memory_allocation(
      c10::DeviceType device_type,
      uintptr_t ptr) const = 0;
  virtual void trace_gpu_memory_deallocation(c10::DeviceType device_type, uintptr_t ptr) const = 0;
};
struct C10_API PyInterpreter {
  virtual void other() const = 0;
};
"""
NAMES = ["~PyInterpreterVTable"] * 2 + [
    "name",
    "detach",
    "trace_gpu_memory_allocation",
    "trace_gpu_memory_deallocation",
]


def test_methods_are_those_of_the_class_in_their_order() -> None:
    assert _methods(HEADER) == NAMES


@pytest.mark.parametrize(
    "change", [("PyInterpreterVTable {", "PyInterpreterTable {"), ("c10::DeviceType device_type,\n", "")]
)
def test_header_of_another_version_is_refused(change: tuple[str, str]) -> None:
    assert _methods(HEADER.replace(*change)) == []


def test_object_has_a_method_at_each_place(simulator: str) -> None:
    make = ctypes.CDLL(str(cuarray_sim.library_path())).cuarraySimTorchTrace
    make.restype = ctypes.c_void_p
    for numbers in [(6, 6, 5), (6, 4, 6), (1000, 4, 5), (0, 0, 0)]:
        assert make(*map(ctypes.c_size_t, numbers)) is None
    interpreter = make(*map(ctypes.c_size_t, (6, 4, 5)))
    word = ctypes.POINTER(ctypes.c_void_p)
    instance = ctypes.cast(interpreter, word)[0]
    table = ctypes.cast(instance, word)[0]
    addresses = [ctypes.cast(table, word)[place] for place in range(6)]
    assert len(set(addresses)) == 3
    method = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int8, ctypes.c_size_t)
    for address in addresses:
        assert address is not None
        # Memory of no allocation, and of a device that is no GPU of CUDA, is ignored.
        for device_type in (0, 1):
            method(address)(instance, device_type, 4096)
