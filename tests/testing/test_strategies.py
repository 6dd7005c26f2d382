"""Strategies: what they draw is legal, illegal, or has the drawn elements, as they say; and they draw every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import cuarray
from cuarray.testing import Array, strategies
from cuarray.testing.strategies import Hostile, Layout

SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SETTINGS
@given(strategies.layouts())
def test_layout_has_a_stride_for_each_axis(layout: Layout) -> None:
    assert len(layout.shape) == len(layout.strides)
    entries = {
        "shape": layout.shape,
        "typestr": f"|V{layout.itemsize}",
        "strides": layout.strides,
        "data": (0 if 0 in layout.shape else 1 << 40, False),
        "version": 3,
    }
    assert cuarray.interface(entries).shape == layout.shape


@SETTINGS
@given(strategies.layouts(itemsize=8, min_side=2, max_side=3, max_dims=2))
def test_layout_keeps_its_bounds(layout: Layout) -> None:
    assert layout.itemsize == 8
    assert len(layout.shape) <= 2
    assert set(layout.shape) <= {2, 3}


@pytest.mark.parametrize(
    "kind",
    [
        lambda layout: 0 in layout.shape,
        lambda layout: layout.shape == (),
        lambda layout: 0 in layout.strides and 0 not in layout.shape,
        lambda layout: min(layout.strides, default=0) < 0,
        lambda layout: any(step % layout.itemsize for step in layout.strides),
    ],
    ids=["empty", "zero-dim", "broadcast", "reversed", "odd"],
)
def test_layouts_of_every_kind_are_drawn(kind: Callable[[Any], bool]) -> None:
    assert kind(find(strategies.layouts(), kind))


@SETTINGS
@given(strategies.interfaces())
def test_legal_interface_is_read_strictly(entries: dict[str, object]) -> None:
    read = cuarray.interface(entries)
    assert (read.shape, read.version, read.deviations) == (entries["shape"], entries["version"], ())


@SETTINGS
@given(strategies.hostile_interfaces())
def test_hostile_interface_is_refused_by_its_entry(hostile: Hostile) -> None:
    with pytest.raises(ValueError, match=rf"__cuda_array_interface__\['{hostile.key}'\]"):
        cuarray.interface(hostile.entries)


@pytest.mark.parametrize("clause", ["I1", "I2", "I3", "I4", "I7", "I8", "I11"])
def test_hostile_interfaces_violate_every_clause(clause: str) -> None:
    assert find(strategies.hostile_interfaces(), lambda hostile: hostile.clause == clause).clause == clause


@settings(SETTINGS, max_examples=30)
@given(strategies.arrays())
def test_drawn_array_has_its_elements(driver: str, drawn: Array) -> None:
    assert cuarray.as_cuda_array(drawn).copy_to_host().tobytes() == drawn.host.tobytes()


@settings(SETTINGS, max_examples=30)
@given(strategies.arrays(max_dims=2), st.data())
def test_drawn_array_is_indexed_as_on_the_host(driver: str, drawn: Array, data: st.DataObject) -> None:
    index = tuple(data.draw(st.integers(0, length - 1)) if length else slice(None) for length in drawn.host.shape)
    element = cuarray.as_cuda_array(drawn)[index]
    seen = element.copy_to_host() if isinstance(element, cuarray.DeviceArray) else element
    assert np.asarray(seen).tobytes() == drawn.host[index].tobytes()
