"""Two workers of Dask exchange device arrays: values of every kind, by memory of the other process, and after the failure of a worker."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cuarray
import cuarray.distributed

distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")

# Workers cannot import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

VALUES = {
    "floats": np.arange(1000, dtype="f4").reshape(10, 100),
    "complex": np.array([1 + 2j, 3]),
    "big-endian": np.arange(5, dtype=">i4"),
    "without elements": np.zeros((0, 3)),
    "without axes": np.array(7.0),
    "structures": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "masked": np.ma.MaskedArray([1, 2, 3], [0, 1, 0]),
}


@pytest.fixture(scope="module", params=[False, True], ids=["values", "memory"])
def client(request: pytest.FixtureRequest, driver_kind: str) -> Iterator[Any]:
    if driver_kind != "simulated":
        pytest.skip("the workers are started for the simulated driver")

    ipc = request.param

    def register() -> None:
        cuarray.distributed.register_dask(ipc=ipc)

    register()
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        client.run(register)
        client.sends_memory = ipc
        yield client
    # Later tests send values.
    cuarray.distributed.register_dask()


def workers(client: Any) -> list[str]:
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def upload(host: Any) -> cuarray.DeviceArray:
    return cuarray.to_device(host)


def described(array: cuarray.DeviceArray) -> tuple[Any, ...]:
    from cuarray_sim import is_installed

    return array.copy_to_host(), array.dtype, array.mask is not None, is_installed()


def exports() -> int:
    return len(cuarray.distributed._exports)


@pytest.mark.parametrize("kind", VALUES)
def test_array_of_one_worker_is_read_by_the_other(client: Any, kind: str) -> None:
    first, second = workers(client)
    made = client.submit(upload, VALUES[kind], workers=[first], pure=False)
    host, dtype, has_mask, simulated = client.submit(described, made, workers=[second], pure=False).result()
    assert simulated
    assert (dtype, has_mask) == (VALUES[kind].dtype, kind == "masked")
    assert np.array_equal(host, VALUES[kind])
    assert np.array_equal(client.gather(made).copy_to_host(), VALUES[kind])


# The scheduler runs in this process, and keeps the last task.
@pytest.mark.cuarray_sim_leaks
def test_argument_of_a_task_is_an_array_of_the_client(client: Any) -> None:
    host = client.submit(described, cuarray.to_device([1.0, 2.0]), pure=False).result()[0]
    assert host.tolist() == [1.0, 2.0]


def test_sender_releases_an_array_when_the_receiver_has_copied_it(client: Any) -> None:
    first, second = workers(client)
    made = client.submit(upload, np.ones(100), workers=[first], pure=False)
    client.submit(described, made, workers=[second], pure=False).result()
    assert client.run(exports, workers=[first]) == {first: 0}


def end_before_a_file_exists(array: cuarray.DeviceArray, file: str) -> list[float]:
    """End the worker in the first attempt."""
    if not os.path.exists(file):
        with open(file, "w"):
            os._exit(1)
    return array.copy_to_host().tolist()


def test_array_of_a_worker_that_fails_is_computed_again(client: Any, tmp_path: Any) -> None:
    first = workers(client)[0]
    made = client.submit(upload, np.array([1.0, 2.0]), workers=[first], allow_other_workers=True, pure=False)
    distributed.wait(made)
    result = client.submit(
        end_before_a_file_exists, made, str(tmp_path / "tried"), workers=[first], allow_other_workers=True, pure=False
    )
    assert result.result(timeout=60) == [1.0, 2.0]
    # The next tests have two workers again.
    deadline = time.monotonic() + 60
    while len(workers(client)) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    ipc = client.sends_memory
    client.run(lambda: cuarray.distributed.register_dask(ipc=ipc))
