"""The guide names each of its pages once, links lead to files and headings, and lists in the documents match the code."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from generated import differences

import cuarray

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "fuzz/*.md", "crates/*/*.md", "python/*/*.md")
    for path in ROOT.glob(pattern)
    if not {"target", ".venv", "node_modules"} & set(path.relative_to(ROOT).parts)
)
CODE = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def prose(path: Path) -> str:
    return re.sub(r"`[^`\n]*`", "", CODE.sub("", path.read_text(encoding="utf-8")))


def links(path: Path) -> list[str]:
    return [link for link in LINK.findall(prose(path)) if not re.match(r"[a-z]+:", link)]


def anchors(path: Path) -> set[str]:
    """As GitHub and mdBook name headings."""
    headings = re.findall(r"^#+ +(.*?) *$", CODE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_summary_names_each_page_once() -> None:
    pages = links(DOCS / "SUMMARY.md")
    assert len(pages) == len(set(pages))
    assert set(pages) == {str(path.relative_to(DOCS)) for path in DOCS.glob("**/*.md")} - {"SUMMARY.md"}


PURPOSES = {
    "Tutorials": "A first success, step by step.",
    "How-to": "One task each, without a GPU.",
    "Reference": "Complete lists.",
    "Explanation": "How it works and why.",
    "Findings of the conformance kit": "Defects of libraries.",
    "Results": "Written by commands.",
}


def list_of_pages() -> str:
    """The list of all pages in the guide, by the sections of the summary."""
    text = (DOCS / "SUMMARY.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^# (.*)\n\n((?:- .*\n)+)", text, re.MULTILINE))
    assert [*sections] == [*PURPOSES]
    return "\n".join(f"### {title}\n\n{PURPOSES[title]}\n\n{pages}" for title, pages in sections.items())


def test_the_guide_lists_each_page_of_the_summary() -> None:
    """`UPDATE=1` writes the list."""
    page = DOCS / "introduction.md"
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- pages -->\n")
    after = rest[rest.index("<!-- end -->") :]
    assert differences(page, f"{before}<!-- pages -->\n\n{list_of_pages()}\n{after}") == []
    assert {*links(DOCS / "SUMMARY.md")} - {"introduction.md"} <= {*links(page)}


def test_the_documents_are_found() -> None:
    assert {Path("README.md"), Path("docs/explanation/ordering.md"), Path("examples/README.md")} <= set(DOCUMENTS)
    assert "explanation/ordering.md" in links(DOCS / "introduction.md")


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_links_lead_somewhere(document: Path) -> None:
    for link in links(ROOT / document):
        target, _, anchor = link.partition("#")
        path = (ROOT / document).parent / target if target else ROOT / document
        assert path.exists(), f"{document} has a link to {link}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{document} has a link to {link}, and there is no such heading"


@pytest.mark.parametrize("document", [*DOCUMENTS, *sorted(ROOT.glob("python/*/pyproject.toml"))], ids=str)
def test_links_from_the_registries_pages_lead_somewhere(document: Path) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"https://github\.com/cuarray/cuarray/blob/main/([\w./-]+)", text):
        assert (ROOT / target).is_file(), f"{document} has a link to {target}"


def test_the_page_on_the_python_package_has_all_names() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    missing = [name for name in cuarray.__all__ if name[0].islower() and not re.search(rf"\b{name}\b", page)]
    assert not missing


def test_the_glossary_has_all_clauses_and_disagreements() -> None:
    page = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    lists = tomllib.loads((ROOT / "tests" / "spec" / "clauses.toml").read_text(encoding="utf-8"))
    for family in lists["family"]:
        for clause, text in family["clauses"].items():
            assert f"| {clause} | {text} |" in page
    assert len(re.findall(r"^\| D\d+ \|", page, re.MULTILINE)) == lists["disagreements"]["count"]


def test_every_folder_of_tests_has_a_rule_for_what_lives_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rule = text[text.index("## Where a test lives") : text.index("## When the targets run")]
    files = subprocess.run(["git", "ls-files", "-z", "tests"], cwd=ROOT, capture_output=True, text=True, check=True)
    folders = {name.split("/")[1] for name in files.stdout.split("\0") if name.count("/") > 1}
    named = {name.removeprefix("tests/").split("/")[0] for name in re.findall(r"`([\w/]+)`", rule)}
    assert "spec" in folders
    assert folders <= named, f"without a row: {sorted(folders - named)}"


@pytest.mark.parametrize(
    ("page", "file"),
    [
        ("README.md", "examples/00_readme/src/lib.rs"),
        ("docs/tutorial/first-extension-module.md", "examples/00_readme/src/lib.rs"),
        ("docs/how-to/pyo3-extension.md", "examples/01_take_an_array/src/lib.rs"),
        ("docs/how-to/pyo3-extension.md", "examples/01_take_an_array/src/scale.ptx"),
    ],
)
def test_page_shows_the_source_of_the_example(page: str, file: str) -> None:
    assert (ROOT / file).read_text(encoding="utf-8") + "```" in (ROOT / page).read_text(encoding="utf-8")


# A word in quotation marks, in what reads the environment.
VARIABLE = re.compile(r'"((?:CUARRAY|NUMBA)_[A-Z_]*[A-Z])"')


def test_every_variable_that_is_read_is_documented() -> None:
    read = {
        name
        for folder, pattern in (("crates", "src/**/*.rs"), ("python", "**/*.py"))
        for path in (ROOT / folder).glob(f"*/{pattern}")
        for name in VARIABLE.findall(path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0])
    }
    assert {"CUARRAY_DRIVER", "CUARRAY_SYNC", "CUARRAY_SIM_DEVICES", "CUARRAY_SIM_REPORT"} <= read
    tables = [
        (DOCS / "reference" / page).read_text(encoding="utf-8")
        for page in ("python.md", "runtime.md", "simulator.md", "reports.md", "toolchain.md", "rust-testing.md")
    ]
    first_cells = re.findall(r"^\| (`[^|]*`) \|", "".join(tables), re.MULTILINE)
    assert read - set(re.findall(r"`(\w+)`", "".join(first_cells))) == set()


def test_page_of_measurements_states_its_day_and_machine() -> None:
    """It is not compared, so its reader has to know when its figures were true."""
    page = (ROOT / "docs" / "results" / "performance.md").read_text(encoding="utf-8")
    setting = page.partition("<!-- bench: setting -->\n")[2].partition("\n<!-- end -->")[0]
    assert re.match(r"Measured on \d{4}-\d\d-\d\d: Python \S+, cuarray \S+, .+, \d+ cores", setting)
    assert 'setting = f"Measured on {date.today()}: ' in (ROOT / "benches" / "run.py").read_text(encoding="utf-8")
