"""Builds an extension module with another version of cuarray than the others have.

There is one version so far, so the other one is made: a copy of the crate whose version and whose table for the extensions of a process
(``crates/cuarray/src/python/extensions/rust_api.rs``) differ as a later release's would. The module is typed_views_too under another name. They
stand in a workspace of their own, with the examples' lock file, and with their target directory, where all the dependencies are
built already.

    python another_version.py FOLDER TARGET_DIRECTORY

writes the sources to FOLDER.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "another_version"
VERSION = "0.2.0"


def changed(path: Path, *changes: tuple[str, str]) -> None:
    """Replaces what matches each expression in a file; it has to match once at least."""
    text = path.read_text()
    for expression, replacement in changes:
        text, count = re.subn(expression, replacement, text, flags=re.MULTILINE | re.DOTALL)
        if not count:
            sys.exit(f"{path}: nothing matches {expression!r}")
    path.write_text(text)


def write_sources(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    without_tests = shutil.ignore_patterns("tests")
    for crate in ("cuarray", "cuarray-abi"):
        shutil.copytree(ROOT / "crates" / crate, folder / "crates" / crate, ignore=without_tests)
    shutil.copytree(ROOT / "tests" / "extensions" / "typed_views_too", folder / "extension")
    shutil.copy(ROOT / "examples" / "Cargo.lock", folder)
    shutil.copy(ROOT / "Cargo.toml", folder)

    members = 'resolver = "3"\nmembers = ["crates/*", "extension"]\n\n[workspace.package]'
    changed(
        folder / "Cargo.toml",
        (r"^resolver = .*?^\[workspace.package\]", members),
        (r'"0\.1\.0"', f'"{VERSION}"'),
        # The dependencies as the examples have them, the rest quickly.
        (r"^\[profile.*", "[profile.release.package.cuarray]\nopt-level = 1\n"),
    )
    changed(folder / "crates/cuarray/Cargo.toml", (r"^\[dev-dependencies\].*?^\[", "["))
    changed(
        folder / "crates/cuarray/src/python/extensions/rust_api.rs",
        (r"cuarray\.rust_api\.v1", "cuarray.rust_api.v2"),
        # Whoever takes this table for the first version's calls what is no function.
        (r"struct RustApi \{", "struct RustApi {\n    revision: u64,"),
        (r"RustApi \{ cuda_error,", "RustApi { revision: 2, cuda_error,"),
    )
    changed(
        folder / "extension/Cargo.toml",
        (r"typed-views-too", NAME.replace("_", "-")),
        (r"typed_views_too", NAME),
        (r'^workspace = "[^"]*"\n', ""),
        (r"^publish.workspace = true", "publish = false"),
        # As the other modules have it, so that the dependencies are theirs.
        (r'features = \["python"\]', 'features = ["python", "half"]'),
        (r"^pyo3.workspace = true", 'pyo3 = { workspace = true, features = ["abi3-py310"] }'),
    )
    changed(folder / "extension/src/lib.rs", (r"typed_views_too", NAME))


def main(folder: Path, target: Path) -> None:
    write_sources(folder)
    # What it needs was fetched for the other modules.
    build = ["cargo", "build", "--release", "--offline", "--manifest-path", folder / "Cargo.toml"]
    subprocess.run([*build, "--target-dir", target, "-p", NAME.replace("_", "-")], check=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
