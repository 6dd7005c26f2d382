"""Builds the simulated driver with cargo and packs it into the wheel as ``cuarray_sim/libcuda.so.1``.

A wheel that lacked the library would install and then fail at the first use, so the build fails instead: without cargo,
on another system than Linux, or when cargo reports no shared library. The file goes from cargo's target directory
straight into the wheel; nothing is written into the source tree.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CRATE = "cuarray-sim"


class SimulatedDriver(BuildHookInterface):
    """The wheel's build hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library, name it in the wheel, and tag the wheel for this platform."""
        if self.target_name != "wheel":
            raise RuntimeError("cuarray-sim goes out as wheels: its library is built from the whole repository")
        if not sys.platform.startswith("linux"):
            raise RuntimeError(f"cuarray-sim is a Linux shared library; it cannot be built on {sys.platform}")
        library = build_library(Path(self.root).resolve().parents[1])
        build_data["force_include"][str(library)] = "cuarray_sim/libcuda.so.1"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(library, sysconfig.get_platform())}"


def build_library(workspace: Path) -> Path:
    """Run cargo in the workspace and return the path of the shared library that it reports."""
    command = [find_cargo(), "build", "--release", "-p", CRATE, "--message-format=json-render-diagnostics"]
    # cargo prints its progress and errors on stderr, which is passed on; stdout is its report.
    build = subprocess.run(command, cwd=workspace, stdout=subprocess.PIPE, text=True)
    if build.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` failed with exit status {build.returncode}; its messages are above")
    for line in build.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact" or "cdylib" not in message["target"]["kind"]:
            continue
        for name in message["filenames"]:
            if name.endswith("libcuarray_sim.so"):
                return Path(name)
    raise RuntimeError(f"cargo reported no shared library for the crate {CRATE}")


def platform_tag(library: Path, platform: str) -> str:
    """The tag of machines on which the library runs: ``manylinux_2_34_x86_64`` where it asks for glibc 2.34.

    The registry takes no plain ``linux_x86_64``, and with it an installer would put the wheel beside a glibc that is too old. That the
    library needs nothing else than manylinux has (libc, libm, libgcc_s, the loader) is Rust's doing; ``auditwheel show`` tells.
    """
    # The versions that an ELF file needs are strings in it.
    versions = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())]
    if versions and platform.startswith("linux-"):
        platform = f"manylinux_2_{max(versions)}_{platform.removeprefix('linux-')}"
    return platform.replace("-", "_").replace(".", "_")


def find_cargo() -> str:
    """Find cargo: ``$CARGO``, the search path, or where rustup installs it."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for candidate in (os.environ.get("CARGO"), "cargo", str(home / "bin" / "cargo")):
        if candidate and (found := shutil.which(candidate)):
            return found
    raise RuntimeError("cargo was not found; building cuarray-sim needs Rust (https://rustup.rs)")
