"""Deleters and releases of other libraries are called without the GIL, because they may wait for a thread that needs it."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import c_arrays as c
import dlpack_tensors as tensors
import numpy as np
import pytest

import cuarray

SOURCE = """
extern int PyGILState_Check(void);
int called, with_gil;
void release(void *structure) {
    (void)structure;
    called++;
    with_gil += PyGILState_Check();
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    folder = tmp_path_factory.mktemp("release")
    (folder / "release.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", str(folder / "release.c"), "-o", str(folder / "release.so")], check=True)
    return ctypes.CDLL(str(folder / "release.so"))


def structure(memory: Any, release: int, **entries: Any) -> Any:
    producer = c.Producer(memory, null_release=True, **entries)
    producer.structure.release = release
    return producer


def tensor(memory: Any, release: int, **entries: Any) -> Any:
    producer = tensors.Producer(memory, **entries)
    producer.managed.deleter = release
    return producer


def dropped(producer: Any) -> None:
    cuarray.as_cuda_array(producer)


def dropped_with_owner_object(producer: Any) -> None:
    view = cuarray.as_cuda_array(producer)[1:]
    assert view.owner is not None


def copied(producer: Any) -> None:
    cuarray.to_device(producer)


def collected(producer: Any) -> None:
    cycle: list[Any] = [cuarray.as_cuda_array(producer).owner]
    cycle.append(cycle)


def refused(producer: Any) -> None:
    with pytest.raises((BufferError, ValueError)):
        cuarray.as_cuda_array(producer, dtype="float64")


@pytest.mark.parametrize(
    "use", [dropped, dropped_with_owner_object, copied, collected, refused], ids=lambda use: use.__name__
)
@pytest.mark.parametrize("made", [structure, tensor], ids=lambda made: made.__name__)
def test_release_is_called_once_without_the_gil(
    driver: str, library: ctypes.CDLL, made: Callable[..., Any], use: Any
) -> None:
    called, with_gil = (ctypes.c_int.in_dll(library, name) for name in ("called", "with_gil"))
    called.value = with_gil.value = 0
    release = ctypes.cast(library.release, ctypes.c_void_p).value
    memory = cuarray.to_device(np.arange(12, dtype="float32"))
    producer = made(memory, release)
    use(producer)
    producer.array = None  # the C function `release` frees nothing
    gc.collect()
    assert (called.value, with_gil.value) == (1, 0)


def test_release_of_unreadable_structure_is_called_without_the_gil(driver: str, library: ctypes.CDLL) -> None:
    called, with_gil = (ctypes.c_int.in_dll(library, name) for name in ("called", "with_gil"))
    called.value = with_gil.value = 0
    release = ctypes.cast(library.release, ctypes.c_void_p).value
    for producer in (
        structure(None, release, major=99),
        tensor(None, release, version=(99, 0)),
        tensor(None, release, ndim=-1),
    ):
        with pytest.raises((BufferError, ValueError)):
            cuarray.as_cuda_array(producer)
    assert (called.value, with_gil.value) == (3, 0)
