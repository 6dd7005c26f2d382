"""One library as the producer, and another as the consumer: layouts, types, order of work and lifetime."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

from cuarray.check import parts
from cuarray.check.adapter import NotClaimed, known_reason
from cuarray.check.cases import BROADCAST, FURTHER, LAYOUTS, PLAIN, REVERSED, Layout, layout_part
from cuarray.check.clauses import Level
from cuarray.check.registry import check
from cuarray.check.trial import Trial, said

COUNT = 1024
NBYTES = 4 * COUNT
_BOTH = "producer consumer"
_ORDER = "producer consumer ordering"


def _import(trial: Trial, array: Any, level: Level = Level.SHOULD, **options: Any) -> Any:
    """Import the producer's array; a refusal is no silent error."""
    try:
        return trial.consumer.import_(array, **options)
    except NotClaimed:
        raise
    except Exception as error:
        trial.fail(f"the consumer refuses the array: {said(error)}", level, _reason(trial, array))


def _reason(trial: Trial, array: Any) -> str | None:
    """Return the known difference behind a refusal: without it, the consumer imports the same memory."""
    try:
        entries = dict(array.__cuda_array_interface__)
    except Exception:
        return None
    for reason, without in _differences(trial, entries):
        try:
            trial.consuming.function("import_")(parts.Foreign(without, array))
        except Exception:
            continue
        return reason
    return None


def _differences(trial: Trial, entries: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each difference that an adapter names, and the dictionary without it."""
    producer, consumer = trial.adapter, trial.consuming
    # An object of the kit without __dlpack__.
    minus_one = known_reason(producer.known, "DL3.stream-minus-one-makes-no-driver-call-that-waits")
    if minus_one:
        yield f"{producer.name}: {minus_one}", entries
    version = entries.get("version")
    if isinstance(version, int) and version < 3:
        older = consumer.not_claimed.get("old-versions") or known_reason(
            consumer.known, f"I7.older-version-is-read.{version}"
        )
        if older:
            yield f"{consumer.name}: {older}", {**entries, "version": 3}
    if entries["data"][1] and "read-only" in consumer.not_claimed:
        yield f"{consumer.name}: {consumer.not_claimed['read-only']}", {**entries, "data": (entries["data"][0], False)}


def _same_memory(trial: Trial, array: Any, imported: Any) -> None:
    if trial.adapter.offers("pointer") and trial.consuming.offers("pointer"):
        first, second = trial.lib.pointer(array), trial.consumer.pointer(imported)
        trial.expect(first == second, f"the import is at {second:#x}, and the array at {first:#x}: a copy")


@check(
    "I8",
    _BOTH,
    needs="make",
    consumer="import_ read",
    cases={**LAYOUTS, **REVERSED, **BROADCAST},
    of_producer="I8.layout-is-exported.{case} I8.reversed-layout-is-exported.{case} I8.broadcast-layout-is-exported.{case} "
    "I8.consumer-reads-the-elements.{case}",
    of_consumer="I8.layout-is-imported.{case}",
)
def pair_keeps_the_layout(trial: Trial, layout: Layout) -> None:
    """The consumer reads the producer's array ({case}) in the right order, without a copy."""
    shape, strides = layout
    part = layout_part(shape, strides)
    if part is not None:
        trial.requires(part)
    array = trial.lib.make(shape, "<f4", strides=strides)
    first, end = parts.extent(shape, strides, 4)
    data = trial.parts.pattern(end - first)
    # The kit writes the elements, because not every library writes strided arrays.
    parts.write_bytes(trial.interface(array)["data"][0] + first, data)
    expected = b"".join(data[at - first : at - first + 4] for at in parts.offsets(shape, strides))
    imported = _import(trial, array)
    _same_memory(trial, array, imported)
    elements = trial.consumer.read(imported)
    trial.expect(
        elements == expected, f"the consumer reads {elements[:16].hex(' ')} in place of {expected[:16].hex(' ')}"
    )


@check(
    "I3",
    _BOTH,
    needs="make write",
    consumer="import_ read",
    cases={**PLAIN, **FURTHER},
    of_producer="I3.typestr-names-the-type.{case} I3.typestr-names-a-further-type.{case} I3.elements-have-the-exported-type.{case}",
    of_consumer="I3.type-is-imported.{case}",
)
def pair_keeps_the_elements(trial: Trial, typestr: str) -> None:
    """The consumer reads the elements of {case} that the producer wrote."""
    if typestr in FURTHER.values():
        trial.requires("types")
    size = parts.size_of(typestr)
    expected = bytes(index % 2 for index in range(4)) if typestr == "|b1" else trial.parts.pattern(4 * size)
    array = trial.lib.pending((4,), typestr, trial.parts.values(expected))
    if trial.adapter.offers("read"):
        trial.lib.read(array)
    imported = _import(trial, array)
    elements = trial.consumer.read(imported)
    trial.expect(elements == expected, f"the consumer reads {elements.hex(' ')} in place of {expected.hex(' ')}")


@check(
    "I5",
    "producer consumer zero-size",
    needs="make",
    consumer="import_ read",
    cases={"0": (0,), "0x3": (0, 3)},
    known="D13",
    of_producer="I5.zero-size-array-has-pointer-zero.{case}",
    of_consumer="I5.zero-size-array-is-imported.{case} I5.zero-size-array-is-imported.strided",
)
def pair_keeps_zero_size(trial: Trial, shape: tuple[int, ...]) -> None:
    """The consumer imports an array of shape {case}."""
    imported = _import(trial, trial.lib.make(shape, "<f4"))
    elements = trial.consumer.read(imported)
    trial.expect(elements == b"", f"the consumer reads {len(elements)} bytes")


@check(
    "I4",
    _BOTH,
    needs="make",
    consumer="import_",
    known="D21",
    level=Level.SHOULD,
    of_producer="I4.read-only-array-has-the-flag",
    of_consumer="I4.read-only-flag-is-kept",
)
def pair_keeps_read_only(trial: Trial) -> None:
    """The consumer's import of a read-only array is read-only, or is refused."""
    trial.requires("read-only")
    array = trial.lib.make((4,), "<f4", readonly=True)
    try:
        imported = trial.consumer.import_(array)
    except Exception:
        return
    entries = getattr(imported, "__cuda_array_interface__", None)
    if entries is None or imported is array:
        trial.skip("the import has no interface of its own")
    trial.expect(entries["data"][1] is True, "the import exports the array as writable")


@check(
    "L2",
    _BOTH,
    needs="make write",
    consumer="import_ read",
    known="D23",
    level=Level.SHOULD,
    of_consumer="L2.owner-lives-as-long-as-the-import",
)
def pair_keeps_the_memory_alive(trial: Trial) -> None:
    """The consumer reads the elements after the producer's array is dropped."""
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected))
    if trial.adapter.offers("read"):
        trial.lib.read(array)
    imported = _import(trial, array)
    if imported is array:
        trial.skip("the consumer uses the array without an import")
    trial.drop(array)
    del array
    gc.collect()
    elements = trial.consumer.read(imported)
    trial.expect(elements == expected, "the memory is gone, or used again")


def _stream(trial: Trial, recorder: Any, adapter: Any) -> dict[str, Any]:
    if not adapter.offers("new_stream") or "streams" in adapter.not_claimed:
        return {}
    return {"stream": recorder.new_stream()}


#: The checks of one library that answer for the order of a pair.
_COVERS = "P1.exported-stream-covers-work-in-the-arrays-stream P1.exported-stream-covers-work-without-a-stream"
_WAITS = "S2.import-waits-for-the-exported-stream.handle S2.work-in-another-stream-waits-for-the-exported-stream.handle"


@check(
    "S2",
    _ORDER,
    needs="pending",
    consumer="import_ read",
    known="D16",
    of_producer=_COVERS,
    of_consumer=_WAITS,
)
def pair_orders_the_consumer_after_the_producer(trial: Trial) -> None:
    """The consumer reads in its own stream after the producer's work, which is pending in another stream."""
    first, second = _stream(trial, trial.lib, trial.adapter), _stream(trial, trial.consumer, trial.consuming)
    for stream in first.values():
        trial.parts.hold(stream)
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected), **first)
    imported = _import(trial, array, **second)
    elements = trial.consumer.read(imported, **second)
    trial.expect(elements == expected, "the consumer reads before the producer's work is done")


@check(
    "S2",
    _ORDER,
    needs="pending",
    consumer="import_ read",
    known="D17",
    of_producer="P1.exported-stream-covers-work-without-a-stream",
    of_consumer=_WAITS,
)
def pair_orders_work_without_streams(trial: Trial) -> None:
    """The consumer reads after the producer's work, where the user has named no stream."""
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected))
    imported = _import(trial, array)
    elements = trial.consumer.read(imported)
    trial.expect(elements == expected, "the consumer reads before the producer's work is done")


@check(
    "S3",
    _ORDER,
    needs="make write read",
    consumer="import_ write",
    known="D18",
    of_producer=f"{_COVERS} P1.producers-next-work-waits-for-the-consumer",
    of_consumer="S3.exported-stream-waits-for-the-consumers-work",
)
def pair_orders_the_producer_after_the_consumer(trial: Trial) -> None:
    """The producer's later read in its stream runs after the consumer's write in its own stream."""
    first, second = _stream(trial, trial.lib, trial.adapter), _stream(trial, trial.consumer, trial.consuming)
    array = trial.lib.make((COUNT,), "<f4", **first)
    trial.lib.write(array, trial.parts.values(trial.parts.pattern(NBYTES)), **first)
    imported = _import(trial, array, **second)
    for stream in second.values():
        trial.parts.hold(stream)
    expected = trial.parts.pattern(NBYTES, 2)
    trial.consumer.write(imported, trial.parts.values(expected), **second)
    elements = trial.lib.read(array, **first)
    trial.expect(elements == expected, "the producer reads before the consumer's work is done")


@check(
    "DL3",
    "producer consumer ordering dlpack",
    needs="pending",
    consumer="from_dlpack read",
    known="D16",
    of_producer="DL3.given-stream-is-ordered-after-pending-work.handle "
    "DL3.given-stream-is-ordered-after-work-in-another-stream.handle",
    of_consumer="DL3.import-asks-for-the-stream-that-it-works-in DL3.import-for-a-stream-asks-for-that-stream",
)
def pair_orders_a_tensor(trial: Trial) -> None:
    """The consumer reads a tensor of the producer in its own stream after the producer's work."""
    first, second = _stream(trial, trial.lib, trial.adapter), _stream(trial, trial.consumer, trial.consuming)
    for stream in first.values():
        trial.parts.hold(stream)
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected), **first)
    imported = trial.consumer.from_dlpack(array, **second)
    elements = trial.consumer.read(imported, **second)
    trial.expect(elements == expected, "the consumer reads before the producer's work is done")
