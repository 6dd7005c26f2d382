"""The order of work between libraries: on the simulated driver by findings, on a GPU by values behind a busy stream."""

from __future__ import annotations

import gc
from typing import Any

from cuarray.check import parts
from cuarray.check.clauses import Level
from cuarray.check.registry import check
from cuarray.check.trial import Trial

COUNT = 1024
NBYTES = 4 * COUNT

_COVERS = (
    "Export the stream that the last work was enqueued in, or make the exported stream wait for an event of that work; without any "
    "stream to name, wait for the work before the export."
)
_WAITS = (
    "Before the first access, synchronize with the exported stream, or make the working stream wait for an event in it."
)
_BACK = (
    "After the last access, record an event in the working stream and make the exported stream wait for it; or return only when the "
    "work is done."
)


def _stream(trial: Trial, which: str) -> Any:
    """Return a stream of the library or of the kit, or the number of a default stream."""
    return {"legacy": 1, "per-thread": 2}.get(which) or trial.parts.stream()


def _expect_new(trial: Trial, elements: bytes, expected: bytes, message: str) -> None:
    trial.expect(elements == expected, f"{message}: read {elements[:8].hex(' ')}, expected {expected[:8].hex(' ')}")


@check("P1", "producer ordering", needs="pending read", known="D17", advice=_COVERS)
def exported_stream_covers_work_without_a_stream(trial: Trial) -> None:
    """A consumer that waits for the exported stream sees work that the library enqueued by itself."""
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected))
    elements = trial.parts.read_by_the_text(array)
    _expect_new(trial, elements, expected, "the consumer reads before the work is done")


@check("P1", "producer ordering streams", needs="pending new_stream", known="D4", advice=_COVERS)
def exported_stream_covers_work_in_the_arrays_stream(trial: Trial) -> None:
    """A consumer that waits for the exported stream sees work in the stream that the array was made for."""
    stream = trial.lib.new_stream()
    trial.parts.hold(stream)
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected), stream=stream)
    elements = trial.parts.read_by_the_text(array)
    _expect_new(trial, elements, expected, "the consumer reads before the work is done")


@check("P1", "producer ordering streams", needs="make write new_stream", known="D4", advice=_COVERS)
def exported_stream_covers_work_in_another_stream(trial: Trial) -> None:
    """A consumer that waits for the exported stream sees work in a stream other than the one that the array was made for."""
    array = trial.lib.make((COUNT,), "<f4", stream=trial.lib.new_stream())
    other = trial.lib.new_stream()
    trial.parts.hold(other)
    expected = trial.parts.pattern(NBYTES)
    trial.lib.write(array, trial.parts.values(expected), stream=other)
    elements = trial.parts.read_by_the_text(array)
    _expect_new(trial, elements, expected, "the consumer reads before the work is done")


@check("P1", "producer ordering streams", needs="make write new_stream", known="D17", advice=_COVERS)
def work_on_an_array_without_a_stream_is_exported(trial: Trial) -> None:
    """A consumer that waits for the exported stream sees work in a stream of the user on an array without one."""
    array = trial.lib.make((COUNT,), "<f4")
    stream = trial.lib.new_stream()
    trial.parts.hold(stream)
    expected = trial.parts.pattern(NBYTES)
    trial.lib.write(array, trial.parts.values(expected), stream=stream)
    elements = trial.parts.read_by_the_text(array)
    _expect_new(trial, elements, expected, "the consumer reads before the work is done")


@check("P2", "producer ordering streams", needs="make write read new_stream", known="D4", advice=_COVERS)
def exported_stream_covers_work_in_two_streams(trial: Trial) -> None:
    """A consumer that waits for the exported stream sees the last of two writes, in two streams that the user has ordered."""
    array = trial.lib.make((COUNT,), "<f4", stream=trial.lib.new_stream())
    first, second = trial.lib.new_stream(), trial.lib.new_stream()
    trial.parts.hold(first)
    trial.lib.write(array, trial.parts.values(trial.parts.pattern(NBYTES)), stream=first)
    trial.parts.wait(second, first)
    expected = trial.parts.pattern(NBYTES, 2)
    trial.lib.write(array, trial.parts.values(expected), stream=second)
    elements = trial.parts.read_by_the_text(array)
    _expect_new(trial, elements, expected, "the consumer reads before the work is done")


@check(
    "P3",
    "producer",
    needs="make read write",
    level=Level.SHOULD,
    advice="Export None once the work is done, so that consumers need not wait.",
)
def stream_is_none_without_pending_work(trial: Trial) -> None:
    """An array that was made without a stream exports no stream after its work is done."""
    array = trial.array((COUNT,), "<f4", trial.parts.pattern(NBYTES))
    seen = trial.interface(array).get("stream")
    trial.expect(seen is None, f"the stream is {seen!r}, and no work is pending")


@check(
    "I11",
    "producer",
    needs="make",
    known="D2",
    advice="Export 1 for the legacy default stream, 2 for the per-thread one, and never 0.",
)
def exported_stream_is_not_zero(trial: Trial) -> None:
    """The stream of a new array is None, 1, 2 or a handle, and not 0."""
    seen = trial.interface(trial.lib.make((4,), "<f4")).get("stream")
    trial.expect(seen is None or (isinstance(seen, int) and seen > 0), f"the stream is {seen!r}")


@check("P1", "producer ordering streams", needs="make write read new_stream", advice=_COVERS)
def producers_next_work_waits_for_the_consumer(trial: Trial) -> None:
    """The library's next work in the exported stream is done after a consumer that made this stream wait."""
    stream, own = trial.lib.new_stream(), trial.parts.stream()
    array = trial.lib.make((COUNT,), "<f4", stream=stream)
    trial.lib.write(array, trial.parts.values(trial.parts.pattern(NBYTES)), stream=stream)
    exported = trial.interface(array).get("stream")
    if exported is None:
        trial.skip("the array exports no stream, so no consumer can make it wait")
    trial.parts.wait(own, exported)
    trial.parts.hold(own)
    trial.parts.fill(array, 5, NBYTES, own)
    trial.parts.wait(exported, own)
    expected = trial.parts.pattern(NBYTES, 3)
    trial.lib.write(array, trial.parts.values(expected), stream=stream)
    elements = trial.lib.read(array, stream=stream)
    _expect_new(trial, elements, expected, "the consumer's work ran after the library's next work")


@check(
    "S2",
    "consumer ordering",
    needs="import_ read",
    known="D16",
    cases={each: each for each in ("handle", "legacy", "per-thread")},
    advice=_WAITS,
)
def import_waits_for_the_exported_stream(trial: Trial, which: str) -> None:
    """A library that imports an array reads it after the work in the exported stream ({case})."""
    memory = trial.parts.memory(bytes(NBYTES))
    stream = _stream(trial, which)
    trial.parts.hold(stream)
    trial.parts.fill(memory, 7, NBYTES, stream)
    imported = trial.lib.import_(trial.parts.foreign(memory, (COUNT,), "<f4", stream=stream))
    elements = trial.lib.read(imported)
    _expect_new(trial, elements, bytes([7]) * NBYTES, "the import did not wait")


@check(
    "S2",
    "consumer ordering streams",
    needs="import_ read new_stream",
    known="D16",
    cases={each: each for each in ("handle", "legacy", "per-thread")},
    advice=_WAITS,
)
def work_in_another_stream_waits_for_the_exported_stream(trial: Trial, which: str) -> None:
    """A read of an import in a stream of the library runs after the work in the exported stream ({case})."""
    memory = trial.parts.memory(bytes(NBYTES))
    stream, own = _stream(trial, which), trial.lib.new_stream()
    trial.parts.hold(stream)
    trial.parts.fill(memory, 7, NBYTES, stream)
    obj = trial.parts.foreign(memory, (COUNT,), "<f4", stream=stream)
    imported = trial.lib.import_(obj, stream=own)
    elements = trial.lib.read(imported, stream=own)
    _expect_new(trial, elements, bytes([7]) * NBYTES, "the stream of the read did not wait")


@check("S3", "consumer ordering streams", needs="import_ write new_stream", known="D18", advice=_BACK)
def exported_stream_waits_for_the_consumers_work(trial: Trial) -> None:
    """Later work in the exported stream runs after the library's work on the import in its own stream."""
    memory = trial.parts.memory(bytes(NBYTES))
    stream, own = trial.parts.stream(), trial.lib.new_stream()
    obj = trial.parts.foreign(memory, (COUNT,), "<f4", stream=stream)
    imported = trial.lib.import_(obj, stream=own)
    trial.parts.hold(own)
    expected = trial.parts.pattern(NBYTES)
    trial.lib.write(imported, trial.parts.values(expected), stream=own)
    elements = trial.parts.gather(memory, (COUNT,), None, 4, stream)
    _expect_new(trial, elements, expected, "the exported stream did not wait for the library's work")


@check("S3", "consumer ordering", needs="import_ write", known="D18", advice=_BACK)
def exported_stream_waits_for_work_without_a_stream(trial: Trial) -> None:
    """Later work in the exported stream runs after the library's work on the import."""
    memory = trial.parts.memory(bytes(NBYTES))
    stream = trial.parts.stream()
    imported = trial.lib.import_(trial.parts.foreign(memory, (COUNT,), "<f4", stream=stream))
    expected = trial.parts.pattern(NBYTES)
    trial.lib.write(imported, trial.parts.values(expected))
    elements = trial.parts.gather(memory, (COUNT,), None, 4, stream)
    _expect_new(trial, elements, expected, "the exported stream did not wait for the library's work")


@check(
    "S1",
    "consumer ordering",
    needs="import_",
    level=Level.SHOULD,
    advice="Do not synchronize the device on an import without a stream.",
)
def import_without_a_stream_waits_for_no_other_work(trial: Trial) -> None:
    """An import without a stream does not disturb a capture in another stream."""
    trial.requires("capture")
    memory = trial.parts.memory(trial.parts.pattern(NBYTES))
    stream = trial.parts.stream()
    with parts.capture(stream):
        trial.import_legal(trial.parts.foreign(memory, (COUNT,), "<f4", stream=None))


@check(
    "S2",
    "consumer ordering capture",
    needs="import_",
    known="D19",
    level=Level.SHOULD,
    advice="Ask the driver whether the exported stream captures, before a wait on the host.",
)
def capture_in_the_exported_stream_survives(trial: Trial) -> None:
    """An import from a stream that captures a graph leaves the capture valid: it works in the stream, or raises an error."""
    memory = trial.parts.memory(trial.parts.pattern(NBYTES))
    stream = trial.parts.stream()
    obj = trial.parts.foreign(memory, (COUNT,), "<f4", stream=stream)
    try:
        with parts.capture(stream):
            trial.refusal(obj)
    except parts.DriverError as error:
        trial.fail(f"the import invalidates the capture: {error}")


@check(
    "L2",
    "consumer ordering",
    needs="import_ write",
    level=Level.SHOULD,
    advice="Wait for pending work before the owner is released, or hold the owner until the work is done.",
)
def owner_is_released_after_pending_work(trial: Trial) -> None:
    """A library that drops an import releases the producer's object only after its own work on the memory."""
    # Memory that is freed in the order of another stream, as pools do: the free itself waits for nothing.
    memory = trial.parts.memory(bytes(NBYTES), 0, "device", trial.parts.stream())
    obj = trial.parts.foreign(memory, (COUNT,), "<f4")
    imported = trial.lib.import_(obj)
    if imported is obj:
        trial.skip("the library uses the array without an import")
    trial.lib.write(imported, trial.parts.values(trial.parts.pattern(NBYTES)))
    trial.drop(obj, memory)
    del obj, memory
    trial.drop(imported)
    del imported
    gc.collect()


@check(
    "L1",
    "producer ordering streams",
    needs="make write new_stream",
    advice="Free memory in stream order, or after the work is done.",
)
def memory_is_released_after_pending_work(trial: Trial) -> None:
    """An array that is dropped while work on it is pending keeps its memory until the work is done."""
    stream = trial.lib.new_stream()
    array = trial.lib.make((COUNT,), "<f4", stream=stream)
    trial.parts.hold(stream)
    trial.lib.write(array, trial.parts.values(trial.parts.pattern(NBYTES)), stream=stream)
    trial.lib.close(array)
    trial.drop(array)
    del array
    gc.collect()
