"""What the peers that are installed offer to be measured; those that are not, with the reason."""

from functools import cache


@cache
def load():
    """The modules of the peers by name, and why others are missing."""
    present, absent = {}, {}
    for name, bring in {"cuda.core": _cuda_core, "numba-cuda": _numba, "mpi4py": _mpi4py}.items():
        try:
            present[name] = bring()
        except Exception as error:
            absent[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return present, absent


def importers():
    """A statement with `take` and `obj`, and what `take` is, by the name of its row."""
    present, _ = load()
    found = {}
    if "cuda.core" in present:
        take = present["cuda.core"].from_cuda_array_interface
        found["cuda.core StridedMemoryView.from_cuda_array_interface(obj, -1)"] = ("take(obj, -1)", take)
    if "mpi4py" in present:
        found["mpi4py MPI.buffer(obj)"] = ("take(obj)", present["mpi4py"].buffer)
    if "numba-cuda" in present:
        found["numba.cuda.as_cuda_array(obj, sync=False)"] = (
            "take(obj, sync=False)",
            present["numba-cuda"].as_cuda_array,
        )
    return found


def exporters():
    """A function of a shape and whether there is a stream, that makes an array, by the name of its row."""
    present, _ = load()
    if "numba-cuda" not in present:
        return {}
    cuda = present["numba-cuda"]

    def make(shape, with_stream):
        array = cuda.device_array(shape, "float32")
        return array.bind(cuda.stream()) if with_stream else array

    return {"numba.cuda device array": make}


def _cuda_core():
    from cuda.core import Device
    from cuda.core.utils import StridedMemoryView

    Device().set_current()
    return StridedMemoryView


def _numba():
    from numba import cuda

    cuda.current_context()
    return cuda


def _mpi4py():
    import mpi4py

    # Nothing is sent here, and starting MPI would start processes of its own.
    mpi4py.rc.initialize = False
    from mpi4py import MPI

    return MPI
