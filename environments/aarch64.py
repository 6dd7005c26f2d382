"""Python for aarch64, of Debian's stable release, and programs for aarch64 that run on this machine by qemu.

The packages are unpacked into `build/aarch64`, not installed. qemu is of the same release: version 7 keeps data for each reserved page, and
simulated devices reserve many.

`python -m environments.aarch64 run COMMAND...` runs a command whose processes may start programs for aarch64. The kernel hands these to qemu
(binfmt_misc), in a user namespace of Linux 6.7 or later, so the machine's own table of formats stays as it is. qemu looks for a program's
loader and libraries in the folder first.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from . import debian, steps

__all__ = ["environment", "install", "run"]

FOLDER = Path("build", "aarch64")
APT, ROOT, PROGRAMS, VENV = (FOLDER / name for name in ("apt", "root", "bin", "venv"))
QEMU = PROGRAMS / "qemu-aarch64"
VERSION = "3.13"
PYTHON = ROOT / "usr" / "bin" / f"python{VERSION}"

# Of this machine: its own qemu.
PACKAGES = ("python3:arm64", "libstdc++6:arm64", "qemu-user")
# Tests in Python compile C by these names, with the folder in PATH.
COMPILERS = {"cc": "/usr/bin/aarch64-linux-gnu-gcc", "c++": "/usr/bin/aarch64-linux-gnu-g++"}
# The newest glibc of the folder. pip does not derive older platforms from a newer one.
PLATFORMS = ["linux_aarch64", *(f"manylinux_2_{minor}_aarch64" for minor in range(17, 42)), "manylinux2014_aarch64"]

# The first 20 bytes of a program or library for aarch64, and the bits that are compared: not the kind of system, and either kind of file.
MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
# The kernel opens qemu when it is registered, because a program may have another working directory.
FORMAT = f":qemu-aarch64:M::{MAGIC}:{MASK}:{QEMU}:F"
IN_NAMESPACE = """
set -e
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s "$1" >/proc/sys/fs/binfmt_misc/register
shift
exec "$@"
"""


def install() -> None:
    """Unpack Python, qemu and their libraries, and install the packages of the tests into an environment of that Python."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    packages = debian.download(APT, "trixie", *PACKAGES, with_all=True)
    # A program states the place of its loader with this folder.
    (ROOT / "usr" / "lib").mkdir(parents=True)
    (ROOT / "lib").symlink_to("usr/lib")
    for package in packages:
        if package.name.startswith("qemu-user_"):
            # It has a program for each of forty processors.
            debian.unpack(package, ROOT, "./usr/bin/qemu-aarch64")
        elif package.stem.endswith(("_arm64", "_all")):
            debian.unpack(package, ROOT)
    shutil.rmtree(APT)
    PROGRAMS.mkdir()
    (ROOT / "usr/bin/qemu-aarch64").rename(QEMU)
    for name, compiler in COMPILERS.items():
        (PROGRAMS / name).symlink_to(compiler)
    environment(VENV)
    pip(VENV, *steps.pinned("test"))


def environment(folder: Path) -> None:
    """Make an empty environment of Python for aarch64."""
    shutil.rmtree(folder, ignore_errors=True)
    run(PYTHON, "-m", "venv", "--without-pip", folder)


def pip(folder: Path, *arguments: str | Path) -> None:
    """Install packages for aarch64 into an environment, without running any of them."""
    chosen = ["--python-version", VERSION, "--only-binary=:all:", *(f"--platform={each}" for each in PLATFORMS)]
    site = folder / "lib" / f"python{VERSION}" / "site-packages"
    steps.pip("install", "--quiet", "--upgrade", *chosen, "--target", site, *arguments)


def run(*command: str | Path) -> None:
    """Run a command whose processes may start programs for aarch64."""
    namespace = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_NAMESPACE, "sh", FORMAT)
    done = subprocess.run(
        [str(part) for part in (*namespace, "env", f"QEMU_LD_PREFIX={ROOT.absolute()}", *command)], check=False
    )
    if done.returncode != 0:
        shown = " ".join(str(part) for part in command)
        raise steps.Failure(f"{shown} failed with exit status {done.returncode}, with programs for aarch64 by {QEMU}")


def main(name: str, *arguments: str) -> None:
    """Run a command, or pip for an environment."""
    if name == "run":
        run(*arguments)
    elif name == "pip":
        pip(Path(arguments[0]), *arguments[1:])
    else:
        raise steps.Failure(f"unknown: {name}; there are `run COMMAND...` and `pip ENVIRONMENT OPTIONS...`")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except steps.Failure as failure:
        sys.exit(str(failure))
