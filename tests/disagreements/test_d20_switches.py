"""D20: a switch switches off what it says.

numba-cuda's switch for the synchronization (environment and configuration) leaves out the host's wait at a kernel launch; the event
that cuda.core has recorded in the producer's stream, and waited for in the kernel's, stays.

The text: the user may have the consumer ignore the stream (S5, N3), and the producer export none (P4); neither is the default.

cuarray: ``CUARRAY_SYNC=0`` (and numba's own variable), ``config.sync = False`` and ``sync=False`` switch off every wait, event and edge
for the sake of another library's stream; ``export_stream`` and ``export_version`` change the export; each does nothing else.
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


def test_numbas_switch_leaves_the_event(
    driver: str, numba: Any, driver_calls: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What numba does with each array that a kernel is launched with."""
    from numba.cuda.core import config
    from numba.cuda.cudadrv import devicearray

    monkeypatch.setattr(config, "CUDA_ARRAY_INTERFACE_SYNC", False)
    array = cuarray.to_device(np.arange(4), stream=cuarray.stream())
    stream = numba.stream()
    with driver_calls() as calls:
        devicearray._to_strided_memory_view(array, stream)
    assert "cuStreamSynchronize" not in calls
    assert ordering(calls), "numba-cuda has been mended: D20 has lost its cause"


@pytest.mark.parametrize("how", ["sync=False", "config.sync"])
def test_an_import_makes_no_call(
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
        # The stream is not waited for; it is the array's all the same, and announced to the next.
        assert array.__cuda_array_interface__["stream"] == foreign_stream.handle
    cuarray.config.sync = True
    with driver_calls() as calls:
        cuarray.as_cuda_array(producer)
    assert sum(calls[name] for name in ordering(calls)) == 1, "the control: with the switch on there is one wait"


def test_a_copy_from_another_librarys_array_makes_no_edge(
    foreign_stream: driver_probe.ForeignStream, driver_calls: Callable[[], Any]
) -> None:
    producer = foreign(cuarray.to_device(np.full(4, 7, np.uint8)), stream=foreign_stream.handle)
    stream = cuarray.stream()
    # In its own default stream the target needs no event either.
    target = cuarray.to_device(np.zeros(4, np.uint8)).bind(stream)
    target.copy_to_device(producer, stream=stream)
    for sync in (True, False):
        cuarray.config.sync = sync
        with driver_probe.held(foreign_stream.handle) as hold, driver_calls() as calls:
            target.copy_to_device(producer, stream=stream)
            if sync:
                assert not stream.query()
                hold.let_go()
            stream.synchronize()
            assert hold.is_held != sync
            hold.let_go()
        events = [name for name in ordering(calls) if name.startswith(("cuEvent", "cuStreamWait"))]
        assert bool(events) == sync
    assert target.copy_to_host().tolist() == [7] * 4


def test_it_does_nothing_else(driver: str) -> None:
    """An array's own transfers stay ordered in its own stream, and exports name it."""
    cuarray.config.sync = False
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    assert array.__cuda_array_interface__["stream"] == stream.handle
    with driver_probe.held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 7, 4, stream.handle)
        hold.let_go_soon()
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
def test_the_environment(environment: dict[str, str], expected: str) -> None:
    variables: dict[str, str | None] = {**dict.fromkeys(OFF), **environment}
    assert driver_probe.run_python(PROGRAM, **variables).strip() == expected
