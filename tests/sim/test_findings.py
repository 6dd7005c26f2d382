"""Findings of the simulated driver in Python: as data, as text, with ordering calls left out, and at exit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import cuarray_sim

Passes = Callable[..., str]

# Two streams that write the same 64 bytes; `order` makes the second wait for the first.
PROGRAM = """
import ctypes
import cuarray_sim
cuarray_sim.install()
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
def made(name, *arguments):
    handle = ctypes.c_void_p()
    call(name, ctypes.byref(handle), *arguments)
    return handle
call("cuInit", 0)
call("cuCtxPushCurrent_v2", made("cuDevicePrimaryCtxRetain", 0))
first, second = made("cuStreamCreate", 1), made("cuStreamCreate", 1)
memory, event = made("cuMemAlloc_v2", ctypes.c_size_t(64)), made("cuEventCreate", 2)
def write(stream):
    call("cuMemsetD8Async", memory, 1, ctypes.c_size_t(64), stream)
def order():
    call("cuEventRecord", event, first)
    call("cuStreamWaitEvent", second, event, 0)
def kinds():
    return [finding["kind"] for finding in cuarray_sim.findings()["findings"]]
"""


def test_race_is_reported_as_data_and_as_text(passes: Passes) -> None:
    out = passes(
        PROGRAM
        + """
write(first); write(second)
report = cuarray_sim.findings()
(finding,) = report["findings"]
assert finding["kind"] == "data-race" and finding["bytes"] == {"address": memory.value, "length": 64}
assert [side["call"] for side in finding["sides"]] == ["cuMemsetD8Async"] * 2
assert [report["lanes"][side["lane"]]["handle"] for side in finding["sides"]] == [first.value, second.value]
assert report["operations"][-1]["ordinal"] == finding["sides"][1]["ordinal"]
alone = cuarray_sim.findings(history=False)
ordinals = [[operation["ordinal"] for operation in each["operations"]] for each in (report, alone)]
assert ordinals[1] == [side["ordinal"] for side in finding["sides"]] and set(ordinals[1]) < set(ordinals[0])
assert alone["forgotten"] == report["forgotten"] + len(ordinals[0]) - 2
assert [alone["lanes"][side["lane"]]["handle"] for side in alone["findings"][0]["sides"]] == [first.value, second.value]
text = cuarray_sim.report()
assert text.startswith("[1] data-race: stream 2 writes 64 bytes that stream 1 writes") and "missing: record an event on stream 1" in text
assert cuarray_sim.report("coloured").startswith("\\x1b[")
cuarray_sim.clear_findings()
assert cuarray_sim.findings()["findings"] == [] and cuarray_sim.report() == ""
print("done")
"""
    )
    assert out == "done\n"


def test_dropped_ordering_call_gives_a_race(passes: Passes) -> None:
    passes(
        PROGRAM
        + """
for nth, expected in [(0, []), (1, ["data-race"]), (2, ["data-race"]), (3, [])]:
    call("cuCtxSynchronize")
    cuarray_sim.clear_findings()
    cuarray_sim.drop_ordering(nth)
    write(first); order(); write(second)
    assert cuarray_sim.ordering_calls() == 2
    assert kinds() == expected, (nth, kinds())
"""
    )


def test_drop_ordering_counts_only_calls_of_the_given_library(passes: Passes) -> None:
    passes(
        PROGRAM
        + """
import cuarray
cuarray_sim.drop_ordering(1, library="cuarray")
write(first); order(); write(second)
assert cuarray_sim.ordering_calls() == 0 and kinds() == []
cuarray_sim.drop_ordering(1, library="ctypes")
call("cuCtxSynchronize")
assert cuarray_sim.ordering_calls() == 1
class Producer:
    __cuda_array_interface__ = {"shape": (16,), "typestr": "<f4", "data": (memory.value, False), "version": 3, "stream": first.value}
for nth, expected in [(0, []), (1, ["data-race"])]:
    cuarray_sim.drop_ordering(0)
    call("cuCtxSynchronize")
    cuarray_sim.clear_findings()
    cuarray_sim.drop_ordering(nth, library="cuarray")
    write(first)
    # The import waits for the stream in the dictionary.
    cuarray.as_cuda_array(Producer())
    assert cuarray_sim.ordering_calls() > 0
    write(second)
    assert kinds() == expected, kinds()
"""
    )


def test_negative_call_number_and_missing_driver_are_errors(passes: Passes) -> None:
    with pytest.raises(ValueError, match="nth is -1"):
        cuarray_sim.drop_ordering(-1)
    out = passes("import cuarray_sim\ntry: cuarray_sim.findings()\nexcept RuntimeError as error: print(error)")
    assert "not installed in this process" in out


def test_leaks_are_returned_on_request_and_can_be_off(passes: Passes) -> None:
    program = PROGRAM + "print(len([f for f in cuarray_sim.findings(leaks=True)['findings'] if f['kind'] == 'leak']))"
    # Leaks are merged by line: one line creates all handles, another the memory.
    assert int(passes(program)) >= 2
    assert int(passes(program, CUARRAY_SIM_LEAKS="0")) == 0


def test_no_finding_with_findings_setting_off(passes: Passes) -> None:
    passes(PROGRAM + "write(first); write(second); assert kinds() == []", CUARRAY_SIM_FINDINGS="0")


def test_hand_over_orders_threads_under_host_order_driver(passes: Passes) -> None:
    program = (
        PROGRAM
        + """
import sys, threading
hand_over = "hand" in sys.argv
def work():
    if hand_over: cuarray_sim.take_over(1)
    call("cuCtxPushCurrent_v2", context)
    write(second)
context = ctypes.c_void_p(); call("cuCtxGetCurrent", ctypes.byref(context))
write(first)
call("cuStreamSynchronize", first)
if hand_over: cuarray_sim.hand_over(1)
thread = threading.Thread(target=work); thread.start(); thread.join()
print(*kinds())
"""
    )
    assert passes(program).split() == []
    assert passes(program, CUARRAY_SIM_HOST_ORDER="driver").split() == ["data-race"]
    assert passes(program, "hand", CUARRAY_SIM_HOST_ORDER="driver").split() == []


@pytest.mark.parametrize("name", ["report.txt", "report.json"])
def test_findings_are_written_to_report_file_at_exit(passes: Passes, tmp_path: Path, name: str) -> None:
    passes(PROGRAM + "write(first); write(second)", CUARRAY_SIM_REPORT=name, CUARRAY_SIM_LEAKS="1")
    text = (tmp_path / name).read_text()
    if name.endswith("json"):
        kinds = [finding["kind"] for finding in json.loads(text)["findings"]]
        assert kinds[0] == "data-race"
        assert "leak" in kinds
    else:
        assert text.startswith("[1] data-race: stream 2 writes 64 bytes")


PROGRAM_IN_C = """
typedef unsigned long long ptr; typedef void *handle;
extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(handle *, int), cuCtxPushCurrent_v2(handle), cuStreamCreate(handle *, unsigned);
extern int cuMemAlloc_v2(ptr *, unsigned long), cuMemsetD8Async(ptr, unsigned char, unsigned long, handle);
int main(int count, char **arguments) {
    handle context, streams[2]; ptr memory;
    cuInit(0); cuDevicePrimaryCtxRetain(&context, 0); cuCtxPushCurrent_v2(context);
    cuMemAlloc_v2(&memory, 64);
    for (int i = 0; i < 2; i++) {
        cuStreamCreate(&streams[i], 0);
        cuMemsetD8Async(memory, 1, 64, streams[count > 1 ? 0 : i]);
    }
    return 0;
}
"""


def test_c_program_prints_its_findings_at_exit(tmp_path: Path, environment: dict[str, str]) -> None:
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM_IN_C)
    library = cuarray_sim.library_path()
    compiled = subprocess.run(
        ["cc", "-w", "-o", str(program), str(source), str(library), f"-Wl,-rpath,{library.parent}"], capture_output=True
    )
    if compiled.returncode != 0:
        pytest.skip("no working C compiler on this machine")
    environment = environment | {"CUARRAY_SIM_LEAKS": "0"}
    racing = subprocess.run([str(program)], env=environment, capture_output=True, text=True, timeout=60)
    assert racing.returncode == 0
    assert racing.stderr.startswith("[1] data-race: stream 2 writes 64 bytes"), racing.stderr
    assert f"{program}+0x" in racing.stderr
    clean = subprocess.run([str(program), "one"], env=environment, capture_output=True, text=True, timeout=60)
    assert clean.stderr == ""
