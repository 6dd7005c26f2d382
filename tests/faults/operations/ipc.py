"""Arrays of other processes."""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from functools import cache

import numpy as np

import cuarray

from .table import Attempt, operation

_EXPORTER = """
import pickle, sys
import numpy as np
import cuarray
array = cuarray.to_device(np.arange(6, dtype="i4"))
print(pickle.dumps(array.get_ipc_handle()).hex(), flush=True)
sys.stdin.read()
"""


@cache
def _handle_of_another_process() -> bytes:
    """A pickled handle of a process that lives until this one ends."""
    environment = {**os.environ, "CUARRAY_DRIVER": cuarray.driver_path() or ""}
    process = subprocess.Popen(
        [sys.executable, "-c", _EXPORTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    return bytes.fromhex(process.stdout.readline())


@operation("DeviceArray.get_ipc_handle")
def get_ipc_handle() -> Attempt:
    array = cuarray.to_device(np.arange(6, dtype="i4"), stream=cuarray.stream())
    return lambda: len(array.get_ipc_handle().handle)


PROPERTIES = "nbytes typestr shape readonly handle offset strides dtype owner process"


@operation(
    "IpcHandle, without calls",
    *(f"IpcHandle.{name}" for name in PROPERTIES.split()),
    *(f"IpcHandle.{name}" for name in ("__new__", "__repr__", "__reduce__")),
)
def handle_properties() -> Attempt:
    handle = pickle.loads(_handle_of_another_process())

    def attempt() -> object:
        again = pickle.loads(pickle.dumps(handle))
        return (repr(again), [str(getattr(again, name)) for name in PROPERTIES.split()])

    return attempt


@operation("IpcHandle.open")
def open_handle() -> Attempt:
    handle = pickle.loads(_handle_of_another_process())
    return lambda: handle.open().copy_to_host().tolist()


@operation("IpcHandle, in a with block", "IpcHandle.__enter__", "IpcHandle.__exit__")
def enter_handle() -> Attempt:
    handle = pickle.loads(_handle_of_another_process())

    def attempt() -> object:
        with handle as array:
            return array.copy_to_host().tolist()

    return attempt
