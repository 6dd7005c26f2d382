"""The builds of the stand-ins for mathematical libraries: their processor time and sizes.

They are built one after the other into an empty folder, without link-time optimization, as CI builds them. A dependency counts for the first
library that needs it. Processor time is hardly affected by other programs on the machine."""

import os
import resource
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

_ROOT = Path(__file__).parents[1]
LIBRARIES = {
    "shared by all libraries": ["cuarray-stream-work", "cuarray-stand-in"],
    "cuBLAS, for CUDA 12 and 13": ["cuarray-cublas-12", "cuarray-cublas-13"],
    "cublasLt, for CUDA 12 and 13": ["cuarray-cublaslt-12", "cuarray-cublaslt-13"],
    "cuFFT, for CUDA 12 and 13": ["cuarray-cufft-11", "cuarray-cufft-12"],
    "cuRAND": ["cuarray-curand"],
    "cuSOLVER, for CUDA 12 and 13": ["cuarray-cusolver-11", "cuarray-cusolver-12"],
    "cuSPARSE": ["cuarray-cusparse"],
    "cuDNN": ["cuarray-cudnn"],
}


def measured():
    """Return the seconds of processor time, and the bytes of each file and in the wheel, by library."""
    results = {}
    settings = {
        "CARGO_INCREMENTAL": "0",
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    }
    with tempfile.TemporaryDirectory(dir=_ROOT / "target") as folder:
        for library, crates in LIBRARIES.items():
            print(f"builds, {library} ...", file=sys.stderr, flush=True)
            before = _processor_seconds()
            packages = [argument for crate in crates for argument in ("--package", crate)]
            command = ["cargo", "build", "--quiet", "--release", "--target-dir", folder, *packages]
            subprocess.run(command, cwd=_ROOT, env={**os.environ, **settings}, check=True)
            files = [Path(folder) / f"release/lib{crate.replace('-', '_')}.so" for crate in crates]
            contents = [file.read_bytes() for file in files if file.exists()]
            sizes = [len(each) for each in contents]
            results[library] = _processor_seconds() - before, sizes, sum(len(zlib.compress(each)) for each in contents)
    return results


def _processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
