"""Pages state what runs on the simulated driver, and with which versions, as their sources do. `UPDATE=1` writes the tables."""

from __future__ import annotations

import re

import pytest
from generated import differences
from project import versions, what_runs
from project.what_runs import ROOT

ENTRIES = [row for rows in what_runs.source().values() for row in rows]
TABLES = {**what_runs.tables(), **versions.tables()}
# "has not run" ages: such a statement belongs to the source, or it is about GPUs.
AGEING = re.compile(r"[^.|\n]*\b(?:(?:has|have) not run|(?:do|does) not run yet)\b[^.|\n]*")


@pytest.mark.parametrize("page", what_runs.PAGES)
def test_tables_of_the_page_are_those_of_the_source(page: str) -> None:
    assert what_runs.BLOCK.search((ROOT / page).read_text(encoding="utf-8")), "the page has no place for a table"
    assert differences(ROOT / page, what_runs.generated(page, TABLES)) == []


def test_each_table_has_a_page() -> None:
    shown = {
        block[2] for page in what_runs.PAGES for block in what_runs.BLOCK.finditer((ROOT / page).read_text("utf-8"))
    }
    assert shown == {*TABLES}


@pytest.mark.parametrize("entry", ENTRIES, ids=[row["name"] for row in ENTRIES])
def test_entry_names_tests_that_exist(entry: what_runs.Row) -> None:
    assert {"runs", "not"} & set(entry)
    assert [path for path in entry.get("code", ()) if not (ROOT / path).exists()] == []
    assert not ("runs" in entry and "as" in entry) or "tests" in entry


def test_no_page_says_of_a_library_that_it_has_not_run() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("python/*/*.md"),
    ]
    said = [
        f"{page.relative_to(ROOT)}: {sentence.strip()}"
        for page in pages
        for sentence in AGEING.findall(page.read_text(encoding="utf-8"))
        if not re.search(r"\bGPU\b", sentence)
    ]
    assert said == []
