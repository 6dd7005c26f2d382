"""A machine without a driver: operations that need none work; others raise an error that says how to continue."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

Run = Callable[..., str]

# A driver that is already loaded would be found regardless of the variable, so each test has its own process.
WITHOUT = {"CUARRAY_DRIVER": "/nonexistent/libcuda.so.1"}

PRELUDE = """
import cuarray
desc = {"shape": (2, 3), "typestr": "<f4", "data": (0x7f0000000000, True), "version": 3, "stream": 7}
class Array:
    __cuda_array_interface__ = desc
"""


def run(run_python: Run, program: str, **environment: str | None) -> str:
    return run_python(PRELUDE + textwrap.dedent(program), **{**WITHOUT, **environment})


def test_interface_is_read_without_driver(run_python: Run) -> None:
    printed = run(
        run_python,
        """
        read = cuarray.interface(Array())
        print(read.shape, read.strides, read.stream, read.readonly, cuarray.is_cuda_array(Array()))
        print(read)
        """,
    )
    assert "(2, 3) (12, 4) 7 True True" in printed
    assert "0x7f0000000000" in printed


def test_import_and_export_work_without_driver(run_python: Run) -> None:
    printed = run(
        run_python,
        """
        for array in (cuarray.as_cuda_array(Array(), sync=False), cuarray.from_cuda_array_interface(desc, sync=False)):
            print(array, array.shape, array.typestr, array.nbytes, len(array), array.owner is None)
            again = cuarray.as_cuda_array(array)
            assert again.__cuda_array_interface__ == array.__cuda_array_interface__
            assert {**desc, "strides": None} == array.__cuda_array_interface__, array.__cuda_array_interface__
        """,
    )
    assert printed.count("(2, 3) <f4 24 2") == 2


def test_synchronizing_import_without_stream_works_without_driver(run_python: Run) -> None:
    run(run_python, "cuarray.from_cuda_array_interface({**desc, 'stream': None})")


def test_invalid_interface_is_refused_without_driver(run_python: Run) -> None:
    printed = run(
        run_python,
        """
        try:
            cuarray.from_cuda_array_interface({**desc, "stream": 0})
        except ValueError as error:
            print(error)
        """,
    )
    assert "['stream']" in printed


CALLS = [
    "cuarray.device_array(3)",
    "cuarray.to_device([1, 2])",
    "cuarray.as_cuda_array(Array())",
    "cuarray.stream()",
    "cuarray.default_stream()",
    "cuarray.per_thread_default_stream()",
    "cuarray.external_stream(7)",
    "cuarray.event()",
    "cuarray.driver_path()",
    "cuarray.as_cuda_array(Array(), sync=False).copy_to_host()",
    "cuarray.as_cuda_array(Array(), sync=False).device",
    "cuarray.as_cuda_array(Array(), sync=False).stream",
]


@pytest.mark.parametrize("call", CALLS)
def test_missing_driver_error_names_attempts_and_simulator(run_python: Run, call: str) -> None:
    printed = run(
        run_python,
        f"""
        for _ in range(2):
            try:
                {call}
            except cuarray.CudaError as error:
                print(error.name, error.code, error)
            else:
                print("NO ERROR")
        """,
    )
    assert "NO ERROR" not in printed
    assert printed.count("None None no CUDA driver could be loaded") == 2
    for wanted in ("/nonexistent/libcuda.so.1", "cuarray-sim", "python -m cuarray_sim", "CUARRAY_DRIVER"):
        assert wanted in printed


def test_file_that_is_not_a_library_is_named_in_error(run_python: Run, tmp_path: object) -> None:
    import pathlib

    wrong = pathlib.Path(str(tmp_path)) / "libcuda.so.1"
    wrong.write_text("not a library")
    printed = run(
        run_python,
        """
        try:
            cuarray.stream()
        except cuarray.CudaError as error:
            print(error)
        """,
        CUARRAY_DRIVER=str(wrong),
    )
    assert str(wrong) in printed


def test_package_import_loads_no_driver_and_no_numpy(run_python: Run) -> None:
    printed = run(
        run_python,
        """
        import sys
        cuarray.interface(desc)
        cuarray.as_cuda_array(Array(), sync=False).__cuda_array_interface__
        print("numpy" in sys.modules, any("libcuda.so" in line for line in open("/proc/self/maps")))
        """,
    )
    assert printed.split() == ["False", "False"]


def test_driver_is_searched_again_after_failure(simulator: str, run_python: Run) -> None:
    printed = run_python(
        textwrap.dedent("""
            import os
            path = os.environ["CUARRAY_DRIVER"]
            os.environ["CUARRAY_DRIVER"] = "/nonexistent/libcuda.so.1"
            import cuarray
            try:
                cuarray.stream()
            except cuarray.CudaError:
                print("NOT YET")
            os.environ["CUARRAY_DRIVER"] = path
            print(cuarray.to_device([1, 2]).copy_to_host(), cuarray.driver_path() == path)
        """)
    )
    assert printed.splitlines() == ["NOT YET", "[1 2] True"]
