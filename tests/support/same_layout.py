"""Device arrays with the exact layout of a host array, gaps included, for comparison with NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import cuarray


class SameLayout:
    """A host array, and a device array over a copy of all bytes from its first to its last element."""

    def __init__(self, host: np.ndarray[Any, Any], stream: Any = None, **entries: Any) -> None:
        self.host = host
        interface = {**host.__array_interface__, "strides": host.strides, "version": 3}
        described = cuarray.interface(interface)
        low, high = described.byte_range
        content = (ctypes.c_ubyte * (high - low)).from_address(low) if high > low else b"\0"
        self.bytes = cuarray.to_device(np.frombuffer(content, np.uint8), stream=stream)
        self.offset = described.ptr - low if high > low else 0
        interface["data"] = (self.bytes.ptr + self.offset, False)
        interface["stream"] = None if self.bytes.stream is None else self.bytes.stream.handle
        self.array = cuarray.from_cuda_array_interface({**interface, **entries}, owner=self.bytes, sync=False)

    def fetched(self) -> np.ndarray[Any, Any]:
        """The current elements on the device, read by one copy of all bytes."""
        content = self.bytes.copy_to_host()
        return np.ndarray(self.host.shape, self.host.dtype, content, self.offset, self.host.strides)

    def assert_is(self, expected: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> None:
        """Checks that the elements equal ``expected`` and all bytes between them equal ``before``."""
        assert np.array_equal(self.fetched(), expected)
        content = self.bytes.copy_to_host()
        if self.host.size:
            gaps = np.ones(content.shape, bool)
            np.ndarray((*self.host.shape, self.host.itemsize), bool, gaps, self.offset, (*self.host.strides, 1))[
                ...
            ] = False
            assert np.array_equal(content[gaps], before[gaps]), "bytes between the elements were overwritten"


def address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


def assert_same_view(view: Any, expected: np.ndarray[Any, Any], base: SameLayout) -> None:
    """Checks that the view has the shape, strides, type, flags and offset of NumPy's view."""
    assert isinstance(view, cuarray.DeviceArray)
    assert (view.shape, view.dtype) == (expected.shape, expected.dtype)
    # Strides of empty arrays differ between NumPy versions.
    assert view.strides == expected.strides or not expected.size
    assert view.ptr - base.array.ptr == address(expected) - address(base.host)
    assert view.is_c_contiguous() == expected.flags.c_contiguous
    assert view.is_f_contiguous() == expected.flags.f_contiguous
    assert (view.ndim, view.size, view.nbytes) == (expected.ndim, expected.size, expected.nbytes)


@st.composite
def hosts(draw: st.DrawFn, min_dims: int = 0, max_dims: int = 4, min_side: int = 0) -> np.ndarray[Any, Any]:
    """Host arrays of any shape and several types, in any order of axes, with gaps and reversed axes."""
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=5))
    dtype = draw(st.sampled_from(["u1", "<i2", "<f4", "<i8", "<c16", "S3"]))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    big = [length * abs(step) + (abs(step) > 1) for length, step in zip(shape, steps, strict=True)]
    whole = np.zeros([big[axis] for axis in order], dtype).transpose(np.argsort(order))
    whole[...] = np.arange(whole.size).reshape(whole.shape).astype(dtype)
    view = whole[(..., *(slice(None, None, step) for step in steps))]
    host = view[(..., *(slice(0, length) for length in shape))]
    assert host.shape == shape
    return host
