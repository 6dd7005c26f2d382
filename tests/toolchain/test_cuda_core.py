"""cuda.core with its defaults: programs become machine code, and are linked with nvJitLink."""

from __future__ import annotations

import numpy
import pytest

core = pytest.importorskip("cuda.core")

KERNEL = 'extern "C" __global__ void kernel(int *p) { p[threadIdx.x] = threadIdx.x + 7; }'
CALLER = 'extern "C" __device__ int add(int); extern "C" __global__ void kernel(int *p) { p[threadIdx.x] = add(threadIdx.x); }'
CALLED = 'extern "C" __device__ int add(int value) { return value + 7; }'


def result_of(code: core.ObjectCode) -> numpy.ndarray:
    from cuda.bindings import driver

    device = core.Device()
    stream = device.create_stream()
    buffer = device.allocate(128, stream=stream)
    core.launch(stream, core.LaunchConfig(grid=1, block=32), code.get_kernel("kernel"), buffer)
    stream.sync()
    host = numpy.zeros(32, numpy.int32)
    driver.cuMemcpyDtoH(host.ctypes.data, int(buffer.handle), host.nbytes)
    buffer.close(stream)
    stream.sync()
    stream.close()
    return host


@pytest.fixture
def architecture() -> str:
    device = core.Device()
    device.set_current()
    return f"sm_{device.arch}"


@pytest.mark.usefixtures("nvrtc")
@pytest.mark.parametrize("target", ["cubin", "ptx"])
def test_program_is_compiled_and_runs(architecture: str, target: str) -> None:
    code = core.Program(KERNEL, "c++", core.ProgramOptions(arch=architecture)).compile(target)
    assert (result_of(code) == numpy.arange(32) + 7).all()


@pytest.mark.usefixtures("nvrtc", "nvjitlink")
@pytest.mark.parametrize("target", ["ptx", "ltoir", "cubin"])
def test_two_programs_are_linked_and_run(architecture: str, target: str) -> None:
    lto = target == "ltoir"
    options = core.ProgramOptions(arch=architecture, relocatable_device_code=True, link_time_optimization=lto)
    parts = [core.Program(source, "c++", options).compile(target) for source in (CALLER, CALLED)]
    linker = core.LinkerOptions(arch=architecture, link_time_optimization=True if lto else None)
    code = core.Linker(*parts, options=linker).link("cubin")
    assert (result_of(code) == numpy.arange(32) + 7).all()


def link_with_lto(architecture: str, caller: str, called: str, into: str = "cubin") -> core.ObjectCode:
    """Link PTX of one source with LTO-IR of another one."""
    parts = [
        core.Program(
            source,
            "c++",
            core.ProgramOptions(
                arch=architecture, relocatable_device_code=True, link_time_optimization=target == "ltoir"
            ),
        ).compile(target)
        for source, target in ((caller, "ptx"), (called, "ltoir"))
    ]
    options = core.LinkerOptions(arch=architecture, link_time_optimization=True)
    return core.Linker(*parts, options=options).link(into)


@pytest.mark.usefixtures("nvrtc", "nvjitlink")
def test_ptx_calls_functions_of_lto_ir_that_call_each_other(architecture: str) -> None:
    called = """
        extern "C" __device__ int seven; __device__ int seven = 7;
        extern "C" __device__ int back(int);
        extern "C" __device__ int unused(int value) { return value; }
        extern "C" __device__ int add(int value) { return back(value) + seven; }
    """
    # The PTX defines a function that the LTO-IR calls, and declares one that no input defines.
    caller = (
        CALLER + 'extern "C" __device__ int back(int value) { return value; } extern "C" __device__ int nowhere(int);'
    )
    code = link_with_lto(architecture, caller, called)
    assert (result_of(code) == numpy.arange(32) + 7).all()


@pytest.mark.usefixtures("nvrtc", "nvjitlink")
def test_function_that_no_input_defines_is_an_error(architecture: str) -> None:
    with pytest.raises(Exception, match="Undefined reference to 'add'"):
        link_with_lto(architecture, CALLER, 'extern "C" __device__ int other(int value) { return value + 7; }')
