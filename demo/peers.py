"""The peers that are here; those that are not, with the reason."""

import importlib

PEERS = {
    "numba-cuda": ("library_numba", "Numba"),
    "cuda.core": ("library_cuda_core", "CudaCore"),
}


def load():
    """The peers as libraries, and the names of those that cannot be used here with the reason."""
    present, absent = [], {}
    for name, (module, class_name) in PEERS.items():
        try:
            present.append(getattr(importlib.import_module(module), class_name)())
        except Exception as error:
            # A peer may fail in its import in any way; the others are not the worse for it.
            absent[name] = why(error)
    return present, absent


def why(error):
    """An error as one line for people."""
    text = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        return f"not installed ({text})"
    return f"does not start: {type(error).__name__}: {text}"
