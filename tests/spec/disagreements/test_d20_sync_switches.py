"""D20: the synchronization switch turns off all synchronization.

numba-cuda's switch (environment and configuration) turns off only the host's wait at a kernel launch. The event that cuda.core
records in the producer's stream remains, and the kernel's stream still waits for it.

The text: the user may turn off the consumer's wait (S5, N3) and the export of streams (P4); both are on by default.

cuarray: ``CUARRAY_SYNC=0`` (and numba's variable), ``config.sync = False`` and ``sync=False`` turn off every wait and event for another
library's stream. ``export_stream`` and ``export_version`` change the export. Each switch has no other effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import foreign

import cuarray

ORDERING = ("cuStreamSynchronize", "cuStreamWaitEvent", "cuEventRecord", "cuEventSynchronize", "cuCtxSynchronize")


def ordering(calls: Any) -> list[str]:
    return [name for name in calls if name.startswith(ORDERING)]


def test_numba_switch_leaves_the_event(
    driver: str, numba: Any, driver_calls: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba calls ``_to_strided_memory_view`` for each array argument of a launch."""
    from numba.cuda.core import config
    from numba.cuda.cudadrv import devicearray

    monkeypatch.setattr(config, "CUDA_ARRAY_INTERFACE_SYNC", False)
    array = cuarray.to_device(np.arange(4), stream=cuarray.stream())
    stream = numba.stream()
    with driver_calls() as calls:
        devicearray._to_strided_memory_view(array, stream)
    assert "cuStreamSynchronize" not in calls
    assert ordering(calls), "numba-cuda now leaves the event out: D20 is resolved"


@pytest.mark.parametrize("how", ["sync=False", "config.sync"])
def test_import_with_sync_off_makes_no_driver_call(
    foreign_stream: driver_probe.ForeignStream, driver_calls: Callable[[], Any], how: str
) -> None:
    memory = cuarray.to_device(np.arange(4))
    producer = foreign(memory, stream=foreign_stream.handle)
    masked = foreign(memory, stream=foreign_stream.handle, mask=foreign(memory, stream=foreign_stream.handle))
    cuarray.config.sync = how != "config.sync"
    for each in (producer, masked):
        with driver_calls() as calls:
            array = cuarray.as_cuda_array(each, sync=how != "sync=False")
            cuarray.from_cuda_array_interface(each.__cuda_array_interface__, each, sync=how != "sync=False")
        assert not calls
        # The stream is still the array's home stream, and exported.
        assert array.__cuda_array_interface__["stream"] == foreign_stream.handle
    cuarray.config.sync = True
    with driver_calls() as calls:
        cuarray.as_cuda_array(producer)
    assert sum(calls[name] for name in ordering(calls)) == 1, "with the switch on there is one wait"


def test_copy_from_foreign_array_with_sync_off_makes_no_event(
    foreign_stream: driver_probe.ForeignStream, driver_calls: Callable[[], Any]
) -> None:
    producer = foreign(cuarray.to_device(np.full(4, 7, np.uint8)), stream=foreign_stream.handle)
    stream = cuarray.stream()
    # In its home stream the target needs no event.
    target = cuarray.to_device(np.zeros(4, np.uint8)).bind(stream)
    target.copy_to_device(producer, stream=stream)
    for sync in (True, False):
        cuarray.config.sync = sync
        with driver_probe.held(foreign_stream.handle) as hold, driver_calls() as calls:
            target.copy_to_device(producer, stream=stream)
            if sync:
                assert not stream.query()
                hold.release()
            stream.synchronize()
            assert hold.is_held != sync
            hold.release()
        events = [name for name in ordering(calls) if name.startswith(("cuEvent", "cuStreamWait"))]
        assert bool(events) == sync
    assert target.copy_to_host().tolist() == [7] * 4


def test_sync_off_keeps_own_transfers_ordered_and_stream_exported(driver: str) -> None:
    cuarray.config.sync = False
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    assert array.__cuda_array_interface__["stream"] == stream.handle
    with driver_probe.held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 7, 4, stream.handle)
        hold.release_soon()
        assert array.copy_to_host().tolist() == [7] * 4


PROGRAM = """
import cuarray
print(cuarray.config.sync, cuarray.config.export_stream, cuarray.config.export_version)
"""
OFF = ["CUARRAY_SYNC", "NUMBA_CUDA_ARRAY_INTERFACE_SYNC", "CUARRAY_EXPORT_STREAM", "CUARRAY_EXPORT_VERSION"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "True True 3"),
        ({"CUARRAY_SYNC": "1", "NUMBA_CUDA_ARRAY_INTERFACE_SYNC": "1"}, "True True 3"),
        ({"CUARRAY_SYNC": "0"}, "False True 3"),
        ({"NUMBA_CUDA_ARRAY_INTERFACE_SYNC": "0"}, "False True 3"),
        ({"CUARRAY_EXPORT_STREAM": "0"}, "True False 3"),
        ({"CUARRAY_EXPORT_VERSION": "2"}, "True True 2"),
    ],
    ids=lambda value: " ".join(f"{name}={each}" for name, each in value.items()) if isinstance(value, dict) else "",
)
def test_environment_variables_set_the_switches(environment: dict[str, str], expected: str) -> None:
    variables: dict[str, str | None] = {**dict.fromkeys(OFF), **environment}
    assert driver_probe.run_python(PROGRAM, **variables).strip() == expected
