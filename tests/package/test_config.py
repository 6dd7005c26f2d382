"""Settings: the effect of each, its limits, and the environment variables that set it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held
from producers import foreign

import cuarray

Run = Callable[..., str]

SHOW = (
    "import cuarray; c = cuarray.config; print(c.sync, c.export_stream, c.export_event, c.export_version, c.protocol)"
)
VARIABLES = (
    "CUARRAY_SYNC",
    "NUMBA_CUDA_ARRAY_INTERFACE_SYNC",
    "CUARRAY_EXPORT_STREAM",
    "CUARRAY_EXPORT_EVENT",
    "CUARRAY_EXPORT_VERSION",
    "CUARRAY_PROTOCOL",
)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "True True False 3 any"),
        ({"CUARRAY_SYNC": "0"}, "False True False 3 any"),
        ({"NUMBA_CUDA_ARRAY_INTERFACE_SYNC": "0"}, "False True False 3 any"),
        ({"CUARRAY_SYNC": "1", "NUMBA_CUDA_ARRAY_INTERFACE_SYNC": "0"}, "False True False 3 any"),
        ({"CUARRAY_SYNC": "1"}, "True True False 3 any"),
        ({"CUARRAY_SYNC": ""}, "True True False 3 any"),
        ({"CUARRAY_EXPORT_STREAM": "0"}, "True False False 3 any"),
        ({"CUARRAY_EXPORT_STREAM": "1"}, "True True False 3 any"),
        ({"CUARRAY_EXPORT_EVENT": "1"}, "True True True 3 any"),
        ({"CUARRAY_EXPORT_EVENT": ""}, "True True False 3 any"),
        ({"CUARRAY_EXPORT_VERSION": "2"}, "True True False 2 any"),
        ({"CUARRAY_EXPORT_VERSION": "3"}, "True True False 3 any"),
        ({"CUARRAY_PROTOCOL": "dict"}, "True True False 3 dict"),
        ({"CUARRAY_PROTOCOL": ""}, "True True False 3 any"),
    ],
    ids=str,
)
def test_environment_variables_set_initial_config(run_python: Run, environment: dict[str, str], expected: str) -> None:
    assert run_python(SHOW, **{**dict.fromkeys(VARIABLES), **environment}).strip() == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CUARRAY_SYNC", "no"),
        ("CUARRAY_SYNC", "2"),
        ("CUARRAY_EXPORT_STREAM", "False"),
        ("CUARRAY_EXPORT_EVENT", "yes"),
        ("CUARRAY_EXPORT_VERSION", "1"),
        ("CUARRAY_EXPORT_VERSION", "4"),
        ("CUARRAY_EXPORT_VERSION", "three"),
        ("CUARRAY_PROTOCOL", "1"),
        # Bytes that are not valid UTF-8.
        ("CUARRAY_SYNC", "0\udcff"),
        ("CUARRAY_EXPORT_VERSION", "2\udcff"),
        ("CUARRAY_PROTOCOL", "dict\udcff"),
    ],
)
def test_invalid_environment_value_raises_on_import(run_python: Run, name: str, value: str) -> None:
    program = """
        try:
            import cuarray
        except ValueError as error:
            print(error)
    """
    printed = run_python(textwrap.dedent(program), **{name: value})
    assert name in printed
    assert value.rstrip("\udcff") in printed


def test_config_validates_types_and_values() -> None:
    assert repr(cuarray.config) == (
        "cuarray.config(sync=True, export_stream=True, export_event=False, export_version=3, protocol='any')"
    )
    for value in (0, 1, None, "no"):
        with pytest.raises(TypeError):
            cuarray.config.sync = value  # type: ignore[assignment]
        with pytest.raises(TypeError):
            cuarray.config.export_stream = value  # type: ignore[assignment]
    for number in (0, 1, 4, 255, -1, 256, 2**70):
        with pytest.raises(ValueError, match=f"is {number}; 2 or 3"):
            cuarray.config.export_version = number
    for value in ("3", 3.0, None):
        with pytest.raises(TypeError):
            cuarray.config.export_version = value  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        cuarray.config.snyc = False  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        del cuarray.config.sync  # type: ignore[misc]
    assert repr(cuarray.config) == (
        "cuarray.config(sync=True, export_stream=True, export_event=False, export_version=3, protocol='any')"
    )


@pytest.mark.cuarray_sim(expect="data-race")
def test_sync_off_ignores_streams_of_imports_and_sources(driver: str, foreign_stream: ForeignStream) -> None:
    memory = cuarray.to_device(np.full(4, 1, np.uint8))
    producer = foreign(memory, stream=foreign_stream.handle)
    target = cuarray.to_device(np.zeros(4, np.uint8))
    cuarray.config.sync = False
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, 9, 4, foreign_stream.handle)
        imported = cuarray.as_cuda_array(producer)
        assert imported.stream == cuarray.external_stream(foreign_stream)
        target.copy_to_device(producer)
        assert target.copy_to_host().tolist() == [1] * 4
        assert hold.is_held


def test_sync_off_keeps_exported_stream_and_copy_order(driver: str, foreign_stream: ForeignStream) -> None:
    cuarray.config.sync = False
    stream = cuarray.stream()
    array = cuarray.to_device(np.full(4, 1, np.uint8), stream=stream)
    assert array.__cuda_array_interface__["stream"] == stream.handle
    with held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 9, 4, stream.handle)
        hold.release_soon()
        assert array.copy_to_host().tolist() == [9] * 4


def test_export_stream_off_exports_none(driver: str) -> None:
    array = cuarray.device_array(4, stream=cuarray.stream())
    before = array.__cuda_array_interface__
    cuarray.config.export_stream = False
    assert array.__cuda_array_interface__ == {**before, "stream": None}
    assert array.stream is not None
    cuarray.config.export_stream = True
    assert array.__cuda_array_interface__ == before


def test_export_version_2_omits_stream(driver: str) -> None:
    array = cuarray.device_array(4, stream=cuarray.stream())
    before = array.__cuda_array_interface__
    cuarray.config.export_version = 2
    after = array.__cuda_array_interface__
    assert "stream" not in after
    assert after == {**{key: value for key, value in before.items() if key != "stream"}, "version": 2}
