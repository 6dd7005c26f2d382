"""Typed arguments ask a type for the C structure once; no later type or attribute is refused for it."""

from __future__ import annotations

import gc
from typing import Any

import c_arrays as c
import numpy as np
import pytest
import typed_views

import cuarray


class Plain:
    """An object without any interface, which has the constructor of a producer."""

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.producer = c.Producer(array)


def interface_of(obj: Plain) -> Any:
    return obj.producer.__cuda_array_c_interface__


def test_new_type_at_address_of_refused_type_is_accepted(driver: str) -> None:
    memory = cuarray.to_device(np.arange(2, dtype="float32"))
    reused = 0
    for _ in range(200):
        kind = type("Without", (Plain,), {})
        with pytest.raises(TypeError):
            typed_views.vector(kind(memory))
        address = id(kind)
        del kind
        gc.collect()
        kind = type("With", (Plain,), {"__cuda_array_c_interface__": property(interface_of)})
        reused += id(kind) == address
        assert typed_views.vector(kind(memory)) == 2
        del kind
        gc.collect()
    assert reused


def test_type_that_gains_the_attribute_is_accepted(driver: str) -> None:
    memory = cuarray.to_device(np.arange(2, dtype="float32"))

    class Later(Plain):
        pass

    for _ in range(3):
        with pytest.raises(TypeError):
            typed_views.vector(Later(memory))
    Later.__cuda_array_c_interface__ = property(interface_of)  # type: ignore[attr-defined]
    assert typed_views.vector(Later(memory)) == 2
    del Later.__cuda_array_c_interface__  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        typed_views.vector(Later(memory))


def test_type_that_has_the_attribute_at_once_is_accepted(driver: str) -> None:
    memory = cuarray.to_device(np.arange(2, dtype="float32"))
    for _ in range(3):
        kind = type("With", (c.Producer,), {})
        assert typed_views.vector(kind(memory)) == 2
