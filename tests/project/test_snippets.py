"""The documents' examples in Python run as they are written, with the names that the text around them supposes.

A comment behind an expression is compared with its value if it is a literal, and with what is raised if it begins with an exception's
name; any other comment is prose. What installs a driver is a program, and runs in a process of its own.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from driver_probe import run_python
from producers import Producer, foreign

import cuarray

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```(python|pycon)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    document: str
    language: str
    text: str


def snippets() -> Iterator[Snippet]:
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("python/*/README.md"))]:
        for found in FENCE.finditer(path.read_text(encoding="utf-8")):
            yield Snippet(str(path.relative_to(ROOT)), found[2], textwrap.dedent(found[3]))


SNIPPETS = list(snippets())
PROGRAMS = [snippet for snippet in SNIPPETS if "cuarray_sim." in snippet.text]
SESSIONS = [snippet for snippet in SNIPPETS if snippet.language == "pycon"]
EXAMPLES = [snippet for snippet in SNIPPETS if snippet not in PROGRAMS + SESSIONS]


def name(snippet: Snippet) -> str:
    return f"{snippet.document}: {snippet.text.partition(chr(10))[0]}"


class Tensor:
    """An array of a library that speaks DLPack alone."""

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


class Kernel:
    """A kernel that is configured and called as numba's are, and does nothing."""

    def __getitem__(self, configuration: object) -> Kernel:
        return self

    def __call__(self, array: cuarray.DeviceArray) -> None:
        assert isinstance(array, cuarray.DeviceArray)


def names(document: str) -> dict[str, Any]:
    """What the text supposes."""
    array = cuarray.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    beyond = foreign(array, shape=(1 << 20,), strides=None)
    pairs = foreign(cuarray.to_device(np.zeros(4, np.uint16)), typestr="<V2")
    return {
        "cuarray": cuarray,
        "numpy": np,
        "theirs": foreign(array),
        "array_of_any_gpu_library": foreign(array),
        "x": beyond,
        "tensor": pairs if document == "docs/reference/types.md" else Tensor(array),
        "numba": SimpleNamespace(cuda=cuarray),
        "other_library": SimpleNamespace(from_dlpack=cuarray.from_dlpack, asarray=cuarray.as_cuda_array),
        "s": cuarray.stream(),
        "kernel": Kernel(),
        "blocks": 1,
        "threads": 1,
    }


def run(text: str, known: dict[str, Any]) -> None:
    """Run a snippet, statement by statement, and hold what expressions give against the comments behind them."""
    lines = text.splitlines()
    for statement in ast.parse(text).body:
        source = ast.get_source_segment(text, statement)
        assert source is not None
        comment = (
            lines[(statement.end_lineno or 0) - 1].encode()[statement.end_col_offset :].decode().strip().lstrip("# ")
        )
        kind, _, said = comment.partition(": ")
        error = getattr(builtins, kind, None)
        if isinstance(error, type) and issubclass(error, Exception):
            with pytest.raises(error, match=".*".join(map(re.escape, said.split("...")))):
                exec(source, known)
        elif isinstance(statement, ast.Expr):
            value = eval(source, known)
            try:
                expected = ast.literal_eval(comment)
            except (ValueError, SyntaxError):
                continue
            assert (value.tolist() if isinstance(value, np.ndarray) else value) == expected, source
        else:
            exec(source, known)


def test_there_are_examples_of_each_kind() -> None:
    assert len(EXAMPLES) >= 8
    assert SESSIONS
    assert PROGRAMS


def test_a_wrong_comment_is_noticed() -> None:
    run("len([1])  # 1\nlen([])  # how many there are\nint('x')  # ValueError: invalid literal ... 'x'\n", {})
    for wrong in ("len([1])  # 2", "int('x')  # ValueError: no number", "int('1')  # ValueError: invalid literal"):
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            run(wrong, {})


@pytest.mark.parametrize("snippet", EXAMPLES, ids=name)
def test_an_example_runs_and_answers_what_it_says(driver: str, snippet: Snippet) -> None:
    known = names(snippet.document)
    if "ml_dtypes." in snippet.text:
        known["ml_dtypes"] = pytest.importorskip("ml_dtypes")
    run(snippet.text, known)


@pytest.mark.parametrize("snippet", SESSIONS, ids=name)
def test_a_session_prints_what_it_shows(snippet: Snippet) -> None:
    interface = {
        "shape": (10, 4, 5),
        "typestr": "<f4",
        "data": (0x7F0000000000, False),
        "strides": (80, 20, 4),
        "stream": 7,
        "version": 3,
    }
    known = {"cuarray": cuarray, "theirs": Producer(interface)}
    printed: list[str] = []
    session = doctest.DocTestParser().get_doctest(snippet.text, known, snippet.document, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(session, out=printed.append).failed == 0, "".join(printed)


@pytest.mark.parametrize("snippet", PROGRAMS, ids=name)
def test_a_program_runs(simulator: str, snippet: Snippet) -> None:
    before = """
import cuarray_sim
cuarray_sim.install(devices=2)
def function():
    pass
"""
    run_python(before + snippet.text)
