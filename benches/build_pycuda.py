"""Build PyCUDA, which has no wheels, into the environment of this interpreter: about two minutes, without a CUDA toolkit.

    python benches/build_pycuda.py

requirements/bench.txt states the version and provides the headers. PyCUDA is linked with the simulated driver, which has the name of
the real one, so PyCUDA uses the real driver where it is installed. A C++ compiler is needed. cuRAND is left out, as it needs the toolkit."""

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
    """Return the requirement `pycuda==...`."""
    return re.search(r"^pycuda==\S+", REQUIREMENTS.read_text(), re.MULTILINE)[0]


def include_directory():
    """Return the folder of cuda.h in NVIDIA's wheels."""
    for root in find_spec("nvidia").submodule_search_locations:
        for header in sorted(Path(root).glob("*/include/cuda.h")):
            return header.parent
    raise SystemExit("no cuda.h found; run: pip install -r requirements/bench.txt")


def build(requirement, directory):
    """Download, configure and install PyCUDA."""
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
