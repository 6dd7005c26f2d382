"""Deleters and releases of other libraries are called without the GIL: they may wait for a thread that wants it."""

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
void let_go(void *structure) {
    (void)structure;
    called++;
    with_gil += PyGILState_Check();
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("cc") is None:
        pytest.skip("there is no cc")
    at = tmp_path_factory.mktemp("release")
    (at / "let_go.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", str(at / "let_go.c"), "-o", str(at / "let_go.so")], check=True)
    return ctypes.CDLL(str(at / "let_go.so"))


def structure(memory: Any, let_go: int, **entries: Any) -> Any:
    producer = c.Producer(memory, null_release=True, **entries)
    producer.structure.release = let_go
    return producer


def tensor(memory: Any, let_go: int, **entries: Any) -> Any:
    producer = tensors.Producer(memory, **entries)
    producer.managed.deleter = let_go
    return producer


def dropped(producer: Any) -> None:
    cuarray.as_cuda_array(producer)


def seen_and_dropped(producer: Any) -> None:
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


@pytest.mark.parametrize("use", [dropped, seen_and_dropped, copied, collected, refused], ids=lambda use: use.__name__)
@pytest.mark.parametrize("made", [structure, tensor], ids=lambda made: made.__name__)
def test_who_lets_go_has_no_gil(driver: str, library: ctypes.CDLL, made: Callable[..., Any], use: Any) -> None:
    called, with_gil = (ctypes.c_int.in_dll(library, name) for name in ("called", "with_gil"))
    called.value = with_gil.value = 0
    let_go = ctypes.cast(library.let_go, ctypes.c_void_p).value
    memory = cuarray.to_device(np.arange(12, dtype="float32"))
    producer = made(memory, let_go)
    use(producer)
    producer.array = None  # `let_go` frees nothing
    gc.collect()
    assert (called.value, with_gil.value) == (1, 0)


def test_what_cannot_be_read_is_let_go_of_without_it_too(driver: str, library: ctypes.CDLL) -> None:
    called, with_gil = (ctypes.c_int.in_dll(library, name) for name in ("called", "with_gil"))
    called.value = with_gil.value = 0
    let_go = ctypes.cast(library.let_go, ctypes.c_void_p).value
    for producer in (
        structure(None, let_go, major=99),
        tensor(None, let_go, version=(99, 0)),
        tensor(None, let_go, ndim=-1),
    ):
        with pytest.raises((BufferError, ValueError)):
            cuarray.as_cuda_array(producer)
    assert (called.value, with_gil.value) == (3, 0)
