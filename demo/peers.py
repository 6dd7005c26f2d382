"""The installed peers, and the reasons why other peers cannot be used."""

from cases import SMALL
from route import Library, Route

from cuarray.check.adapter import Adapter

ADAPTERS = {
    "numba-cuda": "numba_cuda",
    "numba-cuda-mlir": "numba_cuda_mlir",
    "cuda.core": "cuda_core_memory",
    "CuPy": "cupy",
    "PyTorch": "pytorch",
    "RMM": "rmm_memory",
}

PRODUCERS = ("RMM",)
"""Libraries that import no array without a copy."""


def load(name):
    """Return a peer as a library; raise an exception if it is not installed, or does not start."""
    library = Library(Adapter.load(ADAPTERS[name]))
    library.make(SMALL)
    return library


def load_all():
    """Return the usable peers as libraries, and the reason for each unusable peer by its name."""
    present, absent = [], {}
    for name in ADAPTERS:
        try:
            present.append(load(name))
        except Exception as error:
            # The import of a peer may fail in any way, which must not affect the others.
            absent[name] = why(error.__cause__ or error)
    return present, absent


def why(error):
    """Return an error as one line for people."""
    text = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        return f"not installed ({text})"
    return f"does not start: {type(error).__name__}: {text}"


def routes(own, peers):
    """Return the routes: cuarray with itself, each peer with cuarray in both directions, and each pair of peers through cuarray."""
    consumers = [peer for peer in peers if peer.name not in PRODUCERS]
    found = [Route(own, own)]
    for peer in peers:
        found += [Route(peer, own)] + [Route(own, peer)] * (peer in consumers)
    return found + [Route(first, second, True) for first in peers for second in consumers if first is not second]
