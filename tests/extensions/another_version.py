"""Build an extension module with another version of cuarray than the other extension modules.

Only one version is released, so this script derives another: a copy of the crate with the version and the table for extensions
(``crates/cuarray/src/python/extensions/rust_api.rs``) of a later release. The module is typed_views_too under another name. The
sources form their own workspace, with the lock file and the target directory of the examples, where the dependencies are built.

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
    """Replace all matches of each expression in a file. Each must match at least once."""
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
        # The profile of dependencies is that of the examples, so that their builds are reused. cuarray itself is built quickly.
        (r"^\[profile.*", "[profile.release.package.cuarray]\nopt-level = 1\n"),
    )
    changed(folder / "crates/cuarray/Cargo.toml", (r"^\[dev-dependencies\].*?^\[", "["))
    changed(
        folder / "crates/cuarray/src/python/extensions/rust_api.rs",
        (r"cuarray\.rust_api\.v1", "cuarray.rust_api.v2"),
        # An extension that reads this table as the first version's would call an address that is no function.
        (r"struct RustApi \{", "struct RustApi {\n    revision: u64,"),
        (r"RustApi \{ cuda_error,", "RustApi { revision: 2, cuda_error,"),
    )
    changed(
        folder / "extension/Cargo.toml",
        (r"typed-views-too", NAME.replace("_", "-")),
        (r"typed_views_too", NAME),
        (r'^workspace = "[^"]*"\n', ""),
        (r"^publish.workspace = true", "publish = false"),
        # These are the features of the other modules, so that the builds of dependencies are reused.
        (r'features = \["python"\]', 'features = ["python", "half"]'),
        (r"^pyo3.workspace = true", 'pyo3 = { workspace = true, features = ["abi3-py310"] }'),
    )
    changed(folder / "extension/src/lib.rs", (r"typed_views_too", NAME))


def main(folder: Path, target: Path) -> None:
    write_sources(folder)
    # The build of the other modules has fetched all dependencies.
    build = ["cargo", "build", "--release", "--offline", "--manifest-path", folder / "Cargo.toml"]
    subprocess.run([*build, "--target-dir", target, "-p", NAME.replace("_", "-")], check=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
