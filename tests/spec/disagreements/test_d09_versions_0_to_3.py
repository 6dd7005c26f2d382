"""D9: versions 0 to 3 are read.

cuda.core, and thus numba's kernels, accepts only version 3. JAX warns about versions other than 2 and 3. DALI requires the key but
ignores its value; the other libraries ignore the key. RMM still exports version 0. cuML's callback passes a dictionary of version 1
that is not a valid interface. pylibraft exports 3 only because it copies NumPy's own interface.

The text: 3 is current, and the differences of each older version are listed (I7, V0 to V2).

cuarray: reads 0 to 3, each by its own rules, refuses other versions, and exports version 3. An array of an old version can thus be
passed on to a consumer that accepts only version 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray


def as_rmm_exports(memory: cuarray.DeviceArray) -> Producer:
    """Return a device buffer of bytes with an interface of version 0."""
    return Producer(
        {"data": (memory.ptr, False), "shape": (memory.nbytes,), "strides": None, "typestr": "|u1", "version": 0},
        keeps=memory,
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_versions_0_to_3_are_read_and_exported_as_3(driver: str, version: int) -> None:
    memory = cuarray.to_device(np.arange(5, dtype="f4"))
    producer = foreign(memory, version=version)
    assert cuarray.interface(producer).version == version
    array = cuarray.as_cuda_array(producer)
    assert array.copy_to_host().tolist() == [0, 1, 2, 3, 4]
    assert array.__cuda_array_interface__["version"] == 3


@pytest.mark.parametrize("version", [4, -1, 2**40])
@pytest.mark.parametrize("strict", [True, False])
def test_unknown_version_is_refused(version: int, strict: bool) -> None:
    with pytest.raises(ValueError, match=rf"\['version'\]: {version}; .*0 to 3"):
        cuarray.interface(describe(version=version), strict=strict)


def test_missing_version_is_refused_and_leniently_read_as_0() -> None:
    without = describe(stream=7, mask=object())
    del without["version"]
    with pytest.raises(ValueError, match=r"\['version'\]: the key is missing"):
        cuarray.interface(without)
    read = cuarray.interface(without, strict=False)
    assert (read.version, read.stream) == (0, None)
    assert read.deviations == ("'version': missing; read as version 0",)


def test_stream_before_version_3_and_mask_before_version_1_are_ignored() -> None:
    assert [cuarray.interface(describe(stream=7, version=version)).stream for version in range(4)] == [None] * 3 + [7]
    for nonsense in (0, -5, "stream", 2.5):
        assert cuarray.interface(describe(stream=nonsense, version=2)).stream is None
        with pytest.raises(ValueError, match="stream"):
            cuarray.interface(describe(stream=nonsense))
    assert cuarray.interface(describe(mask=object(), version=0)).version == 0
    with pytest.raises(ValueError, match="mask"):
        cuarray.as_cuda_array(Producer(describe(mask=object(), version=1)))


def test_rmm_buffer_reaches_cuda_core_as_version_3(driver: str, strided_memory_view: Callable[..., Any]) -> None:
    memory = cuarray.to_device(np.arange(5, dtype="f4"))
    rmm = as_rmm_exports(memory)
    with pytest.raises(BufferError, match="v3 or above"):
        strided_memory_view(rmm, -1)
    view = strided_memory_view(cuarray.as_cuda_array(rmm), -1)
    assert (view.ptr, view.shape, view.exporting_obj.owner) == (memory.ptr, (20,), rmm)


def test_cuml_dictionary_is_refused_and_leniently_read(driver: str) -> None:
    """It has a type name as typestr, a list without a flag as data, and an unknown key."""
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


def test_pylibraft_copy_of_numpy_interface_is_read(driver: str) -> None:
    """It is NumPy's dictionary with another pointer: with a descr for a plain type, and without a stream."""
    host = np.arange(6, dtype="f4").reshape(2, 3)
    memory = cuarray.to_device(host)
    array = cuarray.as_cuda_array(Producer({**host.__array_interface__, "data": (memory.ptr, False)}, memory))
    assert np.array_equal(array.copy_to_host(), host)
    assert array.stream is None


def test_version_2_is_exported_by_setting(driver: str) -> None:
    array = cuarray.to_device([1, 2], stream=cuarray.stream())
    cuarray.config.export_version = 2
    exported = array.__cuda_array_interface__
    assert exported["version"] == 2
    assert "stream" not in exported
    with pytest.raises(ValueError, match="2 or 3"):
        cuarray.config.export_version = 1
