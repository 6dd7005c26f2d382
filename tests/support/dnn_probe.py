"""A handle of cuDNN for tests, with its stream, memory and descriptors, and tensors in all types and layouts."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import driver_probe
import numpy as np
import pytest
from device_probe import Address, DeviceProbe

from cuarray_sim.stand_ins import STAND_INS

SUCCESS, NOT_INITIALIZED, BAD_PARAM, NULL_POINTER, NOT_SUPPORTED, EXECUTION_FAILED = 0, 1001, 2000, 2002, 3000, 5000
KINDS = {"float": 0, "double": 1, "half": 2, "bfloat16": 9}
"""The `cudnnDataType_t` of each type."""
DTYPES = {"float": np.float32, "double": np.float64, "half": np.float16, "bfloat16": np.uint16}
TOLERANCES = {"float": 1e-5, "double": 1e-12, "half": 2e-3, "bfloat16": 1.6e-2}
FORMS = ("NCHW", "NHWC", "gaps")
GAP = 77
"""The value of elements that no call may change."""


@pytest.fixture(scope="module")
def dnn_library() -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "cuDNN")
    path = stand_in.path / "libcudnn.so.9"
    if not path.is_file():
        pytest.skip("the package was built without cuDNN")
    library = ctypes.CDLL(str(path))
    library.cudnnGetVersion.restype = ctypes.c_size_t
    library.cudnnGetErrorString.restype = ctypes.c_char_p
    library.cudnnGetLastErrorString.restype = None
    return library


class Long(int):
    """A number of 64 bits, as an argument."""


def ints(values: Sequence[int]) -> Any:
    return (ctypes.c_int * len(values))(*values)


def encoded(values: np.ndarray, kind: str) -> np.ndarray:
    """Return the elements of a type that are nearest to values."""
    if kind != "bfloat16":
        return values.astype(DTYPES[kind])
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def decoded(elements: np.ndarray, kind: str) -> np.ndarray:
    if kind != "bfloat16":
        return elements.astype(np.float64)
    return (elements.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def viewed(whole: np.ndarray, shape: tuple[int, ...], form: str) -> np.ndarray:
    """Return the elements of a tensor in the order of its dimensions, in memory with a layout."""
    if form == "NHWC":
        return np.moveaxis(whole, -1, 1)
    return whole[tuple(slice(size) for size in shape)]


class Tensor(NamedTuple):
    """A described tensor in device memory."""

    descriptor: ctypes.c_void_p
    address: Address
    whole: np.ndarray
    shape: tuple[int, ...]
    kind: str
    form: str


class Dnn(DeviceProbe[Address]):
    """A handle with its stream, and memory in the primary context of device 0."""

    address_type = Address
    order = "C"

    def __init__(self, library: ctypes.CDLL, rng: np.random.Generator) -> None:
        super().__init__()
        self.library, self.rng = library, rng
        self.handle = ctypes.c_void_p()
        self.ended: list[tuple[str, ctypes.c_void_p]] = []
        self.keep: list[np.ndarray] = []
        assert library.cudnnCreate(ctypes.byref(self.handle)) == SUCCESS
        assert library.cudnnSetStream(self.handle, self.stream) == SUCCESS

    def plain(self, name: str, *arguments: Any) -> int:
        """Call a function without a handle."""
        converted = [
            ctypes.c_size_t(each)
            if isinstance(each, Long)
            else ctypes.c_int(each)
            if isinstance(each, int)
            else ctypes.c_double(each)
            if isinstance(each, float)
            else each
            for each in arguments
        ]
        status: int = getattr(self.library, f"cudnn{name}")(*converted)
        return status

    def call(self, name: str, *arguments: Any) -> int:
        return self.plain(name, self.handle, *arguments)

    def made(self, kind: str, *arguments: Any, of: str = "") -> ctypes.c_void_p:
        """Return a descriptor, set by arguments if there are any. The end of the test destroys it."""
        descriptor = ctypes.c_void_p()
        assert self.plain(f"Create{kind}Descriptor", ctypes.byref(descriptor)) == SUCCESS, kind
        self.ended.append((kind, descriptor))
        if arguments:
            assert self.plain(f"Set{of or kind}Descriptor", descriptor, *arguments) == SUCCESS, kind
        return descriptor

    def scalar(self, value: float, kind: str = "float") -> ctypes.c_void_p:
        """Return a factor on the host for tensors of a type."""
        array = np.array([value], np.float64 if kind == "double" else np.float32)
        self.keep.append(array)
        return array.ctypes.data_as(ctypes.c_void_p)

    def random(self, shape: Sequence[int]) -> np.ndarray:
        """Return small integers, which all types represent."""
        return self.rng.integers(-4, 5, shape).astype(np.float64)

    def tensor(self, values: np.ndarray, kind: str = "float", form: str = "NCHW") -> Tensor:
        if form == "NHWC":
            whole = np.ascontiguousarray(np.moveaxis(values, 1, -1))
        elif form == "gaps":
            whole = np.full([size + 1 for size in values.shape], GAP, np.float64)
            viewed(whole, values.shape, form)[...] = values
        else:
            whole = np.ascontiguousarray(values)
        elements = encoded(whole, kind)
        strides = [stride // elements.itemsize for stride in viewed(elements, values.shape, form).strides]
        rank, (dims, steps) = values.ndim, (ints(values.shape), ints(strides))
        descriptor = self.made("Tensor", KINDS[kind], rank, dims, steps, of="TensorNd")
        return Tensor(descriptor, self.put(elements), elements, values.shape, kind, form)

    def filter(self, values: np.ndarray, kind: str = "float", form: str = "NCHW") -> Tensor:
        """Return a described filter, whose layout has no gaps."""
        form = "NHWC" if form == "NHWC" else "NCHW"
        moved = np.ascontiguousarray(np.moveaxis(values, 1, -1)) if form == "NHWC" else values
        elements = encoded(moved, kind)
        dims, number = ints(values.shape), int(form == "NHWC")
        descriptor = self.made("Filter", KINDS[kind], number, values.ndim, dims, of="FilterNd")
        return Tensor(descriptor, self.put(elements), elements, values.shape, kind, form)

    def values(self, tensor: Tensor) -> np.ndarray:
        """Wait, and return the values of a tensor. Elements between them must be as they were."""
        whole = self.get(tensor.address, tensor.whole)
        if tensor.form == "gaps":
            kept = np.ones(whole.shape, bool)
            viewed(kept, tensor.shape, "gaps")[...] = False
            np.testing.assert_array_equal(whole[kept], tensor.whole[kept])
        return decoded(viewed(whole, tensor.shape, tensor.form), tensor.kind)

    def last_error(self) -> str:
        text = ctypes.create_string_buffer(200)
        self.library.cudnnGetLastErrorString(text, ctypes.c_size_t(200))
        return text.value.decode()

    def end(self) -> None:
        for kind, descriptor in self.ended:
            assert self.plain(f"Destroy{kind}Descriptor", descriptor) == SUCCESS
        assert self.library.cudnnDestroy(self.handle) == SUCCESS


def of(tensor: Tensor) -> tuple[ctypes.c_void_p, Address]:
    """Return the descriptor and the address, as the arguments of a call."""
    return tensor.descriptor, tensor.address


def close(found: np.ndarray, expected: np.ndarray, kind: str) -> None:
    """Compare values, which a type rounds relative to the largest."""
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCES[kind] * scale)


@pytest.fixture
def dnn(dnn_library: ctypes.CDLL, simulator: str, request: pytest.FixtureRequest) -> Iterator[Dnn]:
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        probe = Dnn(dnn_library, np.random.default_rng(zlib.crc32(request.node.name.encode())))
        yield probe
        probe.close()


def sides_of(findings: Any, name: str) -> list[Any]:
    return [side for finding in findings for side in finding["sides"] if side["call"] == f"cudnn{name}"]


def write(address: Address, stream: ctypes.c_void_p, size: int = 4, offset: int = 0) -> None:
    at = ctypes.c_uint64((address.value or 0) + offset)
    driver_probe.call("cuMemsetD8Async", at, ctypes.c_ubyte(0), ctypes.c_size_t(size), stream)
