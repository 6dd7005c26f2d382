"""Dependencies between crates, and between the folders of a crate, are those that DESIGN.md draws, and form no cycle.

DESIGN.md draws them in its ``text`` blocks, a line for each source: ``crates/cuarray/src: array -> driver, error``. The name before the
colon is the root: a folder of Rust sources, or ``crates`` for the dependencies that Cargo.toml states. A node is a folder or a file
directly under the root. An arrow means that code of the first node names an item of the second. The root's own ``lib.rs`` or ``mod.rs``
may name every node.

Paths do not show which node a method belongs to. So a type has its methods in the node that defines it.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from project.rust_paths import Source, sources

ROOT = Path(__file__).parents[2]
ROOTS = ["crates/cuarray/src", "crates/cuarray/src/python"]

METHODS_ELSEWHERE = {
    # Each format of a report is a method for users, in the file of the format. The nodes that `report` depends on call none of them.
    ("crates/cuarray-races/src", "report", "Report"),
    # Users call `Context::kernel`. The nodes that `kernel` depends on do not call it.
    ("crates/cuarray/src", "kernel", "Context"),
    # Python calls these methods, and Rust does not.
    ("crates/cuarray/src/python", "class", "PyDeviceArray"),
}
"""Types with methods outside of the node that defines them: the root, the node of the methods, the type."""

Arrows = dict[tuple[str, str], str]
"""Arrows, each with the file and line that first needs it."""


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
    """The folder `src` that contains a root or is the root itself."""
    return next(folder for folder in [root, *root.parents] if folder.name == "src")


def node_names(root: Path) -> set[str]:
    entries = (entry for entry in root.iterdir() if entry.is_dir() or entry.suffix == ".rs")
    return {entry.stem for entry in entries} - {"lib", "mod", "main"}


def names(crate: list[Source]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The origin of each name that a module re-exports, and of each macro that the crate exports."""
    known = {(*source.module, name): origin for source in crate for name, origin in source.exports}
    for source in crate:
        macros = re.findall(r"#\[macro_export\]\s*macro_rules! (\w+)", source.code)
        known |= {(name,): source.module for name in macros}
    return known


def arrows(root: Path) -> Arrows:
    """The arrows between the sources under a root."""
    crate = sources(crate_of(root))
    known, modules = names(crate), {source.module for source in crate}
    here = root.relative_to(crate_of(root)).parts
    nodes = node_names(root)

    def resolved(path: tuple[str, ...]) -> tuple[str, ...]:
        """The path, with re-exported prefixes replaced by their origins."""
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
            if end in nodes and end != start:
                found.setdefault((start, end), f"{source.file.relative_to(ROOT)}:{reference.line}")
    return found


DEFINITION = re.compile(r"\b(?:struct|enum|union)\s+(\w+)")
IMPL = re.compile(r"^\s*(?:unsafe\s+)?impl\b(?P<header>[^{;]*)\{", re.MULTILINE)


def without_generics(text: str) -> str:
    """The text without ``<...>``."""
    text = text.replace("->", "")
    while "<" in text:
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            break
        text = shorter
    return text


def methods_elsewhere(root: Path) -> dict[tuple[str, str], str]:
    """The types that have methods in a node other than the one that defines them: node and type, with the file and line."""
    here = root.relative_to(crate_of(root)).parts
    crate = [source for source in sources(crate_of(root)) if source.module[: len(here)] == here]
    definitions = defaultdict(set)
    for source in crate:
        for name in DEFINITION.findall(source.code):
            definitions[name].add(source.module[len(here) :][:1])
    found = {}
    for source in crate:
        node = source.module[len(here) :][:1]
        for block in IMPL.finditer(source.code):
            header = re.split(r"\bwhere\b", without_generics(block["header"]))[0]
            # Methods of a trait are called where the trait is in scope, by a path that the arrows show.
            if re.search(r"\bfor\b", header):
                continue
            name = header.strip().split("::")[-1].strip()
            if name in definitions and node not in definitions[name]:
                line = source.code.count("\n", 0, block.start("header")) + 1
                found.setdefault((node[0] if node else "", name), f"{source.file}:{line}")
    return found


def cycles(edges: set[tuple[str, str]]) -> list[set[str]]:
    """The cycles of the arrows, each as the set of its nodes."""
    ends = defaultdict(set)
    for start, end in edges:
        ends[start].add(end)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [*ends[start]]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += ends[node]
        return seen

    reach = {start: reached(start) for start in list(ends)}
    found: list[set[str]] = []
    for start in sorted(reach):
        cycle = {node for node in reach[start] if start in reach.get(node, ())}
        if cycle and cycle not in found:
            found.append(cycle)
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
def test_folders_form_no_cycle(root: str) -> None:
    found = arrows(ROOT / root)
    written = {
        tuple(sorted(cycle)): {edge: at for edge, at in found.items() if {*edge} <= cycle}
        for cycle in cycles(set(found))
    }
    assert not written, written


@pytest.mark.parametrize("root", drawn_roots())
def test_types_have_their_methods_in_the_node_that_defines_them(root: str) -> None:
    found = {(root, *method): at for method, at in methods_elsewhere(ROOT / root).items()}
    wrong = [
        f"methods of {method[2]} in {method[1]} ({at})"
        for method, at in found.items()
        if method not in METHODS_ELSEWHERE
    ]
    assert not wrong, f"{root}: make these functions of their folder: {'; '.join(wrong)}"
    gone = [method for method in METHODS_ELSEWHERE if method[0] == root and method not in found]
    assert not gone, f"{root}: METHODS_ELSEWHERE lists methods that no code has: {gone}"


def test_arrows_between_crates_are_those_that_the_design_draws() -> None:
    check("crates", crate_arrows())


def test_crates_form_no_cycle() -> None:
    assert not cycles(set(crate_arrows()))


def written(root: Path, files: dict[str, str]) -> Path:
    """Write the files of a crate under `root`, and return `root`."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_every_form_of_a_path_gives_an_arrow(tmp_path: Path) -> None:
    files = {
        "lib.rs": "pub use low::Deep;\nmod high;\nmod low;\nmod middle;\n",
        "low/mod.rs": "pub mod inner;\npub use inner::Deep;\n",
        "low/inner.rs": '/// Not [`high`](crate::high).\npub struct Deep; // nor crate::high\nconst TEXT: &str = "crate::high";\n',
        "middle.rs": "#[cfg(test)]\nmod tests {\n    use crate::high::Top;\n}\nfn f() { super::low::f() }\n",
        "high.rs": "use crate::{\n    Deep,\n    middle::{self, M as N},\n};\nmod inside {\n    use super::super::low::f;\n}\n",
    }
    root = written(tmp_path / "src", files)
    crate = sources(root)
    assert {(source.module, reference.path) for source in crate for reference in source.references} == {
        (("middle",), ("low", "f")),
        (("high",), ("Deep",)),
        (("high",), ("middle",)),
        (("high",), ("middle", "M")),
        (("high",), ("low", "f")),
    }
    assert names(crate) == {("Deep",): ("low", "Deep"), ("low", "Deep"): ("low", "inner", "Deep")}


def test_methods_outside_of_the_defining_node_are_found(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod data;\nmod work;\n",
        "data/mod.rs": "mod part;\npub struct State;\npub enum Kind<T> { A(T) }\n",
        "data/part.rs": "impl super::State {}\n",
        "work.rs": "// impl State {}\nimpl Clone for State {}\nimpl<T: Fn(u8) -> u8> Kind<T>\nwhere T: Copy {}\n    impl State {}\n",
    }
    root = written(tmp_path / "src", files)
    file = root / "work.rs"
    assert methods_elsewhere(root) == {("work", "Kind"): f"{file}:3", ("work", "State"): f"{file}:5"}


def test_arrows_are_read_from_text_blocks_only() -> None:
    design = "src: a -> b\n```text\nsrc: a -> c, d\nother: a -> e\n```\n"
    assert drawn("src", design) == {("a", "c"), ("a", "d")}


def test_cycle_of_three_nodes_is_found() -> None:
    assert cycles({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")}) == [{"a", "b", "c"}]
    assert not cycles({("a", "b"), ("b", "c"), ("a", "c")})
