"""The package without NumPy: element types are given by name, and operations that need NumPy say so."""

from __future__ import annotations

import driver_probe
import pytest

WITHOUT = "import sys; sys.modules['numpy'] = None; import cuarray\n"


def run(program: str) -> list[str]:
    """Runs a program without NumPy in a new process, and gives the lines that it prints."""
    return driver_probe.run_python(WITHOUT + program).splitlines()


@pytest.mark.parametrize(
    ("dtype", "typestr"),
    [
        ("'<f4'", "<f4"),
        ("'float32'", "<f4"),
        ("'f4'", "<f4"),
        ("'bfloat16'", "bfloat16"),
        ("'datetime64[ns]'", "<M8[ns]"),
        ("float", "<f8"),
        ("int", "<i8"),
        ("bool", "|b1"),
        ("complex", "<c16"),
    ],
)
@pytest.mark.usefixtures("driver_kind")
def test_dtype_argument_accepts_names_and_python_types(dtype: str, typestr: str) -> None:
    assert run(f"print(cuarray.device_array(3, {dtype}).typestr)") == [typestr]


@pytest.mark.parametrize(
    "expression",
    ["a.dtype", "a.copy_to_host()", "cuarray.device_array(3, [('x', '<f4')])", "cuarray.interface(a).dtype"],
)
@pytest.mark.usefixtures("driver_kind")
def test_operation_that_needs_numpy_raises_import_error(expression: str) -> None:
    program = f"""
a = cuarray.device_array(3, 'float32')
try:
    {expression}
except ImportError as error:
    print("NumPy" in str(error), "typestr" in str(error), type(error.__cause__).__name__)
"""
    assert run(program) == ["True True ModuleNotFoundError"]
