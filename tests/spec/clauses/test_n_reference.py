"""Clauses N1 to N5: behaviour of the reference implementation."""

from __future__ import annotations

import contextlib
import inspect
import weakref

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held
from producers import Producer, describe, foreign

import cuarray


def test_n1_import_synchronizes_with_exported_stream(driver: str, foreign_stream: ForeignStream) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with held(foreign_stream.handle) as hold:
        hold.release_soon()
        cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle))
        assert not hold.is_held


@pytest.mark.parametrize("sync", [True, False])
def test_n1_exported_stream_becomes_home_stream(driver: str, foreign_stream: ForeignStream, sync: bool) -> None:
    memory = cuarray.device_array(4, "u1")
    array = cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle), sync=sync)
    assert array.stream == cuarray.external_stream(foreign_stream.handle)
    assert array.stream is not None
    assert array.stream.handle == foreign_stream.handle
    assert cuarray.as_cuda_array(foreign(memory)).stream is None


def test_n2_home_stream_is_exported(driver: str) -> None:
    stream = cuarray.stream()
    assert cuarray.device_array(4, stream=stream).__cuda_array_interface__["stream"] == stream.handle
    assert cuarray.to_device([1], stream=stream).__cuda_array_interface__["stream"] == stream.handle
    for default_stream, handle in ((cuarray.default_stream(), 1), (cuarray.per_thread_default_stream(), 2)):
        assert cuarray.device_array(4, stream=default_stream).__cuda_array_interface__["stream"] == handle


def test_n2_none_is_exported_without_home_stream(driver: str) -> None:
    interface = cuarray.device_array(4).__cuda_array_interface__
    assert interface["stream"] is None
    assert cuarray.as_cuda_array(Producer(describe())).__cuda_array_interface__["stream"] is None


def test_n2_imported_stream_is_exported_again(driver: str, foreign_stream: ForeignStream) -> None:
    memory = cuarray.device_array(4, "u1")
    array = cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle))
    assert array.__cuda_array_interface__["stream"] == foreign_stream.handle


@pytest.mark.parametrize("variable", ["CUARRAY_SYNC", "NUMBA_CUDA_ARRAY_INTERFACE_SYNC"])
def test_n3_environment_variable_turns_synchronization_off(variable: str) -> None:
    program = "import cuarray; print(cuarray.config.sync)"
    assert driver_probe.run_python(program, **{variable: "0"}).strip() == "False"
    assert driver_probe.run_python(program, **{variable: "1"}).strip() == "True"
    assert driver_probe.run_python(program, **{variable: None}).strip() == "True"


def test_n3_config_value_turns_synchronization_off(driver: str, foreign_stream: ForeignStream) -> None:
    memory = cuarray.device_array(4, "u1")
    cuarray.config.sync = False
    with held(foreign_stream.handle) as hold:
        cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle))
        assert hold.is_held


def test_n4_signatures_match_the_specification() -> None:
    """The names, order and defaults are those of the specification; arguments that cuarray adds are keyword-only."""
    for function, expected in (
        (cuarray.as_cuda_array, {"obj": inspect.Parameter.empty, "sync": True}),
        (cuarray.from_cuda_array_interface, {"desc": inspect.Parameter.empty, "owner": None, "sync": True}),
    ):
        parameters = inspect.signature(function).parameters
        positional = {
            name: parameter.default
            for name, parameter in parameters.items()
            if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        }
        assert positional == expected
        assert list(positional) == list(expected)
        others = [parameter for name, parameter in parameters.items() if name not in expected]
        assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in others)
        assert all(parameter.default is not inspect.Parameter.empty for parameter in others)


def test_n4_sync_false_skips_the_wait(driver: str, foreign_stream: ForeignStream) -> None:
    memory = cuarray.device_array(4, "u1")
    producer = foreign(memory, stream=foreign_stream.handle)
    with held(foreign_stream.handle) as hold:
        cuarray.as_cuda_array(producer, False)
        cuarray.as_cuda_array(producer, sync=False)
        cuarray.from_cuda_array_interface(producer.__cuda_array_interface__, producer, False)
        cuarray.from_cuda_array_interface(producer.__cuda_array_interface__, owner=producer, sync=False)
        assert hold.is_held


def test_n4_owner_argument_is_kept_alive() -> None:
    class Owner:
        pass

    owner = Owner()
    reference = weakref.ref(owner)
    array = cuarray.from_cuda_array_interface(describe(), owner)
    del owner
    assert array.owner is reference() is not None


def test_n5_transfer_runs_in_home_stream(driver: str, foreign_stream: ForeignStream) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    array = cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle), sync=False)
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, 5, 4, foreign_stream.handle)
        hold.release_soon()
        assert array.copy_to_host().tolist() == [5] * 4
        assert not hold.is_held


def test_n5_transfer_runs_in_given_stream_before_later_work_in_home_stream(driver: str) -> None:
    """Later work in the home stream waits for the transfer."""
    stream, other = cuarray.stream(), ForeignStream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    source = cuarray.to_device(np.full(4, 5, np.uint8))
    with contextlib.ExitStack() as stack:
        stack.callback(other.destroy)
        hold = stack.enter_context(held(other.handle))
        array.copy_to_device(source, stream=other)
        assert hold.is_held
        assert not driver_probe.is_done(other.handle)
        hold.release()
        assert array.copy_to_host().tolist() == [5] * 4
