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
