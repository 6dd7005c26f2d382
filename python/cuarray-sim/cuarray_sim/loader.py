"""Questions to the dynamic loader: which files this process has loaded, and which one serves a name."""

from __future__ import annotations

import ctypes
import os
import re

__all__ = ["file_that_serves", "loaded_files"]


class _DlInfo(ctypes.Structure):
    _fields_ = [
        ("dli_fname", ctypes.c_char_p),
        ("dli_fbase", ctypes.c_void_p),
        ("dli_sname", ctypes.c_char_p),
        ("dli_saddr", ctypes.c_void_p),
    ]


def file_that_serves(soname: str, symbol: str) -> str | None:
    """Return the file of the loaded library that a request for ``soname`` gets; None if there is none.

    :param symbol: a function that each library of that name exports.
    """
    try:
        library = ctypes.CDLL(soname, mode=os.RTLD_NOLOAD)
        address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p)
    except (OSError, AttributeError):
        return None
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_DlInfo)]
    info = _DlInfo()
    if dladdr(address, ctypes.byref(info)) == 0 or info.dli_fname is None:
        return None
    return os.fsdecode(info.dli_fname)


def loaded_files(pattern: re.Pattern[str]) -> list[str]:
    """Return the loaded files whose path matches a pattern, as the process's memory map names them."""
    found = []
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.rstrip("\n").split(maxsplit=5)
            # A replaced file is listed as "PATH (deleted)" and is still in this process.
            if len(fields) == 6 and pattern.search(fields[5].removesuffix(" (deleted)")):
                found.append(fields[5])
    return list(dict.fromkeys(found))
