"""Kernels and counters for the tests of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

COUNTERS = 8
PTX = """
.version 8.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry add(.param .u64 counter, .param .u32 value) {
    .reg .b64 %a; .reg .b32 %r, %v;
    ld.param.u64 %a, [counter]; ld.param.u32 %v, [value];
    ld.global.u32 %r, [%a]; add.u32 %r, %r, %v; st.global.u32 [%a], %r; ret; }
.visible .entry count_down(.param .u64 counter, .param .u64 handle) {
    .reg .b64 %a, %h; .reg .b32 %r;
    ld.param.u64 %a, [counter]; ld.param.u64 %h, [handle];
    ld.global.u32 %r, [%a]; sub.u32 %r, %r, 1; st.global.u32 [%a], %r;
    { .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %h; st.param.b32 [p1], %r;
      call.uni cudaGraphSetConditional, (p0, p1); }
    ret; }
"""


class Kernels:
    """Counters of 32 bits in device memory, and the kernels that change them.

    ``add(counter, value)`` adds. ``count_down(counter, handle)`` subtracts 1, and sets a condition to the result.
    """

    def __init__(self, device: Any, stream: Any) -> None:
        from cuda.core import LegacyPinnedMemoryResource, ObjectCode

        code = ObjectCode.from_ptx(PTX.encode())
        self.add = code.get_kernel("add")
        self.count_down = code.get_kernel("count_down")
        self.stream = stream
        self._counters = device.allocate(4 * COUNTERS, stream=stream)
        self._counters.fill(0, stream=stream)
        self._host = LegacyPinnedMemoryResource().allocate(4 * COUNTERS)
        stream.sync()

    def counter(self, index: int) -> int:
        """The address of a counter."""
        return int(self._counters.handle) + 4 * index

    def values(self) -> list[int]:
        """The counters after all work in the stream."""
        self._counters.copy_to(self._host, stream=self.stream)
        self.stream.sync()
        return [int(value) for value in np.from_dlpack(self._host).view("uint32")]

    def set(self, index: int, value: int) -> None:
        """Set a counter."""
        values = self.values()
        values[index] = value
        np.from_dlpack(self._host).view("uint32")[:] = values
        self._counters.copy_from(self._host, stream=self.stream)
        self.stream.sync()


@pytest.fixture
def kernels(device: Any, stream: Any) -> Kernels:
    return Kernels(device, stream)
