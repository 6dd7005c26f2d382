"""The list of stand-ins: each has its own folder and switch, and the note at the end names the ones that were used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuarray_sim import stand_ins

# A stand-in of the CUDA runtime's file is used: a program that writes the name of a file, as the stand-ins do.
USES = "import os; open(os.environ['CUARRAY_USED_STAND_INS'], 'a').write({!r})\n"


def test_each_stand_in_has_a_folder_and_a_switch_of_its_own() -> None:
    for attribute in ("name", "switch", "folder"):
        values = [getattr(stand_in, attribute) for stand_in in stand_ins.STAND_INS]
        assert len(values) == len(set(values))


def test_driver_knows_the_switch_of_each_stand_in(passes: Callable[..., str]) -> None:
    code = "import cuarray_sim.account; cuarray_sim.install(); cuarray_sim.account.check_settings()"
    assert passes(code, **{each.switch: "0" for each in stand_ins.STAND_INS}) == ""


@pytest.mark.parametrize("start", ["launcher", "pytest"])
def test_note_at_exit_names_the_files_that_processes_used(run: Callable, tmp_path: Path, start: str) -> None:
    child = USES.format("libcudart.so.13\nunknown\n")
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)\n"
    (tmp_path / "test_program.py").write_text(f"def test_child():\n    {code}")
    (tmp_path / "program.py").write_text(code + USES.format("libcudart.so.12\n"))
    arguments = {
        "launcher": ["-m", "cuarray_sim", "program.py"],
        "pytest": ["-m", "pytest", "--cuarray-sim", "test_program.py"],
    }[start]
    files = {"launcher": "libcudart.so.13, libcudart.so.12", "pytest": "libcudart.so.13"}[start]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr + done.stdout
    note = f"cuarray-sim: used instead of NVIDIA's: {files}; CUARRAY_SIM_RUNTIME=0 to use NVIDIA's\n"
    assert done.stderr.count(note) == 1


def test_note_is_missing_if_no_stand_in_is_used(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("")
    done = run("-m", "cuarray_sim", "program.py")
    assert done.returncode == 0, done.stderr
    assert "used instead" not in done.stderr


@pytest.mark.parametrize("own", [None, "/opt/cuda"], ids=["default", "own-folder"])
@pytest.mark.parametrize("wheel", [True, False], ids=["wheel", "no-wheel"])
def test_jax_finds_ptxas_in_front_of_that_of_nvidias_wheel(
    run: Callable, tmp_path: Path, wheel: bool, own: str | None
) -> None:
    # `jax[cuda13]` installs this file, and JAX gives its folder to XLA unless CUDA_ROOT names another one.
    file = tmp_path / "site-packages" / "nvidia" / "cu13" / "bin" / "ptxas"
    file.parent.mkdir(parents=True)
    if wheel:
        file.touch()
    (tmp_path / "program.py").write_text("import os; print(os.environ.get('CUDA_ROOT'))")
    paths = [str(tmp_path / "site-packages"), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": ":".join(filter(None, paths))} | ({"CUDA_ROOT": own} if own else {})
    root = run("-m", "cuarray_sim", "program.py", **variables).stdout.strip()
    if wheel and not own:
        assert subprocess.run([f"{root}/bin/ptxas", "--version"], capture_output=True, check=True).stdout
        assert Path(root).is_relative_to(stand_ins.PACKAGE)
    else:
        assert root == str(own)


def site_packages(folder: Path) -> str:
    """Make a folder of packages with JAX, Triton and NVIDIA's ``ptxas``, all of them empty, and return a search path with it."""
    site = folder / "site-packages"
    for file in ("jax/__init__.py", "triton/__init__.py"):
        (site / file).parent.mkdir(parents=True)
        (site / file).touch()
    for file in ("nvidia/cu13/bin/ptxas", "triton/backends/nvidia/bin/ptxas"):
        (site / file).parent.mkdir(parents=True)
        (site / file).touch(mode=0o755)
    return ":".join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))


PTXAS_LINE = "cuarray-sim: {} is set, so {} runs {}, and the simulated driver refuses its machine code; unset it to run the stand-in\n"


@pytest.mark.parametrize(
    ("variable", "library", "file"),
    [
        ("CUDA_ROOT", "XLA", "nvidia/cu13/bin/ptxas"),
        ("TRITON_PTXAS_PATH", "Triton", "triton/backends/nvidia/bin/ptxas"),
    ],
)
def test_line_and_refusal_name_the_ptxas_that_a_variable_chooses(
    run: Callable, tmp_path: Path, variable: str, library: str, file: str
) -> None:
    path = site_packages(tmp_path)
    ptxas = tmp_path / "site-packages" / file
    value = str(ptxas.parents[1] if variable == "CUDA_ROOT" else ptxas)
    # A child that installs the driver again repeats no line; the header of an ELF file is refused as machine code.
    (tmp_path / "program.py").write_text(
        "import ctypes, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import cuarray_sim; cuarray_sim.install()'], check=True)\n"
        "driver, context = ctypes.CDLL('libcuda.so.1'), ctypes.c_void_p()\n"
        "driver.cuInit(0)\n"
        "driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)\n"
        "driver.cuModuleLoadData(ctypes.byref(context), b'\\x7fELF\\2\\1\\1\\x41\\7' + bytes(55))\n"
    )
    stderr = run("-m", "cuarray_sim", "program.py", PYTHONPATH=path, **{variable: value}).stderr
    line = PTXAS_LINE.format(f"{variable}={value}", library, ptxas)
    assert stderr.count(line) == 1
    refusal = next(text for text in stderr.splitlines() if "machine code was refused" in text)
    assert refusal.endswith(line.removeprefix("cuarray-sim: ").rstrip())


def test_lines_name_the_ptxas_of_xla_and_triton_if_the_stand_in_is_off(run: Callable, tmp_path: Path) -> None:
    path = site_packages(tmp_path)
    (tmp_path / "program.py").touch()
    stderr = run("-m", "cuarray_sim", "program.py", PYTHONPATH=path, CUARRAY_SIM_PTXAS="0").stderr
    for library, file in (("XLA", "nvidia/cu13/bin/ptxas"), ("Triton", "triton/backends/nvidia/bin/ptxas")):
        assert PTXAS_LINE.format("CUARRAY_SIM_PTXAS=0", library, tmp_path / "site-packages" / file) in stderr


def test_no_line_names_a_ptxas_without_a_library_that_runs_it(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ptxas").touch(mode=0o755)
    (tmp_path / "program.py").touch()
    assert "ptxas" not in run("-m", "cuarray_sim", "program.py", CUDA_ROOT=str(tmp_path)).stderr


@pytest.mark.parametrize("switch", ["1", "0"])
def test_pathfinder_finds_the_stand_in_for_ptxas_unless_it_is_off(run: Callable, tmp_path: Path, switch: str) -> None:
    pytest.importorskip("cuda.pathfinder")
    path = site_packages(tmp_path)
    code = "from cuda.pathfinder import find_nvidia_binary_utility as find; print(find('ptxas'), find('nvcc'), find.cache_info().misses)"
    nvcc = tmp_path / "site-packages" / "nvidia" / "cu13" / "bin" / "nvcc"
    nvcc.touch(mode=0o755)
    # The folder must be one of site-packages for `cuda.pathfinder`, which skips PYTHONPATH.
    program = f"import site; site.getsitepackages = lambda: [{str(nvcc.parents[3])!r}]\n"
    (tmp_path / "child.py").write_text(program + code)
    (tmp_path / "program.py").write_text(
        program
        + code
        + "\nimport subprocess, sys; sys.stdout.flush(); subprocess.run([sys.executable, 'child.py'], check=True)\n"
    )
    done = run("-m", "cuarray_sim", "program.py", PYTHONPATH=path, CUARRAY_SIM_PTXAS=switch)
    ours = stand_ins.PACKAGE / "toolchain" / "ptxas" / "bin" / "ptxas"
    found = ours if switch == "1" else nvcc.with_name("ptxas")
    assert done.stdout == f"{found} {nvcc} 2\n" * 2, done.stderr


def test_real_files_are_found_in_wheels_before_the_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "site-packages" / "nvidia" / "cu13" / "lib" / "libexample.so.13"
    system = tmp_path / "system" / "libexample.so.13"
    for file in (wheel, system):
        file.parent.mkdir(parents=True)
        file.touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{stand_ins.PACKAGE}:{system.parent}")
    assert stand_ins._real_file("libexample.so.13") == str(system)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site-packages")])
    assert stand_ins._real_file("libexample.so.13") == str(wheel)
    assert stand_ins._real_file("libexample.so.12") is None
