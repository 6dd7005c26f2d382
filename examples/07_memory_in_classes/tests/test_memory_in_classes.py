"""Memory that a Rust class holds stays valid, and work on it stays ordered."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from memory_in_classes import History, Table
from numba import cuda


def row(value: float, stream: object = 0) -> object:
    return cuda.to_device(np.full(3, value, np.float32), stream=stream)


def test_exported_rows_show_later_pushes() -> None:
    work, producer = cuda.stream(), cuda.stream()
    history = History(2, 3, work)
    rows = history.rows
    for value in (1, 2, 3):
        history.push(row(value, producer))
    assert rows.copy_to_host()[:, 0].tolist() == [3, 2]
    assert cuda.as_cuda_array(history.rows).copy_to_host()[:, 0].tolist() == [3, 2]
    with pytest.raises(ValueError, match="a row of 2 elements; 3 are expected"):
        history.push(cuda.to_device(np.zeros(2, np.float32)))
    producer.synchronize()


def test_exported_rows_outlive_the_history() -> None:
    work = cuda.stream()
    history = History(1, 3, work)
    history.push(row(5))
    kept = cuda.as_cuda_array(history.rows)
    del history
    gc.collect()
    assert kept.copy_to_host().tolist() == [[5, 5, 5]]


def test_write_by_numba_is_visible_in_rows() -> None:
    history = History(1, 3, cuda.stream())
    cuda.as_cuda_array(history.rows).copy_to_device(np.full((1, 3), 7, np.float32))
    assert history.rows.copy_to_host().tolist() == [[7, 7, 7]]


def test_table_is_read_in_another_thread() -> None:
    table = Table(row(4))
    gc.collect()
    sums: list[float] = []
    thread = threading.Thread(target=lambda: sums.append(table.sum(2)))
    thread.start()
    thread.join()
    assert sums == [12.0]
