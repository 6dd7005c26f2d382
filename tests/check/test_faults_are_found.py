"""Wrong libraries: each fault is found by the check of its clause, and the other checks go on."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import wrong_libraries
from wrong_libraries import WRAPPED

from cuarray.check.outcome import FAILED, KNOWN, PASSED, UNCLAIMED, UNEXPECTED, Outcome
from cuarray.check.runner import Run, session

# Each adapter is cuarray's with one fault. `Changed` has the interface of an array, with some entries replaced.
BASE = (
    WRAPPED
    + """
class Changed:
    def __init__(self, array, **entries):
        self.array, self.entries = array, entries
    @property
    def __cuda_array_interface__(self):
        return {**self.array.__cuda_array_interface__, **self.entries}
"""
)

PLAIN_MAKE = "def make(shape, typestr, **layout):\n    array = sound.make(shape, typestr, **layout)\n    "
PLAIN_IMPORT = "def import_(obj, *, stream=None):\n    "

FAULTS = {
    # Producer
    "no-version": (
        PLAIN_MAKE + "entries = array.__cuda_array_interface__; del entries['version']\n"
        "    class Without: __cuda_array_interface__ = entries; keeps = array\n    return Without()",
        "I1.the-attribute-is-a-dict-with-the-required-entries",
        "without version",
    ),
    "shape-is-a-list": (
        PLAIN_MAKE + "return Changed(array, shape=list(shape))",
        "I1.every-entry-is-read-strictly.2",
        "shape",
    ),
    "float-in-the-third-dimension": (
        PLAIN_MAKE + "return Changed(array, shape=(*shape[:2], *map(float, shape[2:])))",
        "I1.every-entry-is-read-strictly.3",
        "shape: 4.0 is a float",
    ),
    "float-in-the-fifth-stride": (
        PLAIN_MAKE + "return Changed(array, strides=(*array.strides[:4], *map(float, array.strides[4:])))",
        "I8.layout-is-exported.sliced-5d",
        "strides: 8.0 is a float",
    ),
    "shape-is-reversed": (
        PLAIN_MAKE + "return Changed(array, shape=shape[::-1])",
        "I2.shape-has-each-dimension.2",
        "(4, 3)",
    ),
    "typestr-without-byte-order": (
        PLAIN_MAKE + "return Changed(array, typestr=typestr[1:])",
        "I3.typestr-names-the-type.f4",
        "'f4'",
    ),
    "data-is-a-list": (
        PLAIN_MAKE + "return Changed(array, data=[array.ptr, False])",
        "I4.data-is-a-pair-of-pointer-and-flag",
        "no tuple of two",
    ),
    "read-only-flag-is-lost": (
        PLAIN_MAKE + "return Changed(array, data=(array.ptr, False))",
        "I4.read-only-array-has-the-flag",
        "consumers write to it",
    ),
    "pointer-is-a-lie": (
        PLAIN_MAKE + "return Changed(array, data=(array.ptr + 4, False))",
        "I4.pointer-is-the-first-elements",
        "pointer() returns",
    ),
    "pointer-to-nowhere": (
        PLAIN_MAKE + "return Changed(array, data=(4096, False))",
        "I6.pointer-is-known-to-the-driver",
        "the driver does not know 0x1000",
    ),
    "pointer-of-zero-size": (
        PLAIN_MAKE + "return Changed(array, data=(4096, False))",
        "I5.zero-size-array-has-pointer-zero.0",
        "4096",
    ),
    "strides-are-left-out": (
        PLAIN_MAKE + "return Changed(array, strides=None)",
        "I8.broadcast-layout-is-exported.broadcast-1d",
        "strides are None",
    ),
    "strides-count-elements": (
        PLAIN_MAKE + "return Changed(array, strides=tuple(step // 4 for step in array.strides))",
        "I8.layout-is-exported.sliced",
        "(8, 2)",
    ),
    "strides-of-wrong-order": (
        PLAIN_MAKE + "return Changed(array, strides=array.strides[::-1])",
        "I8.consumer-reads-the-elements.F-order",
        "in place of",
    ),
    "stream-zero": (PLAIN_MAKE + "return Changed(array, stream=0)", "I11.exported-stream-is-not-zero", "0"),
    "version-4": (PLAIN_MAKE + "return Changed(array, version=4)", "I7.version-is-current", "version is 4"),
    # Order of the producer's work
    "no-stream-is-exported": (
        PLAIN_MAKE + "return Changed(array, stream=None)",
        "P1.exported-stream-covers-work-in-the-arrays-stream",
        "",
    ),
    "wrong-stream-is-exported": (
        PLAIN_MAKE + "made.append(cuarray.stream())\n    return Changed(array, stream=made[-1].handle)\nmade = []",
        "P1.exported-stream-covers-work-in-another-stream",
        "",
    ),
    # Consumer
    "import-copies": (
        PLAIN_IMPORT + "return cuarray.to_device(cuarray.as_cuda_array(obj).copy_to_host())",
        "I1.import-copies-nothing",
        "the import is at",
    ),
    "mask-is-ignored": (
        PLAIN_IMPORT + "return cuarray.as_cuda_array(obj, mask='ignore')",
        "I10.mask-is-not-ignored",
        "ignores the mask",
    ),
    "strides-are-ignored": (
        PLAIN_IMPORT + "return cuarray.as_cuda_array(Changed2(obj, strides=None))\n"
        "class Changed2:\n    def __init__(self, obj, **entries):\n"
        "        self.obj, self.__cuda_array_interface__ = obj, {**obj.__cuda_array_interface__, **entries}",
        "I8.layout-is-imported.F-order",
        "in place of",
    ),
    "stream-is-ignored": (
        PLAIN_IMPORT + "return cuarray.as_cuda_array(obj, sync=False)\n"
        "def read(array, *, stream=None):\n    from cuarray.check import parts\n"
        "    return parts.gather(array.ptr, array.shape, array.strides, array.itemsize)",
        "S2.import-waits-for-the-exported-stream.handle",
        "",
    ),
    "no-edge-back": (
        "def write(array, data, *, stream=None):\n    from cuarray.check import driver\n    with driver.context():\n"
        "        driver.call('cuMemcpyHtoDAsync_v2', ctypes.c_uint64(array.ptr), (ctypes.c_char * len(data)).from_buffer(data),"
        " ctypes.c_size_t(len(data)), ctypes.c_void_p(stream.handle))",
        "S3.exported-stream-waits-for-the-consumers-work",
        "",
    ),
    # Faults of the process
    "raises": (PLAIN_IMPORT + "raise OSError('no such thing')", "I1.plain-array-is-imported", "OSError: no such thing"),
    "crashes": (PLAIN_IMPORT + "ctypes.string_at(8)", "I1.plain-array-is-imported", "crashed with SIGSEGV"),
    "aborts": (PLAIN_IMPORT + "os.abort()", "I1.plain-array-is-imported", "crashed with SIGABRT"),
    "leaves": (PLAIN_IMPORT + "os._exit(0)", "I1.plain-array-is-imported", "status 0 and without a result"),
    "hangs": (PLAIN_IMPORT + "time.sleep(600)", "I1.plain-array-is-imported", "the check hangs"),
}


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str):
    def run_with(fault: str, *jobs: str, timeout: float = 30.0) -> Run:
        return wrong_libraries.check(tmp_path, monkeypatch, BASE + fault, *jobs, timeout=timeout)

    return run_with


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_fails_the_check_of_its_clause(check, fault: str) -> None:
    code, name, message = FAULTS[fault]
    following = "I1.the-attribute-is-a-dict-with-the-required-entries"
    found = check(code, name, following, timeout=3 if fault == "hangs" else 30)
    first, second = found.outcomes
    assert first.status == FAILED, first
    assert message in first.message
    assert not found.passes or first.level == "should"
    assert first.reproduction.startswith(f"# {name}: ")
    assert second.status in (PASSED, FAILED)
    assert second.seconds < 30


def test_sound_base_of_the_faults_passes(check) -> None:
    names = list(dict.fromkeys(name for _, name, _ in FAULTS.values()))
    assert [each.check for each in check("", *names).outcomes if each.status != PASSED] == []


def test_crash_report_has_the_stack_and_the_calls(check) -> None:
    (outcome,) = check(PLAIN_IMPORT + "ctypes.string_at(8)", "I1.plain-array-is-imported").outcomes
    assert "string_at" in outcome.evidence
    assert outcome.reproduction.splitlines()[-2].startswith("imported = adapter.import_(foreign)")


def test_hang_report_has_the_stack(check) -> None:
    (outcome,) = check(PLAIN_IMPORT + "time.sleep(600)", "I1.plain-array-is-imported", timeout=2).outcomes
    assert "in import_" in outcome.evidence


def test_unclaimed_part_is_not_checked(check) -> None:
    (outcome,) = check("NOT_CLAIMED = {'masks': 'no', 'consumer': 'a producer'}", "I10.mask-is-not-ignored").outcomes
    assert (outcome.status, outcome.message) == (UNCLAIMED, "consumer: a producer")


def test_not_claimed_exception_ends_a_check(check) -> None:
    code = PLAIN_IMPORT + "from cuarray.check import NotClaimed\n    raise NotClaimed('no imports yet')"
    (outcome,) = check(code, "I1.plain-array-is-imported").outcomes
    assert (outcome.status, outcome.message) == (UNCLAIMED, "no imports yet")


def test_known_failure_does_not_fail_the_run(check) -> None:
    code = PLAIN_MAKE + "return Changed(array, stream=0)\nKNOWN = {'I11.exported-stream-is-not-zero': 'issue 12'}"
    found = check(code, "I11.exported-stream-is-not-zero")
    assert found.outcomes[0].status == KNOWN
    assert found.passes


def test_known_failure_that_passes_is_reported(check) -> None:
    code = "KNOWN = {'I11.exported-stream-is-not-zero': 'issue 12'}"
    assert check(code, "I11.exported-stream-is-not-zero").outcomes[0].status == UNEXPECTED


def test_reproduction_shows_the_failure(check, tmp_path: Path) -> None:
    import driver_probe

    (outcome,) = check(PLAIN_IMPORT + "raise OSError('no such thing')", "I1.plain-array-is-imported").outcomes
    finished = driver_probe.finished_python(outcome.reproduction, PYTHONPATH=f"{tmp_path}")
    assert "OSError: no such thing" in finished.stderr


def test_outcome_survives_json(check) -> None:
    (outcome,) = check("", "I1.plain-array-is-imported").outcomes
    assert Outcome(**outcome.as_json()) == outcome


def test_checks_run_in_new_processes_if_the_import_starts_the_driver(check) -> None:
    code = (
        "cuarray.to_device([1])\nprocess = os.getpid()\n" + PLAIN_IMPORT + "raise OSError(f'{process == os.getpid()}')"
    )
    found = check(code, "I1.plain-array-is-imported", "I1.import-copies-nothing")
    assert [each.message for each in found.outcomes] == ["unexpected OSError: True"] * 2


def test_crash_in_a_new_process_is_reported(check) -> None:
    code = "FORK = False\n" + PLAIN_IMPORT + "ctypes.string_at(8)"
    found = check(code, "I1.plain-array-is-imported", "I3.typestr-names-the-type.f4")
    assert [each.status for each in found.outcomes] == [FAILED, PASSED]
    assert "crashed with SIGSEGV" in found.outcomes[0].message
    assert found.outcomes[0].reproduction.splitlines()[-2].startswith("imported = adapter.import_(foreign)")


def test_checks_run_in_new_processes_on_a_system_without_fork(check) -> None:
    code = "process = os.getpid()\ndel os.fork\n" + PLAIN_IMPORT + "raise OSError(f'{process == os.getpid()}')"
    found = check(code, "I1.plain-array-is-imported", "I1.import-copies-nothing")
    assert [each.message for each in found.outcomes] == ["unexpected OSError: True"] * 2


def test_output_of_a_library_does_not_disturb_the_results(check) -> None:
    code = "print('import')\n" + PLAIN_IMPORT + "print('{'); os.write(1, b'x'); return cuarray.as_cuda_array(obj)"
    assert check(code, "I1.plain-array-is-imported").outcomes[0].status == PASSED


def test_end_of_a_session_ends_the_running_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str
) -> None:
    (tmp_path / "hangs.py").write_text("import time\ndef import_(obj, *, stream=None): time.sleep(600)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with session("hangs", timeout=600) as opened:
        opened._worker.send("I1.plain-array-is-imported 600")
        time.sleep(1)
        group, begun = opened._worker.process.pid, time.monotonic()
    assert time.monotonic() - begun < 30
    deadline = time.monotonic() + 10
    while _exists(group) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _exists(group)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
