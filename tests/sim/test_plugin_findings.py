"""``pytest --cuarray-sim`` fails each test that has a finding, unless it is expected, allowed or suppressed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]

# Two streams, and memory that both can fill.
CONFTEST = """
import ctypes, pytest
from ctypes import byref, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p

driver = ctypes.CDLL("libcuda.so.1")
context = c_void_p()
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(byref(context), 0) == 0

class Api:
    def __init__(self):
        assert driver.cuCtxPushCurrent_v2(context) == 0
        self.pointer, self.streams = c_uint64(), [c_void_p(), c_void_p()]
        assert driver.cuMemAlloc_v2(byref(self.pointer), c_size_t(64)) == 0
        for stream in self.streams:
            assert driver.cuStreamCreate(byref(stream), c_uint(1)) == 0
    def fill(self, stream):
        assert driver.cuMemsetD8Async(self.pointer, c_ubyte(1), c_size_t(64), self.streams[stream]) == 0
    def synchronize(self, stream):
        assert driver.cuStreamSynchronize(self.streams[stream]) == 0
    def race(self):
        self.fill(0)
        self.fill(1)
        self.synchronize(0)
        self.synchronize(1)
    def unwritten(self):
        assert driver.cuMemcpyDtoH_v2(ctypes.create_string_buffer(8), self.pointer, c_size_t(8)) == 0
    def end(self):
        assert driver.cuMemFree_v2(self.pointer) == 0
        for stream in self.streams:
            assert driver.cuStreamDestroy_v2(stream) == 0

@pytest.fixture
def api():
    api = Api()
    yield api
    api.end()
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    # pytest shortens the lines of its failure list unless CI is set.
    monkeypatch.setenv("CI", "true")
    return pytester


@pytest.mark.parametrize("ci", ["", "true"], ids=["no-CI", "CI"])
def test_finding_fails_its_test_with_the_report_as_failure_text(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)
    suite.makepyfile("""
        def test_clean_before(api):
            api.fill(0); api.synchronize(0); api.fill(1); api.synchronize(1)
        def test_races(api):
            api.race()
        def test_clean_after(api):
            api.fill(0); api.synchronize(0)
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_races*",
            "found by the simulated CUDA driver:",
            "[[]1[]] data-race: stream * writes 64 bytes that stream * writes, and nothing orders the two",
            "  A cuMemsetD8Async writes 64 bytes on stream * (non-blocking)",
            "      at *conftest.py:16 in *fill",
            "  B cuMemsetD8Async writes 64 bytes on stream *",
            "  missing: record an event on stream *",
            "  memory: bytes 0 to 63 of 64 bytes of device memory *",
            "cuarray-sim: 1 finding in 1 test (1 data-race)",
            # pytest cuts this line to the terminal's width unless CI is set.
            "FAILED *::test_races" + " - data-race at conftest.py:16: stream * writes 64 bytes that *" * bool(ci),
        ]
    )
    # Only this test's finding, and no line of the plugin's source.
    assert result.stdout.str().count("data-race:") == 1
    result.stdout.no_fnmatch_line("*pytest_findings.py*")


def test_race_between_unsynchronized_work_fails_the_test(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        def test_races(api):
            api.fill(0); api.fill(1)
    """)
    suite.runpytest_subprocess("--cuarray-sim").assert_outcomes(failed=1)


def test_finding_at_teardown_is_an_error(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        @pytest.fixture
        def late(api):
            yield
            api.race()
        def test_passes(late): pass
        def test_after(api): pass
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_passes*", "found by the simulated CUDA driver:"])


def test_pages_option_writes_one_page_for_each_failure(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_pages="""
        import pytest
        @pytest.mark.parametrize("of", ["a/b", "c"])
        def test_race(api, of): api.race()
        def test_both(api):
            api.race()
            raise ValueError("its own")
        @pytest.fixture
        def late(api):
            yield
            api.race()
        def test_late(late): pass
        @pytest.mark.cuarray_sim(expect="data-race")
        def test_expected(api): api.race()
        def test_quiet(api): pass
    """
    )
    result = suite.runpytest_subprocess("--cuarray-sim", "--cuarray-sim-pages", "out/pages")
    result.assert_outcomes(passed=3, failed=3, errors=1)
    pages = {path.name: path.read_text() for path in (suite.path / "out" / "pages").iterdir()}
    assert pages.keys() == {
        "test_pages.py_test_race_a_b_.html",
        "test_pages.py_test_race_c_.html",
        "test_pages.py_test_both.html",
        "test_pages.py_test_late-teardown.html",
    }
    assert all("<title>1 finding" in page for page in pages.values())
    result.stdout.fnmatch_lines([f"*drawn in {suite.path}/out/pages/test_pages.py_test_race_c_.html"])
    (suite.path / "file").write_text("")
    refused = suite.runpytest_subprocess("--cuarray-sim", "--cuarray-sim-pages", "file/pages")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--cuarray-sim: *file/pages*"])


def test_finding_at_setup_fails_the_test(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        @pytest.fixture
        def early(api): api.race()
        def test_fails(early): pass
    """)
    suite.runpytest_subprocess("--cuarray-sim").assert_outcomes(failed=1)


def test_failing_test_shows_its_findings(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.makepyfile("""
        import pytest
        def test_fails(api):
            api.race()
            assert False, "its own reason"
        @pytest.mark.xfail
        def test_is_known_to_fail(api):
            api.race()
            assert False
    """)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(failed=1, xfailed=1)
    result.stdout.fnmatch_lines(
        ["*its own reason*", "*findings*", "[[]1[]] data-race:*", "cuarray-sim: 2 findings in 2 tests*"]
    )
    # The test that is known to fail has no command.
    (command,) = (line for line in result.outlines if line.startswith("::error"))
    assert command.startswith("::error file=conftest.py,line=16,title=cuarray-sim data-race::stream ")


def test_findings_are_shown_for_each_way_a_test_can_fail(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        from unittest import TestCase
        from conftest import Api
        def test_by_hand(api):
            api.race()
            pytest.fail("its own reason")
        def test_raises_nothing(api):
            api.race()
            with pytest.raises(ValueError): pass
        @pytest.fixture
        def late(api):
            yield
            api.race()
            raise RuntimeError("at teardown")
        def test_passes(late): pass
        class TestUnit(TestCase):
            def setUp(self):
                self.api = Api()
                self.addCleanup(self.api.end)
            def test_fails(self):
                self.api.race()
                self.fail("its own reason")
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=1, failed=3, errors=1)
    assert result.stdout.str().count("[1] data-race:") == 4
    result.stdout.fnmatch_lines(
        [
            "cuarray-sim: 4 findings in 4 tests (4 data-race)",
            "FAILED *::test_by_hand - data-race at conftest.py:16; Failed: its own reason",
            "FAILED *::test_raises_nothing - data-race at conftest.py:16; Failed: DID NOT RAISE*",
            "FAILED *::test_fails - data-race at conftest.py:16; AssertionError: its own reason",
            "ERROR *::test_passes - data-race at conftest.py:16; RuntimeError: at teardown",
        ]
    )


def test_junit_file_has_findings_of_each_phase_as_properties(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        def test_race(api): api.race()
        @pytest.mark.cuarray_sim(expect="data-race")
        def test_expected(api): api.race()
        def test_clean(api): api.synchronize(0)
        @pytest.fixture
        def late(api):
            yield
            api.unwritten()
        def test_teardown(late): pass
    """)
    suite.runpytest_subprocess("--cuarray-sim", "--junit-xml", "junit.xml")
    found = {
        case.get("name"): [
            (each.get("name"), (each.get("value") or "").split(":")[0]) for each in case.iter("property")
        ]
        for case in ElementTree.parse("junit.xml").getroot().iter("testcase")
    }
    assert found == {
        "test_race": [("cuarray_sim.found", "data-race")],
        "test_expected": [("cuarray_sim.expected", "data-race")],
        "test_clean": [],
        "test_teardown": [("cuarray_sim.found", "uninitialized-read")],
    }


def test_skip_after_a_race_does_not_hide_the_finding(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        from unittest import TestCase
        from conftest import Api
        def test_function(api):
            api.race()
            pytest.skip("not here")
        class TestUnit(TestCase):
            def test_method(self):
                api = Api()
                api.race()
                api.end()
                self.skipTest("not here")
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(skipped=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "FAILED *::test_method - data-race at conftest.py:16: stream *",
            "ERROR *::test_function - data-race at conftest.py:16: stream *",
        ],
    )


def test_finding_at_import_is_an_error_of_the_module(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_module="""
        from conftest import Api
        api = Api()
        api.race()
        api.end()
        def test_nothing(): pass
        """,
        test_other="def test_passes(): pass",
    )
    result = suite.runpytest_subprocess("--cuarray-sim", "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting test_module.py*",
            "found by the simulated CUDA driver:",
            "[[]1[]] data-race:*",
            "cuarray-sim: 1 finding in 0 tests (1 data-race)",
            "ERROR test_module.py - data-race at conftest.py:16: stream *",
        ]
    )


def test_expected_finding_passes_and_missing_one_fails(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        @pytest.mark.cuarray_sim(expect="data-race")
        def test_expected(api): api.race()
        @pytest.mark.cuarray_sim(expect="data-race")
        def test_absent(api): pass
        @pytest.mark.cuarray_sim(expect="data-race")
        def test_another(api): api.unwritten()
        @pytest.mark.cuarray_sim(expect=("data-race", "uninitialized-read"))
        def test_both(api): api.unwritten(); api.race()
        @pytest.mark.cuarray_sim(expect=("data-race", "uninitialized-read"))
        def test_one_of_both(api): api.race()
    """)
    result = suite.runpytest_subprocess("--cuarray-sim", "--strict-markers")
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "expected data-race, and the simulated CUDA driver found nothing",
            "found by the simulated CUDA driver:",
            "[[]1[]] uninitialized-read:*",
            "expected uninitialized-read, and the simulated CUDA driver found this instead:",
        ]
    )


def test_allowed_finding_passes_present_or_absent(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import pytest
        pytestmark = pytest.mark.cuarray_sim(allow="data-race")
        def test_there(api): api.race()
        def test_absent(api): pass
        def test_another(api): api.unwritten()
        @pytest.mark.cuarray_sim(expect="uninitialized-read")
        def test_expected_beside_it(api): api.unwritten(); api.race()
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["cuarray-sim: 1 finding in 1 test (1 uninitialized-read), 1 expected, 2 allowed"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("expect='race'", "*expect='race'*expected one of data-race, *"),
        ("allow=3", "*allow=3*expected one of data-race, *"),
        ("allow='leak'", "*leaks have their own marker, cuarray_sim_leaks"),
        ("'data-race'", "*takes expect= and allow=*"),
        ("expects='data-race'", "*takes expect= and allow=*"),
        ("", "*takes expect= and allow=*"),
    ],
)
def test_wrong_marker_arguments_are_an_error(suite: pytest.Pytester, arguments: str, message: str) -> None:
    suite.makepyfile(f"""
        import pytest
        @pytest.mark.cuarray_sim({arguments})
        def test_marked(api): pass
    """)
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*another exception occurred*")


def test_marker_has_no_effect_without_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.cuarray_sim(expect="data-race")
        def test_marked(): pass
    """)
    result = pytester.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*cuarray-sim:*")


def test_session_without_findings_prints_no_findings(suite: pytest.Pytester) -> None:
    suite.makepyfile("def test_clean(api): api.fill(0); api.synchronize(0)")
    result = suite.runpytest_subprocess("--cuarray-sim")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["cuarray-sim: no findings"])


def test_suppressed_findings_are_counted_and_unused_suppressions_are_named(suite: pytest.Pytester) -> None:
    Path("known.txt").write_text(
        "# whose bug it is\ndata-race file=*/conftest.py  # cuarray\n\nuninitialized-read library=unknown\n"
    )
    suite.makepyfile("""
        def test_known(api): api.race()
        def test_unknown(api): api.unwritten()
    """)
    result = suite.runpytest_subprocess("--cuarray-sim", "--cuarray-sim-suppressions", "known.txt")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "cuarray-sim: 1 finding in 1 test (1 uninitialized-read), 1 suppressed",
            "cuarray-sim: *known.txt:4: nothing was suppressed by: uninitialized-read library=unknown",
        ]
    )
    result.stdout.no_fnmatch_line("*known.txt:2*")


@pytest.mark.parametrize(
    ("content", "message"),
    [("races numba\n", "*known.txt: line 1: races is not a kind of finding*"), (None, "*known.txt: No such file*")],
)
def test_malformed_or_missing_suppressions_file_is_a_usage_error(
    suite: pytest.Pytester, content: str | None, message: str
) -> None:
    if content is not None:
        Path("known.txt").write_text(content)
    suite.makepyfile("def test_nothing(): pass")
    result = suite.runpytest_subprocess("--cuarray-sim", "--cuarray-sim-suppressions", "known.txt")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_findings_of_xdist_workers_are_added_up(suite: pytest.Pytester) -> None:
    Path("known.txt").write_text("uninitialized-read file=*\nleak file=*\n")
    suite.makepyfile("""
        import pytest
        @pytest.mark.parametrize("number", range(4))
        def test_races(api, number): api.race()
        @pytest.mark.parametrize("number", range(4))
        def test_known(api, number): api.unwritten()
        @pytest.mark.cuarray_sim(expect="data-race")
        def test_expected(api): api.race()
        def test_leaks(): from conftest import Api; Api()
    """)
    result = suite.runpytest_subprocess("--cuarray-sim", "-n", "2", "--cuarray-sim-suppressions", "known.txt")
    result.assert_outcomes(passed=6, failed=4, errors=1)
    result.stdout.fnmatch_lines(
        [
            "cuarray-sim: 4 findings in 4 tests (4 data-race), 1 expected, 4 suppressed",
            "cuarray-sim: *known.txt:2: nothing was suppressed by: leak file=[*]",
        ]
    )
    result.stdout.no_fnmatch_line("*known.txt:1*")
