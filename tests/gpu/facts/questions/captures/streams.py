"""Tools for questions about captures: streams with work, and queries of captures."""

from __future__ import annotations

import ctypes
from typing import Any

from ...driver import Driver
from ...gates import host_function, polling
from ...question import Facts
from ..graphs.structures import MODES, Graph, end_capture

RELAXED = MODES["relaxed"]
NOTHING = host_function(lambda: None)


class Streams:
    """Three streams, three events, and memory to fill."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.first, self.second, self.third = (driver.stream() for _ in range(3))
        self.events = [driver.event(2) for _ in range(4)]
        self.memory = driver.allocate(1024)
        self.kernel = polling(driver)["nothing"]

    def begin(self, stream: int, mode: int = RELAXED) -> None:
        self.driver.do("cuStreamBeginCapture_v2", stream, mode)

    def fill(self, stream: int) -> str:
        return self.driver.code("cuMemsetD8Async", self.memory, 1, 16, stream)

    def host(self, stream: int) -> str:
        return self.driver.code("cuLaunchHostFunc", stream, NOTHING, None)

    def launch(self, stream: int) -> str:
        return self.driver.launch(self.kernel, stream=stream)

    def edge(self, of: int, to: int, event: int = 0) -> str:
        """Record an event in a stream and wait for it in another one."""
        self.driver.do("cuEventRecord", self.events[event], of)
        return self.driver.code("cuStreamWaitEvent", to, self.events[event], 0)

    def end(self, facts: Facts, stream: int, name: str = "") -> Graph | None:
        code, graph = end_capture(self.driver, stream)
        facts[f"{name}end"] = code
        if graph:
            graph.describe(facts, name)
        return graph


def info(driver: Driver, stream: int) -> dict[str, Any]:
    """The answer of cuStreamGetCaptureInfo."""
    state, number, graph = ctypes.c_int(-1), ctypes.c_uint64(), ctypes.c_void_p()
    nodes, data, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    places = [ctypes.byref(each) for each in (state, number, graph, nodes, data, count)]
    code = driver.code("cuStreamGetCaptureInfo_v3", stream, *places)
    found = list((ctypes.c_void_p * count.value).from_address(nodes.value)) if nodes.value else []
    return {
        "code": code,
        "status": state.value,
        "id": number.value,
        "graph": graph.value,
        "nodes": found,
        "count": count.value,
        "has_data": bool(data.value),
    }


def dependencies(driver: Driver, stream: int) -> list[int]:
    """The dependencies of the next work as places in the graph's nodes, sorted."""
    found = info(driver, stream)
    nodes = Graph(driver, found["graph"]).nodes()
    return sorted(nodes.index(each) for each in found["nodes"])
