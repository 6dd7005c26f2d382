"""Structures of graphs and launches, as NVIDIA's header lays them out, and queries of graphs whose answers can be compared."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...gates import CU_STREAM_LEGACY, finish, host_function

CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED = 0, 1, 2
MODES = {
    "global": CU_STREAM_CAPTURE_MODE_GLOBAL,
    "thread_local": CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    "relaxed": CU_STREAM_CAPTURE_MODE_RELAXED,
}
STATUS = {0: "none", 1: "active", 2: "invalidated"}
"""The names of ``CUstreamCaptureStatus``."""

NODE_TYPES = [
    "kernel",
    "memcpy",
    "memset",
    "host",
    "graph",
    "empty",
    "event_wait",
    "event_record",
    "semaphore_signal",
    "semaphore_wait",
    "mem_alloc",
    "mem_free",
    "batch_mem_op",
    "conditional",
    "memcpy_batch",
]
"""The names of ``CUgraphNodeType`` in the order of its numbers."""

UPDATE_RESULTS = [
    "success",
    "error",
    "topology_changed",
    "node_type_changed",
    "function_changed",
    "parameters_changed",
    "not_supported",
    "unsupported_function_change",
    "attributes_changed",
]
"""The names of ``CUgraphExecUpdateResult`` in the order of its numbers."""

CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED = 1, 2, 4


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2"""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("blocks", ctypes.c_uint * 3),
        ("threads", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    ]


class MemsetNode(ctypes.Structure):
    """CUDA_MEMSET_NODE_PARAMS_v2"""

    _fields_ = [
        ("target", ctypes.c_uint64),
        ("pitch", ctypes.c_size_t),
        ("value", ctypes.c_uint),
        ("element_size", ctypes.c_uint),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("context", ctypes.c_void_p),
    ]


class HostNode(ctypes.Structure):
    """CUDA_HOST_NODE_PARAMS"""

    _fields_ = [("function", ctypes.c_void_p), ("data", ctypes.c_void_p)]


class Side(ctypes.Structure):
    """The source or the target of CUDA_MEMCPY3D."""

    _fields_ = [
        ("x", ctypes.c_size_t),
        ("y", ctypes.c_size_t),
        ("z", ctypes.c_size_t),
        ("level", ctypes.c_size_t),
        ("kind", ctypes.c_uint),
        ("host", ctypes.c_void_p),
        ("device", ctypes.c_uint64),
        ("array", ctypes.c_void_p),
        ("reserved", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    ]


class Copy3D(ctypes.Structure):
    """CUDA_MEMCPY3D"""

    _fields_ = [
        ("source", Side),
        ("target", Side),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
    ]


class Location(ctypes.Structure):
    """CUmemLocation"""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class PoolProperties(ctypes.Structure):
    """CUmemPoolProps"""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("attributes", ctypes.c_void_p),
        ("max_size", ctypes.c_size_t),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 54),
    ]


class AllocNode(ctypes.Structure):
    """CUDA_MEM_ALLOC_NODE_PARAMS"""

    _fields_ = [
        ("pool", PoolProperties),
        ("access", ctypes.c_void_p),
        ("access_count", ctypes.c_size_t),
        ("size", ctypes.c_size_t),
        ("address", ctypes.c_uint64),
    ]


class ConditionalNode(ctypes.Structure):
    """CUDA_CONDITIONAL_NODE_PARAMS"""

    _fields_ = [
        ("handle", ctypes.c_uint64),
        ("type", ctypes.c_int),
        ("size", ctypes.c_uint),
        ("bodies", ctypes.POINTER(ctypes.c_void_p)),
        ("context", ctypes.c_void_p),
    ]


class AnyNode(ctypes.Union):
    _fields_ = [
        ("kernel", KernelNode),
        ("memset", MemsetNode),
        ("alloc", AllocNode),
        ("conditional", ConditionalNode),
        ("bytes", ctypes.c_ubyte * 232),
    ]


class NodeParameters(ctypes.Structure):
    """CUgraphNodeParams"""

    _anonymous_ = ("any",)
    _fields_ = [("type", ctypes.c_int), ("zero", ctypes.c_int * 3), ("any", AnyNode), ("last", ctypes.c_longlong)]


class EdgeData(ctypes.Structure):
    """CUgraphEdgeData"""

    _fields_ = [
        ("from_port", ctypes.c_ubyte),
        ("to_port", ctypes.c_ubyte),
        ("type", ctypes.c_ubyte),
        ("reserved", ctypes.c_ubyte * 5),
    ]


class UpdateInfo(ctypes.Structure):
    """CUgraphExecUpdateResultInfo"""

    _fields_ = [("result", ctypes.c_int), ("node", ctypes.c_void_p), ("from_node", ctypes.c_void_p)]


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute"""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_ubyte * 64)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig"""

    _fields_ = [
        ("blocks", ctypes.c_uint * 3),
        ("threads", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", ctypes.c_uint),
    ]


assert ctypes.sizeof(NodeParameters) == 256
assert ctypes.sizeof(Copy3D) == 200
assert ctypes.sizeof(LaunchAttribute) == 72
assert ctypes.sizeof(PoolProperties) == 88

_kept: list[Any] = []
"""Arguments of nodes, whose memory must stay."""


def handles(values: Sequence[int]) -> Any:
    return (ctypes.c_void_p * len(values))(*values) if values else None


def kernel_node(function: int, *arguments: int, blocks: int = 1, threads: int = 1, shared: int = 0) -> KernelNode:
    """Parameters of a node for a kernel whose parameters have 64 bits."""
    values = (ctypes.c_uint64 * max(len(arguments), 1))(*arguments)
    places = (ctypes.c_void_p * max(len(arguments), 1))(
        *(ctypes.addressof(values) + 8 * index for index in range(len(arguments)))
    )
    _kept.append((values, places))
    size = ctypes.c_uint * 3
    return KernelNode(
        function, size(blocks, 1, 1), size(threads, 1, 1), shared, ctypes.addressof(places), None, None, None
    )


def memset_node(
    target: int, value: int, width: int, element_size: int = 1, height: int = 1, pitch: int = 0
) -> MemsetNode:
    return MemsetNode(target, pitch, value, element_size, width, height, None)


def host_node(body: Any = None) -> HostNode:
    function = host_function(body or (lambda: None))
    return HostNode(ctypes.cast(function, ctypes.c_void_p).value, None)


def side(kind: int, address: int) -> Side:
    return Side(
        kind=kind,
        host=address if kind == CU_MEMORYTYPE_HOST else None,
        device=0 if kind == CU_MEMORYTYPE_HOST else address,
    )


def copy_node(source: Side, target: Side, width: int, height: int = 1, depth: int = 1) -> Copy3D:
    return Copy3D(source, target, width, height, depth)


class Graph:
    """A graph and the nodes that were added to it, in their order."""

    def __init__(self, driver: Driver, handle: int | None = None) -> None:
        self.driver = driver
        self.handle = driver.made("cuGraphCreate", 0) if handle is None else handle

    def add(self, function: str, *last: Any, after: Sequence[int] = ()) -> int:
        """Add a node by one of the functions ``cuGraphAdd...Node``; return it."""
        return self.driver.made(function, self.handle, handles(after), len(after), *last)

    def adding(self, function: str, *last: Any, after: Sequence[int] = ()) -> str:
        """Try to add a node; return the name of the result."""
        return self.driver.code(
            function, ctypes.byref(ctypes.c_void_p()), self.handle, handles(after), len(after), *last
        )

    def empty(self, *after: int) -> int:
        return self.add("cuGraphAddEmptyNode", after=after)

    def kernel(self, parameters: KernelNode, *after: int) -> int:
        return self.add("cuGraphAddKernelNode_v2", ctypes.byref(parameters), after=after)

    def memset(self, parameters: MemsetNode, *after: int) -> int:
        return self.add("cuGraphAddMemsetNode", ctypes.byref(parameters), self.context(), after=after)

    def copy(self, parameters: Copy3D, *after: int) -> int:
        return self.add("cuGraphAddMemcpyNode", ctypes.byref(parameters), self.context(), after=after)

    def host(self, parameters: HostNode, *after: int) -> int:
        return self.add("cuGraphAddHostNode", ctypes.byref(parameters), after=after)

    def child(self, graph: Graph, *after: int) -> int:
        return self.add("cuGraphAddChildGraphNode", graph.handle, after=after)

    def context(self) -> int:
        return self.driver.made("cuCtxGetCurrent")

    def instantiate(self, flags: int = 0) -> int:
        return self.driver.made("cuGraphInstantiateWithFlags", self.handle, flags)

    def uploaded(self) -> int:
        """An executable graph that is ready to run: the first launch of another one may wait for the device."""
        ready = self.instantiate()
        self.driver.do("cuGraphUpload", ready, CU_STREAM_LEGACY)
        finish(self.driver)
        return ready

    def instantiation(self, flags: int = 0) -> str:
        return self.driver.code("cuGraphInstantiateWithFlags", ctypes.byref(ctypes.c_void_p()), self.handle, flags)

    def nodes(self) -> list[int]:
        """The nodes in the order of ``cuGraphGetNodes``."""
        count = ctypes.c_size_t()
        self.driver.do("cuGraphGetNodes", self.handle, None, ctypes.byref(count))
        if not count.value:
            return []
        found = (ctypes.c_void_p * count.value)()
        self.driver.do("cuGraphGetNodes", self.handle, found, ctypes.byref(count))
        return [each or 0 for each in found]

    def types(self) -> list[str]:
        """The types of the nodes in the order of ``cuGraphGetNodes``."""
        found = []
        for node in self.nodes():
            kind = ctypes.c_int()
            self.driver.do("cuGraphNodeGetType", node, ctypes.byref(kind))
            found.append(NODE_TYPES[kind.value] if 0 <= kind.value < len(NODE_TYPES) else str(kind.value))
        return found

    def edges(self) -> list[list[int]]:
        """The edges as places of both nodes in ``cuGraphGetNodes``, sorted, followed by from_port, to_port and type if any is not 0."""
        nodes, count = self.nodes(), ctypes.c_size_t()
        self.driver.do("cuGraphGetEdges_v2", self.handle, None, None, None, ctypes.byref(count))
        if not count.value:
            return []
        of, to, data = (ctypes.c_void_p * count.value)(), (ctypes.c_void_p * count.value)(), (EdgeData * count.value)()
        self.driver.do("cuGraphGetEdges_v2", self.handle, of, to, data, ctypes.byref(count))
        found = []
        for start, end, each in zip(of, to, data, strict=True):
            ports = [each.from_port, each.to_port, each.type]
            found.append([nodes.index(start or 0), nodes.index(end or 0), *(ports if any(ports) else [])])
        return sorted(found)

    def describe(self, facts: Any, name: str = "") -> None:
        """Store the types of the nodes and the edges."""
        facts[f"{name}nodes"], facts[f"{name}edges"] = self.types(), self.edges()


def update(driver: Driver, executable: int, graph: Graph) -> tuple[str, str]:
    """Update an executable graph; return the names of the call's result and of the update's result."""
    info = UpdateInfo(-1)
    code = driver.code("cuGraphExecUpdate_v2", executable, graph.handle, ctypes.byref(info))
    return code, UPDATE_RESULTS[info.result] if 0 <= info.result < len(UPDATE_RESULTS) else str(info.result)


def status(driver: Driver, stream: int) -> str:
    """Whether a stream captures: the status, or the name of an error."""
    found = ctypes.c_int(-1)
    code = driver.code("cuStreamIsCapturing", stream, ctypes.byref(found))
    return STATUS.get(found.value, str(found.value)) if code == CUDA_SUCCESS else code


def end_capture(driver: Driver, stream: int) -> tuple[str, Graph | None]:
    """End a capture; return the name of the result, and the graph if there is one."""
    graph = ctypes.c_void_p()
    code = driver.code("cuStreamEndCapture", stream, ctypes.byref(graph))
    return code, Graph(driver, graph.value) if graph.value else None
