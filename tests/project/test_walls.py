"""The arrows between crates and between the folders of a crate are those that DESIGN.md draws, and they form no circle.

DESIGN.md draws them in its ``text`` blocks, a line for each source: ``crates/cuarray/src: array -> driver, error``. The name before the
colon is a folder of Rust sources, or ``crates`` for the dependencies that Cargo.toml states. An arrow says that code of the one room names
something of the other. A room is a folder or a file directly under the root; the root's own ``lib.rs`` or ``mod.rs`` may name all of them.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from project.rust_paths import Source, sources

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
ROOTS = ["crates/cuarray/src", "crates/cuarray/src/python"]

Arrows = dict[tuple[str, str], str]
"""Arrows, and where the first of each is written."""


def drawn(root: str, design: str | None = None) -> set[tuple[str, str]]:
    """The arrows that DESIGN.md draws for a root."""
    text = (ROOT / "DESIGN.md").read_text() if design is None else design
    arrows = set()
    for block in re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(rf"^{re.escape(root)}: (.+)$", block, re.MULTILINE):
            start, _, ends = line.partition(" -> ")
            arrows |= {(start.strip(), end.strip()) for end in ends.split(",") if end.strip()}
    return arrows


def drawn_roots() -> list[str]:
    """The folders of Rust sources for which DESIGN.md draws arrows."""
    found = re.findall(r"^(crates/[\w/-]+): .+ -> ", (ROOT / "DESIGN.md").read_text(), re.MULTILINE)
    return sorted({*found, *ROOTS})


def crate_of(root: Path) -> Path:
    """The folder `src` that a root is, or is in."""
    return next(folder for folder in [root, *root.parents] if folder.name == "src")


def room_names(root: Path) -> set[str]:
    entries = (entry for entry in root.iterdir() if entry.is_dir() or entry.suffix == ".rs")
    return {entry.stem for entry in entries} - {"lib", "mod", "main"}


def names(crate: list[Source]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Where the names come from that a module makes available under itself, and the macros under the root of the crate."""
    known = {(*source.module, name): origin for source in crate for name, origin in source.exports()}
    for source in crate:
        macros = re.findall(r"#\[macro_export\]\s*macro_rules! (\w+)", source.code)
        known |= {(name,): source.module for name in macros}
    return known


def arrows(root: Path) -> Arrows:
    """The arrows that the sources under a root have."""
    crate = sources(crate_of(root))
    known, modules = names(crate), {source.module for source in crate}
    here = root.relative_to(crate_of(root)).parts
    rooms = room_names(root)

    def resolved(path: tuple[str, ...]) -> tuple[str, ...]:
        """The path with its longest re-exported beginning replaced by where that comes from, until nothing is left to replace."""
        for _ in range(8):
            for length in range(1, len(path) + 1):
                origin = known.get(path[:length])
                if origin is not None and path[:length] not in modules and origin != path[:length]:
                    path = origin + path[length:]
                    break
            else:
                break
        return path

    found: Arrows = {}
    for source in crate:
        if source.module[: len(here)] != here or len(source.module) == len(here):
            continue
        start = source.module[len(here)]
        for reference in source.references:
            path = resolved(reference.path)
            if path[: len(here)] != here or len(path) == len(here):
                continue
            end = path[len(here)]
            if end in rooms and end != start:
                found.setdefault((start, end), f"{source.file.relative_to(ROOT)}:{reference.line}")
    return found


def circles(edges: set[tuple[str, str]]) -> list[set[str]]:
    """The rooms that reach each other, a set for each circle."""
    ends = defaultdict(set)
    for start, end in edges:
        ends[start].add(end)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [*ends[start]]
        while waiting:
            room = waiting.pop()
            if room not in seen:
                seen.add(room)
                waiting += ends[room]
        return seen

    reach = {start: reached(start) for start in list(ends)}
    found: list[set[str]] = []
    for start in sorted(reach):
        circle = {room for room in reach[start] if start in reach.get(room, ())}
        if circle and circle not in found:
            found.append(circle)
    return found


def crate_arrows() -> Arrows:
    """The dependencies between the packages of the workspace."""
    manifests = [*ROOT.glob("crates/*/Cargo.toml"), *ROOT.glob("python/*/Cargo.toml")]
    found = {manifest: tomllib.loads(manifest.read_text()) for manifest in manifests}
    packages = {manifest["package"]["name"] for manifest in found.values()}
    return {
        (manifest["package"]["name"], dependency): str(file.relative_to(ROOT))
        for file, manifest in found.items()
        for dependency in manifest.get("dependencies", {})
        if dependency in packages
    }


def check(root: str, found: Arrows) -> None:
    expected = drawn(root)
    undrawn = [f"{start} -> {end} ({found[start, end]})" for start, end in sorted(set(found) - expected)]
    assert not undrawn, f"{root}: DESIGN.md does not draw these arrows: {'; '.join(undrawn)}"
    gone = [f"{start} -> {end}" for start, end in sorted(expected - set(found))]
    assert not gone, f"{root}: DESIGN.md draws arrows that no code has: {'; '.join(gone)}"


@pytest.mark.parametrize("root", drawn_roots())
def test_arrows_between_folders_are_those_that_the_design_draws(root: str) -> None:
    check(root, arrows(ROOT / root))


@pytest.mark.parametrize("root", drawn_roots())
def test_folders_form_no_circle(root: str) -> None:
    found = arrows(ROOT / root)
    written = {
        tuple(sorted(circle)): {edge: at for edge, at in found.items() if {*edge} <= circle}
        for circle in circles(set(found))
    }
    assert not written, written


def test_arrows_between_crates_are_those_that_the_design_draws() -> None:
    check("crates", crate_arrows())


def test_crates_form_no_circle() -> None:
    assert not circles(set(crate_arrows()))


def test_every_spelling_of_a_path_is_an_arrow(tmp_path: Path) -> None:
    files = {
        "lib.rs": "pub use low::Deep;\nmod high;\nmod low;\nmod middle;\n",
        "low/mod.rs": "pub mod inner;\npub use inner::Deep;\n",
        "low/inner.rs": '/// Not [`high`](crate::high).\npub struct Deep; // nor crate::high\nconst TEXT: &str = "crate::high";\n',
        "middle.rs": "#[cfg(test)]\nmod tests {\n    use crate::high::Top;\n}\nfn f() { super::low::f() }\n",
        "high.rs": "use crate::{\n    Deep,\n    middle::{self, M as N},\n};\nmod inside {\n    use super::super::low::f;\n}\n",
    }
    root = tmp_path / "src"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    crate = sources(root)
    assert {(source.module, reference.path) for source in crate for reference in source.references} == {
        (("middle",), ("low", "f")),
        (("high",), ("Deep",)),
        (("high",), ("middle",)),
        (("high",), ("middle", "M")),
        (("high",), ("low", "f")),
    }
    assert names(crate) == {("Deep",): ("low", "Deep"), ("low", "Deep"): ("low", "inner", "Deep")}


def test_a_drawing_is_read_from_text_blocks_alone() -> None:
    design = "src: a -> b\n```text\nsrc: a -> c, d\nother: a -> e\n```\n"
    assert drawn("src", design) == {("a", "c"), ("a", "d")}


def test_a_circle_of_any_length_is_found() -> None:
    assert circles({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")}) == [{"a", "b", "c"}]
    assert not circles({("a", "b"), ("b", "c"), ("a", "c")})
