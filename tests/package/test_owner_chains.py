"""A chain of owners of any length is released without recursion, in a thread with a small stack."""

from __future__ import annotations

import driver_probe
import pytest

PROGRAM = """
import threading, weakref
import cuarray_sim
cuarray_sim.install()
import cuarray
import numpy as np
from producers import Producer, describe

memory = cuarray.to_device(np.zeros(2, "f4"))

class Provider:
    "A stream of another library, which keeps an array."
    def __init__(self, array):
        self.array = array

    def __cuda_stream__(self):
        return (0, 1)

class Structure:
    def __init__(self, array):
        self.__cuda_array_c_interface__ = array.__cuda_array_c_interface__

def over(owner, **entries):
    return cuarray.from_cuda_array_interface(describe(data=(memory.ptr, False), **entries), owner=owner)

LINKS = {
    "arrays": over,
    "masks": lambda array: cuarray.as_cuda_array(Producer(describe(mask=over(array, typestr="|b1")))),
    "streams": lambda array: over(None).bind(Provider(array)),
    "tensors": lambda array: cuarray.from_dlpack(over(array)),
    "capsules": lambda array: over(over(array).__dlpack__(stream=-1)),
    "structures": lambda array: cuarray.as_cuda_array(Structure(over(array)), sync=False),
    "borrows": lambda array: cuarray.borrow(Producer(over(None).__cuda_array_interface__, array), 1).__enter__(),
}

def build_and_release(link, length):
    array = first = Producer(describe())
    known = weakref.ref(first)
    del first
    for _ in range(length):
        array = link(array)
    assert known() is not None
    del array
    print("released" if known() is None else "kept")

threading.stack_size(256 << 10)
thread = threading.Thread(target=build_and_release, args=(LINKS[%r], %d))
thread.start()
thread.join()
"""


@pytest.mark.parametrize(
    ("kind", "length"),
    [("arrays", 100_000)]
    + [(kind, 10_000) for kind in ("masks", "streams", "tensors", "capsules", "structures", "borrows")],
)
def test_long_chain_of_owners_is_released_in_a_small_stack(simulator: str, kind: str, length: int) -> None:
    assert driver_probe.run_python(PROGRAM % (kind, length)) == "released\n"
