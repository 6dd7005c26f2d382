"""The order of work between libraries that exchange tensors: the stream that a consumer gives, and its producer orders."""

from __future__ import annotations

from typing import Any

from cuarray.check import parts
from cuarray.check.clauses import Level
from cuarray.check.registry import check
from cuarray.check.tensors import Capsule
from cuarray.check.trial import Trial

COUNT = 1024
NBYTES = 4 * COUNT

_STREAMS = {"handle": "handle", "legacy": 1, "per-thread": 2, "None": None}


_GIVEN = "Make the given stream wait for all pending work on the array; None is the legacy default stream."


def _given_stream(trial: Trial, array: Any, expected: bytes, which: Any) -> None:
    """Read a tensor in the stream that was given to its producer."""
    trial.expect_dlpack(array)
    own: Any = trial.parts.stream() if which == "handle" else which or 1
    try:
        capsule = Capsule(trial.dlpack(array, stream=own.handle if which == "handle" else which))
    except BufferError as error:
        trial.fail(f"the stream is refused: {error}", Level.SHOULD)
    elements = capsule.read(own)
    trial.expect(elements == expected, "the consumer's stream reads before the work is done")


@check("DL3", "producer dlpack ordering", needs="pending", cases=_STREAMS, advice=_GIVEN)
def given_stream_is_ordered_after_pending_work(trial: Trial, which: Any) -> None:
    """A consumer that works in the stream that it gave ({case}) sees work that the library enqueued by itself."""
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected))
    _given_stream(trial, array, expected, which)


@check("DL3", "producer dlpack ordering streams", needs="pending new_stream", known="D4", cases=_STREAMS, advice=_GIVEN)
def given_stream_is_ordered_after_work_in_another_stream(trial: Trial, which: Any) -> None:
    """A consumer that works in the stream that it gave ({case}) sees the library's work in a stream of the user."""
    stream = trial.lib.new_stream()
    trial.parts.hold(stream)
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected), stream=stream)
    _given_stream(trial, array, expected, which)


@check(
    "DL3", "producer dlpack", needs="make", level=Level.SHOULD, advice="Raise ValueError or BufferError for stream 0."
)
def stream_zero_is_refused(trial: Trial) -> None:
    """The stream 0, which is disallowed, is an error."""
    array = trial.exporter((4,), "<f4")
    try:
        trial.dlpack(array, stream=0)
    except Exception:
        return
    trial.fail("the stream 0 is accepted")


@check(
    "DL3", "producer dlpack capture", needs="make", level=Level.SHOULD, known="D19", advice="Do nothing for stream -1."
)
def stream_minus_one_makes_no_driver_call_that_waits(trial: Trial) -> None:
    """With the stream -1 the export leaves a capture valid: it does not synchronize."""
    array = trial.exporter((4,), "<f4")
    stream = trial.parts.stream()
    try:
        with parts.capture(stream):
            trial.dlpack(array, stream=-1)
    except parts.DriverError as error:
        trial.fail(f"the export invalidates the capture: {error}")


@check(
    "DL3",
    "consumer dlpack ordering",
    needs="from_dlpack read",
    known="D16",
    advice="Pass the stream in which the import is used to __dlpack__.",
)
def import_asks_for_the_stream_that_it_works_in(trial: Trial) -> None:
    """A read of an imported tensor runs after the producer's work, which the producer ordered before the given stream."""
    memory, stream = trial.parts.memory(bytes(NBYTES)), trial.parts.stream()
    trial.parts.hold(stream)
    trial.parts.fill(memory, 7, NBYTES, stream)
    imported = trial.lib.from_dlpack(trial.parts.tensor(memory, (COUNT,), pending=stream))
    elements = trial.lib.read(imported)
    trial.expect(elements == bytes([7]) * NBYTES, "the import reads before the producer's work is done")


@check(
    "DL3",
    "consumer dlpack ordering streams",
    needs="from_dlpack read new_stream",
    known="D16",
    advice="Pass the stream in which the import is used to __dlpack__.",
)
def import_for_a_stream_asks_for_that_stream(trial: Trial) -> None:
    """A read of a tensor that was imported for a stream of the library runs after the producer's work."""
    memory, stream, own = trial.parts.memory(bytes(NBYTES)), trial.parts.stream(), trial.lib.new_stream()
    trial.parts.hold(stream)
    trial.parts.fill(memory, 7, NBYTES, stream)
    imported = trial.lib.from_dlpack(trial.parts.tensor(memory, (COUNT,), pending=stream), stream=own)
    elements = trial.lib.read(imported, stream=own)
    trial.expect(elements == bytes([7]) * NBYTES, "the import reads before the producer's work is done")


@check(
    "DL3",
    "consumer dlpack",
    needs="from_dlpack",
    known="D2",
    advice="Pass 1 for the legacy default stream, 2 for the per-thread one, a handle, or -1; and never 0.",
)
def import_asks_for_no_stream_zero(trial: Trial) -> None:
    """An import asks for the stream None, -1, 1, 2 or a handle, and not for 0, which is disallowed."""
    tensor = trial.parts.tensor(trial.parts.memory(bytes(24)), (2, 3))
    trial.lib.from_dlpack(tensor)
    for request in tensor.requests:
        stream = request.get("stream")
        legal = stream is None or (isinstance(stream, int) and (stream == -1 or stream > 0))
        trial.expect(legal, f"the import asks for the stream {stream!r}")
