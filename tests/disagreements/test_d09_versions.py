"""D9: every version up to 3 is read.

cuda.core, and with it numba's kernels, takes version 3 alone. JAX warns outside 2 and 3; DALI wants the key and never looks at its value;
everybody else ignores it. RMM still exports version 0, cuML's callback hands out a dictionary of version 1 that is no interface at
all, and pylibraft says 3 only because NumPy's own interface happens to.

The text: 3 is current, and what each older version leaves open is listed (I7, V0 to V2).

cuarray: reads 0 to 3, each by its own rules, refuses what it does not know, and exports version 3: an old array passes through it
to those who take nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray


def as_rmm_exports(memory: cuarray.DeviceArray) -> Producer:
    """A device buffer: bytes, of version 0."""
    return Producer(
        {"data": (memory.ptr, False), "shape": (memory.nbytes,), "strides": None, "typestr": "|u1", "version": 0},
        keeps=memory,
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_all_are_read(driver: str, version: int) -> None:
    memory = cuarray.to_device(np.arange(5, dtype="f4"))
    producer = foreign(memory, version=version)
    assert cuarray.interface(producer).version == version
    array = cuarray.as_cuda_array(producer)
    assert array.copy_to_host().tolist() == [0, 1, 2, 3, 4]
    assert array.__cuda_array_interface__["version"] == 3


@pytest.mark.parametrize("version", [4, -1, 2**40])
@pytest.mark.parametrize("strict", [True, False])
def test_what_is_not_known_is_refused(version: int, strict: bool) -> None:
    with pytest.raises(ValueError, match=rf"\['version'\]: {version}; .*0 to 3"):
        cuarray.interface(describe(version=version), strict=strict)


def test_a_missing_version_is_refused_and_leniently_the_oldest() -> None:
    without = describe(stream=7, mask=object())
    del without["version"]
    with pytest.raises(ValueError, match=r"\['version'\]: the key is missing"):
        cuarray.interface(without)
    read = cuarray.interface(without, strict=False)
    assert (read.version, read.stream) == (0, None)
    assert read.deviations == ("'version': missing; read as version 0",)


def test_each_is_read_by_its_own_rules() -> None:
    """A stream means nothing before version 3, nor a mask in version 0, whatever stands there."""
    assert [cuarray.interface(describe(stream=7, version=version)).stream for version in range(4)] == [None] * 3 + [7]
    for nonsense in (0, -5, "stream", 2.5):
        assert cuarray.interface(describe(stream=nonsense, version=2)).stream is None
        with pytest.raises(ValueError, match="stream"):
            cuarray.interface(describe(stream=nonsense))
    assert cuarray.interface(describe(mask=object(), version=0)).version == 0
    with pytest.raises(ValueError, match="mask"):
        cuarray.as_cuda_array(Producer(describe(mask=object(), version=1)))


def test_rmms_buffer_reaches_those_who_take_only_version_3(
    driver: str, strided_memory_view: Callable[..., Any]
) -> None:
    memory = cuarray.to_device(np.arange(5, dtype="f4"))
    rmm = as_rmm_exports(memory)
    with pytest.raises(BufferError, match="v3 or above"):
        strided_memory_view(rmm, -1)
    view = strided_memory_view(cuarray.as_cuda_array(rmm), -1)
    assert (view.ptr, view.shape, view.exporting_obj.owner) == (memory.ptr, (20,), rmm)


def test_cumls_dictionary(driver: str) -> None:
    """A name for a type, a list for the pair, no flag, a key of its own."""
    memory = cuarray.to_device(np.arange(6, dtype="f4").reshape(2, 3))
    cuml = {"shape": (2, 3), "typestr": "float32", "data": [memory.ptr], "order": "C", "version": 1}
    with pytest.raises(ValueError, match=r"\['(typestr|data)'\]"):
        cuarray.from_cuda_array_interface(cuml, memory)
    assert [note.partition(":")[0] for note in cuarray.interface(cuml, strict=False).deviations] == [
        "'typestr'",
        "'data'",
        "'data'",
    ]
    array = cuarray.from_cuda_array_interface(cuml, memory, strict=False)
    assert array.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    exported = array.__cuda_array_interface__
    assert (exported["version"], exported["typestr"], exported["data"]) == (3, "<f4", (memory.ptr, False))


def test_pylibrafts_accidental_version_3(driver: str) -> None:
    """It is NumPy's dictionary with another pointer: a descr that no structured type needs, and no stream."""
    host = np.arange(6, dtype="f4").reshape(2, 3)
    memory = cuarray.to_device(host)
    array = cuarray.as_cuda_array(Producer({**host.__array_interface__, "data": (memory.ptr, False)}, memory))
    assert np.array_equal(array.copy_to_host(), host)
    assert array.stream is None


def test_version_2_is_exported_to_those_who_want_it(driver: str) -> None:
    array = cuarray.to_device([1, 2], stream=cuarray.stream())
    cuarray.config.export_version = 2
    exported = array.__cuda_array_interface__
    assert exported["version"] == 2
    assert "stream" not in exported
    with pytest.raises(ValueError, match="2 or 3"):
        cuarray.config.export_version = 1
