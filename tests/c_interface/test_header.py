"""`cuarray_problem` of `cuarray.h` and the import by cuarray agree on which structures are valid."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import c_arrays as c
import pytest

import cuarray

SOURCE = """
#include "cuarray.h"
#ifdef __cplusplus
extern "C"
#endif
const char *problem(const cuarray *array);
const char *problem(const cuarray *array) { return cuarray_problem(array); }
"""

COMPILERS = {"c": ("cc", "-x", "c", "-std=c99"), "c++": ("c++", "-x", "c++", "-std=c++11")}

Problem = Callable[[Any], "bytes | None"]


@pytest.fixture(scope="module", params=list(COMPILERS))
def problem(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Problem:
    compiler, *language = COMPILERS[request.param]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    folder = tmp_path_factory.mktemp("header")
    (folder / "problem.c").write_text(SOURCE)
    options = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{Path(cuarray.get_include())}"]
    command = [compiler, *language, *options, str(folder / "problem.c"), "-o", str(folder / "problem.so")]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(folder / "problem.so")).problem
    function.restype = ctypes.c_char_p
    function.argtypes = (ctypes.POINTER(c.Array),)
    return function


def mask(**entries: Any) -> Any:
    return ctypes.pointer(c.of(None, typestr=b"|b1", **entries))


INVALID = {
    "another version": {"major": 2},
    "an unknown flag": {"flags": 8},
    "a negative ndim": {"ndim": -1},
    "the largest ndim": {"ndim": 2**31 - 1},
    "an ndim above the limit": {"ndim": 65},
    "no shape": {"shape": None},
    "a negative length": {"shape": c.numbers(-1)},
    "a flag without a stream": {"flags": c.HAS_STREAM},
    "a stream without a flag": {"stream": 1},
    "a flag without an event": {"flags": c.HAS_EVENT},
    "an event without a flag": {"event": 1},
    "fields without nfields": {"typestr": b"|V4", "fields": (c.Field * 1)(c.Field(name=b"x", typestr=b"<f4"))},
    "nfields without fields": {"typestr": b"|V4", "nfields": 1},
    "a negative nfields": {"typestr": b"|V4", "nfields": -1},
    "an invalid device": {"device": -2},
    "an unterminated typestr": {"typestr": b"<" * 24},
    "an unterminated type name": {"typestr": b"|V2", "type_name": b"x" * 24},
    "a mask of another version": {"mask": mask(major=2)},
    "a mask with an unknown flag": {"mask": mask(flags=8)},
    "a mask of a negative length": {"mask": mask(shape=c.numbers(-1))},
    "a mask of a mask": {"mask": mask(mask=mask())},
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_structure_is_refused_by_header_and_import(problem: Problem, case: str) -> None:
    entries = INVALID[case]
    assert problem(ctypes.byref(c.of(None, **entries)))
    with pytest.raises((ValueError, BufferError)):
        cuarray.as_cuda_array(c.Producer(**entries), sync=False)


VALID: dict[str, dict[str, Any]] = {
    "a plain array": {},
    "no dimensions": {"ndim": 0, "shape": None},
    "the largest valid ndim": {"ndim": 64, "shape": c.numbers(*[1] * 64)},
    "no elements": {"shape": c.numbers(0), "data": 0},
    "a later minor version": {"minor": 9, "flags": 1 << 40, "memory": 99},
    "a stream and an event": {"flags": c.HAS_STREAM | c.HAS_EVENT, "stream": 1, "event": 7},
    "a mask": {"mask": mask()},
    "an unknown type name": {"typestr": b"|V2", "type_name": b"float7"},
    "fields": {"typestr": b"|V4", "nfields": 1, "fields": (c.Field * 1)(c.Field(name=b"x", typestr=b"<f4"))},
}


@pytest.mark.parametrize("case", VALID)
def test_valid_structure_is_accepted_by_header_and_import(problem: Problem, case: str) -> None:
    entries = VALID[case]
    assert problem(ctypes.byref(c.of(None, **entries))) is None
    cuarray.as_cuda_array(c.Producer(**entries), sync=False)


def test_header_reports_null_structure(problem: Problem) -> None:
    assert problem(None) == b"the array is NULL"
