"""The check of ``pytest --cuarray-sim`` that fails tests which leave device objects alive.

It compares the driver's statistics before and after each test. A test that leaves an allocation, a stream or an event alive
gets an error at teardown, which lists the objects with the calls that made them. ``@pytest.mark.cuarray_sim_leaks`` allows leaks.

- Objects of fixtures with a wider scope than one test, and older objects, are not leaks of the test.
- Before the comparison, garbage is collected and deferred releases are made: those of cuarray, and the queues of deallocations of
  numba-cuda and numba-cuda-mlir. The streams of numba-cuda's last launches, the buffers of PyTorch's operations on the host, the unused
  memory of PyTorch and CuPy, and CuPy's plans of transforms go too. Idle events in cuarray's pools are not counted, nor are objects that
  libraries keep until the process ends: streams and events of PyTorch, streams of numba-cuda-mlir, everything of JAX.
- A failed test is not checked, as its traceback keeps its objects alive.
- ``--cuarray-sim-leaks=allow`` turns the check off for a whole run.
- Allocations are compared by their unique ids; streams and events are counted.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from .account import Allocation, Handle, Made, Statistics, statistics
from .findings_report import clear_findings
from .places import command, line_of_site, shown
from .pytest_findings import COMMANDS, in_workflow
from .referrers import chains
from .torch_on_host import finish

__all__ = ["MARKER", "LeakCheck"]

MARKER = "cuarray_sim_leaks"

NUMBA_DRIVERS = ("numba.cuda.cudadrv.driver", "numba_cuda_mlir.numba_cuda.cudadrv.driver")
"""The modules of numba-cuda and numba-cuda-mlir that hold queues of deallocations."""


@dataclass
class _Alive:
    """The objects that are alive at one moment, or the difference between two moments."""

    allocations: dict[int, Allocation] = field(default_factory=dict)
    streams: int = 0
    events: int = 0
    handles: dict[int, Handle] = field(default_factory=dict)
    """The streams and events by the ordinal of the call that made each; empty if findings are off."""

    @classmethod
    def now(cls) -> _Alive:
        account: Statistics = statistics()
        counted = (
            each for each in account["allocations"] if not each["release_pending"] and not _is_of_jax(each["made"])
        )
        alive = {each["id"]: each for each in counted}
        handles = {each["made"]["ordinal"]: each for each in account["handles"]}
        pooled = [handles.pop(key)["object"] for key in [key for key, each in handles.items() if _is_kept(each)]]
        streams = account["streams"] - pooled.count("stream")
        return cls(alive, streams, _events_in_use(account["events"]) - pooled.count("event"), handles)

    def beyond(self, earlier: _Alive) -> _Alive:
        """Return the objects that were not alive at the earlier moment."""
        allocations = {key: each for key, each in self.allocations.items() if key not in earlier.allocations}
        handles = {key: each for key, each in self.handles.items() if key not in earlier.handles}
        return _Alive(
            allocations, max(0, self.streams - earlier.streams), max(0, self.events - earlier.events), handles
        )

    def add(self, other: _Alive) -> None:
        self.allocations.update(other.allocations)
        self.streams += other.streams
        self.events += other.events
        self.handles.update(other.handles)

    def __bool__(self) -> bool:
        return bool(self.allocations or self.streams or self.events)

    def of_kind(self, name: str) -> list[Handle]:
        """Return the streams or the events. Libraries keep some objects for later, so there may be more of them than leaks."""
        return [each for each in self.handles.values() if each["object"] == name]

    def __str__(self) -> str:
        ranges = {each["address"]: each["size"] for each in self.allocations.values()}
        keepers = chains(ranges | {each["handle"]: 1 for each in self.handles.values()})
        lines = []
        for each in self.allocations.values():
            lines.append(
                f"  {each['kind']} memory: {each['size']} bytes at {each['address']:#x}, device {each['device']}"
            )
            lines.extend(_origin(each["made"], keepers.get(each["address"])))
        for count, name in ((self.streams, "stream"), (self.events, "event")):
            if count:
                lines.append(f"  {count} {name}{'s' if count > 1 else ''}")
                origins = (_origin(each["made"], keepers.get(each["handle"])) for each in self.of_kind(name))
                lines.extend(dict.fromkeys("\n".join(origin) for origin in origins if origin))
        return "\n".join(lines)

    def announced(self) -> list[tuple[str, Made | None]]:
        """Return the name of each leak, and the call that made it."""
        leaks = [(f"{each['kind']} memory", each["made"]) for each in self.allocations.values()]
        for count, name in ((self.streams, "stream"), (self.events, "event")):
            if count:
                made: list[Made | None] = [each["made"] for each in self.of_kind(name)]
                leaks.extend((name, each) for each in made or [None])
        return leaks


def _origin(made: Made | None, keeper: str | None) -> list[str]:
    """Return the lines about the call that made an object, and about the variable that keeps it."""
    kept = [f"    kept by {keeper}"] if keeper else []
    if made is None:
        return kept
    site = made["site"]
    frame = site["user"] or site["innermost"]
    if frame is not None:
        place = f"{frame['file']}:{frame['line']} in {frame['function']}"
    elif (native := site["native"]) is not None:
        place = f"{native['symbol'] or hex(native['offset'])} of {native['object']}"
    else:
        return kept
    by = f" (by {site['library']})" if site["library"] else ""
    return [f"    made by {made['call']} at {place}{by}", *kept]


class LeakCheck:
    """The plugin of a session that runs on the simulated driver."""

    def __init__(self, *, allowed: bool) -> None:
        self.allowed = allowed
        self.before = _Alive()
        self.failed = False
        self.in_wider_fixture = False
        # The leaks of the test that is reported next.
        self.left: list[tuple[str, Made | None]] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Record the objects that are alive before the test."""
        if self.failed:
            # The traceback keeps the objects of a failed test until the next one fails, and pytest drops it too late.
            for name in ("last_type", "last_value", "last_traceback", "last_exc"):
                vars(sys).pop(name, None)
            gc.collect()
            # A late release of those objects is no finding of this test.
            clear_findings()
        self.before = _Alive.now()
        self.failed = False
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Count the objects of fixtures with a wider scope as alive before the test."""
        # Objects of a class, module or session fixture outlive the first test that uses it.
        if fixturedef.scope == "function" or self.in_wider_fixture:
            return (yield)
        self.in_wider_fixture = True
        start = _Alive.now()
        try:
            return (yield)
        finally:
            self.in_wider_fixture = False
            self.before.add(_Alive.now().beyond(start))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Record whether the test failed, and begin its line in pytest's list of failures with the leak and the line that made it."""
        report = yield
        self.failed = self.failed or report.failed
        lines = [(name, made and line_of_site(made["site"])) for name, made in self.left]
        self.left = []
        if lines and (crash := getattr(report.longrepr, "reprcrash", None)):
            name, line = lines[0]
            crash.message = f"leak: {name}{shown(line, ' made at ')}"
            if in_workflow():
                commands = [command("leak", line, f"{name}: left alive by {report.nodeid}") for name, line in lines]
                setattr(report, COMMANDS, "\n".join(dict.fromkeys(commands)))
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Compare the live objects with those before the test."""
        result = yield
        # pytest drops the values of fixtures only after this hook, and nothing uses them in between.
        funcargs = getattr(item, "funcargs", None)
        if funcargs:
            funcargs.clear()
        # Garbage of this test must not be released in the next one. It is young as a rule, and a collection of everything is slow.
        if self._left_after(1) and self._left_after(2):
            may_leak = self.allowed or self.failed or item.get_closest_marker(MARKER) is not None
            if not may_leak and (left := _Alive.now().beyond(self.before)):
                self.left = left.announced()
                pytest.fail(
                    f"left alive on the simulated CUDA driver:\n{left}\n"
                    f"Release the objects in the test, or mark it with @pytest.mark.{MARKER}; "
                    "--cuarray-sim-leaks=allow turns this check off for the whole run.",
                    pytrace=False,
                )
        return result

    def _left_after(self, generation: int) -> bool:
        """Return whether objects of the test are alive, also after their garbage up to a generation is collected."""
        if not _Alive.now().beyond(self.before):
            return False
        _settle(generation)
        return bool(_Alive.now().beyond(self.before))


def _settle(generation: int) -> None:
    """Collect garbage up to a generation, and run deferred releases."""
    # numba-cuda keeps the configurations of its last launches, and with them their streams.
    dispatcher = getattr(sys.modules.get("numba.cuda.dispatcher"), "CUDADispatcher", None)
    if clear := getattr(getattr(dispatcher, "configure", None), "cache_clear", None):
        clear()
    gc.collect(generation)
    if reclaim := getattr(sys.modules.get("cuarray"), "reclaim", None):
        reclaim()
    for numba in filter(None, map(sys.modules.get, NUMBA_DRIVERS)):
        contexts = (device.primary_context for device in numba.driver.list_devices())
        for context in filter(None, contexts):
            # numba has one queue for modules, streams and events, and one for memory.
            context.deallocations.clear()
            if queue := getattr(context.memory_manager, "deallocations", None):
                queue.clear()
    # Operations of PyTorch on the host keep their buffers until the next one.
    finish()
    _empty_torch(sys.modules.get("torch"))
    _empty_cupy(sys.modules.get("cupy"))


def _empty_cupy(cupy: Any) -> None:
    """Let CuPy free what it keeps for later: the plans of Fourier transforms, and the memory of its default pools."""
    if not (pools := [getattr(cupy, f"get_default_{kind}pool", None) for kind in ("memory_", "pinned_memory_")])[0]:
        return
    for device in range(cupy.cuda.runtime.getDeviceCount()):
        with cupy.cuda.Device(device):
            cupy.fft.config.get_plan_cache().clear()
            for pool in filter(None, pools):
                pool().free_all_blocks()


def _empty_torch(torch: Any) -> None:
    """Let PyTorch free the device memory and the pinned memory that it keeps for its next tensors."""
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return
    cuda.empty_cache()
    # Versions before 2.9 have no such function.
    if empty := getattr(torch.accelerator, "empty_host_cache", None):
        empty()


def _is_kept(handle: Handle) -> bool:
    """Whether a library keeps a stream or an event that it made.

    PyTorch and JAX never destroy their own. In numba-cuda-mlir a kernel keeps the streams of its launches, and kernels live until the process ends.
    """
    made = handle["made"]
    library = made["site"]["library"]
    return (
        library == "torch"
        or _is_of_jax(made)
        or _is_of_xla_communicator(made)
        or (library == "numba_cuda_mlir" and handle["object"] == "stream")
    )


def _is_of_jax(made: Made | None) -> bool:
    """Whether JAX's plugin made an object. It takes the memory of all arrays from a few blocks, and keeps them until the process ends."""
    return made is not None and made["site"]["library"] == "jax_plugins"


def _is_of_xla_communicator(made: Made) -> bool:
    """Whether NCCL's stand-in made an object in a thread without Python code: XLA keeps its communicators until the process ends."""
    site = made["site"]
    is_python = site["user"] is not None or site["innermost"] is not None
    native = site["native"]
    return not is_python and native is not None and native["object"].endswith("/libnccl.so.2")


def _events_in_use(alive: int) -> int:
    """Return the number of live events without the idle ones that cuarray keeps for its next exchange."""
    cuarray = sys.modules.get("cuarray._core")
    if cuarray is None:
        return alive
    idle = getattr(cuarray, "idle_events", None)
    # A version of cuarray without this function would make every first exchange look like a leak.
    return 0 if idle is None else alive - int(idle())
