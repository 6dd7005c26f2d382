"""The shipped adapters: each installed library passes every *must*, except for the failures that its adapter lists."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from cuarray.check import adapters
from cuarray.check.adapter import FUNCTIONS, PARTS, module_path, shipped
from cuarray.check.outcome import UNEXPECTED
from cuarray.check.registry import all_checks, select
from cuarray.check.runner import run

#: The libraries of `make peers`, by adapter. CuPy, PyTorch, JAX and PyCUDA are checked by `make square`.
PEERS = {"numba_cuda": "numba_cuda", "numba_cuda_mlir": "numba_cuda_mlir", "cuda_core": "cuda.core", "mpi4py": "mpi4py"}
#: `make bench` and `make square` install Warp.
PEERS["warp"] = "warp"
#: Checks that run in a few seconds: an entry of the dictionary, an import, the order of work, an import of a tensor.
ONLY = ("I8", "I10", "P1", "S2", "S3", "L2", "DL8")


def is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("adapter", PEERS)
def test_library_fails_only_what_its_adapter_lists(
    adapter: str, driver_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_installed(PEERS[adapter]):
        pytest.skip(f"{PEERS[adapter]} is not installed; `make peers` or `make bench` installs it")
    monkeypatch.setenv("CUARRAY_SIM_HOST_READABLE", "1")  # for an MPI without CUDA
    result = run(adapter, [check.id for check in select(ONLY)])
    assert [f"{each.check}: {each.message}" for each in result.outcomes if each.fails] == []
    assert [each.check for each in result.outcomes if each.status == UNEXPECTED] == []


def test_adapters_of_all_named_libraries_are_shipped() -> None:
    names = {
        "numba-cuda",
        "numba-cuda-mlir",
        "CuPy",
        "PyTorch",
        "JAX",
        "cuda.core",
        "PyCUDA",
        "Warp",
        "mpi4py",
        "RMM",
        "pylibcudf",
        "cuarray",
    }
    assert {module_path(name).rpartition(".")[2] for name in names} <= set(shipped())


@pytest.mark.parametrize("adapter", shipped())
def test_adapter_names_parts_and_checks_that_exist(adapter: str) -> None:
    """Read without an import, because few of the libraries are installed."""
    tree = ast.parse((Path(adapters.__path__[0]) / f"{adapter}.py").read_text())
    lists = {
        target.id: ast.literal_eval(each.value)
        for each in tree.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name) and target.id in ("NOT_CLAIMED", "KNOWN")
    }
    assert set(lists.get("NOT_CLAIMED", {})) <= set(PARTS)
    of_pairs = [pattern for pattern in lists.get("KNOWN", {}) if ".pair-" in pattern]
    others = lists.get("KNOWN", {}).keys() - {*of_pairs}
    assert all(select([pattern], pairs=True) for pattern in of_pairs)
    assert all(select([pattern]) or select([pattern], pairs=True) for pattern in others)
    functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")}
    assert functions <= set(FUNCTIONS)
    assert all_checks()


def test_consumer_that_asks_for_no_version_gets_an_unversioned_tensor(driver_kind: str) -> None:
    import driver_probe

    program = """
from cuarray.check import parts
from cuarray.check.adapter import NotClaimed

memory = parts.memory(bytes(24))
for version in ((1, 0), (2, 0)):
    tensor = parts.tensor(memory, (2, 3), version=version)
    try:
        print("dltensor_versioned" in repr(tensor.__dlpack__()))
    except NotClaimed as error:
        print(error)
tensor = parts.tensor(memory, (2, 3))
print("dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 1))))
"""
    printed = driver_probe.run_python(program).splitlines()
    assert printed[0] == "False"
    assert printed[1].startswith("the library does not ask for version 1.0")
    assert printed[2] == "True"
