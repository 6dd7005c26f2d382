"""Programs, linkers, kernels and launches of cuda.core: each name as documented, and with a wrong argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuarray

SOURCE = """
extern "C" __global__ void scale(float *x, int n, double by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= (float)by;
}
template <class T> __global__ void one(T *x) { *x = T(1); }
"""


@pytest.fixture
def program(device: Any) -> Any:
    from cuda.core import Program, ProgramOptions

    program = Program(SOURCE, "c++", ProgramOptions(std="c++17", name="scale.cu"))
    yield program
    program.close()
    assert program.is_closed


def test_program_compiles_templates_by_name(program: Any) -> None:
    assert program.backend == "NVRTC"
    assert program.handle is not None
    assert program.pch_status is None
    module = program.compile("cubin", name_expressions=("one<int>", "one<float>"))
    assert (module.code_type, module.name) == ("cubin", "scale.cu")
    assert set(module.symbol_mapping) == {"one<int>", "one<float>"}
    assert len(module.code) > 0
    assert module.get_kernel("one<int>").num_arguments == 1
    assert int(module.get_module()) != 0
    with pytest.raises(Exception, match="NOT_FOUND"):
        module.get_kernel("missing")


def test_errors_of_the_compiler_have_its_log(device: Any) -> None:
    from cuda.core import Program

    with pytest.raises(Exception, match=r"(?s)default_program.*error"):
        Program("__global__ void f() { nonsense; }", "c++").compile("ptx")
    with pytest.raises(RuntimeError, match="fortran"):
        Program("", "fortran")
    with pytest.raises(ValueError, match="target_type"):
        Program("", "c++").compile("wasm")


def test_code_that_is_no_image_is_an_error(device: Any) -> None:
    from cuda.core import ObjectCode

    for name in ("from_cubin", "from_fatbin", "from_library", "from_object"):
        with pytest.raises(Exception, match=r"CUDA_ERROR_(INVALID_PTX|INVALID_IMAGE|INVALID_SOURCE|NO_BINARY)"):
            getattr(ObjectCode, name)(b"no image").get_kernel("f")


def test_ptx_is_loaded_and_assembled(device: Any, stream: Any, program: Any) -> None:
    from cuda.core import ObjectCode, Program

    ptx = program.compile("ptx")
    for module in (ObjectCode.from_ptx(ptx.code, name="again"), Program(ptx.code.decode(), "ptx").compile("cubin")):
        assert module.get_kernel("scale").num_arguments == 3


def test_link_time_code_is_refused_by_the_driver_with_a_reason(device: Any, simulator: str, program: Any) -> None:
    from cuda.core import ObjectCode, Program, ProgramOptions

    code = Program(SOURCE, "c++", ProgramOptions(link_time_optimization=True)).compile("ltoir")
    assert code.code_type == "ltoir"
    with pytest.raises(Exception, match=r"CUDA_ERROR_|ltoir"):
        ObjectCode.from_ltoir(code.code).get_kernel("scale")


def test_nvvm_ir_that_does_not_parse_has_the_compilers_log(device: Any) -> None:
    from cuda.core import Program

    with pytest.raises(Exception, match="expected top-level entity"):
        Program("nonsense", "nvvm").compile("ptx")


def test_linker_joins_modules_and_names_what_is_missing(device: Any, stream: Any) -> None:
    from cuda.core import Linker, LinkerOptions, Program, ProgramOptions

    options = ProgramOptions(relocatable_device_code=True)
    caller = Program(
        'extern __device__ int twice(int); extern "C" __global__ void f(int *x) { *x = twice(21); }', "c++", options
    ).compile("ptx")
    callee = Program("__device__ int twice(int x) { return 2 * x; }", "c++", options).compile("ptx")
    linker = Linker(caller, callee, options=LinkerOptions(arch=f"sm_{device.arch}"))
    kernel = linker.link("cubin").get_kernel("f")
    assert linker.get_error_log() == ""
    assert isinstance(linker.get_info_log(), str)
    assert linker.handle is not None
    assert Linker.which_backend() in ("driver", "nvJitLink")
    linker.close()
    assert linker.is_closed
    run(kernel, device, stream, 1, 1, lambda x: (x,), np.zeros(1, "int32"), np.array([42], "int32"))
    incomplete = Linker(caller)
    with pytest.raises(Exception, match="twice"):
        incomplete.link("cubin")
    assert "twice" in incomplete.get_error_log()
    incomplete.close()


def run(kernel: Any, device: Any, stream: Any, grid: int, block: int, arguments: Any, before: Any, after: Any) -> None:
    """Launch a kernel on an array, and compare the array with the expected values."""
    from cuda.core import LaunchConfig, LegacyPinnedMemoryResource, launch

    host = LegacyPinnedMemoryResource().allocate(before.nbytes)
    values = np.from_dlpack(host).view(before.dtype)
    values[:] = before
    launch(stream, LaunchConfig(grid=grid, block=block), kernel, *arguments(host))
    stream.sync()
    assert np.array_equal(values, after)
    del values
    host.close()


def test_kernel_states_its_arguments_and_attributes(device: Any, program: Any) -> None:
    from cuda.core import Kernel

    module = program.compile("cubin")
    kernel = module.get_kernel("scale")
    assert [(argument.offset, argument.size) for argument in kernel.arguments_info] == [(0, 8), (8, 4), (16, 8)]
    attributes = kernel.attributes
    assert attributes.max_threads_per_block == 1024
    for name in (name for name in dir(attributes) if not name.startswith("_")):
        assert isinstance(getattr(attributes, name), int | bool), name
    assert Kernel.from_handle(int(kernel.handle), module).num_arguments == 3
    with pytest.raises(TypeError):
        Kernel.from_handle("kernel")


def test_occupancy_follows_from_the_kernel_and_the_device(device: Any, stream: Any, program: Any) -> None:
    from cuda.core import LaunchConfig

    occupancy = program.compile("cubin").get_kernel("scale").occupancy
    blocks = occupancy.max_active_blocks_per_multiprocessor(128, dynamic_shared_memory_size=0)
    assert blocks * 128 <= device.properties.max_threads_per_multiprocessor
    grid, block = occupancy.max_potential_block_size(0, 0)
    assert (grid % device.properties.multiprocessor_count, block % 32) == (0, 0)
    assert occupancy.available_dynamic_shared_memory_per_block(1, 128) > 0
    if device.compute_capability >= (9, 0):
        config = LaunchConfig(grid=2, block=64, cluster=2)
        assert occupancy.max_potential_cluster_size(config, stream=stream) >= 8
        assert occupancy.max_active_clusters(config, stream=stream) > 0
    with pytest.raises(Exception, match=r"INVALID_VALUE|negative|convert"):
        occupancy.max_active_blocks_per_multiprocessor(-1, dynamic_shared_memory_size=0)


@pytest.mark.parametrize("options", [{}, {"is_cooperative": True}, {"cluster": 1}, {"shmem_size": 1024}])
def test_launch_with_each_option_computes(device: Any, stream: Any, program: Any, options: dict[str, Any]) -> None:
    from cuda.core import LaunchConfig, launch

    if "cluster" in options and device.compute_capability < (9, 0):
        pytest.skip("clusters need compute capability 9.0")
    kernel = program.compile("cubin").get_kernel("scale")
    config = LaunchConfig(grid=2, block=64, **options)
    assert (config.grid, config.block, config.shmem_size) == ((2, 1, 1), (64, 1, 1), options.get("shmem_size", 0))
    assert config.is_cooperative is options.get("is_cooperative", False)
    assert config.programmatic_stream_serialization is False
    buffer = device.allocate(400, stream=stream)
    buffer.fill(np.float32(3).tobytes(), stream=stream)
    launch(stream, config, kernel, buffer, np.int32(100), np.float64(2))
    stream.sync()
    assert (cuarray.from_dlpack(buffer).copy_to_host().view("float32") == 6).all()
    buffer.close(stream)
    stream.sync()


def test_launch_with_wrong_arguments_is_an_error(device: Any, stream: Any, program: Any) -> None:
    from cuda.core import LaunchConfig, launch

    kernel = program.compile("cubin").get_kernel("scale")
    with pytest.raises(Exception, match="INVALID_VALUE"):
        launch(stream, LaunchConfig(grid=1, block=4096), kernel, 0, np.int32(0), np.float64(0))
    with pytest.raises(TypeError):
        launch(stream, 3, kernel)
    with pytest.raises(ValueError, match="grid"):
        LaunchConfig(grid=(1, 1, 1, 1), block=1)


def test_key_of_a_program_changes_with_its_source(device: Any) -> None:
    from cuda.core import ProgramOptions
    from cuda.core.utils import make_program_cache_key

    keys = {
        make_program_cache_key(code=code, code_type="c++", options=ProgramOptions(), target_type="ptx")
        for code in (SOURCE, SOURCE, SOURCE + " ")
    }
    assert len(keys) == 2


@pytest.mark.parametrize("kind", ["InMemoryProgramCache", "FileStreamProgramCache"])
def test_cached_program_is_loaded_again(device: Any, program: Any, tmp_path: Path, kind: str) -> None:
    from cuda.core import ObjectCode, utils

    cache = getattr(utils, kind)(*((tmp_path,) if kind == "FileStreamProgramCache" else ()))
    code = program.compile("cubin").code
    cache.update({b"scale": code})
    assert ObjectCode.from_cubin(cache[b"scale"]).get_kernel("scale").num_arguments == 3
    assert cache.get(b"missing") is None
    with pytest.raises(KeyError):
        cache[b"missing"]
    cache.clear()
    assert cache.get(b"scale") is None
    cache.close()


def test_graphics_are_refused(device: Any, simulator: str) -> None:
    from cuda.core import GraphicsResource

    with pytest.raises(Exception, match="CUDA_ERROR_NOT_SUPPORTED"):
        GraphicsResource.from_gl_buffer(1)
