"""The environments: the Makefile and the table have the same ones, and a part that cannot be installed is an error."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from environments import __main__ as command  # noqa: E402 - found in the root
from environments import release, steps  # noqa: E402
from environments.table import ENVIRONMENTS  # noqa: E402


def rules() -> dict[str, str]:
    """The stamps that the Makefile passes to `environments`, each with the files and stamps that it depends on."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    values = dict(re.findall(r"^([A-Z0-9_]+) := (.*)$", makefile, re.MULTILINE))

    def expanded(text: str) -> str:
        while text != (text := re.sub(r"\$\((\w+)\)", lambda name: values.get(name[1], name[0]), text)):
            pass
        return text

    common = re.search(r"^(.*):\n\t@\$\(BIN\)/python -m environments \$@$", makefile, re.MULTILINE)
    assert common
    depends = dict(re.findall(r"^(\$\(\w+\)): (.*)$", makefile, re.MULTILINE))
    return {expanded(stamp): expanded(depends[stamp]) for stamp in common[1].split()}


def test_makefile_makes_the_environments_of_the_table() -> None:
    assert sorted(rules()) == sorted(ENVIRONMENTS)


def test_every_file_of_requirements_makes_its_environment_anew() -> None:
    """requirements/gpu.txt lists the wheels of `make gpu-wheels`. `make test-free-threaded` makes its environment at each run."""
    watched = {name for files in rules().values() for name in files.split() if name.startswith("requirements/")}
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "requirements").glob("*.txt")}
    assert files - watched == {"requirements/gpu.txt", "requirements/free-threaded.txt"}
    assert watched <= files


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("stamp", [".venv/.peers", "build/mpi4py-tests/.fetched", ".venv/.measured"])
def test_missing_part_is_an_error_unless_it_is_allowed(
    stamp: str, allowed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command fails."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "requirements", "requirements")
    Path(".venv").mkdir()
    monkeypatch.setattr(steps.sys, "executable", "false")
    monkeypatch.setenv("ALLOW_MISSING", "1" if allowed else "")
    if allowed:
        command.main([stamp])
    else:
        with pytest.raises(SystemExit, match="ALLOW_MISSING=1 continues without it"):
            command.main([stamp])
    assert re.search("NOT installed|not measured|cannot be downloaded", capsys.readouterr().err)
    assert not Path(stamp).exists()


def test_other_failures_are_errors_in_every_case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(steps.sys, "executable", "false")
    monkeypatch.setenv("ALLOW_MISSING", "1")
    with pytest.raises(SystemExit, match="exit status 1"):
        command.main(["build/nvcc/.installed"])
    assert not Path("build/nvcc/.installed").exists()


def test_links_of_a_tree_keep_the_files_that_are_there(tmp_path: Path) -> None:
    for name in ("source/a/one", "source/two", "target/two"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    steps.link_tree(tmp_path / "source", tmp_path / "target")
    assert (tmp_path / "target/a/one").resolve() == tmp_path / "source/a/one"
    assert (tmp_path / "target/two").read_text() == "target/two"


def test_wheel_of_a_release_runs_on_its_platform_and_is_tagged_so() -> None:
    """auditwheel breaks its lines anywhere."""
    audit = 'consistent with the following platform\ntag:\n"manylinux_2_17_x86_64".'
    tagged = Path("cuarray-0.1.0-cp311-abi3-manylinux_2_17_x86_64.whl")
    assert release.problem(tagged, audit, "manylinux_2_17") is None
    assert "does not run on" in str(release.problem(tagged, audit.replace("2_17", "2_34"), "manylinux_2_17"))
    other = Path("cuarray-0.1.0-cp311-abi3-manylinux_2_17_aarch64.whl")
    assert "does not run on manylinux_2_17 with aarch64" in str(release.problem(other, audit, "manylinux_2_17"))
    assert "is not tagged" in str(
        release.problem(Path("cuarray-0.1.0-cp311-abi3-linux_x86_64.whl"), audit, "manylinux_2_17")
    )


def test_every_long_recipe_has_its_reason_in_the_design() -> None:
    """A recipe of seven lines or more is named in decision 22."""
    found: dict[str, int] = {}
    target = ""
    for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines():
        if rule := re.match(r"([\w$()-]+):(?!=)", line):
            target = rule[1]
        elif line.startswith("\t"):
            found[target] = found.get(target, 0) + 1
    decision = re.search(r"\*\*22\. .*?(?=\n\*\*23\.)", (ROOT / "DESIGN.md").read_text(encoding="utf-8"), re.DOTALL)
    assert decision
    named = set(re.findall(r"`([\w$()-]+)`", decision[0].partition("seven lines")[2]))
    assert named == {name for name, lines in found.items() if lines >= 7}


def test_wheels_for_two_processors_have_equal_files(tmp_path: Path) -> None:
    wheels = [tmp_path / f"cuarray-0.1.0-cp311-abi3-{processor}.whl" for processor in ("linux_x86_64", "linux_aarch64")]
    for wheel, names in zip(wheels, (("a.py", "b.so"), ("a.py",)), strict=True):
        with ZipFile(wheel, "w") as archive:
            for name in names:
                archive.writestr(name, "")
    assert str(release.differences(wheels)).endswith("linux_x86_64.whl: b.so")
    assert release.differences(wheels[:1]) is None


def test_wheels_are_installed_for_their_processor_and_not_without_a_global_lock() -> None:
    names = (
        *("cuarray-0.1.0-cp311-abi3-manylinux_2_17_x86_64.whl", "cuarray-0.1.0-cp314-cp314t-manylinux_2_17_x86_64.whl"),
        "cuarray-0.1.0-cp311-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
        *(
            "cuarray_sim-0.1.0-py3-none-manylinux_2_17_x86_64.whl",
            "cuarray_sim-0.1.0-py3-none-manylinux_2_17_aarch64.whl",
        ),
    )
    wheels = [Path(name) for name in names]
    assert release.for_processor("x86_64", wheels) == [wheels[0], wheels[3]]
    assert release.for_processor("aarch64", wheels) == [wheels[2], wheels[4]]
