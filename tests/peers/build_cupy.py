"""Install CuPy's released wheel into a folder, and rebuild its module `runtime` against the shared CUDA runtime.

    python tests/peers/build_cupy.py build/cupy

The module `cupy_backends.cuda.api.runtime` of the wheel contains a static CUDA runtime, which starts on NVIDIA's driver only. The
same source, linked with `libcudart.so.13`, runs on every driver. `FOLDER/site-packages` receives CuPy, for `PYTHONPATH`; `FOLDER/suite`
receives CuPy's own tests, which the wheel lacks.

requirements/cupy.txt and requirements/cupy-source.txt state the versions. The environment must have the peers and Cython. A C++
compiler is needed, but no CUDA toolkit: the headers come from NVIDIA's wheels."""

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
from importlib.util import find_spec
from os import environ
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = HERE.parents[1] / "requirements"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]

MODULE = Path("cupy_backends/cuda/api/runtime")
DIRECTIVES = {"embedsignature": True, "c_api_binop_methods": True, "binding": False, "freethreading_compatible": True}
"""Directives of the released build (`install/cupy_builder/_command.py` in CuPy's source)."""

CONSTANTS = {"CUPY_CUDA_VERSION": 13020, "CUPY_HIP_VERSION": 0, "CUPY_USE_CUDA_PYTHON": False}
"""Compile-time constants of the released build. The version is that of `cupy_backends.cuda.api.driver.get_build_version()`."""


def run(*command, **how):
    subprocess.run([str(part) for part in command], check=True, **how)


def install(folder):
    """Install the wheel, and NVIDIA's headers, which are removed after the build."""
    run(*PIP, "install", "--quiet", "--no-deps", "--no-compile", "--target", folder, "-r", REQUIREMENTS / "cupy.txt")


def download_source(folder):
    """Download the source distribution and unpack it. pip needs its metadata, which it makes without CUDA in a stub build."""
    requirement = REQUIREMENTS / "cupy-source.txt"
    run(
        *PIP,
        *("download", "--quiet", "--no-deps", "--no-binary", "cupy", "--dest", folder.parent, "-r", requirement),
        env={**environ, "CUPY_INSTALL_USE_STUB": "1"},
    )
    archives = list(folder.parent.glob("cupy-*.tar.gz"))
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder.parent, filter="data")
    archives[0].with_suffix("").with_suffix("").rename(folder)
    archives[0].unlink()


def headers(site):
    """Return the folders of the CUDA headers: of the peers, and of the wheels that only this build needs."""
    roots = [*find_spec("nvidia").submodule_search_locations, site / "nvidia"]
    return list(dict.fromkeys(path for root in roots for path in Path(root).glob("*/include")))


def shared_runtime():
    for root in find_spec("nvidia").submodule_search_locations:
        for library in Path(root).glob("*/lib/libcudart.so.*"):
            return library
    raise SystemExit("libcudart.so is not found; `make peers` installs the wheel nvidia-cuda-runtime")


def build(source, site):
    """Compile the module to C++ by Cython and link it with the shared runtime, in place of the module in the wheel."""
    translated = source / MODULE.with_suffix(".cpp")
    program = (
        "import sys; from Cython.Compiler.Main import CompilationOptions, compile; options = CompilationOptions(cplus=True, "
        f"language_level=3, output_file={str(translated)!r}, compiler_directives={ {**DIRECTIVES, 'warn.deprecated.IF': False}!r}, "
        f"compile_time_env={CONSTANTS!r}); sys.exit(compile({str(MODULE.with_suffix('.pyx'))!r}, "
        f"full_module_name={'.'.join(MODULE.parts)!r}, options=options).num_errors)"
    )
    run(sys.executable, "-c", program, cwd=source, stderr=subprocess.DEVNULL)
    target = site / MODULE.with_name(MODULE.name + sysconfig.get_config_var("EXT_SUFFIX"))
    if not target.exists():
        raise SystemExit(f"the wheel has no module {target.name}; requirements/cupy.txt names another version of CuPy")
    target.unlink()
    includes = [f"-I{path}" for path in (*headers(site), sysconfig.get_path("include"))]
    run("c++", "-shared", "-fPIC", "-O1", "-w", *includes, "-o", target, translated, shared_runtime())
    translated.unlink()
    shutil.copy(HERE / "cupy_settings.py", target.with_name("__init__.py"))


def main():
    folder = Path(sys.argv[1]).absolute()
    site, source, suite = folder / "site-packages", folder / "source", folder / "suite"
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    install(site)
    download_source(source)
    downloaded = time.monotonic()
    build(source, site)
    shutil.rmtree(site / "nvidia", ignore_errors=True)
    suite.mkdir()
    for part in ("tests", "pyproject.toml", "LICENSE"):
        (source / part).rename(suite / part)
    shutil.rmtree(source)
    print(f"CuPy: downloads {downloaded - started:.0f} s, build of one module {time.monotonic() - downloaded:.0f} s")


if __name__ == "__main__":
    main()
