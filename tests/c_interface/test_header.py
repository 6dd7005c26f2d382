"""What `cuarray.h` says of structures that others made: what cuarray itself says of them."""

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
        pytest.skip(f"there is no {compiler}")
    at = tmp_path_factory.mktemp("header")
    (at / "problem.c").write_text(SOURCE)
    options = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{Path(cuarray.get_include())}"]
    command = [compiler, *language, *options, str(at / "problem.c"), "-o", str(at / "problem.so")]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(at / "problem.so")).problem
    function.restype = ctypes.c_char_p
    function.argtypes = (ctypes.POINTER(c.Array),)
    return function


def mask(**entries: Any) -> Any:
    return ctypes.pointer(c.of(None, typestr=b"|b1", **entries))


BAD = {
    "another version": {"major": 2},
    "an unknown flag": {"flags": 8},
    "a negative rank": {"ndim": -1},
    "the highest rank": {"ndim": 2**31 - 1},
    "a rank above the limit": {"ndim": 65},
    "no shape": {"shape": None},
    "a negative length": {"shape": c.numbers(-1)},
    "a flag without a stream": {"flags": c.HAS_STREAM},
    "a stream without a flag": {"stream": 1},
    "a flag without an event": {"flags": c.HAS_EVENT},
    "an event without a flag": {"event": 1},
    "fields without a number": {"typestr": b"|V4", "fields": (c.Field * 1)(c.Field(name=b"x", typestr=b"<f4"))},
    "a number without fields": {"typestr": b"|V4", "nfields": 1},
    "a negative number of fields": {"typestr": b"|V4", "nfields": -1},
    "a device that is none": {"device": -2},
    "a typestr without an end": {"typestr": b"<" * 24},
    "a name without an end": {"typestr": b"|V2", "type_name": b"x" * 24},
    "a mask of another version": {"mask": mask(major=2)},
    "a mask with an unknown flag": {"mask": mask(flags=8)},
    "a mask of a negative length": {"mask": mask(shape=c.numbers(-1))},
    "a mask of a mask": {"mask": mask(mask=mask())},
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_wrong_for_both(problem: Problem, case: str) -> None:
    entries = BAD[case]
    assert problem(ctypes.byref(c.of(None, **entries)))
    with pytest.raises((ValueError, BufferError)):
        cuarray.as_cuda_array(c.Producer(**entries), sync=False)


GOOD: dict[str, dict[str, Any]] = {
    "nothing of note": {},
    "no dimensions": {"ndim": 0, "shape": None},
    "the highest rank that is allowed": {"ndim": 64, "shape": c.numbers(*[1] * 64)},
    "no elements": {"shape": c.numbers(0), "data": 0},
    "a later minor version": {"minor": 9, "flags": 1 << 40, "memory": 99},
    "a stream and an event": {"flags": c.HAS_STREAM | c.HAS_EVENT, "stream": 1, "event": 7},
    "a mask": {"mask": mask()},
    "a name that is not known": {"typestr": b"|V2", "type_name": b"float7"},
    "fields": {"typestr": b"|V4", "nfields": 1, "fields": (c.Field * 1)(c.Field(name=b"x", typestr=b"<f4"))},
}


@pytest.mark.parametrize("case", GOOD)
def test_what_is_right_is_right_for_both(problem: Problem, case: str) -> None:
    entries = GOOD[case]
    assert problem(ctypes.byref(c.of(None, **entries))) is None
    cuarray.as_cuda_array(c.Producer(**entries), sync=False)


def test_null_is_no_array(problem: Problem) -> None:
    assert problem(None) == b"the array is NULL"
