"""Runs kernels on the simulated driver, in a process with its own settings: ``python -m litmus.runner KERNELS RESULTS``.

``KERNELS`` is a pickled list of :class:`litmus.kernels.Text`. ``RESULTS`` gets, for each, the words that its threads stored, its
global memory, and the pairs of source lines of its findings.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .kernels import SLOTS, SPACE, THREADS, Text, module

GROUP = 100  # kernels of a module
TESTS = Path(__file__).parents[1]


class Driver:
    """The simulated driver, called directly."""

    def __init__(self) -> None:
        import cuarray_sim

        self.findings, self.clear = cuarray_sim.findings, cuarray_sim.clear_findings
        self.library = ctypes.CDLL(str(cuarray_sim.library_path()))
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxPushCurrent_v2", context)

    def call(self, name: str, *arguments: Any) -> None:
        result = getattr(self.library, name)(*arguments)
        assert result == 0, f"{name} returned {result}"

    def load(self, text: str) -> ctypes.c_void_p:
        handle, log = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        # CU_JIT_ERROR_LOG_BUFFER and its size, which is passed as the pointer's value
        options, values = (ctypes.c_uint * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        result = self.library.cuModuleLoadDataEx(ctypes.byref(handle), text.encode() + b"\0", 2, options, values)
        assert result == 0, log.value.decode()
        return handle

    def run(self, texts: list[Text]) -> list[dict[str, Any]]:
        """Run each kernel once, one after the other."""
        handle, size = self.load(module(texts)), 8 * SLOTS * THREADS
        array = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(array), ctypes.c_size_t(size * len(texts)))
        self.call("cuMemsetD8_v2", array, 0, ctypes.c_size_t(size * len(texts)))
        for index, text in enumerate(texts):
            function, place = ctypes.c_void_p(), ctypes.c_uint64(array.value + index * size)
            arguments = (ctypes.c_void_p * 1)(ctypes.addressof(place))
            self.call("cuModuleGetFunction", ctypes.byref(function), handle, text.name.encode())
            threads = 32 * text.warps
            self.call("cuLaunchKernel", function, text.blocks, 1, 1, threads, 1, 1, 0, None, arguments, None)
        words = (ctypes.c_uint64 * (size // 8 * len(texts)))()
        self.call("cuMemcpyDtoH_v2", words, array, ctypes.c_size_t(size * len(texts)))
        memory = [self._memory(handle, text) for text in texts]
        found = self._races(texts)
        self.call("cuMemFree_v2", array)
        self.call("cuModuleUnload", handle)
        return [
            {
                "words": list(words[index * size // 8 : (index + 1) * size // 8]),
                "memory": memory[index],
                "races": found[text.number],
            }
            for index, text in enumerate(texts)
        ]

    def _memory(self, handle: ctypes.c_void_p, text: Text) -> list[int]:
        """The global memory of a kernel, in words of 32 bits."""
        address, size, words = ctypes.c_uint64(), ctypes.c_size_t(), (ctypes.c_uint32 * (SPACE // 4))()
        name = f"global{text.number}".encode()
        self.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), handle, name)
        self.call("cuMemcpyDtoH_v2", words, address, ctypes.c_size_t(SPACE))
        return list(words)

    def _races(self, texts: list[Text]) -> dict[int, list[dict[str, Any]]]:
        """The races of each kernel: variable and source lines."""
        found: dict[int, list[dict[str, Any]]] = {text.number: [] for text in texts}
        report = self.findings()
        assert report["not_kept"] == 0
        for finding in report["findings"]:
            # A strong read of an old value is no race by the axioms.
            if finding["kind"] == "uninitialized-read" or "may return an old value" in finding["missing"]:
                continue
            assert finding["kind"] == "kernel-race", finding
            names = [side["detail"] for side in finding["sides"]]
            lines = sorted(side["place"]["source"]["line"] for side in finding["sides"])
            race = {
                "variable": finding["variable"]["name"],
                "lines": lines,
                "missing": finding["missing"],
                "kernels": names,
            }
            found[int(re.sub(r"\D", "", finding["variable"]["name"]))].append(race)
        self.clear()
        return found


def run(texts: list[Text], **variables: str) -> list[dict[str, Any]]:
    """Run kernels in a process with these environment variables."""
    with tempfile.TemporaryDirectory() as folder:
        kernels, results = Path(folder, "kernels"), Path(folder, "results")
        kernels.write_bytes(pickle.dumps(texts))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CUARRAY_")}
        path = os.pathsep.join([str(TESTS), *(path for path in sys.path if path)])
        environment = {**kept, "PYTHONPATH": path, "CUARRAY_SIM_QUIET": "1", **variables}
        command = [sys.executable, "-m", "litmus.runner", str(kernels), str(results)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(results.read_text())  # type: ignore[no-any-return]


def main() -> None:
    texts = pickle.loads(Path(sys.argv[1]).read_bytes())
    driver, results, started = Driver(), [], time.perf_counter()
    for first in range(0, len(texts), GROUP):
        results += driver.run(texts[first : first + GROUP])
    print(f"{len(texts)} kernels in {time.perf_counter() - started:.1f} s", file=sys.stderr)
    Path(sys.argv[2]).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
