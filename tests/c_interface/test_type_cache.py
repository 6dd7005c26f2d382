"""The lookup of `__cuda_array_c_interface__` is cached for each type. A new type at the address of a deleted type is accepted, and
so is a type that gains the attribute later."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import c_arrays as c
import numpy as np
import pytest
from type_lifetime import types_end

import cuarray


@pytest.fixture
def memory(driver):
    return cuarray.to_device(np.arange(12, dtype="float32"))


def borrowed(obj):
    with cuarray.borrow(obj, cuarray.stream()) as array:
        return array.size


def copied(obj):
    array = cuarray.device_array(2, "float32")
    array.copy_to_device(obj)
    return array.size


IMPORTS = {
    "as_cuda_array": lambda obj: cuarray.as_cuda_array(obj).size,
    "borrow": borrowed,
    "copy_to_device": copied,
    "is_cuda_array": lambda obj: 2 if cuarray.is_cuda_array(obj) else refuse(),
}


def refuse():
    raise TypeError("not an array")


@pytest.fixture(params=IMPORTS)
def size_of(request):
    return IMPORTS[request.param]


class Plain:
    """An object without any interface, which has the constructor of a producer."""

    def __init__(self, *args):
        self.producer = c.Producer(*args)


def interface_of(obj):
    return obj.producer.__cuda_array_c_interface__


@types_end
def test_new_type_at_address_of_refused_type_is_accepted(memory, size_of):
    """An allocator may give out other memory first, so many types end before many begin."""
    refused = [type("Without", (Plain,), {}) for _ in range(200)]
    for kind in refused:
        with pytest.raises(TypeError):
            size_of(kind(memory))
    addresses = {id(kind) for kind in refused}
    del kind
    refused.clear()
    gc.collect()
    accepted = [type("With", (Plain,), {"__cuda_array_c_interface__": property(interface_of)}) for _ in range(400)]
    assert not addresses.isdisjoint(id(kind) for kind in accepted)
    for kind in accepted:
        assert size_of(kind(memory)) == 2


def test_type_that_gains_the_attribute_is_accepted(memory, size_of):
    class Later(Plain):
        pass

    with pytest.raises(TypeError):
        size_of(Later(memory))
    Later.__cuda_array_c_interface__ = property(interface_of)
    assert size_of(Later(memory)) == 2
    assert size_of(Later(memory)) == 2
    del Later.__cuda_array_c_interface__
    with pytest.raises(TypeError):
        size_of(Later(memory))


def test_type_whose_base_gains_the_attribute_is_accepted(memory, size_of):
    class Base(Plain):
        pass

    class Derived(Base):
        pass

    with pytest.raises(TypeError):
        size_of(Derived(memory))
    Base.__cuda_array_c_interface__ = property(interface_of)
    assert size_of(Derived(memory)) == 2


def test_type_that_gains_the_attribute_beside_a_dictionary_is_accepted(memory, size_of):
    class Both(Plain):
        def __init__(self, array):
            super().__init__(array)
            self.__cuda_array_interface__ = array[:2].__cuda_array_interface__

    assert size_of(Both(memory)) == 2
    Both.__cuda_array_c_interface__ = property(interface_of)
    assert size_of(Both(memory)) == 2


def test_many_types_have_their_own_cached_results(memory):
    kinds = [type("With", (c.Producer,), {}) for _ in range(40)]
    others = [type("Without", (Plain,), {}) for _ in range(40)]
    for _ in range(3):
        for kind, other in zip(kinds, others, strict=True):
            assert cuarray.is_cuda_array(kind(memory))
            assert not cuarray.is_cuda_array(other(memory))


def test_cache_is_correct_for_short_lived_types_in_threads(memory):
    def work(offers):
        for _ in range(50):
            entries = {"__cuda_array_c_interface__": property(interface_of)} if offers else {}
            kind = type("Short", (Plain,), entries)
            assert cuarray.is_cuda_array(kind(memory)) is offers
            if offers:
                with cuarray.borrow(kind(memory), cuarray.stream()) as array:
                    assert array.size == 2
            del kind
            gc.collect(0)
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, [True, False, True, False]))


@types_end
def test_cached_types_are_not_kept_alive(memory, size_of):
    kind = type("With", (Plain,), {"__cuda_array_c_interface__": property(interface_of)})
    assert size_of(kind(memory)) == 2
    gone = weakref.ref(kind)
    del kind
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "value", [3, [1], None, 1.5, "text", np.arange(2), type], ids=lambda value: type(value).__name__
)
def test_builtin_types_are_refused_again(driver, value):
    for _ in range(3):
        assert not cuarray.is_cuda_array(value)
        with pytest.raises(TypeError):
            cuarray.as_cuda_array(value)
