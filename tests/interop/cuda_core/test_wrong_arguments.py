"""Calls of cuda.core with a wrong argument each, for the names whose usual calls are in the other files."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pytest

PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n"


@pytest.fixture
def buffer(device: Any, stream: Any) -> Any:
    buffer = device.allocate(64, stream=stream)
    yield buffer
    buffer.close(stream)


def test_nodes_of_a_definition_need_arguments_of_their_types(device: Any) -> None:
    from cuda.core.graph import GraphDefinition

    definition = GraphDefinition()
    condition = definition.create_condition()
    with pytest.raises(TypeError, match="callable"):
        definition.callback(3)
    with pytest.raises(TypeError, match="default_value"):
        definition.create_condition(default_value="1")
    with pytest.raises(Exception, match="INVALID_VALUE"):
        definition.deallocate(12)
    with pytest.raises(TypeError, match="child"):
        definition.embed(3)
    with pytest.raises(TypeError, match="condition"):
        definition.if_then(3)
    with pytest.raises(TypeError, match="condition"):
        definition.if_else(3)
    with pytest.raises(Exception, match="INVALID_VALUE"):
        definition.switch(condition, 0)
    with pytest.raises(TypeError, match="GraphNode"):
        definition.join(3)
    with pytest.raises(TypeError):
        definition.memcpy("a", 0, 4)
    with pytest.raises(Exception, match="INVALID_VALUE"):
        definition.memcpy(0, 0, 4)
    with pytest.raises(AttributeError):
        definition.instantiate(3)
    with pytest.raises(Exception, match="OPERATING_SYSTEM"):
        definition.debug_dot_print("/no folder/graph.dot")
    # The condition has no node, so the graph has none.
    assert definition.nodes() == set()


def test_graph_is_uploaded_to_and_launched_in_streams_only(device: Any, stream: Any) -> None:
    from cuda.core.graph import GraphDefinition

    graph = GraphDefinition().instantiate()
    graph.upload(stream)
    with pytest.raises(TypeError, match="stream"):
        graph.upload(3)
    with pytest.raises(TypeError, match="stream"):
        graph.launch(3)
    graph.close()


def test_builder_that_does_not_build_refuses_its_parts(device: Any) -> None:
    from cuda.core.graph import GraphBuilder

    builder = device.create_graph_builder()
    with pytest.raises(RuntimeError, match="not being built"):
        builder.callback(lambda: None)
    with pytest.raises(RuntimeError, match="not being built"):
        builder.create_condition()
    with pytest.raises(RuntimeError, match="building"):
        builder.debug_dot_print("graph.dot")
    with pytest.raises(ValueError, match="two graph builders"):
        GraphBuilder.join(builder)
    with pytest.raises(TypeError, match="child"):
        builder.embed(3)
    with pytest.raises(TypeError, match="condition"):
        builder.switch(3, 2)


def test_code_is_bytes_or_a_file(device: Any) -> None:
    from cuda.core import ObjectCode

    assert ObjectCode.from_ptx(PTX).get_kernel("nothing").num_arguments == 0
    with pytest.raises(TypeError, match="int"):
        ObjectCode.from_ptx(3).get_kernel("f")
    with pytest.raises(TypeError, match="int"):
        ObjectCode.from_cubin(3).get_kernel("f")
    with pytest.raises(TypeError, match="int"):
        ObjectCode.from_fatbin(3).get_kernel("f")
    with pytest.raises(TypeError, match="int"):
        ObjectCode.from_library(3).get_kernel("f")
    with pytest.raises(TypeError, match="int"):
        ObjectCode.from_object(3).get_kernel("f")
    with pytest.raises(TypeError, match="int"):
        ObjectCode.from_ltoir(3).get_kernel("f")


def test_options_become_arguments_of_a_known_compiler(device: Any) -> None:
    from cuda.core import LinkerOptions, ProgramOptions

    options = ProgramOptions(arch="sm_90")
    assert b"-arch=sm_90" in options.as_bytes("NVRTC")
    with pytest.raises(ValueError, match="gcc"):
        options.as_bytes("gcc")
    with pytest.raises(ValueError, match="gcc"):
        LinkerOptions(arch="sm_90").as_bytes("gcc")


def test_keys_and_sources_of_cached_programs_have_known_types(device: Any) -> None:
    from cuda.core import ProgramOptions
    from cuda.core.utils import InMemoryProgramCache, make_program_cache_key

    with pytest.raises(TypeError, match="bytes or str"):
        InMemoryProgramCache().get(3)
    with pytest.raises(ValueError, match="fortran"):
        make_program_cache_key(code="", code_type="fortran", options=ProgramOptions(), target_type="ptx")


def test_discard_needs_managed_memory_and_a_place(device: Any, stream: Any, buffer: Any) -> None:
    from cuda.core import ManagedMemoryResource
    from cuda.core.utils import discard_batch, discard_prefetch_batch

    with pytest.raises(ValueError, match="managed"):
        discard_batch(stream, [buffer])
    managed = ManagedMemoryResource().allocate(64, stream=stream)
    with pytest.raises(TypeError, match="location"):
        discard_prefetch_batch(stream, [managed], ["here"])
    with pytest.raises(TypeError):
        managed.discard(stream=3)
    with pytest.raises(TypeError):
        managed.discard_prefetch("here", stream=stream)
    managed.close(stream)
    stream.sync()


def test_buffer_is_closed_in_a_stream_only(device: Any, stream: Any, buffer: Any) -> None:
    with pytest.raises(TypeError, match="Stream"):
        buffer.close("stream")
    assert not buffer.is_closed


def test_views_are_made_of_arrays_and_fit_their_buffer(device: Any, stream: Any, buffer: Any) -> None:
    from cuda.core.utils import StridedMemoryView, args_viewable_as_strided_memory

    view = StridedMemoryView
    whole = view.from_array_interface(np.zeros((3, 2))[:, 0])
    assert (whole.shape, whole.strides) == ((3,), (2,))
    assert view.from_any_interface(buffer, -1).ptr == int(buffer.handle)
    assert view.from_buffer(buffer, (16,), dtype=np.dtype("float32")).shape == (16,)
    with pytest.raises(ValueError, match="too small"):
        view.from_buffer(buffer, (17,), dtype=np.dtype("float32"))
    with pytest.raises(BufferError, match="protocol"):
        view.from_any_interface(3, -1)
    with pytest.raises(AttributeError, match="__array_interface__"):
        view.from_array_interface(3)
    with pytest.raises(AttributeError, match="__cuda_array_interface__"):
        view.from_cuda_array_interface(3, -1)
    with pytest.raises(AttributeError, match="__dlpack"):
        view.from_dlpack(3, -1)

    @args_viewable_as_strided_memory((0,))
    def shape(array: Any) -> Any:
        return array.view(-1).shape

    assert shape(buffer) == (64,)
    with pytest.raises(Exception, match=r"protocol|__cuda_array_interface__"):
        args_viewable_as_strided_memory((0,))(lambda array: array.view(-1))(3)


def test_tensor_maps_are_refused(device: Any, buffer: Any, simulator: str) -> None:
    from cuda.core.utils import StridedMemoryView

    view = StridedMemoryView.from_buffer(buffer, (16,), dtype=np.dtype("float32"))
    with pytest.raises(Exception, match="CUDA_ERROR_NOT_SUPPORTED"):
        view.as_tensor_map(box_dim=(16,))


def test_image_of_graphics_is_refused(device: Any, simulator: str) -> None:
    from cuda.core import GraphicsResource

    with pytest.raises(Exception, match="CUDA_ERROR_NOT_SUPPORTED"):
        GraphicsResource.from_gl_image(1, 2)


def test_resource_of_a_mipmapped_array_needs_one(device: Any) -> None:
    from cuda.core.texture import ResourceDescriptor

    with pytest.raises(TypeError, match="mipmapped_array"):
        ResourceDescriptor.from_mipmapped_array(3)


def test_reservation_grows_for_its_own_buffers_only(device: Any) -> None:
    from cuda.core import VirtualMemoryResource

    with pytest.raises(TypeError, match="Buffer"):
        VirtualMemoryResource(device).modify_allocation(3, 1 << 21)


def test_pool_without_a_handle_for_processes_is_not_registered(device: Any) -> None:
    from cuda.core import DeviceMemoryResource

    with pytest.raises(RuntimeError, match="IPC"):
        DeviceMemoryResource(device).register(uuid.uuid4())
    with pytest.raises(RuntimeError, match="not found"):
        DeviceMemoryResource.from_registry(uuid.uuid4())
    with pytest.raises(OSError, match="descriptor"):
        DeviceMemoryResource.from_allocation_handle(device, -1)


def test_nodes_of_the_host_are_counted_from_0(device: Any) -> None:
    from cuda.core import Host

    assert Host.numa_current().is_numa_current
    assert (Host(0).numa_id, Host().numa_id) == (0, None)
    with pytest.raises(ValueError, match="numa_id"):
        Host(-1)
