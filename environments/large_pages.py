"""A machine for aarch64 whose pages have 16 KiB, as on Linux for some servers and Apple's processors: qemu emulates it, with Debian's kernel.

The user mode of qemu has the pages of the system that it runs on, so it cannot test other ones.

`python -m environments.large_pages PROGRAM ARGUMENTS...` starts such a machine for one program for aarch64, with the files of `build/aarch64/root`, and
ends with the program's exit status. The machine has no disk: its files are in its memory, as the kernel unpacks them at start.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from . import aarch64, debian, steps

__all__ = ["install", "run"]

FOLDER = Path("build", "large-pages")
KERNEL = FOLDER / "vmlinuz"
PAGE = 16384

QEMU = ("qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on", "-smp", "2", "-m", "3072")
WITHOUT_DEVICES = ("-nic", "none", "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot")

# The first process of the machine: it mounts what the kernel provides, runs the program and switches the machine off.
FIRST = f"""
import ctypes, os, subprocess
system = ctypes.CDLL(None)
for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp"), ("tmpfs", "/dev/shm")):
    os.makedirs(place, exist_ok=True)
    system.mount(kind.encode(), place.encode(), kind.encode(), 0, None)
os.symlink("/proc/self/fd", "/dev/fd")
assert os.sysconf("SC_PAGESIZE") == {PAGE}, os.sysconf("SC_PAGESIZE")
done = subprocess.run(open("/command").read().split("\\0"), stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, env={{"PATH": "/usr/bin"}})
print("\\nexit status", done.returncode, flush=True)
system.reboot(0x4321FEDC)
"""


def install() -> None:
    """Unpack the kernel."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    packages = debian.download(FOLDER / "apt", "trixie", "linux-image-arm64-16k:arm64", with_all=True)
    (image,) = (package for package in packages if re.match(r"linux-image-\d.*-arm64-16k_", package.name))
    debian.unpack(image, FOLDER, "--wildcards", "./boot/vmlinuz-*")
    (kernel,) = (FOLDER / "boot").iterdir()
    kernel.rename(KERNEL)
    shutil.rmtree(FOLDER / "boot")
    shutil.rmtree(FOLDER / "apt")


def run(program: Path, *arguments: str) -> int:
    """Run a program in a new machine, show what it prints, and return its exit status."""
    if not shutil.which(QEMU[0]):
        raise steps.Failure(f"{QEMU[0]} is missing: apt-get install qemu-system-arm")
    python = f"/usr/bin/{aarch64.PYTHON.name}"
    with tempfile.NamedTemporaryFile() as files:
        with Archive(files) as archive:
            archive.folder(aarch64.ROOT, "")
            archive.file(program.name, 0o755, program.read_bytes())
            archive.file("command", 0o644, "\0".join((f"/{program.name}", *arguments)).encode())
            archive.file("first.py", 0o644, FIRST.encode())
        kernel = ("-kernel", KERNEL, "-initrd", files.name)
        options = ("-append", f"console=ttyAMA0 quiet loglevel=0 panic=-1 rdinit={python} -- /first.py")
        machine = subprocess.Popen(
            (*QEMU, *WITHOUT_DEVICES, *kernel, *options), stdout=subprocess.PIPE, text=True, errors="replace"
        )
        status = None
        with machine:
            assert machine.stdout
            for line in machine.stdout:
                if found := re.fullmatch(r"exit status (-?\d+)\s*", line):
                    status = int(found[1])
                else:
                    print(line.rstrip("\r\n"), flush=True)
    if status is None:
        raise steps.Failure(f"the machine ended before {program}: qemu's exit status is {machine.returncode}")
    return status


class Archive:
    """Files in the format from which a kernel unpacks its first ones (`newc` of cpio)."""

    def __init__(self, target: IO[bytes]) -> None:
        self.target, self.number = target, 0

    def __enter__(self) -> Archive:
        # Before there is a /dev, the kernel opens it for the first process.
        self.file("dev", stat.S_IFDIR | 0o755)
        self.file("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        return self

    def __exit__(self, *_: object) -> None:
        self.file("TRAILER!!!", 0)
        self.target.flush()

    def folder(self, source: Path, name: str) -> None:
        """Add the contents of a folder."""
        for place in _within(source):
            inside = os.path.join(name, place.relative_to(source))
            mode = place.lstat().st_mode
            if stat.S_ISLNK(mode):
                self.file(inside, mode, os.readlink(place).encode())
            else:
                self.file(inside, mode, place.read_bytes() if stat.S_ISREG(mode) else b"")

    def file(self, name: str, mode: int, contents: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        """Add a file; without a kind in its mode, it is a regular one."""
        self.number += 1
        mode = mode if stat.S_IFMT(mode) else mode | stat.S_IFREG
        words = (self.number, mode, 0, 0, 1, 0, len(contents), 0, 0, *device, len(name.encode()) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % word for word in words) + name.encode() + b"\0"
        for part in (head, contents):
            self.target.write(part + bytes(-len(part) % 4))


def _within(folder: Path) -> Iterator[Path]:
    """Return all files and folders below a folder, each after the folder that it is in."""
    for place in sorted(folder.iterdir()):
        yield place
        if place.is_dir() and not place.is_symlink():
            yield from _within(place)


if __name__ == "__main__":
    try:
        sys.exit(run(Path(sys.argv[1]), *sys.argv[2:]))
    except steps.Failure as failure:
        sys.exit(str(failure))
