"""Compile the kernels with NVRTC, and run each of them in a process with the simulated driver.

    python -m cuarray_sim -m racy_kernels.running FOLDER

Only kernels of the order in ``CUARRAY_SIM_KERNEL_ORDER`` run. The folder has the PTX of both builds of each file, which :func:`compile_all` writes. Standard output is one JSON object: the
result of each run, by the build and the kernel.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .kernels import Kernel, Source, sources

ELEMENTS = 1024
BUFFERS = ("in", "out", "work", "data")
BUILDS = ("clean", "racy")
ARCHITECTURE = "sm_90"


def headers() -> list[str]:
    """Return the folders with the headers of CUDA and of its C++ libraries; an empty list if they are not installed."""
    found = importlib.util.find_spec("nvidia.cu13")
    for place in found.submodule_search_locations if found and found.submodule_search_locations else ():
        folder = Path(place) / "include"
        if (folder / "cuda_pipeline.h").exists() and (folder / "cccl" / "cuda" / "pipeline").exists():
            return [str(folder), str(folder / "cccl")]
    return []


def compile_ptx(text: str, name: str) -> bytes:
    """Compile CUDA C++ to PTX with line information."""
    from cuda.bindings import nvrtc

    def check(result: tuple[Any, ...]) -> Any:
        if int(result[0]):
            log = bytearray(nvrtc.nvrtcGetProgramLogSize(program)[1])
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.rstrip(b"\0").decode())
        return result[1] if len(result) > 1 else None

    program = check(nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], []))
    options = [f"-arch={ARCHITECTURE}", "-std=c++17", "-lineinfo", *(f"-I{folder}" for folder in headers())]
    check(nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options]))
    ptx = bytearray(check(nvrtc.nvrtcGetPTXSize(program)))
    check(nvrtc.nvrtcGetPTX(program, ptx))
    check(nvrtc.nvrtcDestroyProgram(program))
    return bytes(ptx)


def compile_all(folder: Path, files: list[Source], builds: tuple[str, str], macros: str = "") -> None:
    """Write the PTX of both builds of each file; the second build is the one with the errors."""

    def one(job: tuple[Source, str]) -> None:
        source, build = job
        path = folder / f"{source.path.stem}.{build}.ptx"
        path.write_bytes(compile_ptx(source.build(build == builds[1], macros), source.name))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, [(source, build) for source in files for build in builds]))


def order() -> str:
    """Return the order of blocks and warps in this process."""
    return os.environ.get("CUARRAY_SIM_KERNEL_ORDER", "forward")


def inputs() -> np.ndarray:
    """Return the elements of ``in`` and ``data``: numbers from 0 to 63 with repetitions."""
    return ((np.arange(ELEMENTS) * 37 + np.arange(ELEMENTS) // 64 * 5 + 11) % 64).astype(np.int32)


def expected(expression: str) -> np.ndarray:
    """Evaluate the expression of a tag: ``x`` are the inputs, ``b`` and ``t`` return ranges."""
    from . import oracles

    names = {name: getattr(oracles, name) for name in oracles.__all__}
    return np.asarray(eval(expression, {"np": np, "x": inputs().astype(np.int64), **names})).ravel().astype(np.int32)


class Launcher:
    """Buffers in the device's memory, and launches of kernels that use them."""

    def __init__(self, former: Launcher | None = None) -> None:
        from cuda.bindings import driver

        self.driver = driver
        self.check(driver.cuInit(0))
        self.context = self.check(driver.cuDevicePrimaryCtxRetain(0))
        self.check(driver.cuCtxSetCurrent(self.context))
        self.buffers: dict[str, int] = {name: int(self.check(driver.cuMemAlloc(4 * ELEMENTS))) for name in BUFFERS}
        self.names = former.names if former else {}
        """The buffers by their addresses, also those of a former context."""
        self.names |= {address: name for name, address in self.buffers.items()}

    @staticmethod
    def check(result: tuple[Any, ...]) -> Any:
        if int(result[0]):
            raise RuntimeError(result[0].name)
        return result[1] if len(result) == 2 else result[1:]

    def renewed(self) -> Launcher:
        """Return a launcher in a new context, after a failure that leaves the context of no more use."""
        self.check(self.driver.cuDevicePrimaryCtxReset(0))
        return Launcher(self)

    def load(self, ptx: bytes) -> Any:
        return self.check(self.driver.cuModuleLoadData(ptx.rstrip(b"\0") + b"\0"))

    def run(self, module: Any, kernel: Kernel, symbol: str | None = None) -> dict[str, np.ndarray]:
        """Fill the buffers, run a kernel, and return their elements. ``symbol`` is the name of a variant of the kernel."""
        driver, check = self.driver, self.check
        for name, buffer in self.buffers.items():
            values = inputs() if name in ("in", "data") else np.zeros(ELEMENTS, np.int32)
            check(driver.cuMemcpyHtoD(buffer, values.ctypes.data, values.nbytes))
        config = driver.CUlaunchConfig()
        config.gridDimX, config.blockDimX = kernel.blocks, kernel.threads
        config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
        attributes = []
        if kernel.cooperative:
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attribute.value.cooperative = 1
            attributes.append(attribute)
        if kernel.cluster:
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            attribute.value.clusterDim.x = kernel.cluster
            attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1
            attributes.append(attribute)
        config.attrs, config.numAttrs = attributes, len(attributes)
        function = check(driver.cuModuleGetFunction(module, (symbol or kernel.name).encode()))
        pointers = np.array(list(self.buffers.values()), np.uint64)
        parameters = np.array([pointers.ctypes.data + 8 * index for index in range(len(pointers))], np.uint64)
        check(driver.cuLaunchKernelEx(config, function, parameters.ctypes.data, 0))
        check(driver.cuCtxSynchronize())
        results = {}
        for name, buffer in self.buffers.items():
            results[name] = np.empty(ELEMENTS, np.int32)
            check(driver.cuMemcpyDtoH(results[name].ctypes.data, buffer, 4 * ELEMENTS))
        return results


def lines_of(side: dict[str, Any], source: str) -> list[int]:
    """Return the lines of ``source`` that a side of a finding names: its own, and that of the call that it is inlined at."""
    place = side["place"] or {}
    named = (place.get("source"), place.get("inlined_at"))
    return [at["line"] for at in named if at and Path(at["file"]).name == source]


def races(launcher: Launcher, source: str) -> dict[str, list[dict[str, Any]]]:
    """Return the findings since the last call, by kernel, with the variable and the lines of ``source`` that each of them names."""
    import cuarray_sim

    buffers = launcher.names
    found: dict[str, list[dict[str, Any]]] = {}
    report = cuarray_sim.findings()
    assert report["not_kept"] == 0
    for finding in report["findings"]:
        named = [lines_of(side, source) for side in finding["sides"]]
        lines = [own[-1] if own else None for own in named]
        variable, allocation = finding["variable"], finding["allocation"]
        if variable:
            name = shared_variable(variable["name"])
        else:
            name = buffers.get(allocation["address"]) if allocation else None
        kernel = finding["sides"][-1]["detail"]
        seen = {"kind": finding["kind"], "variable": name, "lines": lines, "missing": finding["missing"] or ""}
        found.setdefault(kernel, []).append(seen)
    cuarray_sim.clear_findings()
    return found


def shared_variable(symbol: str | None) -> str | None:
    """Return the name of a variable in the source, from that of its symbol, such as ``_ZZ9broadcastE4word``."""
    mangled = re.search(r"E(\d+)(\w+)$", symbol or "")
    return mangled[2][: int(mangled[1])] if mangled else symbol


def main(folder: Path) -> None:
    """Run both builds of each kernel, and print the results."""
    launcher, results = Launcher(), {}
    for source in sources():
        if not any(order() in kernel.orders for kernel in source.kernels):
            continue
        for build in BUILDS:
            ptx = (folder / f"{source.path.stem}.{build}.ptx").read_bytes()
            module = launcher.load(ptx)
            wrong: dict[str, str | None] = {}
            for kernel in source.kernels:
                if (build == "racy" and kernel.verdict == "clean") or order() not in kernel.orders:
                    continue
                try:
                    buffers = launcher.run(module, kernel)
                    wrong[kernel.name] = difference(kernel, buffers) if build == "clean" else None
                except RuntimeError as error:
                    wrong[kernel.name] = str(error)
                    launcher = launcher.renewed()
                    module = launcher.load(ptx)
            found = races(launcher, source.name)
            for name in wrong:
                results[f"{build} {name}"] = {"findings": found.pop(name, []), "wrong": wrong[name]}
            assert not found, f"findings of other kernels: {found}"
    json.dump(results, sys.stdout)


def difference(kernel: Kernel, buffers: dict[str, np.ndarray]) -> str | None:
    """Return how the results of a kernel differ from the expected ones."""
    for name, expression in kernel.results.items():
        right = expected(expression)
        if not np.array_equal(buffers[name][: len(right)], right):
            return f"{name} is {buffers[name][: len(right)].tolist()}, not {right.tolist()}"
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
