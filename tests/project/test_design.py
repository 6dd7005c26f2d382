"""DESIGN.md lists the folders and the cycles that there are, and its decisions are numbered and dated."""

from __future__ import annotations

import re
from pathlib import Path

from generated import differences
from project.test_arrows import arrows, cycles

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "DESIGN.md"


def cycles_within_folders(crates: Path) -> list[tuple[str, set[str]]]:
    """The cycles of the files and folders directly within a folder of a crate's sources."""
    return [
        (str(folder.relative_to(ROOT)), cycle)
        for source in sorted(crates.glob("*/src"))
        for folder in [source, *sorted(each for each in source.rglob("*") if each.is_dir() and each.name != "tests")]
        for cycle in cycles(set(arrows(folder)))
    ]


def test_design_lists_the_cycles_that_there_are_with_a_reason_for_each() -> None:
    """A cycle whose files change keeps its reason."""
    before, _, rest = DESIGN.read_text(encoding="utf-8").partition("<!-- cycles -->\n")
    table, end, after = rest.partition("<!-- end -->")
    written = re.findall(r"^\| `(.*)` \| (.*) \| (.*) \|$", table, re.MULTILINE)
    lines = ["| folder | files | reason |", "|---|---|---|"]
    for folder, cycle in cycles_within_folders(ROOT / "crates"):
        reasons = (reason for of, files, reason in written if of == folder and cycle & {*files.split(", ")})
        lines.append(f"| `{folder}` | {', '.join(sorted(cycle))} | {next(reasons, '')} |")
    assert differences(DESIGN, f"{before}<!-- cycles -->\n\n" + "\n".join(lines) + f"\n\n{end}{after}") == []
    assert [line for line in lines if line.endswith("|  |")] == [], "cycles without a reason"


def listed() -> dict[str, set[str]]:
    """The crates and packages of the listing of folders, each with its rooms.

    Descriptions begin in column 24, or in the next line. Two spaces begin rooms, and four spaces those of the room above.
    """
    block = DESIGN.read_text(encoding="utf-8").partition("## The folders\n\n```text\n")[2].partition("```")[0]
    found: dict[str, set[str]] = {}
    top = base = room = ""
    for line in block.splitlines():
        indent = len(line) - len(line.lstrip())
        names = (line if line[23:24] != " " or indent == 4 else line[:24]).split()
        if indent == 0:
            for name in (name.strip(",") for name in names):
                top = f"{base}{name}" if name[0] == "-" else name if "/" in name else f"crates/{name}"
                base = base if name[0] == "-" else re.sub(r"-\d+$", "", top)
                found[top] = set()
        elif indent == 2:
            found[top] |= {*names}
            room = f"{top}/src/{names[-1]}".rstrip("/")
        elif indent == 4:
            found[room] = {*names}
    return found


def rooms(folder: Path, files: bool) -> set[str]:
    """The folders, and the Rust files, directly in a folder."""
    hidden = ("tests", "__pycache__")
    folders = {f"{each.name}/" for each in folder.iterdir() if each.is_dir() and each.name not in hidden}
    return folders | {each.stem for each in folder.glob("*.rs") if files and each.stem not in ("lib", "mod")}


def test_listing_has_the_crates_and_rooms_that_there_are() -> None:
    found = listed()
    tops = {
        str(each.parent.relative_to(ROOT))
        for each in [*ROOT.glob("crates/*/Cargo.toml"), *ROOT.glob("python/*/pyproject.toml")]
    }
    assert {*found} == {*tops, "tests/", "environments/", "crates/cuarray/src/python"}
    assert sum(map(bool, found.values())) == 8
    for name, named in found.items():
        if name.startswith("crates/") and named:
            assert named == rooms(ROOT / name / ("" if "/src/" in name else "src"), files=True), name
        elif name.startswith("python/"):
            assert named == rooms(ROOT / name / name.partition("/")[2].replace("-", "_"), files=False), name


def test_decisions_are_numbered_in_order_and_dated() -> None:
    section = DESIGN.read_text(encoding="utf-8").partition("\n## Decisions\n")[2].partition("\n## ")[0]
    headings = re.findall(r"^\*\*(.*?)\*\*(.{0,14})", section, re.MULTILINE)
    numbers = [int(number) for heading, _ in headings for number in re.findall(r"^(\d+)\. ", heading)]
    assert numbers == [*range(1, len(headings) + 1)]
    assert [heading for heading, date in headings if not re.match(r" \(\d{4}-\d\d-\d\d\)[.:]", date)] == []
