"""Dependencies of the crates: few packages, under the licences in deny.toml. `make deny` checks more, with cargo-deny."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CRATES = (
    "cuarray",
    "cuarray-abi",
    "cuarray-cudart",
    "cuarray-ptx",
    "cuarray-races",
    "cuarray-sim",
    "cuarray-stand-in",
    "cuarray-testing",
    "cuarray-toolchain",
)


@pytest.fixture(scope="module")
def metadata() -> dict[str, Any]:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def package(metadata: dict[str, Any], name: str) -> dict[str, Any]:
    return next(package for package in metadata["packages"] if package["name"] == name)


def linked(metadata: dict[str, Any]) -> set[str]:
    """The ids of all packages that the crates link with or are built by."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found = {package(metadata, name)["id"] for name in CRATES}
    left = list(found)
    while left:
        for dependency in nodes[left.pop()]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if kinds - {"dev"} and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                left.append(dependency["pkg"])
    return found


@pytest.mark.parametrize(
    ("crate", "required", "optional"),
    [
        ("cuarray", {"cuarray-abi", "libc", "libloading", "smallvec"}, {"half", "ndarray", "pyo3"}),
        (
            "cuarray-sim",
            {
                "addr2line",
                "cpp_demangle",
                "cuarray-abi",
                "cuarray-ptx",
                "cuarray-races",
                "iced-x86",
                "libc",
                "object",
                "rustc-hash",
                "serde",
                "serde_json",
            },
            set(),
        ),
        ("cuarray-races", {"serde", "serde_json"}, set()),
        ("cuarray-ptx", {"iced-x86", "libc", "lz4_flex", "rustc-hash", "ruzstd", "smallvec"}, set()),
        ("cuarray-cudart", {"cuarray-abi", "libc", "rustc-hash"}, set()),
        ("cuarray-toolchain", {"cuarray-ptx", "cuarray-stand-in", "libc"}, set()),
        ("cuarray-stand-in", set(), set()),
        ("cuarray-testing", {"cuarray", "proptest"}, {"pyo3"}),
        ("cuarray-abi", set(), set()),
    ],
)
def test_crate_has_exactly_these_dependencies(
    metadata: dict[str, Any], crate: str, required: set[str], optional: set[str]
) -> None:
    dependencies = [each for each in package(metadata, crate)["dependencies"] if each["kind"] is None]
    assert {each["name"] for each in dependencies if not each["optional"]} == required
    assert {each["name"] for each in dependencies if each["optional"]} == optional


def permitted(expression: str, allowed: set[str]) -> bool:
    """Whether allowed licences alone can satisfy an SPDX expression."""
    while (group := re.search(r"\(([^()]*)\)", expression)) is not None:
        value = "met" if permitted(group[1], allowed) else "unmet"
        expression = expression[: group.start()] + value + expression[group.end() :]
    offers = expression.replace("/", " OR ").split(" OR ")
    return any({part.strip() for part in offer.split(" AND ")} <= allowed | {"met"} for offer in offers)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("A", True),
        ("C", False),
        ("C OR A", True),
        ("C/A", True),
        ("A AND C", False),
        ("(C OR A) AND B", True),
        ("(C OR D) AND B", False),
        ("A WITH B", False),
    ],
)
def test_licence_expressions_are_evaluated(expression: str, expected: bool) -> None:
    assert permitted(expression, {"A", "B"}) is expected


def test_linked_packages_have_licences_of_deny_toml(metadata: dict[str, Any]) -> None:
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    ids = linked(metadata)
    assert len(ids) > 10
    refused = {
        package["name"]: package["license"]
        for package in metadata["packages"]
        if package["id"] in ids and not permitted(package["license"] or "none", allowed)
    }
    assert not refused


def test_crates_and_contributing_state_the_same_rust_version(metadata: dict[str, Any]) -> None:
    for crate in CRATES:
        assert package(metadata, crate)["rust_version"] == "1.88"
    assert "Rust 1.88" in (ROOT / "CONTRIBUTING.md").read_text()
