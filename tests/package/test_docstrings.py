"""Every public name has a docstring, and every example in a docstring prints what it shows."""

from __future__ import annotations

import doctest
import inspect
import types
from collections.abc import Iterator
from typing import Any

import pytest

import cuarray


def documented() -> Iterator[tuple[str, Any]]:
    yield "cuarray", cuarray
    for name in cuarray.__all__:
        if name.startswith("__"):
            continue
        value = getattr(cuarray, name)
        yield f"cuarray.{name}", value
        if inspect.isclass(value) and not issubclass(value, BaseException):
            # PyO3 fills type dictionaries in another order in each process, and pytest-xdist needs the same order in all.
            for attribute, member in sorted(vars(value).items(), key=lambda entry: entry[0]):
                if not attribute.startswith("_") or attribute == "__cuda_array_interface__":
                    yield f"cuarray.{name}.{attribute}", member


DOCUMENTED = dict(documented())
FUNCTIONS = [name for name, value in DOCUMENTED.items() if isinstance(value, types.BuiltinFunctionType)]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_public_name_has_docstring(name: str) -> None:
    assert inspect.getdoc(DOCUMENTED[name]), f"{name} has no docstring"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_function_has_signature(name: str) -> None:
    assert inspect.signature(DOCUMENTED[name]) is not None


def test_dunder_all_lists_every_public_name() -> None:
    public = {
        name
        for name, value in vars(cuarray).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    assert public <= set(cuarray.__all__)
    assert sorted(cuarray.__all__) == list(dict.fromkeys(sorted(cuarray.__all__)))


EXAMPLES = {
    name: doctest.DocTestParser().get_doctest(value.__doc__, {"cuarray": cuarray}, name, None, 0)
    for name, value in DOCUMENTED.items()
    if isinstance(value.__doc__, str) and ">>>" in value.__doc__
}


def test_docstrings_contain_examples() -> None:
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring_example_prints_what_it_shows(driver: str, name: str) -> None:
    printed: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(EXAMPLES[name], out=printed.append)
    assert results.failed == 0, "".join(printed)
