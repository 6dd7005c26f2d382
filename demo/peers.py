"""The installed peers, and the reasons why other peers cannot be used."""

import importlib

PEERS = {
    "numba-cuda": ("library_numba", "Numba"),
    "numba-cuda-mlir": ("library_numba", "NumbaMlir"),
    "cuda.core": ("library_cuda_core", "CudaCore"),
    "CuPy": ("library_cupy", "CuPy"),
    "PyTorch": ("library_torch", "Torch"),
}


def load():
    """Return the usable peers as libraries, and the reason for each unusable peer by its name."""
    present, absent = [], {}
    for name, (module, class_name) in PEERS.items():
        try:
            present.append(getattr(importlib.import_module(module), class_name)())
        except Exception as error:
            # The import of a peer may fail in any way, which must not affect the others.
            absent[name] = why(error)
    return present, absent


def why(error):
    """Return an error as one line for people."""
    text = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        return f"not installed ({text})"
    return f"does not start: {type(error).__name__}: {text}"
