"""`cuarray.distributed` without Dask and Ray: pickled arrays, and memory that another process reads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from other_process import run_in_other_process

import cuarray
from cuarray import distributed

COPY = """
from cuarray import distributed
result = distributed._copy_of_other_process(sent).copy_to_host()
"""
END_WHILE_READING = """
import os
os.rename(sent[1], f"{sent[1]}.{os.getpid()}")
result = None
"""


@pytest.fixture
def exports() -> Any:
    return distributed._Exports()


def files(sent: tuple[bytes, str]) -> list[str]:
    return os.listdir(Path(sent[1]).parent)


@pytest.mark.parametrize("host", [np.arange(6).reshape(2, 3), np.zeros(0), np.ma.MaskedArray([1, 2], [0, 1])], ids=str)
def test_registered_array_is_pickled_with_its_mask(driver: str, host: Any) -> None:
    # In another process, as the table of copyreg is the interpreter's.
    program = (
        "from cuarray import distributed, to_device; import pickle; distributed.register_ray(); a = to_device(host)\n"
    )
    program += "b = pickle.loads(pickle.dumps(a)); result = (b.copy_to_host(), b.ptr != a.ptr or not a.nbytes)"
    values, is_copy = run_in_other_process(program, host=host)
    assert is_copy
    assert np.ma.allequal(values, host)
    assert np.ma.getmaskarray(values).tolist() == np.ma.getmaskarray(host).tolist()


def test_other_process_copies_exported_memory_and_then_it_is_released(driver: str, exports: Any) -> None:
    sent = exports.add(cuarray.to_device(np.arange(5.0))[1:])
    assert len(exports) == 1
    assert run_in_other_process(COPY, sent=sent).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert len(exports) == 0
    assert files(sent) == []


def test_memory_of_a_receiver_that_ended_is_released(driver: str, exports: Any) -> None:
    sent = exports.add(cuarray.to_device([1.0]))
    run_in_other_process(END_WHILE_READING, sent=sent)
    assert len(exports) == 0
    assert files(sent) == []


def test_unclaimed_memory_is_released_after_a_time_and_a_late_receiver_gets_an_error(
    driver: str, exports: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = exports.add(cuarray.to_device([1.0]))
    monkeypatch.setattr(distributed, "UNCLAIMED_SECONDS", -1.0)
    assert len(exports) == 0
    with pytest.raises(FileNotFoundError):
        distributed._copy_of_other_process(sent)


def test_memory_that_is_being_read_is_kept(driver: str, exports: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = exports.add(cuarray.to_device([1.0]))
    monkeypatch.setattr(distributed, "UNCLAIMED_SECONDS", -1.0)
    os.rename(sent[1], f"{sent[1]}.{os.getpid()}")
    assert len(exports) == 1


@pytest.mark.parametrize(
    ("sender", "recipient", "expected"),
    [
        ("tcp://10.0.0.1:1", "tcp://10.0.0.1:2", True),
        ("tcp://10.0.0.1:1", "tcp://10.0.0.2:1", False),
        ("tls://[::1]:1", "tls://[::1]:2", True),
        ("", "", False),
    ],
)
def test_memory_is_sent_to_processes_at_one_address_only(sender: str, recipient: str, expected: bool) -> None:
    context = {"sender": {"address": sender}, "recipient": {"address": recipient}}
    assert distributed._is_one_machine(context) is expected


def test_import_of_the_module_loads_no_other_library() -> None:
    code = "import cuarray.distributed, sys; print({'dask', 'distributed', 'ray'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
