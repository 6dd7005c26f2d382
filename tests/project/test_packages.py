"""Packages for the registries: each crate's package is complete, and wheels have the correct platform tags."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import cuarray

ROOT = Path(__file__).parents[2]
CRATES = ("cuarray", "cuarray-abi", "cuarray-ptx", "cuarray-races", "cuarray-sim", "cuarray-testing")

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")


def cargo(*arguments: str) -> str:
    done = subprocess.run(["cargo", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_cargo
@pytest.mark.parametrize("crate", CRATES)
def test_crate_package_has_licences_and_readme_and_no_unexpected_files(crate: str) -> None:
    files = set(cargo("package", "--list", "--allow-dirty", "--offline", "-p", crate).split())
    assert {"Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"} <= files
    top = {Path(file).parts[0] for file in files}
    assert top <= {
        *("Cargo.toml", "Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json", "build.rs"),
        *("README.md", "LICENSE-MIT", "LICENSE-APACHE", "src", "tests", "examples"),
    }


@needs_cargo
@pytest.mark.parametrize("crate", CRATES)
def test_included_files_are_in_the_crate_package(crate: str) -> None:
    files = set(cargo("package", "--list", "--allow-dirty", "--offline", "-p", crate).split())
    folder = ROOT / "crates" / crate
    for source in folder.glob("src/**/*.rs"):
        for included in re.findall(r'include(?:_str|_bytes)?!\("([^"]+)"\)', source.read_text(encoding="utf-8")):
            path = (source.parent / included).resolve()
            # A comment may show an `include!` of a file that does not exist here.
            if path.exists():
                assert str(path.relative_to(folder)) in files


@needs_cargo
def test_published_crates_have_complete_metadata() -> None:
    packages = json.loads(cargo("metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"))["packages"]
    described: dict[str, Any] = {package["name"]: package for package in packages if package["publish"] is None}
    assert described.keys() == set(CRATES)
    for package in described.values():
        for key in ("description", "license", "repository", "readme", "rust_version"):
            assert package[key], f"{package['name']} has no {key}"
        assert 1 <= len(package["keywords"]) <= 5
        assert package["categories"]
        # The rule of crates.io for keywords.
        assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,19}", keyword) for keyword in package["keywords"])


@needs_cargo
def test_crates_python_package_and_changelog_have_equal_versions() -> None:
    packages = json.loads(cargo("metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"))["packages"]
    (version,) = {package["version"] for package in packages}
    for package in packages:
        requirements = {
            each["name"]: each["req"] for each in package["dependencies"] if each["name"].startswith("cuarray")
        }
        assert set(requirements.values()) <= {f"^{version}"}, package["name"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    latest = re.search(r"^## (\d+\.\d+\.\d+)( - \d{4}-\d\d-\d\d)?$", changelog, re.MULTILINE)
    assert latest
    assert latest[1] == version == cuarray.__version__


@pytest.fixture
def hook() -> ModuleType:
    """The build hook of the wheel `cuarray-sim`."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "python" / "cuarray-sim" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_platform_tag_names_newest_glibc_symbol_of_the_library(hook: ModuleType, tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.1"
    library.write_bytes(b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0")
    assert hook.platform_tag([library], "linux-x86_64") == "manylinux_2_34_x86_64"
    assert hook.platform_tag([library], "linux-aarch64") == "manylinux_2_34_aarch64"
    library.write_bytes(b"\x7fELF\0none of it\0")
    assert hook.platform_tag([library], "linux-x86_64") == "linux_x86_64"


def test_hook_builds_for_the_target_of_cargo(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARGO_BUILD_TARGET", raising=False)
    assert hook.target() == f"{platform.machine()}-unknown-linux-gnu"
    monkeypatch.setenv("CARGO_BUILD_TARGET", "aarch64-unknown-linux-gnu")
    assert hook.target() == "aarch64-unknown-linux-gnu"


def test_installed_simulator_needs_no_newer_glibc_than_this_system(hook: ModuleType) -> None:
    cuarray_sim = pytest.importorskip("cuarray_sim")
    tag = hook.platform_tag([cuarray_sim.library_path()], "linux-x86_64")
    needed = re.fullmatch(r"manylinux_2_(\d+)_x86_64", tag)
    assert needed, tag
    assert int(needed[1]) <= int(platform.libc_ver()[1].split(".")[1])


def test_examples_import_installed_packages_and_their_own_files_only() -> None:
    """The tests of examples also share the files directly in `examples`."""
    shared = {
        path.stem for folder in ("benches", "demo", "tests", "tests/support") for path in (ROOT / folder).iterdir()
    }
    for file in ROOT.glob("examples/**/*.py"):
        code = file.read_text(encoding="utf-8")
        found = {*re.findall(r"^ *(?:from|import) (\w+)", code, re.MULTILINE)} - {
            path.stem for path in file.parent.iterdir()
        }
        assert found & shared == set(), file
        assert "cuarray.check" not in code, file
