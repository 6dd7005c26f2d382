"""The questions. :data:`MODULES` has the order in which they are asked: the most valuable come first, those that crash most last."""

from __future__ import annotations

from importlib import import_module

from ..question import QUESTIONS

MODULES = (
    "peers",
    "planted",
    "order.streams_and_defaults",
    "order.streams",
    "order.events",
    "order.host_functions",
    "order.memory_operations",
    "waits.memory",
    "waits.objects",
    "waits.copies",
    "memory.pointers",
    "memory.allocation",
    "memory.releases",
    "memory.copies",
    "memory.pools",
    "memory.host",
    "memory.managed",
    "captures.calls",
    "captures.joins",
    "captures.events",
    "captures.ends",
    "graphs.nodes",
    "graphs.edges",
    "graphs.instances",
    "graphs.launches",
    "graphs.updates",
    "graphs.memory",
    "graphs.conditional",
    "kernels.launches",
    "kernels.launch_attributes",
    "kernels.faults",
    "kernels.output",
    "contexts.lifetime",
    "contexts.limits",
    "contexts.forks",
    "modules.loading",
    "modules.logs",
    "attributes.devices",
    "attributes.kernels",
    "attributes.occupancy",
    "attributes.streams",
    "attributes.coredumps",
    "numerics.functions",
    "numerics.instructions",
    "numerics.contractions",
    "numerics.specials",
    "numerics.conversions",
    "numerics.matrices",
    "numerics.atomics",
    "numerics.lanes",
    "memory.of_graphs",
    "memory.virtual_memory",
    "memory.virtual_memory_access",
    "memory.boxes",
    "memory.arrays",
    "memory.textures",
    "memory.ipc",
    "memory.of_kernels",
    "memory.of_two_devices",
    "codes.situations",
    "codes.sweeps",
    "codes.contexts",
    "codes.faults",
    "codes.symbols",
    "codes.handles",
)


def declare() -> dict[str, str]:
    """Import all modules; return the module of each question. The import of one takes time, so a child imports those that it needs."""
    found: dict[str, str] = {}
    for module in MODULES:
        import_module(f".{module}", __package__)
        found |= {name: module for name in QUESTIONS if name not in found}
    return found
