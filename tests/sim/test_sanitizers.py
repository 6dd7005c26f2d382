"""C programs compiled with a sanitizer run on the simulated driver, with default options where the sanitizer permits it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import cuarray_sim

# Two threads, each with a stream: copies from the stack and the heap, a host function, pinned memory, a kernel and a graph.
# The argument "race" reads pinned memory too early, "fault" reads address 8, and "overflow" copies past the end of the heap block.
# With "elsewhere", the main thread waits for the context, and so runs the host function that the second thread enqueued.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long long ptr; typedef void *handle;
extern int cuInit(unsigned), cuCtxSynchronize(void), cuDevicePrimaryCtxRetain(handle *, int), cuDevicePrimaryCtxRelease_v2(int), cuCtxSetCurrent(handle);
extern int cuStreamCreate(handle *, unsigned), cuStreamSynchronize(handle), cuStreamDestroy_v2(handle);
extern int cuEventCreate(handle *, unsigned), cuEventRecord(handle, handle), cuStreamWaitEvent(handle, handle, unsigned), cuEventDestroy_v2(handle);
extern int cuMemAlloc_v2(ptr *, size_t), cuMemFree_v2(ptr), cuMemAllocHost_v2(void **, size_t), cuMemFreeHost(void *);
extern int cuMemcpyHtoDAsync_v2(ptr, const void *, size_t, handle), cuMemcpyDtoHAsync_v2(void *, ptr, size_t, handle);
extern int cuMemcpyHtoD_v2(ptr, const void *, size_t), cuMemcpyDtoH_v2(void *, ptr, size_t);
extern int cuLaunchHostFunc(handle, void (*)(void *), void *);
extern int cuModuleLoadData(handle *, const void *), cuModuleGetFunction(handle *, handle, const char *), cuModuleUnload(handle);
extern int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
extern int cuStreamBeginCapture_v2(handle, int), cuStreamEndCapture(handle, handle *), cuGraphDestroy(handle);
extern int cuGraphInstantiateWithFlags(handle *, handle, unsigned long long), cuGraphLaunch(handle, handle), cuGraphExecDestroy(handle);
#define CHECK(call) do { int code = (call); if (code) { fprintf(stderr, "%s: %d\n", #call, code); exit(3); } } while (0)
enum { N = 2048 };
static const char *mode = "";
static handle context, function;
static const char ptx[] = ".version 7.0 .target sm_52 .address_size 64 .visible .entry add(.param .u64 p) { .reg .b32 %r<5>; .reg .b64 %d<4>;"
    "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.s32 %r1, %r2, 256, %r1; mul.wide.u32 %d2, %r1, 4;"
    "add.s64 %d3, %d1, %d2; ld.global.u32 %r3, [%d3]; add.s32 %r3, %r3, 1; st.global.u32 [%d3], %r3; ret; }";

static void count(void *calls) { ++*(int *)calls; }

static void *work(void *number) {
    int on_stack[N], calls = 0, *on_heap = malloc(sizeof on_stack), *pinned, first = *(int *)number;
    handle stream, event, graph, exec;
    ptr memory;
    void *parameters[] = {&memory};
    for (int i = 0; i < N; i++) on_stack[i] = first + i;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuEventCreate(&event, 2));
    CHECK(cuMemAlloc_v2(&memory, sizeof on_stack));
    CHECK(cuMemAllocHost_v2((void **)&pinned, sizeof on_stack));
    CHECK(cuMemcpyHtoDAsync_v2(memory, on_stack, sizeof on_stack, stream));
    CHECK(cuLaunchKernel(function, N / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
    CHECK(cuStreamBeginCapture_v2(stream, 2));
    CHECK(cuLaunchKernel(function, N / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
    CHECK(cuLaunchHostFunc(stream, count, &calls));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuMemcpyDtoHAsync_v2(pinned, memory, sizeof on_stack, stream));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(stream, event, 0));
    if (!strcmp(mode, "race") && pinned[7] < 0) puts("impossible");  // the racing read
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH_v2(on_heap, memory, sizeof on_stack));
    if (!strcmp(mode, "overflow")) CHECK(cuMemcpyHtoD_v2(memory, on_heap + 1, sizeof on_stack));
    int *volatile wrong = (int *)8;
    if (!strcmp(mode, "fault")) printf("%d\n", *wrong);
    for (int i = 0; i < N; i++) if (pinned[i] != first + i + 3 || on_heap[i] != pinned[i]) exit(4);
    if (calls != 2) exit(5);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree_v2(memory));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuEventDestroy_v2(event));
    CHECK(cuStreamDestroy_v2(stream));
    free(on_heap);
    return NULL;
}

static int step;
static void proceed(int to) { __atomic_store_n(&step, to, __ATOMIC_RELAXED); }
static void wait_for(int at) { while (__atomic_load_n(&step, __ATOMIC_RELAXED) != at); }

// Relaxed atomics order nothing, so only the driver orders the accesses to `calls`.
static void *enqueue(void *unused) {
    int calls = 0;
    handle stream;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuLaunchHostFunc(stream, count, &calls));
    proceed(1);
    wait_for(2);
    CHECK(cuStreamSynchronize(stream));
    if (calls != 1) exit(5);
    CHECK(cuStreamDestroy_v2(stream));
    return NULL;
}

static void elsewhere(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, enqueue, NULL);
    wait_for(1);
    CHECK(cuCtxSynchronize());
    proceed(2);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments) {
    handle module;
    pthread_t threads[2];
    int numbers[2] = {100, 200};
    if (count > 1) mode = arguments[1];
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, "add"));
    if (!strcmp(mode, "elsewhere")) {
        elsewhere();
        puts("done");
        return 0;
    }
    for (int i = 0; i < (*mode ? 1 : 2); i++) pthread_create(&threads[i], NULL, work, &numbers[i]);
    for (int i = 0; i < (*mode ? 1 : 2); i++) pthread_join(threads[i], NULL);
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease_v2(0));
    puts("done");
    return 0;
}
"""

RACING_LINE = 1 + next(at for at, line in enumerate(PROGRAM.splitlines()) if "the racing read" in line)

# Sanitizer, its options, and the words of its report of a fault.
CASES = {
    "address": ("address", {}, "AddressSanitizer: SEGV"),
    "address_with_fake_stacks": (
        "address",
        {"ASAN_OPTIONS": "detect_stack_use_after_return=1"},
        "AddressSanitizer: SEGV",
    ),
    "undefined": ("undefined", {}, ""),
    # The sanitizer does not see the locks of the driver, which is compiled without it.
    "thread": ("thread", {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}, "ThreadSanitizer: SEGV"),
}

Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The compiled programs by sanitizer, without those that the compiler has no library for."""
    folder, library, compiled = tmp_path_factory.mktemp("sanitizers"), cuarray_sim.library_path(), {}
    (folder / "program.c").write_text(PROGRAM)
    for sanitizer in {sanitizer for sanitizer, _, _ in CASES.values()}:
        program = folder / sanitizer
        options = [f"-fsanitize={sanitizer}", "-g", "-w", "-pthread", f"-Wl,-rpath,{library.parent}"]
        done = subprocess.run(
            ["cc", *options, folder / "program.c", library, "-o", program], capture_output=True, text=True
        )
        if done.returncode == 0:
            compiled[sanitizer] = program
        else:
            # Without the sanitizer the program must compile, or the test itself is broken.
            subprocess.run(["cc", *options[1:], folder / "program.c", library, "-o", program], check=True)
    return compiled


@pytest.fixture(params=CASES)
def start(request: pytest.FixtureRequest, programs: dict[str, Path], environment: dict[str, str]) -> Start:
    """Start the program with arguments and variables."""
    sanitizer, options, fault = CASES[request.param]
    if sanitizer not in programs:
        pytest.skip(f"the C compiler has no library for -fsanitize={sanitizer}")
    cleared = {name: value for name, value in environment.items() if not name.endswith("SAN_OPTIONS")}

    def start(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [str(programs[sanitizer]), *arguments]
        return subprocess.run(command, env=cleared | options | variables, capture_output=True, text=True, timeout=120)

    start.fault = fault  # type: ignore[attr-defined]
    return start


def test_correct_program_has_no_report(start: Start) -> None:
    done = start(CUARRAY_SIM_EXIT_STATUS="66")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_host_function_that_runs_in_another_thread_has_no_report(start: Start) -> None:
    done = start("elsewhere", CUARRAY_SIM_LEAKS="0", CUARRAY_SIM_EXIT_STATUS="66")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_access_to_closed_page_is_a_finding_with_its_line(start: Start) -> None:
    done = start("race", CUARRAY_SIM_LEAKS="0")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.startswith("[1] data-race: host thread 2 reads 4 bytes"), done.stderr
    assert f"program.c:{RACING_LINE} in work\n" in done.stderr
    assert "[2]" not in done.stderr
    assert "Sanitizer" not in done.stderr


def test_fault_of_the_program_reaches_the_sanitizer(start: Start) -> None:
    done = start("fault")
    assert done.returncode != 0
    assert start.fault in done.stderr  # type: ignore[attr-defined]


@pytest.mark.parametrize("start", ["address", "address_with_fake_stacks"], indirect=True)
def test_overflow_in_a_copy_is_reported_by_the_address_sanitizer(start: Start) -> None:
    done = start("overflow")
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr
    assert "cuMemcpyHtoD_v2" in done.stderr
