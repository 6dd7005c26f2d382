"""Kernels of numba-cuda on the simulated driver, beside the same kernels on numba's own simulator.

Both run the same Python functions over the same arrays with the same grid. cuarray-sim executes the PTX that numba-cuda compiles.
`NUMBA_ENABLE_CUDASIM=1` runs the functions themselves, with a Python thread for each CUDA thread. numba chooses its mode at import, so
each simulator runs `numba_kernels.py` in its own process."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

OWN, FINDINGS_OFF, NUMBA = "cuarray-sim", "cuarray-sim, findings off", "numba's simulator"
_VARIABLES = {
    OWN: {"CUARRAY_SIM_FINDINGS": "1"},
    FINDINGS_OFF: {"CUARRAY_SIM_FINDINGS": "0"},
    NUMBA: {"NUMBA_ENABLE_CUDASIM": "1"},
}
_ROUNDS = 7


def measured():
    """Return the seconds and a checksum of the result, by simulator and kernel."""
    return {name: _in_process(["numba_kernels.py"], variables) for name, variables in _VARIABLES.items()}


def beside_host_loops():
    """Return the seconds on the simulated driver without findings, and those of the same loop on the host, by kernel."""
    return _in_process(["host_loops.py"], {"CUARRAY_SIM_FINDINGS": "0"})


def mathematics():
    """Return the seconds of a mathematical library's stand-in and those of NumPy or SciPy, by case, without findings and with them."""
    return [_in_process(["mathematics.py"], {"CUARRAY_SIM_FINDINGS": on}) for on in "01"]


def instructions():
    """Return millions of PTX instructions per second on one core, by kind of arithmetic."""
    return _in_process(["kernels.py"], {"CUARRAY_SIM_FINDINGS": "0", "CUARRAY_SIM_CORES": "1"})


def _in_process(program, variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CUARRAY_", "LD_PRELOAD"))}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *program],
        env={**environment, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    return json.loads(done.stdout.splitlines()[-1])


_REPEATED = {
    "f32 fma": ("f32", "fma.rn.f32 %v{i}, %v{i}, %a, %b;"),
    "f64 fma": ("f64", "fma.rn.f64 %v{i}, %v{i}, %a, %b;"),
    "s32 mad": ("s32", "mad.lo.s32 %v{i}, %v{i}, %a, %b;"),
    "s64 add": ("s64", "add.s64 %v{i}, %v{i}, %a;"),
    "f32 mul, add": ("f32", "mul.rn.f32 %v{i}, %v{i}, %a; add.rn.f32 %v{i}, %v{i}, %b;"),
    "f32 fma, rounded down": ("f32", "fma.rm.f32 %v{i}, %v{i}, %a, %b;"),
    "f32 to the integer below": ("f32", "cvt.rmi.f32.f32 %v{i}, %a;"),
    "f32 ex2": ("f32", "ex2.approx.f32 %v{i}, %a;"),
    "f32 sin": ("f32", "sin.approx.f32 %v{i}, %a;"),
    "f16x2 fma": ("b32", "fma.rn.f16x2 %v{i}, %v{i}, %a, %b;"),
    "u32 div": ("u32", "div.u32 %v{i}, %a, %b;"),
    "b32 shuffle": ("b32", "shfl.sync.bfly.b32 %v{i}, %a, 1, 31, -1;"),
}


def _run_instructions():
    """Run loops of one instruction over registers with a value for each lane; count the instructions of each thread, as the driver does."""
    import ctypes

    from simulated_driver import Driver

    import cuarray_sim

    call, memory = Driver().call, ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(1 << 20))
    results = {}
    for name, (ty, instruction) in _REPEATED.items():
        body = "\n".join(instruction.format(i=i % 4) for i in range(64))
        width = ty[1:]
        one = {"f32": 0x3F800000, "f64": 0x3FF0000000000000}.get(ty, 1)
        text = f"""
            .version 8.0
            .target sm_90
            .address_size 64
            .visible .entry k(.param .u64 out) {{
                .reg .pred %p; .reg .b32 %n, %t; .reg .b64 %out, %at; .reg .{ty} %a, %b, %v<4>;
                ld.param.u64 %out, [out];
                mov.u32 %n, 0;
                mov.u32 %t, %tid.x;
                mul.wide.u32 %at, %t, 8;
                add.u64 %out, %out, %at;
                ld.global.b{width} %a, [%out]; mov.b{width} %b, {one};
                mov.b{width} %v0, %a; mov.b{width} %v1, %a; mov.b{width} %v2, %a; mov.b{width} %v3, %a;
            L:  {body}
                add.u32 %n, %n, 1;
                setp.lt.u32 %p, %n, 500;
                @%p bra L;
                {"st.global." + ty} [%out], %v0;
                ret;
            }}"""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), text.encode())
        call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
        rates = []
        for _ in range(_ROUNDS):
            before, start = cuarray_sim.statistics()["instructions"], time.perf_counter()
            call("cuLaunchKernel", function, *(8, 1, 1), *(256, 1, 1), 0, None, parameters, None)
            call("cuCtxSynchronize")
            seconds = time.perf_counter() - start
            rates.append((cuarray_sim.statistics()["instructions"] - before) / seconds / 1e6)
        results[name] = statistics.median(rates)
    return results


if __name__ == "__main__":
    print(json.dumps(_run_instructions()))
