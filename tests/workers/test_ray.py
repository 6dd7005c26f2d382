"""Two workers of Ray exchange device arrays, also after the failure of a worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cuarray
import cuarray.distributed

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster(driver_kind: str) -> Iterator[None]:
    if driver_kind != "simulated":
        pytest.skip("the workers are started for the simulated driver")
    cuarray.distributed.register_ray()
    hook = {"worker_process_setup_hook": cuarray.distributed.register_ray}
    ray.init(num_cpus=2, include_dashboard=False, runtime_env=hook)
    yield
    ray.shutdown()


# Defined in a function, as Ray cannot import this module in a worker. It pickles such functions.
def tasks() -> tuple[Any, Any]:
    def upload(host: Any) -> Any:
        return cuarray.to_device(host)

    def read(array: Any, file: str = "") -> Any:
        import cuarray_sim

        assert cuarray_sim.is_installed()
        if file and not os.path.exists(file):
            with open(file, "w"):
                os._exit(1)
        return os.getpid(), array.copy_to_host()

    return ray.remote(upload), ray.remote(read)


@pytest.mark.parametrize(
    "host",
    [np.arange(6.0).reshape(2, 3), np.zeros((0, 2)), np.ma.MaskedArray([1, 2], [0, 1])],
    ids=["floats", "empty", "masked"],
)
def test_result_of_a_task_is_the_argument_of_another(cluster: None, host: Any) -> None:
    upload, read = tasks()
    made = upload.remote(host)
    process, values = ray.get(read.remote(made))
    assert process != os.getpid()
    assert np.array_equal(values, host)
    assert np.array_equal(ray.get(made).copy_to_host(), host)


def test_object_of_the_program_is_an_argument(cluster: None) -> None:
    _, read = tasks()
    _, values = ray.get(read.remote(ray.put(cuarray.to_device([1.0, 2.0]))))
    assert values.tolist() == [1.0, 2.0]


def test_task_runs_again_after_its_worker_failed(cluster: None, tmp_path: Any) -> None:
    upload, read = tasks()
    made = upload.remote(np.array([1.0, 2.0]))
    _, values = ray.get(read.options(max_retries=1).remote(made, str(tmp_path / "tried")))
    assert values.tolist() == [1.0, 2.0]


def test_task_without_retries_fails_with_its_worker(cluster: None, tmp_path: Any) -> None:
    upload, read = tasks()
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(read.options(max_retries=0).remote(upload.remote(np.ones(2)), str(tmp_path / "tried")))
