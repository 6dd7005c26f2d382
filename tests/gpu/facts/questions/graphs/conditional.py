"""Conditional nodes and nodes with general parameters (driver manual, *cuGraphConditionalHandleCreate* and *cuGraphAddNode*)."""

from __future__ import annotations

import ctypes

from ...driver import CUDA_SUCCESS, Driver
from ...gates import finish
from ...question import Facts, question, series
from .memory import parameters as allocation_parameters
from .nodes import SIZE, Things
from .structures import (
    NODE_TYPES,
    ConditionalNode,
    Graph,
    KernelNode,
    NodeParameters,
    host_node,
    memset_node,
)

CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_WHILE, CU_GRAPH_COND_TYPE_SWITCH = 0, 1, 2
CU_GRAPH_COND_ASSIGN_DEFAULT = 1
CONDITIONAL = NODE_TYPES.index("conditional")

KINDS = {"if": CU_GRAPH_COND_TYPE_IF, "while": CU_GRAPH_COND_TYPE_WHILE, "switch": CU_GRAPH_COND_TYPE_SWITCH}


def condition(
    driver: Driver, graph: Graph, default: int = 0, flags: int = CU_GRAPH_COND_ASSIGN_DEFAULT
) -> tuple[str, int]:
    handle, context = ctypes.c_uint64(), driver.made("cuCtxGetCurrent")
    code = driver.code("cuGraphConditionalHandleCreate", ctypes.byref(handle), graph.handle, context, default, flags)
    return code, handle.value


def add(driver: Driver, graph: Graph, handle: int, kind: int, size: int) -> tuple[str, list[Graph]]:
    """Add a conditional node; return the result's name and the bodies."""
    given = NodeParameters(type=CONDITIONAL)
    given.conditional = ConditionalNode(handle, kind, size, None, driver.made("cuCtxGetCurrent"))
    node = ctypes.c_void_p()
    code = driver.code("cuGraphAddNode_v2", ctypes.byref(node), graph.handle, None, None, 0, ctypes.byref(given))
    if code != CUDA_SUCCESS:
        return code, []
    return code, [Graph(driver, given.conditional.bodies[index]) for index in range(size)]


def defaults() -> list[str]:
    found = [
        f"{kind}_of_{size}.{default}" for kind, size in (("if", 1), ("if", 2), ("switch", 3)) for default in range(4)
    ]
    return [*found, "while_of_1.0"]


@series("graph.conditional.default", defaults, seconds=8)
def default_values(driver: Driver, facts: Facts, step: str) -> None:
    """Which bodies run for a default value, without a kernel that sets it. A loop with another default than 0 would not end."""
    kind, value = step.split(".")
    name, size = kind.split("_of_")
    graph, things = Graph(driver), Things(driver)
    driver.do("cuMemsetD8_v2", things.memory, 0, SIZE)
    finish(driver)
    code, handle = condition(driver, graph, int(value))
    facts["handle"] = code
    facts["add"], bodies = add(driver, graph, handle, KINDS[name], int(size))
    for index, body in enumerate(bodies):
        body.memset(memset_node(things.memory + 64 * index, 1, 1))
    ready = ctypes.c_void_p()
    facts["instantiation"] = driver.code("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph.handle, 0)
    if ready.value:
        facts["launch"] = driver.code("cuGraphLaunch", ready, driver.stream())
        facts["synchronize"] = driver.code("cuCtxSynchronize")
        facts["bodies_that_ran"] = [i for i in range(int(size)) if driver.download(things.memory + 64 * i, 1)[0]]


@question("graph.conditional.codes")
def codes(driver: Driver, facts: Facts) -> None:
    graph = Graph(driver)
    _, handle = condition(driver, graph)
    facts["handle_with_unknown_flags"] = condition(driver, graph, 0, 2)[0]
    facts["default_without_the_flag"] = condition(driver, graph, 1, 0)[0]
    facts["if_of_no_bodies"] = add(driver, graph, handle, CU_GRAPH_COND_TYPE_IF, 0)[0]
    facts["if_of_three_bodies"] = add(driver, graph, handle, CU_GRAPH_COND_TYPE_IF, 3)[0]
    facts["while_of_two_bodies"] = add(driver, graph, handle, CU_GRAPH_COND_TYPE_WHILE, 2)[0]
    facts["switch_of_no_bodies"] = add(driver, graph, handle, CU_GRAPH_COND_TYPE_SWITCH, 0)[0]
    facts["unknown_kind"] = add(driver, graph, handle, 3, 1)[0]
    facts["handle_of_another_graph"] = add(driver, Graph(driver), handle, CU_GRAPH_COND_TYPE_IF, 1)[0]
    facts["right"] = add(driver, graph, handle, CU_GRAPH_COND_TYPE_IF, 1)[0]
    facts["handle_used_twice"] = add(driver, graph, handle, CU_GRAPH_COND_TYPE_IF, 1)[0]
    facts["types"] = graph.types()
    facts["clone"] = driver.code("cuGraphClone", ctypes.byref(ctypes.c_void_p()), graph.handle)
    facts["as_child"] = Graph(driver).adding("cuGraphAddChildGraphNode", graph.handle)


@question("graph.conditional.handle_without_node")
def unused(driver: Driver, facts: Facts) -> None:
    """A handle whose condition no node uses."""
    graph = Graph(driver)
    facts["handle"] = condition(driver, graph)[0]
    facts["instantiation"] = graph.instantiation()


@question("graph.conditional.zero_handle")
def zero(driver: Driver, facts: Facts) -> None:
    facts[""] = add(driver, Graph(driver), 0, CU_GRAPH_COND_TYPE_IF, 1)[0]


BODY = (
    "kernel",
    "memset",
    "memcpy",
    "host",
    "empty",
    "event_record",
    "event_wait",
    "child",
    "allocation",
    "conditional",
)


@series("graph.conditional.body", lambda: BODY)
def body_nodes(driver: Driver, facts: Facts, step: str) -> None:
    """Which nodes a body may have: at the addition or the instantiation."""
    graph, things = Graph(driver), Things(driver)
    _, handle = condition(driver, graph)
    _, (body,) = add(driver, graph, handle, CU_GRAPH_COND_TYPE_IF, 1)
    if step == "kernel":
        facts["add"] = body.adding("cuGraphAddKernelNode_v2", ctypes.byref(things.kernel()))
    elif step == "memset":
        facts["add"] = body.adding("cuGraphAddMemsetNode", ctypes.byref(things.memset()), body.context())
    elif step == "memcpy":
        facts["add"] = body.adding("cuGraphAddMemcpyNode", ctypes.byref(things.copy()), body.context())
    elif step == "host":
        facts["add"] = body.adding("cuGraphAddHostNode", ctypes.byref(host_node()))
    elif step == "empty":
        facts["add"] = body.adding("cuGraphAddEmptyNode")
    elif step == "event_record":
        facts["add"] = body.adding("cuGraphAddEventRecordNode", things.event)
    elif step == "event_wait":
        facts["add"] = body.adding("cuGraphAddEventWaitNode", things.event)
    elif step == "child":
        inner = Graph(driver)
        inner.empty()
        facts["add"] = body.adding("cuGraphAddChildGraphNode", inner.handle)
    elif step == "allocation":
        facts["add"] = body.adding("cuGraphAddMemAllocNode", ctypes.byref(allocation_parameters()))
    else:
        facts["handle_of_the_body"], inner_handle = condition(driver, body)
        facts["add"] = add(driver, body, inner_handle or handle, CU_GRAPH_COND_TYPE_IF, 1)[0]
    facts["types"] = body.types()
    facts["instantiation"] = graph.instantiation()


SETTING = """
.version 8.4
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 handle) {
    .reg .b64 %h;
    .reg .b32 %v;
    ld.param.u64 %h, [handle];
    mov.b32 %v, 1;
    { .param .b64 p0; .param .b32 p1;
      st.param.b64 [p0], %h;
      st.param.b32 [p1], %v;
      call.uni cudaGraphSetConditional, (p0, p1); }
    ret;
}
"""


@question("graph.conditional.load_of_a_setting_kernel")
def setting(driver: Driver, facts: Facts) -> None:
    """Whether the driver links cudaGraphSetConditional into PTX by itself, without the device runtime."""
    facts[""] = driver.code("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), SETTING)


@question("graph.add_node")
def general(driver: Driver, facts: Facts) -> None:
    """cuGraphAddNode with general parameters: reserved bytes, unknown types, a kernel node, and the queries of parameters."""
    graph, things = Graph(driver), Things(driver)

    def adding(given: NodeParameters) -> str:
        place = ctypes.c_void_p()
        return driver.code("cuGraphAddNode_v2", ctypes.byref(place), graph.handle, None, None, 0, ctypes.byref(given))

    given = NodeParameters(type=NODE_TYPES.index("kernel"))
    given.kernel = things.kernel()
    facts["kernel"] = adding(given)
    given.zero[0] = 1
    facts["kernel_with_reserved_words"] = adding(given)
    given.zero[0] = 0
    given.last = 1
    facts["kernel_with_reserved_end"] = adding(given)
    given.last = 0
    for number in (5, 14, 15, 99):
        facts[f"type_{number}"] = adding(NodeParameters(type=number))
    memset = NodeParameters(type=NODE_TYPES.index("memset"))
    memset.memset = things.memset()
    facts["memset_without_context"] = adding(memset)
    memset.memset.context = driver.made("cuCtxGetCurrent")
    facts["memset"] = adding(memset)
    facts["types"] = graph.types()
    node = graph.nodes()[0]
    facts["set_parameters"] = driver.code("cuGraphNodeSetParams", node, ctypes.byref(given))
    facts["set_parameters_of_another_type"] = driver.code("cuGraphNodeSetParams", node, ctypes.byref(memset))
    ready = graph.instantiate()
    facts["exec_set_parameters"] = driver.code("cuGraphExecNodeSetParams", ready, node, ctypes.byref(given))
    facts["exec_set_parameters_of_another_type"] = driver.code(
        "cuGraphExecNodeSetParams", ready, node, ctypes.byref(memset)
    )
    found = KernelNode()
    facts["get_kernel"] = driver.code("cuGraphKernelNodeGetParams_v2", node, ctypes.byref(found))
    facts["function_is_given"], facts["kernel_is_given"] = bool(found.function), bool(found.kernel)
    facts["context_is_given"] = bool(found.context)
    facts["dimensions"] = [*found.blocks, *found.threads]
