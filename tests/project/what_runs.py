"""The tables that docs/what-runs.toml generates: libraries and features on the simulated driver."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs" / "what-runs.toml"
LINK = re.compile(r"\]\(([^():]+)\)")
BLOCK = re.compile(r"(<!-- what-runs: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

Row = dict[str, Any]


def source() -> dict[str, list[Row]]:
    """Return the entries `library` and `feature` of the source."""
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def how_to() -> dict[str, list[Row]]:
    """Return the libraries of each how-to page, by the name of the page: those whose name links to it."""
    found: dict[str, list[Row]] = {}
    for row in source()["library"]:
        if page := re.search(r"\(docs/how-to/([\w-]+)\.md", row["name"]):
            found.setdefault(page[1], []).append(row)
    return found


PAGES = (
    *("README.md", "docs/introduction.md", "docs/explanation/open-ends.md", "docs/reference/versions.md"),
    *(f"docs/how-to/{page}.md" for page in how_to()),
)


def table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table of Markdown."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def tables() -> dict[str, str]:
    """Return the tables by the names that pages give their places. Links are relative to the root."""
    libraries, features = source()["library"], source()["feature"]
    return {
        "libraries": table(
            ("library", "as", "tests"), [(row["name"], row["as"], row["tests"]) for row in libraries if "runs" in row]
        ),
        "what-libraries-run": table(
            ("library", "runs on the simulated driver"),
            [(row["name"], row["runs"]) for row in libraries if "runs" in row],
        ),
        "what-features-run": table(
            ("feature", "runs on the simulated driver"),
            [(row["name"], row["runs"]) for row in features if "runs" in row],
        ),
        "what-does-not-run": table(
            ("library or feature", "does not run"),
            [(row["name"], row["not"]) for row in [*libraries, *features] if "not" in row],
        ),
        **{
            page: table(
                ("library", "as", "runs", "does not run", "tests"),
                [
                    (
                        re.sub(r"\[(.*)\]\(.*\)", r"\1", row["name"]),
                        row["as"],
                        row["runs"],
                        row.get("not", ""),
                        row["tests"],
                    )
                    for row in rows
                ],
            )
            for page, rows in how_to().items()
        },
    }


def generated(page: str, made: dict[str, str]) -> str:
    """Return the page with these tables."""
    text = (ROOT / page).read_text(encoding="utf-8")

    def relative(link: re.Match[str]) -> str:
        return f"]({os.path.relpath(ROOT / link[1], (ROOT / page).parent)})"

    return BLOCK.sub(lambda block: f"{block[1]}\n{LINK.sub(relative, made[block[2]])}\n{block[4]}", text)
