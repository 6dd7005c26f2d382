"""The command `python -m cuarray_sim.cupy`: refusals, errors that leave the environment as it was, and undo, without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuarray_sim.cupy import build, finder, place, release
from cuarray_sim.cupy.finder import BUILT, FOLDER, MODULES

ROOT = Path(__file__).parents[2]
NAME, VERSION = "cupy-cuda13x", "14.2.0"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder of packages with the files of CuPy that the command reads."""
    folder = tmp_path / "packages"
    install(folder, NAME, VERSION)
    return folder


def install(folder: Path, name: str, version: str) -> None:
    """Write a CuPy that has no code into a folder of packages."""
    record = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    for package in ("cupy/cuda", "cupy_backends/cuda/api"):
        for part in (folder / package, *(folder / package).parents[: package.count("/")]):
            part.mkdir(parents=True, exist_ok=True)
            (part / "__init__.py").touch()
    (folder / "cupy/_version.py").write_text(f"__version__ = '{version}'\n")
    (folder / "cupy/cuda/thrust.py").write_text("def sort(*_): return 'by a static runtime'\n")
    (folder / "cupy_backends/cuda/api/runtime.py").touch()
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (record / "RECORD").write_text("cupy/_version.py,,\ncupy/__init__.py,,\n")


def command(packages: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a folder of packages before all others, and no package index."""
    path = os.pathsep.join([str(packages), *(each for each in sys.path if each and not (Path(each) / "cupy").is_dir())])
    return subprocess.run(
        [sys.executable, "-m", "cuarray_sim.cupy", *arguments],
        env={**os.environ, "PYTHONPATH": path, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture
def installed(packages: Path) -> release.Installed:
    return release.Installed(NAME, VERSION, packages, release.RELEASES[NAME, VERSION])


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder with two files that stand for built modules."""
    folder = tmp_path / "built"
    folder.mkdir()
    for name in ("runtime", "random"):
        (folder / finder.file_name(MODULES[name])).write_bytes(name.encode())
    return folder


@pytest.mark.parametrize(
    ("name", "version"), [("cupy-cuda12x", "14.2.0"), ("cupy-cuda13x", "13.0.0"), ("cupy-rocm-7-0", "14.2.0")]
)
def test_unsupported_wheel_is_refused_by_name(tmp_path: Path, name: str, version: str) -> None:
    install(tmp_path / "packages", name, version)
    done = command(tmp_path / "packages")
    assert done.returncode == 2
    assert f"{name} {version} is installed, which is not supported; supported are: {NAME} {VERSION}" in done.stderr


def test_missing_cupy_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = command(tmp_path / "empty")
    assert done.returncode == 2
    assert "CuPy is not installed for" in done.stderr


def test_two_cupys_are_an_error_with_both_names(packages: Path) -> None:
    install(packages, "cupy-cuda12x", "14.2.0")
    done = command(packages)
    assert done.returncode == 2
    assert "CuPy is installed 2 times, as cupy-cuda12x, cupy-cuda13x" in done.stderr


def test_unknown_module_is_an_error_with_the_known_ones(packages: Path) -> None:
    done = command(packages, "--modules", "random,sort")
    assert done.returncode == 2
    assert "unknown names sort; the modules are: runtime, jitify, random, cub, thrust" in done.stderr


def test_missing_compiler_is_an_error_with_the_remedy(packages: Path) -> None:
    done = command(packages, CXX="no-such-compiler")
    assert done.returncode == 2
    assert "the C++ compiler no-such-compiler is not found; install one" in done.stderr


@pytest.mark.parametrize(
    ("missing", "message"),
    [("pip", "has no pip, which downloads the sources"), ("Python.h", "Python.h is missing; install Python's headers")],
)
def test_python_without_a_part_that_the_build_needs_is_an_error(
    missing: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if missing == "pip":
        monkeypatch.setattr(release.importlib.util, "find_spec", lambda _: None)
    else:
        monkeypatch.setattr(release.sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(release.BuildError, match=message):
        release.check_python()


def test_work_folder_with_files_is_an_error_with_one_of_them(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/notes").touch()
    done = command(packages, "--work", str(tmp_path / "work"))
    assert done.returncode == 2
    assert "work is not empty: it has notes; name an empty or a new folder" in done.stderr


def test_failed_download_leaves_the_environment_as_it_was(packages: Path) -> None:
    before = files(packages)
    done = command(packages, "--modules", "runtime", CXX="true")
    assert done.returncode == 2
    assert "building runtime of cupy-cuda13x 14.2.0 against the shared CUDA runtime" in done.stdout
    assert "the download of CuPy's source 14.2.0 failed:" in done.stderr
    assert files(packages) == before


def test_failed_tool_is_an_error_with_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(release.BuildError, match=r"(?s)the compilation of it failed: .*status 3:\n.*a reason"):
        build.run("the compilation of it", sys.executable, "-c", "print('a reason'); exit(3)", folder=tmp_path)
    with pytest.raises(release.BuildError, match="no-such-tool cannot be started: No such file or directory"):
        build.run("the compilation of it", "no-such-tool", folder=tmp_path)


def test_too_little_disk_is_an_error_before_the_download(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuarray_sim.cupy import __main__ as program

    monkeypatch.syspath_prepend(packages)
    monkeypatch.setattr(release, "find_packages", lambda: packages)
    monkeypatch.setattr(program.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**40, 2**40, 5 << 20))
    installed = release.Installed(NAME, VERSION, packages, release.RELEASES[NAME, VERSION])
    with pytest.raises(release.BuildError, match="has 5 MB of free disk, and the build needs 70 MB"):
        program._build_in(packages, installed, ["runtime"], "c++", 1)


def test_built_modules_are_added_and_undo_removes_them(installed: release.Installed, built: Path) -> None:
    packages, before = installed.packages, files(installed.packages)
    place.place(installed, built, lambda: None)
    added = {name: content for name, content in files(packages).items() if name not in before}
    assert sorted(added) == sorted([f"{FOLDER}/{BUILT}", *(f"{FOLDER}/{file.name}" for file in built.iterdir())])
    assert {name: files(packages)[name] for name in before} == before
    assert place.missing_modules(installed, MODULES) == ["jitify", "cub", "thrust"]
    done = command(packages, "--undo")
    assert f"{packages / FOLDER} is removed; CuPy is as it was released" in done.stdout
    assert files(packages) == before
    assert "no modules were built" in command(packages, "--undo").stdout


def test_modules_that_are_built_are_not_built_again(installed: release.Installed, built: Path) -> None:
    place.place(installed, built, lambda: None)
    done = command(installed.packages, "--modules", "random", CXX="true")
    assert (done.returncode, done.stdout) == (0, f"runtime, random of {NAME} {VERSION} are built already\n")


def test_later_build_keeps_the_modules_of_the_same_version(installed: release.Installed, built: Path) -> None:
    place.place(installed, built, lambda: None)
    for file in built.iterdir():
        file.unlink()
    (built / finder.file_name(MODULES["cub"])).write_bytes(b"cub")
    place.place(installed, built, lambda: None)
    assert place.missing_modules(installed, MODULES) == ["jitify", "thrust"]
    record = installed.packages / FOLDER / BUILT
    record.write_text(record.read_text().replace(VERSION, "14.1.0"))
    place.place(installed, built, lambda: None)
    assert place.missing_modules(installed, MODULES) == ["runtime", "jitify", "random", "thrust"]


@pytest.mark.parametrize("again", [False, True])
def test_modules_that_cannot_be_imported_leave_the_environment_as_it_was(
    installed: release.Installed, built: Path, again: bool
) -> None:
    if again:
        place.place(installed, built, lambda: None)
    before = files(installed.packages)

    def refuse() -> None:
        raise release.BuildError("no import")

    (built / finder.file_name(MODULES["cub"])).write_bytes(b"cub")
    with pytest.raises(release.BuildError, match="no import"):
        place.place(installed, built, refuse)
    assert files(installed.packages) == before
    assert not list(installed.packages.glob(f".{FOLDER}*"))


def test_folder_that_cannot_be_written_is_an_error(built: Path, tmp_path: Path) -> None:
    gone = release.Installed(NAME, VERSION, tmp_path / "gone", release.RELEASES[NAME, VERSION])
    with pytest.raises(
        release.BuildError, match="cannot be written: No such file or directory; it is as it was before"
    ):
        place.place(gone, built, lambda: None)


def test_modules_of_another_version_are_left_out_with_a_warning(installed: release.Installed, built: Path) -> None:
    place.place(installed, built, lambda: None)
    (installed.packages / "cupy/_version.py").write_text("__version__ = '14.3.0'\n")
    with pytest.warns(RuntimeWarning, match=r"has modules of CuPy 14\.2\.0, and CuPy 14\.3\.0 is installed"):
        assert finder.built_modules(installed.packages) == {}


def test_released_module_raises_an_error_where_another_is_built(installed: release.Installed, built: Path) -> None:
    """The fake runtime is no library, so only the other module is imported."""
    place.place(installed, built, lambda: None)
    program = "import cuarray_sim; cuarray_sim.install(); from cupy.cuda import thrust; print(thrust.sort())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed.packages), *filter(None, sys.path)])}

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program], env=environment | more, capture_output=True, text=True, check=False
        )

    done = run()
    assert (
        "RuntimeError: cupy.cuda.thrust.sort uses the CUDA runtime that is linked statically into CuPy's wheel"
        in done.stderr
    )
    assert "python -m cuarray_sim.cupy --modules thrust" in done.stderr
    assert run(CUARRAY_SIM_CUPY="0").stdout == "by a static runtime\n"
    place.undo(installed.packages)
    assert run().stdout == "by a static runtime\n"


def test_import_of_cupy_before_the_installation_is_a_warning(installed: release.Installed, built: Path) -> None:
    place.place(installed, built, lambda: None)
    program = "import cupy_backends.cuda.api.runtime, cuarray_sim; cuarray_sim.install()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed.packages), *filter(None, sys.path)])}
    environment.pop(
        "LD_LIBRARY_PATH", None
    )  # else the import happens in a child of the simulator, which finds the module
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "cupy was imported before cuarray_sim.install(), and keeps its static CUDA runtime" in done.stderr


def test_packages_have_the_versions_of_the_other_requirements() -> None:
    """`make nvcc` and `make peers` install the same packages, so a new version is raised in both places."""
    pinned = {}
    for file in ("peers", "nvcc", "cupy", "test"):
        for line in (ROOT / "requirements" / f"{file}.txt").read_text(encoding="utf-8").splitlines():
            if found := re.match(r"([\w.-]+)==([\w.]+)", line):
                pinned[found[1]] = found[2]
    assert pinned[NAME] == VERSION
    needed = build.packages_for(release.RELEASES[NAME, VERSION], MODULES)
    versions = dict(each.split("==") for each in needed)
    assert {name: pinned[name] for name in versions if name in pinned} == {
        name: version for name, version in versions.items() if name in pinned
    }
    assert set(versions) - set(pinned) == {"nvidia-curand", "nvidia-cuda-profiler-api"}
