"""Cells of docs/results/interoperability.md, for the libraries of `make peers`; `make square` compares all."""

from __future__ import annotations

import datetime
import importlib.util
import re
from pathlib import Path

import pytest
from square import page
from square.pairs import Pair, run_pair

#: Pairs with one library each that has order, types or layouts of its own.
PAIRS = [("cuarray", "cuda_core"), ("numba_cuda", "cuarray"), ("cuarray", "mpi4py")]
PACKAGES = {"numba_cuda": "numba_cuda", "cuda_core": "cuda.core", "mpi4py": "mpi4py", "cuarray": "cuarray"}


@pytest.mark.parametrize(("producer", "consumer"), PAIRS)
def test_cell_is_as_documented(producer: str, consumer: str, driver_kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # For an MPI without CUDA.
    monkeypatch.setenv("CUARRAY_SIM_HOST_READABLE", "1")
    for name in (producer, consumer):
        try:
            found = importlib.util.find_spec(PACKAGES[name])
        except ModuleNotFoundError:
            found = None
        if found is None:
            pytest.skip(f"{name} is not installed; `make peers` installs it")
    assert page.differences([run_pair(producer, consumer)], page.PAGE.read_text()) == []


def test_difference_names_both_libraries_and_the_failure() -> None:
    kept = Pair("cuarray", "cupy", ("cuarray 1", "CuPy 1"), ["I8.x"], {})
    text = page.write([kept], datetime.date(2026, 1, 1))
    assert page.differences([kept], text) == []
    lost = Pair("cuarray", "cupy", ("cuarray 1", "CuPy 1"), [], {"I8.x": "at 0x1f"}, {"I8.x": "CuPy: D1"})
    assert page.differences([lost], text) == ["cuarray → CuPy: *l*, and the page says L (I8.x: at …)"]
    assert page.differences([lost], "") == ["the page has no square"]


def test_failure_without_a_reason_is_a_difference() -> None:
    lost = Pair("cuarray", "cupy", ("cuarray 1", "CuPy 1"), [], {"I8.x": "seen", "I8.y": "seen"}, {"I8.x": "CuPy: D1"})
    text = page.write([lost], datetime.date(2026, 1, 1))
    assert page.differences([lost], text) == ["cuarray → CuPy: no adapter gives a reason for I8.y"]


def test_page_names_versions_reasons_and_losses() -> None:
    reason = "CuPy: D13: a pointer; docs/findings/cupy.md"
    lost = Pair("cuarray", "cupy", ("cuarray 1", "CuPy 2"), [], {"I8.x.2d": "seen"}, {"I8.x.2d": reason})
    text = page.write([lost], datetime.date(2026, 1, 2))
    assert "2026-01-02, with cuarray 1, CuPy 2." in text
    assert "| CuPy | D13: a pointer; [cupy](../findings/cupy.md) | `I8.x` | 1 |" in text
    assert "| CuPy | consumer | `I8.x.2d` | 1 of 1 |" in text


def test_whole_page_is_compared_apart_from_its_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UPDATE", raising=False)
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    kept = Pair("cuarray", "cupy", ("cuarray 1", "CuPy 1"), ["I8.x"], {})
    text = page.write([kept], datetime.date(2026, 1, 1))
    page.PAGE.write_text(text)
    assert page.compare([kept]) == []
    page.PAGE.write_text(text.replace("CuPy 1", "CuPy 0"))
    assert any("CuPy 0" in line for line in page.compare([kept]))


def test_page_has_the_fixed_texts_of_its_source() -> None:
    fixed = [part for text in (page.HEAD, page.TAIL) for part in re.split(r"\{\w+\}", text)]
    text = page.PAGE.read_text()
    assert [part for part in fixed if part not in text] == []


def test_part_of_a_library_apart_is_compared_and_survives_an_update_of_the_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UPDATE", raising=False)
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    date = datetime.date(2026, 1, 1)
    square = [Pair("cuarray", "cupy", ("cuarray 1", "CuPy 1"), ["I8.x"], {})]
    apart = [Pair("pylibcudf", "cuarray", ("pylibcudf 1", "cuarray 1"), ["I8.x"], {})]
    page.PAGE.write_text(page.write(square, date) + page.write_apart("pylibcudf", apart, date))
    assert page.compare(square) == page.compare_apart("pylibcudf", apart) == []
    lost = Pair("pylibcudf", "cuarray", ("pylibcudf 1", "cuarray 1"), [], {"I8.x": "seen"})
    differences = page.compare_apart("pylibcudf", [lost])
    assert any("*l*" in line for line in differences)
    assert differences[-1] == "pylibcudf → cuarray: no adapter gives a reason for I8.x"
