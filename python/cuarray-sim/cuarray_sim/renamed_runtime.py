"""The package's CUDA runtime under the names that auditwheel gives to NVIDIA's inside of wheels.

A wheel may bring NVIDIA's runtime as ``NAME.libs/libcudart-9f92e4c3.so.13.3.29``, with a SONAME that no other file has. The libraries of
that wheel ask for this name only. So a process loads a library first that has this SONAME and nothing else in it but a
dependency on the package's runtime. The dynamic loader takes it for every request of the name, and finds the functions in its dependency.

This library is an ELF file of 700 bytes, which :func:`alias` writes as the System V ABI defines it (https://refspecs.linuxfoundation.org/elf/gabi4+/).
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
import warnings
from pathlib import Path

from .cuda_runtime import runtime_path, runtimes
from .stand_ins import say

__all__ = ["alias", "find", "serve_renamed_runtimes"]

_NAME = re.compile(r"libcudart-[0-9a-f]+\.so\.(1[23])(\.[0-9.]+)?")

# Of the ELF header: a shared object. Of the program headers: a segment to load, the dynamic section, and the stack. Without the last
# one, glibc 2.41 refuses the file, because it would need an executable stack.
_ET_DYN, _PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK = 3, 1, 2, 0x6474E551
_READ, _WRITE = 4, 2
# Tags of the dynamic section.
_DT_NULL, _DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT, _DT_SONAME = 0, 1, 4, 5, 6, 10, 11, 14
# The largest page of x86-64 and aarch64.
_PAGE = 0x10000

_aliases: dict[str, ctypes.CDLL] = {}


def find() -> dict[str, Path]:
    """Return the renamed runtimes in the wheels of ``sys.path``, by their names, which are their SONAMEs too."""
    found: dict[str, Path] = {}
    for entry in sys.path:
        try:
            folders = [each.path for each in os.scandir(entry or ".") if each.name.endswith(".libs")]
            files = [Path(folder, name) for folder in folders for name in os.listdir(folder)]
        except OSError:  # An archive, or a folder that is missing.
            continue
        for file in files:
            if _NAME.fullmatch(file.name):
                found.setdefault(file.name, file)
    return found


def serve_renamed_runtimes() -> None:
    """Load the package's runtime under each name in :func:`find`, if the package's runtime of its major version is loaded."""
    loaded = runtimes()
    for name, file in find().items():
        major = int(name.partition(".so.")[2].partition(".")[0])
        if major not in loaded or name in _aliases:
            continue
        ours = runtime_path() / f"libcudart.so.{major}"
        try:
            _aliases[name] = _load(alias(name, ours.name, ours))
        except OSError as error:
            warnings.warn(f"{file} is not replaced by {ours}: {error}", RuntimeWarning, stacklevel=3)
            continue
        say(f"{name} is {ours}, in front of {file}")


def alias(soname: str, needed: str, like: Path) -> bytes:
    """Return an ELF file without code: a library with a SONAME that depends on another library.

    :param needed: the SONAME of the other library.
    :param like: a library for the same machine.
    """
    strings = b"\0" + soname.encode() + b"\0" + needed.encode() + b"\0"
    machine = struct.unpack_from("<H", like.read_bytes()[:20], 18)[0]
    headers = 64 + 3 * 56
    # The null symbol alone, and a hash table of one empty chain.
    symbols = headers
    hashes = symbols + 24
    table = hashes + 16
    dynamic = (table + len(strings) + 15) // 16 * 16
    entries = [
        (_DT_NEEDED, len(soname) + 2),
        (_DT_SONAME, 1),
        (_DT_HASH, hashes),
        (_DT_STRTAB, table),
        (_DT_SYMTAB, symbols),
        (_DT_STRSZ, len(strings)),
        (_DT_SYMENT, 24),
        (_DT_NULL, 0),
    ]
    size = dynamic + 16 * len(entries)
    identification = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    file = identification + struct.pack("<HHIQQQIHHHHHH", _ET_DYN, machine, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    # Writable, because loaders before glibc 2.35 add the address to entries of the dynamic section.
    file += struct.pack("<IIQQQQQQ", _PT_LOAD, _READ | _WRITE, 0, 0, 0, size, size, _PAGE)
    length = size - dynamic
    file += struct.pack("<IIQQQQQQ", _PT_DYNAMIC, _READ | _WRITE, dynamic, dynamic, dynamic, length, length, 8)
    file += struct.pack("<IIQQQQQQ", _PT_GNU_STACK, _READ | _WRITE, 0, 0, 0, 0, 0, 16)
    file += bytes(24) + struct.pack("<IIII", 1, 1, 0, 0)
    file += strings.ljust(dynamic - table, b"\0")
    return file + b"".join(struct.pack("<QQ", tag, value) for tag, value in entries)


def _load(image: bytes) -> ctypes.CDLL:
    file = os.memfd_create("cuarray-sim-renamed-runtime")
    try:
        os.write(file, image)
        return ctypes.CDLL(f"/proc/self/fd/{file}", mode=os.RTLD_NOW | os.RTLD_LOCAL)
    finally:
        os.close(file)
