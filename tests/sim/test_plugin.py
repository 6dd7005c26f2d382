"""``pytest --cuarray-sim`` installs the driver before any conftest file, and reports leaks of each test."""

from __future__ import annotations

import importlib.util

import pytest

pytest_plugins = ["pytester"]

# The conftest file of the suites below: a minimal driver API.
CONFTEST = """
import ctypes, pytest
from ctypes import byref, c_size_t, c_uint, c_uint64, c_void_p

driver = ctypes.CDLL("libcuda.so.1")  # at import, so the plugin must have installed the driver before
context = c_void_p()
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(byref(context), 0) == 0

class Api:
    def memory(self, size=1000):
        pointer = c_uint64()
        assert driver.cuCtxPushCurrent_v2(context) == 0
        assert driver.cuMemAlloc_v2(byref(pointer), c_size_t(size)) == 0
        return pointer
    def free(self, pointer):
        assert driver.cuMemFree_v2(pointer) == 0
    def stream(self):
        stream = c_void_p()
        assert driver.cuCtxPushCurrent_v2(context) == 0
        assert driver.cuStreamCreate(byref(stream), c_uint(1)) == 0
    def event(self):
        event = c_void_p()
        assert driver.cuCtxPushCurrent_v2(context) == 0
        assert driver.cuEventCreate(byref(event), c_uint(0)) == 0

class Buffer:
    # In a reference cycle, so only the garbage collector frees it.
    def __init__(self): self.pointer, self.itself = Api().memory(), self
    def __del__(self): Api().free(self.pointer)

@pytest.fixture
def api(): return Api()
@pytest.fixture
def memory(api):
    pointer = api.memory()
    yield pointer
    api.free(pointer)
@pytest.fixture
def buffer(): return Buffer()
@pytest.fixture(scope="session")
def shared_outer():
    pointer = Api().memory()
    yield pointer
    Api().free(pointer)
@pytest.fixture(scope="module")
def shared(shared_outer):
    pointer = Api().memory()
    Api().stream()
    yield pointer
    Api().free(pointer)
@pytest.fixture(scope="session")
def inner(): Api().stream()
@pytest.fixture(scope="module")
def outer(request): request.getfixturevalue("inner")
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    return pytester


def test_no_driver_is_loaded_without_the_option(pytester: pytest.Pytester, environment: dict[str, str]) -> None:
    for name in set(__import__("os").environ) - set(environment):
        pytester._monkeypatch.delenv(name)
    pytester.makepyfile("""
        def test_nothing():
            assert "libcuda" not in open("/proc/self/maps").read()
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*CUDA driver*")


def test_driver_is_installed_before_conftest_files_and_named_in_header(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import cuarray_sim
        def test_installed():
            assert cuarray_sim.is_installed()
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["CUDA driver: simulated by cuarray-sim*", "checked in each test: findings and leaks"])
    # This setting concerns the end of the process only.
    result.stdout.no_fnmatch_line("*CUARRAY_SIM_LEAKS*")


def test_leaks_of_memory_streams_and_events_are_listed(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    # pytest shortens the lines of its failure list unless CI is set.
    monkeypatch.setenv("CI", "true")
    suite.makepyfile("""
        def test_memory(api): api.memory(1234)
        def test_stream(api): api.stream()
        def test_events(api): api.event(); api.event()
        def test_clean_afterwards(api): api.free(api.memory())
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=4, errors=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_memory*",
            "left alive on the simulated CUDA driver:",
            "  device memory: 1234 bytes at 0x*, device 0",
            "*ERROR at teardown of test_stream*",
            "  1 stream",
            "*ERROR at teardown of test_events*",
            "  2 events",
            "::error file=conftest.py,line=12,title=cuarray-sim leak::device memory: left alive by *.py::test_memory",
            "::error file=conftest.py,line=19,title=cuarray-sim leak::stream: left alive by *.py::test_stream",
            "::error file=conftest.py,line=23,title=cuarray-sim leak::event: left alive by *.py::test_events",
            "ERROR *::test_memory - leak: device memory made at conftest.py:12",
            "ERROR *::test_stream - leak: stream made at conftest.py:19",
            "ERROR *::test_events - leak: event made at conftest.py:23",
        ]
    )
    assert sum(line.startswith("::error") for line in result.outlines) == 3
    result.stdout.no_fnmatch_line("*ERROR at teardown of test_clean_afterwards*")


def test_leak_names_the_variable_that_keeps_the_array(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import cuarray, numpy

        class Cache:
            entries = []
            def __init__(self): self.array = None

        CACHE, OWNERS = {}, [Cache()]

        def array(): return cuarray.to_device(numpy.zeros(100))
        def test_dictionary(): CACHE["first"] = array()
        def test_attribute(): OWNERS[0].array = array()
        def test_class(): Cache.entries.append(array())
        def test_view(): OWNERS.append(array()[10:])
        def test_closure():
            kept = array()
            CACHE["function"] = lambda: kept
        def test_suspended_generator():
            def values():
                kept = array()
                yield
                print(kept)
            CACHE["values"] = values()
            next(CACHE["values"])
    """)
    result = pytester.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=6, errors=6)
    module, kind = "test_leak_names_the_variable_that_keeps_the_array", "(cuarray.DeviceArray)"
    assert [line.strip() for line in result.outlines if "kept by" in line] == [
        f"kept by global `CACHE` of {module}, ['first'] {kind}",
        f"kept by global `OWNERS` of {module}, [0].array {kind}",
        f"kept by class `Cache` of {module}, .entries[0] {kind}",
        f"kept by global `OWNERS` of {module}, [1] {kind}",
        f"kept by a variable or a default of function `test_closure.<locals>.<lambda>` of {module}, [0] {kind}",
        f"kept by local `kept` of values at {pytester.path / module}.py:20 {kind}",
    ]


def test_leak_names_the_variable_that_keeps_a_stream_an_event_or_pinned_memory(pytester: pytest.Pytester) -> None:
    if importlib.util.find_spec("numba") is None or importlib.util.find_spec("cuda.core") is None:
        pytest.skip("numba-cuda or cuda.core is not installed")
    pytester.makepyfile("""
        import cuarray
        from cuda.core import Device
        from numba import cuda

        KEPT = {}

        def core():
            Device().set_current()
            return Device()
        def test_numba_stream(): KEPT["a"] = cuda.stream()
        def test_numba_event(): KEPT["b"] = cuda.event()
        def test_numba_pinned(): KEPT["c"] = cuda.pinned_array(64)
        def test_core_stream(): KEPT["d"] = core().create_stream()
        def test_core_event(): KEPT["e"] = core().create_event()
        def test_cuarray_stream(): KEPT["f"] = cuarray.stream()
    """)
    result = pytester.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=6, errors=6)
    kinds = ("numba.Stream", "numba.Event", "numpy.ndarray", "cuda.Stream", "cuda.Event", "cuarray.Stream")
    assert [line.strip() for line in result.outlines if "kept by" in line] == [
        f"kept by global `KEPT` of {pytester._name}, [{key!r}] ({kind})"
        for key, kind in zip("abcdef", kinds, strict=True)
    ]


def test_new_allocation_at_reused_address_is_a_leak(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        kept = []
        @pytest.mark.cuarray_sim_leaks
        def test_keeps(api): kept.append(api.memory())
        def test_replaces(api): api.free(kept.pop()); api.memory()
    """)
    suite.runpytest_subprocess("--cuarray-sim").assert_outcomes(passed=2, errors=1)


def test_memory_freed_by_fixtures_or_garbage_collection_is_no_leak(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        from conftest import Buffer
        def test_by_a_fixture(memory): pass
        def test_by_the_garbage_collector(): Buffer()
        def test_a_fixture_value_by_the_garbage_collector(buffer): buffer.itself = None
        def test_of_wider_scope(shared): pass
        def test_of_wider_scope_again(shared): pass
    """)
    suite.runpytest_subprocess("--cuarray-sim").assert_outcomes(passed=5)


def test_numba_deferred_deallocation_is_no_leak(pytester: pytest.Pytester) -> None:
    if importlib.util.find_spec("numba") is None:
        pytest.skip("numba is not installed")
    pytester.makepyfile("""
        import numpy
        from numba import cuda
        def test_released():
            stream, event, array = cuda.stream(), cuda.event(), cuda.to_device(numpy.arange(10))
            event.record(stream)
            array.copy_to_host()
        @cuda.jit
        def clear(array): array[cuda.grid(1)] = 0
        def test_stream_of_a_launch():
            stream, array = cuda.stream(), cuda.device_array(32)
            clear[1, 32, stream](array)
            stream.synchronize()
        def test_kept():
            global kept
            kept = cuda.to_device(numpy.arange(10))
        def test_kept_stream():
            global kept_too
            kept_too = cuda.stream()
            clear[1, 10, kept_too](kept)
            kept_too.synchronize()
    """)
    result = pytester.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=4, errors=2)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_kept_stream*", "  1 stream"])
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_kept*", "  device memory: 80 bytes at *"])


def test_leak_is_found_beside_a_fixture_of_wider_scope(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        def test_leaks(shared, api): api.memory(77); api.stream()
    """)
    result = suite.runpytest_subprocess("--cuarray-sim", "--setup-show")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["  device memory: 77 bytes at *"])


def test_stream_of_a_wider_fixture_is_not_counted_as_leak(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        def test_leaks(outer, api): api.stream()
        def test_leaks_not(outer, api): pass
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_leaks *", "  1 stream"])


def test_leaks_marker_allows_a_leak(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        @pytest.mark.cuarray_sim_leaks
        def test_leaks(api): api.memory()
        def test_after(api): api.free(api.memory())
    """)
    suite.runpytest_subprocess("--cuarray-sim", "--strict-markers").assert_outcomes(passed=2)


def test_failed_test_with_a_leak_has_no_second_error(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        def test_fails(api):
            api.memory()
            assert False
        def test_after(api): pass
    """)
    suite.runpytest_subprocess("--cuarray-sim").assert_outcomes(passed=1, failed=1)


def test_another_loaded_driver_is_a_usage_error(suite: pytest.Pytester, another_driver: object) -> None:
    suite._monkeypatch.setenv("LD_PRELOAD", str(another_driver))
    result = suite.runpytest_subprocess("--cuarray-sim")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--cuarray-sim: another CUDA driver is already loaded*{another_driver}*"])


# A test whose garbage releases memory before the pending work on it: the release is the finding.
GARBAGE = """
    import ctypes
    from ctypes import byref, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p

    class Early:
        def __init__(self, api):
            from conftest import driver
            self.driver, self.itself = driver, self
            self.one, self.other, self.memory, self.event = c_void_p(), c_void_p(), c_uint64(), c_void_p()
            api.free(api.memory())
            assert driver.cuStreamCreate(byref(self.one), c_uint(1)) == 0
            assert driver.cuStreamCreate(byref(self.other), c_uint(1)) == 0
            assert driver.cuEventCreate(byref(self.event), c_uint(0)) == 0
            assert driver.cuMemAllocAsync(byref(self.memory), c_size_t(100), self.one) == 0
            assert driver.cuEventRecord(self.event, self.one) == 0
            assert driver.cuStreamWaitEvent(self.other, self.event, c_uint(0)) == 0
            assert driver.cuMemsetD8Async(self.memory, c_ubyte(0), c_size_t(100), self.other) == 0
        def __del__(self):
            self.driver.cuMemFreeAsync(self.memory, self.one)
            self.driver.cuEventDestroy_v2(self.event)
            self.driver.cuStreamDestroy_v2(self.one), self.driver.cuStreamDestroy_v2(self.other)

    def test_makes_garbage(api):
        Early(api)
        assert not FAILS
    def test_collects_it():
        import gc
        gc.collect()
"""


@pytest.mark.parametrize("options", [[], ["--cuarray-sim-leaks=allow"]])
def test_release_by_garbage_is_blamed_on_the_test_that_made_it(suite: pytest.Pytester, options: list[str]) -> None:
    suite.makepyfile(GARBAGE.replace("FAILS", "False"))
    result = suite.runpytest_subprocess("--cuarray-sim", *options)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_makes_garbage*", "*free-before-pending-work*"])
    result.stdout.no_fnmatch_line("*of test_collects_it*")


def test_release_by_garbage_of_a_failed_test_is_not_blamed_on_the_next(suite: pytest.Pytester) -> None:
    # The traceback of the failed test keeps the object until the next test.
    suite.makepyfile(GARBAGE.replace("FAILS", "True").replace("        Early(api)", "        kept = Early(api)"))
    suite.runpytest_subprocess("--cuarray-sim").assert_outcomes(passed=1, failed=1)


def test_one_option_allows_leaks_in_the_whole_run(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        def test_memory(api): api.memory(1234)
        def test_stream(api): api.stream()
    """)
    suite.runpytest_subprocess("--cuarray-sim").assert_outcomes(passed=2, errors=2)
    result = suite.runpytest_subprocess("--cuarray-sim", "--cuarray-sim-leaks=allow")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["checked in each test: findings"])


def test_summary_states_that_no_driver_call_was_made(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    line = "cuarray-sim: this process made no driver call, so nothing was checked"
    pytester.runpytest_subprocess("--cuarray-sim").stdout.fnmatch_lines([line])
    if importlib.util.find_spec("xdist"):
        several = pytester.runpytest_subprocess("--cuarray-sim", "-n", "2")
        several.stdout.fnmatch_lines(["cuarray-sim: no process made a driver call, so nothing was checked"])
    # A run without tests has nothing to check.
    pytester.runpytest_subprocess("--cuarray-sim", "-k", "none").stdout.no_fnmatch_line("*was checked*")


def test_run_with_driver_calls_has_no_such_line(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_memory(api): api.free(api.memory())\ndef test_nothing(): pass")
    suite.runpytest_subprocess("--cuarray-sim").stdout.no_fnmatch_line("*was checked*")
    if importlib.util.find_spec("xdist"):
        suite.runpytest_subprocess("--cuarray-sim", "-n", "2").stdout.no_fnmatch_line("*was checked*")


def test_numba_simulator_is_refused_by_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    pytester._monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    result = pytester.runpytest_subprocess("--cuarray-sim")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*NUMBA_ENABLE_CUDASIM=1 is set, with which numba runs its own simulator*"])
