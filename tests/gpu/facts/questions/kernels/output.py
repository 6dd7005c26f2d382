"""Output and memory of kernels: ``vprintf``, ``malloc``, and the limits of both (docs/reference/kernels.md)."""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
from collections.abc import Callable, Iterator

from ...driver import Driver, kernels
from ...gates import Gate, finish, held, loaded, wait_until
from ...question import Facts, question, series

LIMITS = {
    "stack_size": 0,
    "printf_fifo_size": 1,
    "malloc_heap_size": 2,
    "dev_runtime_sync_depth": 3,
    "dev_runtime_pending_launch_count": 4,
    "max_l2_fetch_granularity": 5,
    "persisting_l2_cache_size": 6,
    "shmem_size": 7,
    "cig_enabled": 8,
    "cig_shmem_fallback_enabled": 9,
    "per_block_memory_size": 10,
    "unknown": 99,
}

PRINTING = kernels("""
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 format[6] = {108, 32, 37, 100, 10, 0};

// Prints "l N" for each thread, as often as the argument says; stores the last result.
.visible .entry print(.param .u64 times, .param .u64 target) {
    .local .align 8 .b8 values[8];
    .reg .u64 %t, %f, %v, %n;
    .reg .u32 %id, %r;
    .reg .pred %p;
    ld.param.u64 %n, [times];
    ld.param.u64 %t, [target];
    mov.u32 %id, %tid.x;
    mov.u64 %f, format;
    cvta.global.u64 %f, %f;
    mov.u64 %v, values;
    st.local.u32 [%v], %id;
    cvta.local.u64 %v, %v;
again:
    { .param .b64 p0; .param .b64 p1; .param .b32 r0;
      st.param.b64 [p0], %f;
      st.param.b64 [p1], %v;
      call.uni (r0), vprintf, (p0, p1);
      ld.param.b32 %r, [r0]; }
    sub.u64 %n, %n, 1;
    setp.ne.u64 %p, %n, 0;
    @%p bra again;
    st.global.u32 [%t], %r;
    ret;
}

.visible .entry nothing() { ret; }
""")

MALLOC = kernels("""
.extern .func (.param .b64 result) malloc(.param .b64 size);
.extern .func free(.param .b64 pointer);

// Allocates blocks until one fails or a count is reached; stores how many, and the first block.
.visible .entry fill(.param .u64 size, .param .u64 most, .param .u64 target) {
    .reg .u64 %s, %m, %t, %n, %p0, %first;
    .reg .pred %p;
    ld.param.u64 %s, [size];
    ld.param.u64 %m, [most];
    ld.param.u64 %t, [target];
    mov.u64 %n, 0;
    mov.u64 %first, 0;
again:
    { .param .b64 a; .param .b64 r;
      st.param.b64 [a], %s;
      call.uni (r), malloc, (a);
      ld.param.b64 %p0, [r]; }
    setp.eq.u64 %p, %p0, 0;
    @%p bra done;
    setp.eq.u64 %p, %n, 0;
    @%p mov.u64 %first, %p0;
    add.u64 %n, %n, 1;
    setp.lt.u64 %p, %n, %m;
    @%p bra again;
done:
    st.global.u64 [%t], %n;
    st.global.u64 [%t+8], %first;
    ret;
}

.visible .entry release(.param .u64 pointer) {
    .reg .u64 %p0;
    ld.param.u64 %p0, [pointer];
    { .param .b64 a;
      st.param.b64 [a], %p0;
      call.uni free, (a); }
    ret;
}
""")


@series("kernel.limit", lambda: LIMITS)
def limits(driver: Driver, facts: Facts, step: str) -> None:
    """Each limit of a context: its value at first, and after values were set."""
    number = LIMITS[step]

    def value_now() -> int | str:
        return driver.got("cuCtxGetLimit", number, kind=ctypes.c_size_t)

    facts["at_first"] = first = value_now()
    for value in (0, 1, 1000, 4096, 1 << 20):
        facts[f"set_{value}"] = driver.code("cuCtxSetLimit", number, value)
        facts[f"value_after_{value}"] = value_now()
    if isinstance(first, int):
        driver.number("cuCtxSetLimit", number, first)


class Output:
    """The standard output of the process, in a file."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        os.dup2(self.file.fileno(), 1)

    def lines(self) -> list[str]:
        ctypes.CDLL(None).fflush(None)
        self.file.seek(0, os.SEEK_END)
        size = self.file.tell()
        return os.pread(self.file.fileno(), size, 0).decode(errors="replace").splitlines()


@question("kernel.printf.order")
def printf_order(driver: Driver, facts: Facts) -> None:
    """The lines of one warp are in the order of its threads; printf returns the number of its arguments."""
    output, target = Output(), driver.allocate(64)
    function = driver.function(driver.module(PRINTING), "print")
    driver.launch(function, 1, target, threads=32)
    finish(driver)
    lines = output.lines()
    facts["lines"] = len(lines)
    facts["in_the_order_of_threads"] = lines == [f"l {number}" for number in range(32)]
    facts["result"] = int.from_bytes(driver.download(target, 4), "little")


FLUSHES: dict[str, Callable[[Driver, dict[str, int]], object]] = {
    "nothing": lambda d, t: None,
    "stream_synchronize": lambda d, t: d.code("cuStreamSynchronize", t["stream"]),
    "synchronize_another_stream": lambda d, t: d.code("cuStreamSynchronize", t["other"]),
    "event_synchronize": lambda d, t: d.code("cuEventSynchronize", t["event"]),
    "context_synchronize": lambda d, t: d.code("cuCtxSynchronize"),
    "event_query": lambda d, t: d.code("cuEventQuery", t["event"]),
    "copy": lambda d, t: d.code("cuMemcpyDtoH_v2", ctypes.create_string_buffer(4), t["memory"], 4),
    "launch": lambda d, t: d.launch(t["nothing"], stream=t["other"]),
}


@series("kernel.printf.is_written_at", lambda: FLUSHES, seconds=10)
def flushes(driver: Driver, facts: Facts, step: str) -> None:
    """Which call writes the output of a kernel that has ended. The kernel's end is seen in pinned memory."""
    output, done = Output(), driver.pinned(4096)
    module = driver.module(PRINTING)
    function = driver.function(module, "print")
    things = {
        "stream": driver.stream(0),
        "other": driver.stream(0),
        "event": driver.event(),
        "memory": driver.allocate(64),
        "nothing": driver.function(module, "nothing"),
    }
    ctypes.memset(done, 0, 8)
    driver.launch(function, 1, things["memory"], threads=1, stream=things["stream"])
    driver.do("cuStreamWriteValue32_v2", things["stream"], done, 1, 0)
    driver.do("cuEventRecord", things["event"], things["stream"])
    wait_until(lambda: ctypes.c_uint32.from_address(done).value == 1, 0.3)
    FLUSHES[step](driver, things)
    facts["lines"] = len(output.lines())
    finish(driver)


def printf_buffer(driver: Driver, facts: Facts, size: int) -> None:
    """More output than the buffer holds: whether lines are lost. The guide says that the oldest are overwritten."""
    facts["set"] = driver.code("cuCtxSetLimit", LIMITS["printf_fifo_size"], size)
    output, target = Output(), driver.allocate(64)
    function = driver.function(driver.module(PRINTING), "print")
    driver.launch(function, 200, target, threads=256)
    facts["synchronize"] = driver.code("cuCtxSynchronize")
    lines = output.lines()
    facts["some_lines"], facts["all_lines"] = bool(lines), len(lines) == 200 * 256
    facts["set_after_a_launch"] = driver.code("cuCtxSetLimit", LIMITS["printf_fifo_size"], 1 << 21)


# The size cannot change after a launch, so each question has its own process.
for label, number in (("1_KiB", 1 << 10), ("64_KiB", 1 << 16), ("1_MiB", 1 << 20)):
    question(f"kernel.printf.buffer.{label}")(functools.partial(printf_buffer, size=number))


def words(driver: Driver, target: int) -> Iterator[int]:
    data = driver.download(target, 16)
    return (int.from_bytes(data[start : start + 8], "little") for start in (0, 8))


@question("kernel.malloc.limits")
def malloc_limits(driver: Driver, facts: Facts) -> None:
    """How much of the heap a kernel gets, and when its size can change."""
    module, target = driver.module(MALLOC), driver.allocate(64)
    function = driver.function(module, "fill")
    facts["set_before_any_launch"] = driver.code("cuCtxSetLimit", LIMITS["malloc_heap_size"], 16 << 20)
    driver.launch(function, 1 << 10, 1 << 16, target)
    finish(driver)
    count, _ = words(driver, target)
    facts["blocks_of_1_KiB_in_16_MiB.at_least_half"] = count >= 8 << 10
    facts["blocks_of_1_KiB_in_16_MiB.at_most_all"] = count <= 16 << 10
    facts["set_after_a_launch"] = driver.code("cuCtxSetLimit", LIMITS["malloc_heap_size"], 32 << 20)
    facts["set_the_same_after_a_launch"] = driver.code("cuCtxSetLimit", LIMITS["malloc_heap_size"], 16 << 20)


@series("kernel.malloc.size", lambda: [str(size) for size in (0, 1, 16, 4 << 20, 7 << 20, 8 << 20, 1 << 40)])
def malloc_sizes(driver: Driver, facts: Facts, step: str) -> None:
    """One block of a size from the heap of the default size (8 MiB); its alignment and whether the host can use it."""
    module, target = driver.module(MALLOC), driver.allocate(64)
    driver.launch(driver.function(module, "fill"), int(step), 1, target)
    finish(driver)
    count, address = words(driver, target)
    facts["succeeds"] = count == 1
    if address:
        facts["aligned_to_16"] = address % 16 == 0
        facts["copy_by_the_host"] = driver.code("cuMemcpyDtoH_v2", ctypes.create_string_buffer(4), address, 4)
        facts["pointer_attribute"] = driver.code("cuPointerGetAttribute", ctypes.byref(ctypes.c_uint()), 2, address)
        driver.launch(driver.function(module, "release"), address)
        facts["free"] = driver.code("cuCtxSynchronize")


@question("kernel.malloc.free_of_null_and_of_other_memory")
def malloc_free(driver: Driver, facts: Facts) -> None:
    module = driver.module(MALLOC)
    function = driver.function(module, "release")
    driver.launch(function, 0)
    facts["null"] = driver.code("cuCtxSynchronize")
    driver.launch(function, driver.allocate(64))
    facts["of_cuMemAlloc"] = driver.code("cuCtxSynchronize")


@question("kernel.malloc.lives_until_the_module_is_unloaded")
def malloc_lives(driver: Driver, facts: Facts) -> None:
    """A block that one launch allocates is freed by another launch, and by a kernel of another module."""
    module, target = driver.module(MALLOC), driver.allocate(64)
    driver.launch(driver.function(module, "fill"), 64, 1, target)
    finish(driver)
    _, address = words(driver, target)
    other = driver.module(MALLOC)
    facts["unload"] = driver.code("cuModuleUnload", module)
    driver.launch(driver.function(other, "release"), address)
    facts["free_by_another_module"] = driver.code("cuCtxSynchronize")


@question("kernel.printf.of_a_held_kernel")
def printf_held(driver: Driver, facts: Facts) -> None:
    """A synchronization with another stream while the printing kernel has not run."""
    output, stream, other = Output(), driver.stream(), driver.stream()
    function, target = loaded(driver, driver.function(driver.module(PRINTING), "print")), driver.allocate(64)
    with held(driver, stream, by=Gate):
        driver.launch(function, 1, target, stream=stream)
        facts["other_synchronize"] = driver.code("cuStreamSynchronize", other)
        facts["lines_while_held"] = len(output.lines())
    finish(driver)
    facts["lines_after"] = len(output.lines())
