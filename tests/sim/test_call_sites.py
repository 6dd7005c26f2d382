"""The trace names the user's line and the calling library of each driver call."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Sites = Callable[..., "list[tuple[str, str]]"]

# Begins each script. One line, so that it shifts the scripts' line numbers by one only.
PROLOGUE = (
    "import ctypes; cuda = ctypes.CDLL('libcuda.so.1'); context = ctypes.c_void_p(); "
    "begin = lambda: (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxPushCurrent_v2(context)); "
    "begin()\n"
)


@pytest.fixture
def sites(run: Callable, tmp_path: Path) -> Sites:
    """Run a script, and return symbol and site of each call that has a site."""

    def sites(script: str, prologue: str = PROLOGUE, **variables: str) -> list[tuple[str, str]]:
        (tmp_path / "user.py").write_text(prologue + textwrap.dedent(script))
        done = run("-m", "cuarray_sim", "--trace", "trace.txt", "user.py", **variables)
        assert done.returncode == 0, done.stderr
        found = []
        for line in (tmp_path / "trace.txt").read_text().splitlines():
            call, _, site = line.partition(" from ")
            if site:
                found.append((call.split("] ")[1].split("(")[0], site))
        return found

    return sites


def lines_of(sites: list[tuple[str, str]], symbol: str) -> list[str]:
    return [site.partition(", called by ")[0].rpartition("user.py:")[2] for name, site in sites if name == symbol]


def test_site_has_line_function_and_library(sites: Sites) -> None:
    found = sites("""\
        def work(
            size):
            pointer = ctypes.c_uint64()
            assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
            assert cuda.cuMemsetD8Async(pointer,
                1,
                ctypes.c_size_t(size), None) == 0
        for _ in range(3): work(4)
    """)
    assert lines_of(found, "cuMemAlloc_v2") == ["5 in work"] * 3
    assert lines_of(found, "cuMemsetD8Async") == ["6 in work"] * 3
    assert {site.rpartition(" by ")[2] for _, site in found} == {"ctypes"}


def test_site_is_found_in_every_kind_of_frame(sites: Sites) -> None:
    found = sites("""\
        import asyncio, functools, threading
        def sync(): assert cuda.cuCtxSynchronize() == 0
        def generator():
            cuda.cuCtxSynchronize()
            yield
        async def coroutine():
            await asyncio.sleep(0)
            cuda.cuCtxSynchronize()
        class Klass:
            def method(self): cuda.cuCtxSynchronize()
            def __del__(self): cuda.cuCtxSynchronize()
        cuda.cuCtxSynchronize()
        next(generator())
        asyncio.run(coroutine())
        Klass().method()
        (lambda: cuda.cuCtxSynchronize())()
        [cuda.cuCtxSynchronize() for _ in range(1)]
        sorted([1, 2], key=lambda value: cuda.cuCtxSynchronize())
        functools.partial(sync)()
        def thread():
            begin()
            cuda.cuCtxSynchronize()
        worker = threading.Thread(target=thread)
        worker.start()
        worker.join()
        def recursive(depth):
            return recursive(depth - 1) if depth else cuda.cuCtxSynchronize()
        recursive(500)
        def closure():
            def inner(): cuda.cuCtxSynchronize()
            return inner
        closure()()
    """)
    lines = lines_of(found, "cuCtxSynchronize")
    # A comprehension has its own frame up to Python 3.11.
    comprehension = [line for line in lines if line.startswith("18 in ")]
    assert len(comprehension) == 1
    lines.remove(comprehension[0])
    assert lines == [
        "13 in <module>",
        "5 in generator",
        "9 in coroutine",
        "11 in method",
        "12 in __del__",
        "17 in <lambda>",
        "19 in <lambda>",
        "19 in <lambda>",
        "3 in sync",
        "23 in thread",
        "28 in recursive",
        "31 in inner",
    ]


def test_site_is_right_for_code_at_reused_addresses(sites: Sites) -> None:
    found = sites("""\
        for n in range(200):
            source = "\\n" * (n % 7) + f"def f{n % 3}(): cuda.cuCtxSynchronize()"
            scope = {"cuda": cuda}
            exec(compile(source, f"user.py:{n % 5}/user.py", "exec"), scope)
            scope[f"f{n % 3}"]()
            del scope
    """)
    lines = [site for name, site in found if name == "cuCtxSynchronize"]
    expected = [f"user.py:{n % 5}/user.py:{n % 7 + 1} in f{n % 3}, called by ctypes" for n in range(200)]
    assert lines == expected


def test_site_names_outside_ascii(sites: Sites) -> None:
    found = sites("""\
        class Größe:
            def länge(self): cuda.cuCtxSynchronize()
        Größe().länge()
        for name in ("é.py", "日本.py", "🐍.py"):
            exec(compile("def 関数(): cuda.cuCtxSynchronize()\\n関数()", name, "exec"))
    """)
    assert [site.partition(",")[0].rpartition("/")[2] for name, site in found if name == "cuCtxSynchronize"] == [
        "user.py:3 in länge",
        "é.py:1 in 関数",
        "日本.py:1 in 関数",
        "🐍.py:1 in 関数",
    ]


def test_site_in_thread_without_python_frames_names_c_library(sites: Sites) -> None:
    found = sites("""\
        # The C library runs the driver's function in a thread unknown to Python.
        libc = ctypes.CDLL(None)
        thread = ctypes.c_ulong()
        assert libc.pthread_create(ctypes.byref(thread), None, cuda.cuCtxSynchronize, None) == 0
        assert libc.pthread_join(thread, None) == 0
    """)
    (site,) = [site for name, site in found if name == "cuCtxSynchronize"]
    assert "user.py" not in site
    assert "libc" in site or "libpthread" in site


def test_site_in_exit_handlers_and_finalizers(sites: Sites) -> None:
    found = sites("""\
        import atexit, sys
        class Last:
            def __del__(self): cuda.cuCtxSynchronize()
        sys.last = Last()
        def ending(): cuda.cuCtxSynchronize()
        atexit.register(ending)
    """)
    synchronizations = [site for name, site in found if name == "cuCtxSynchronize"]
    assert synchronizations[0].endswith("user.py:6 in ending, called by ctypes")
    assert len(synchronizations) == 2, "the call in the finalizer at interpreter exit is traced too"


def test_site_of_call_in_a_package_is_the_users_line(sites: Sites, tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "vendor"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def sync(cuda):\n    cuda.cuCtxSynchronize()\n")
    found = sites("""\
        import sys, threading
        sys.path.insert(0, "site-packages")
        import vendor
        def user_code(): vendor.sync(cuda)
        user_code()
        def entered(): (begin(), threading.Timer.run)
        class Packaged(threading.Thread):
            def run(self): begin(); vendor.sync(cuda)
        Packaged().start()
    """)
    assert [site.rpartition("/")[2] for name, site in found if name == "cuCtxSynchronize"] == [
        "user.py:5 in user_code, called by vendor",
        "user.py:9 in run, called by vendor",
    ]


@pytest.mark.parametrize("pattern", ["wrapper.py", "*/wrapper.*", "other.c:call*"])
def test_skipped_frames_of_python_give_the_sites_of_their_callers(sites: Sites, tmp_path: Path, pattern: str) -> None:
    (tmp_path / "wrapper.py").write_text("def call(function):\n    assert function() == 0\n")
    script = """\
        from wrapper import call
        def work():
            call(cuda.cuCtxSynchronize)
        work()
        call(cuda.cuCtxSynchronize)
    """
    merged = [site for name, site in sites(script) if name == "cuCtxSynchronize"]
    assert len(merged) == 2
    assert all("wrapper.py:2 in call" in site for site in merged)
    assert lines_of(sites(script, CUARRAY_SIM_SKIP_FRAMES=pattern), "cuCtxSynchronize") == [
        "4 in work",
        "6 in <module>",
    ]


def test_site_of_numba_calls(sites: Sites) -> None:
    pytest.importorskip("numba.cuda")
    found = sites(
        """\
        import numpy
        from numba import cuda
        def go():
            array = cuda.to_device(numpy.arange(10))
            return array.copy_to_host()
        go()
        """,
        prologue="\n",
    )
    copies = [site.rpartition("/")[2] for name, site in found if name.startswith("cuMemcpy")]
    assert copies == ["user.py:5 in go, called by numba.cuda", "user.py:6 in go, called by numba.cuda"]


def test_launch_of_numba_is_made_by_numba_though_it_goes_through_cuda_core(sites: Sites) -> None:
    pytest.importorskip("numba.cuda")
    found = sites(
        """\
        from numba import cuda
        @cuda.jit
        def nothing():
            pass
        nothing[1, 1]()
        stream = cuda.stream()
        stream.synchronize()
        """,
        prologue="\n",
    )
    launches = [site.rpartition("/")[2] for name, site in found if name.startswith("cuLaunchKernel")]
    assert launches == ["user.py:6 in <module>, called by numba.cuda"]
    # At the end of the interpreter there are no Python frames.
    assert {site.rpartition("called by ")[2] for _, site in found if site.startswith("user.py")} <= {"numba.cuda"}


def test_site_of_cuda_bindings_and_cuda_core_calls(sites: Sites) -> None:
    pytest.importorskip("cuda.core")
    found = sites(
        """\
        from cuda.bindings import driver
        from cuda.core import Device
        def go():
            device = Device()
            device.set_current()
            stream = device.create_stream()
            driver.cuMemFree(driver.cuMemAlloc(100)[1])
            stream.sync()
        go()
        """,
        prologue="\n",
    )
    calls = {name: site.rpartition("/")[2] for name, site in found}
    assert calls["cuMemAlloc_v2"] == "user.py:8 in go, called by cuda.bindings"
    assert calls["cuStreamSynchronize"] == "user.py:9 in go, called by cuda.core"
    assert calls["cuStreamCreateWithPriority"] == "user.py:7 in go, called by cuda.core"


def test_site_of_cuarray_calls(sites: Sites) -> None:
    found = sites(
        """\
        import cuarray
        def go():
            stream = cuarray.stream()
            array = cuarray.to_device([1.0, 2.0], stream=stream)
            stream.synchronize()
        go()
        """,
        prologue="\n",
    )
    calls = {name: site.rpartition("/")[2] for name, site in found}
    assert calls["cuStreamSynchronize"] == "user.py:6 in go, called by cuarray"
    assert any(site.startswith("user.py:5 in go, called by cuarray") for site in calls.values())


def test_no_sites_with_findings_setting_off(sites: Sites) -> None:
    assert sites("cuda.cuCtxSynchronize()", CUARRAY_SIM_FINDINGS="0") == []
