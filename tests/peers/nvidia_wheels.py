"""Files in NVIDIA's wheels of CUDA 13, for builds without a CUDA toolkit."""

from importlib.util import find_spec
from pathlib import Path


def in_nvidias_wheels(name: str) -> Path:
    """Return the path of a file, such as `include/nvrtc.h`."""
    for root in find_spec("nvidia").submodule_search_locations:
        if (found := Path(root, "cu13", name)).is_file():
            return found
    raise SystemExit(f"no {name} found in NVIDIA's wheels; run: make peers")
