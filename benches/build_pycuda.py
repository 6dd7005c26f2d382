"""Builds PyCUDA, which has no wheels, into the environment that this runs in: about two minutes, and no CUDA toolkit.

    python benches/build_pycuda.py

The version is the one in requirements/bench.txt, where its headers come from too. It is linked against the simulated driver,
whose library has the name of the real one, so that the real one is taken where there is one. Needs a C++ compiler. Nothing of
PyCUDA is changed; of what it offers, cuRAND is left out, which would need the toolkit.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import cuarray_sim

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
REQUIREMENTS = Path(__file__).parent.parent / "requirements" / "bench.txt"


def pinned():
    """The requirement `pycuda==...`."""
    return re.search(r"^pycuda==\S+", REQUIREMENTS.read_text(), re.MULTILINE)[0]


def include_directory():
    """Where the wheels of NVIDIA have put cuda.h."""
    for root in find_spec("nvidia").submodule_search_locations:
        for header in sorted(Path(root).glob("*/include/cuda.h")):
            return header.parent
    raise SystemExit("no cuda.h found; run: pip install -r requirements/bench.txt")


def build(requirement, directory):
    """Fetches, configures and installs it."""
    subprocess.run(
        [*PIP, "download", "--quiet", "--no-deps", "--no-binary", "pycuda", "--dest", directory, requirement],
        check=True,
    )
    with tarfile.open(next(directory.glob("pycuda-*.tar.gz"))) as archive:
        archive.extractall(directory, filter="data")
    source = next(path for path in directory.glob("pycuda-*") if path.is_dir())
    (directory / "libcuda.so").symlink_to(cuarray_sim.library_path())
    subprocess.run(
        [
            *(sys.executable, "configure.py", "--no-cuda-enable-curand"),
            *(f"--cuda-root={directory}", f"--cuda-inc-dir={include_directory()}", f"--cudadrv-lib-dir={directory}"),
        ],
        cwd=source,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run([*PIP, "install", "--quiet", "--no-deps", "--no-cache-dir", source], check=True)


def main():
    requirement = pinned()
    try:
        if f"pycuda=={metadata.version('pycuda')}" == requirement:
            return
    except metadata.PackageNotFoundError:
        pass
    print(f"building {requirement}, about two minutes ...", file=sys.stderr)
    with tempfile.TemporaryDirectory() as directory:
        build(requirement, Path(directory))


if __name__ == "__main__":
    main()
