"""Targets of continuous integration: .ci/run and the hosted workflow run the same targets, and the Makefile defines them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from generated import differences

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^\.PHONY: ([a-z0-9-]+)$", MAKEFILE, re.MULTILINE))
# Targets that install or build, and parts of other targets.
STEPS = {
    *(
        "clean",
        "extensions",
        "help",
        "install",
        "mpi4py-tests",
        "mpich",
        "nvcc",
        "nvjitlink",
        "peers",
        "prerequisites",
        "prose",
    ),
    *("release-wheels", "test-rust", "wheels"),
}
PUSH = "github.event_name != 'pull_request'"
NIGHTLY = "github.event_name == 'schedule'"


def ci_targets() -> list[str]:
    found = re.search(
        r"^for target in ([a-z0-9 -]+); do$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert found
    return found[1].split()


def jobs() -> list[tuple[str, list[str]]]:
    """The condition of each job of the hosted workflow, empty without one, and the targets that it runs."""
    found = []
    for job in re.split(r"^  (?=[a-z][a-z-]*:$)", WORKFLOW.partition("\njobs:\n")[2], flags=re.MULTILINE)[1:]:
        condition = re.search(r"^    if: (.*)$", job, re.MULTILINE)
        matrix = re.search(r"^        target: \[(.*)\]$", job, re.MULTILINE)
        named = matrix[1].split(", ") if matrix else re.findall(r"run: make ([a-z0-9-]+)$", job, re.MULTILINE)
        found.append((condition[1] if condition else "", named))
    return found


def table() -> str:
    """When each target runs, as CONTRIBUTING.md shows it."""
    run = ci_targets()
    by_condition: dict[str, list[str]] = {condition: [] for condition in ("", PUSH, NIGHTLY)}
    for condition, targets in jobs():
        by_condition[condition] += [target for target in targets if target not in run]
    hosted = {target for targets in by_condition.values() for target in targets}
    rows = {
        "before a commit": ["check"],
        "`.ci/run`, for each change": run,
        "the hosted workflow, for each push and pull request": ["those of `.ci/run`", *by_condition[""]],
        "the hosted workflow, for each push also": by_condition[PUSH],
        "the hosted workflow, each night": ["its others", *by_condition[NIGHTLY]],
        "by hand": [each for each in sorted(TARGETS - {*run, *hosted, "check", *STEPS}) if "peers-" not in each],
    }
    lines = ["| when | targets |", "|---|---|"]
    for when, targets in rows.items():
        lines.append(f"| {when} | {', '.join(each if ' ' in each else f'`{each}`' for each in targets)} |")
    return "\n".join(lines) + "\n"


def test_contributing_shows_when_the_targets_run() -> None:
    page = ROOT / "CONTRIBUTING.md"
    text, count = re.subn(
        r"(<!-- targets -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}\n{table()}\n{found[2]}",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert count == 1
    assert differences(page, text) == []


def test_night_has_the_checks_that_are_too_long_for_a_push() -> None:
    nightly = [targets for condition, targets in jobs() if condition == NIGHTLY]
    assert nightly == [
        [
            *("test-all", "algorithms", "square", "examples-burn", "kit-mutants"),
            *(
                "programs",
                "generated-code",
                "asan",
                "tsan",
                "loom",
                "test-newest-python",
                "square-pylibcudf",
                "test-distributed",
                "square-rmm",
                "square-warp",
                "test-aarch64-rust",
                "test-aarch64-python",
                "test-large-pages",
                "documented",
            ),
        ]
    ]


def test_hosted_workflow_runs_the_targets_of_ci_run() -> None:
    matrix = re.search(r"target: \[(.*)\]", WORKFLOW)
    assert matrix
    assert matrix[1].split(", ") == [target for target in ci_targets() if not target.startswith("peers-")]


def test_hosted_workflow_installs_the_peers_of_ci_run() -> None:
    peers = [target for target in ci_targets() if target.startswith("peers-")]
    installed = re.findall(r"\{ target: ([a-z-]+), peers: ([a-z -]+?) \}", WORKFLOW)
    assert [(target, names.split()) for target, names in installed] == [("demo", peers), ("test", peers)]


def test_makefile_has_every_target_that_ci_runs() -> None:
    assert {*ci_targets(), *(target for _, targets in jobs() for target in targets)} <= TARGETS


def test_documents_name_only_targets_of_the_makefile() -> None:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]:
        named = set(
            re.findall(r"(?:`|\$ |PYTHON=\S+ )make ([a-z][a-z0-9-]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
        assert named <= TARGETS, path


def test_every_target_is_explained_in_the_help() -> None:
    explained = set(re.findall(r"^([a-z0-9-]+):.*## \S", MAKEFILE, re.MULTILINE))
    assert TARGETS - explained == {"prerequisites"}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_dry_run_works_in_a_folder_whose_name_has_a_space(tmp_path: Path) -> None:
    """The folder holds a copy of the files that the Makefile reads."""
    folder = tmp_path / "a b"
    for name in ("Makefile", "Cargo.toml", "Cargo.lock", "requirements", "crates", "python", "benches"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "target"))
        else:
            folder.mkdir(exist_ok=True)
            shutil.copy(source, folder / name)
    for name in ("examples", "tests/extensions"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "target"))
    planned = subprocess.run(["make", "-n", "test"], cwd=folder, capture_output=True, text=True, check=False)
    assert planned.returncode == 0, planned.stderr
    assert f'"{folder}/build/extensions"' in planned.stdout
