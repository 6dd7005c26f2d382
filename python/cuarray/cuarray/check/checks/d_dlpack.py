"""DLPack: the same questions as for the dictionary."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from cuarray.check import parts
from cuarray.check.clauses import Level
from cuarray.check.registry import check
from cuarray.check.tensors import CUDA, CUDA_HOST, CUDA_MANAGED, READ_ONLY, ROCM, Capsule
from cuarray.check.trial import Trial, said

COUNT = 1024
NBYTES = 4 * COUNT
VERSIONED = (1, 0)

_CONSUMES = (
    "Rename the capsule before the tensor is used, and call its deleter once, when the last array over it is gone."
)


def _array(trial: Trial, *arguments: Any, **layout: Any) -> Any:
    return trial.expect_dlpack(trial.lib.make(*arguments, **layout))


@check("DL1", "producer dlpack", needs="make", advice="Return (2, number) for device memory.")
def device_is_a_pair_of_integers(trial: Trial) -> None:
    """`__dlpack_device__` returns the kind of memory and the number of the device."""
    seen = _array(trial, (4,), "<f4").__dlpack_device__()
    pair = isinstance(seen, tuple) and len(seen) == 2 and all(isinstance(each, int) for each in seen)
    trial.expect(pair and seen[0] in (CUDA, CUDA_HOST, CUDA_MANAGED), f"__dlpack_device__() returns {seen!r}")


@check(
    "DL2", "producer dlpack", needs="make", advice="Return 'dltensor_versioned' only for max_version (1, 0) or later."
)
def capsule_without_max_version_is_a_dltensor(trial: Trial) -> None:
    """Without `max_version` the capsule is an unversioned one, as consumers before DLPack 1.0 expect."""
    array = _array(trial, (2, 3), "<f4")
    name = Capsule(trial.dlpack(array)).name
    trial.expect(name == "dltensor", f"the capsule's name is {name!r}")


@check(
    "DL2",
    "producer dlpack dlpack-versioned",
    needs="make",
    level=Level.SHOULD,
    advice="Export a versioned tensor if the consumer reads it.",
)
def capsule_for_version_1_is_versioned(trial: Trial) -> None:
    """With `max_version=(1, 0)` the capsule is a versioned one of major version 1."""
    array = _array(trial, (2, 3), "<f4")
    capsule = Capsule(trial.dlpack(array, max_version=VERSIONED))
    trial.expect(capsule.name == "dltensor_versioned", f"the capsule's name is {capsule.name!r}")
    trial.expect(capsule.version[0] == 1, f"the version is {capsule.version}", Level.MUST)


@check(
    "DL2",
    "producer dlpack",
    needs="make read write",
    cases={"C-order": (16, 4), "F-order": (4, 12), "sliced": (32, 8)},
    advice="Export strides in elements, and the address of the first element as data plus byte_offset.",
)
def consumer_reads_the_tensors_elements(trial: Trial, strides: tuple[int, int]) -> None:
    """A consumer of the tensor ({case}) reads the elements that the library wrote."""
    if strides != (16, 4):
        trial.requires("strides")
    expected = trial.parts.pattern(48)
    array = trial.array((3, 4), "<f4", expected, strides=strides)
    trial.expect_dlpack(array)
    capsule = Capsule(trial.dlpack(array))
    trial.expect(capsule.shape == (3, 4), f"the shape is {capsule.shape}")
    dtype = capsule.tensor.dtype
    trial.expect((dtype.code, dtype.bits, dtype.lanes) == (2, 32, 1), f"the type is {dtype.code}, {dtype.bits} bits")
    elements = capsule.read(trial.parts.stream())
    trial.expect(elements == expected, f"read {elements[:16].hex(' ')} in place of {expected[:16].hex(' ')}")


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
    array = _array(trial, (4,), "<f4")
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
    array = _array(trial, (4,), "<f4")
    stream = trial.parts.stream()
    try:
        with parts.capture(stream):
            trial.dlpack(array, stream=-1)
    except parts.DriverError as error:
        trial.fail(f"the export invalidates the capture: {error}")


@check(
    "DL4",
    "producer dlpack dlpack-versioned",
    needs="make",
    level=Level.SHOULD,
    advice="Raise BufferError for a device that the array is not on.",
)
def unknown_device_is_a_buffer_error(trial: Trial) -> None:
    """A request for a device of another kind is a `BufferError`."""
    array = _array(trial, (4,), "<f4")
    try:
        trial.dlpack(array, max_version=VERSIONED, dl_device=(ROCM, 0))
    except BufferError:
        return
    except Exception as error:
        trial.fail(f"the request raises {said(error)}, no BufferError")
    trial.fail("the request for a ROCm device returns a tensor", Level.MUST)


@check(
    "DL4",
    "producer dlpack dlpack-versioned",
    needs="make",
    advice="Copy for copy=True, do not for copy=False, and raise BufferError if that is impossible.",
)
def copy_flag_is_honoured(trial: Trial) -> None:
    """With `copy=True` the tensor has its own memory, and with `copy=False` it has the array's; else a `BufferError`."""
    array = _array(trial, (64,), "<f4")
    shared = Capsule(trial.dlpack(array, max_version=VERSIONED, copy=False))
    try:
        copied = Capsule(trial.dlpack(array, max_version=VERSIONED, copy=True))
    except BufferError:
        return
    trial.expect(copied.pointer != shared.pointer, "the tensor of copy=True shares the array's memory")


@check(
    "DL5",
    "producer dlpack dlpack-versioned read-only",
    needs="make",
    known="D21",
    advice="Set DLPACK_FLAG_BITMASK_READ_ONLY.",
)
def read_only_array_has_the_tensor_flag(trial: Trial) -> None:
    """The tensor of a read-only array has the flag, and of a writable one it does not."""
    array = _array(trial, (4,), "<f4", readonly=True)
    flags = Capsule(trial.dlpack(array, max_version=VERSIONED)).flags
    trial.expect(bool(flags & READ_ONLY), "the tensor of a read-only array is writable")
    writable = Capsule(trial.dlpack(_array(trial, (4,), "<f4"), max_version=VERSIONED))
    trial.expect(not writable.flags & READ_ONLY, "the tensor of a writable array is read-only")


@check(
    "DL5",
    "producer dlpack read-only",
    needs="make",
    level=Level.SHOULD,
    known="D21",
    advice="Raise BufferError: an unversioned tensor has no flag.",
)
def read_only_array_is_not_exported_unversioned(trial: Trial) -> None:
    """A read-only array is not exported as an unversioned tensor, which consumers write to."""
    array = _array(trial, (4,), "<f4", readonly=True)
    try:
        trial.dlpack(array)
    except Exception:
        return
    trial.fail("the unversioned tensor of a read-only array has no flag")


def _alive(trial: Trial, array: Any) -> Any:
    try:
        return weakref.ref(array)
    except TypeError:
        trial.skip(f"a {type(array).__name__} takes no weak reference")


@check(
    "DL7",
    "producer dlpack",
    needs="make",
    advice="Give the capsule a destructor that calls the deleter if the name is unchanged.",
)
def unconsumed_capsule_releases_the_array(trial: Trial) -> None:
    """A capsule that no consumer takes releases the array."""
    array = _array(trial, (4,), "<f4")
    alive = _alive(trial, array)
    capsule = trial.dlpack(array)
    trial.drop(capsule, array)
    del capsule, array
    gc.collect()
    trial.expect(alive() is None, "the array is never released: a leak")


@check(
    "DL6",
    "producer dlpack",
    needs="make read write",
    advice="Let the tensor own the memory until its deleter is called.",
)
def tensor_keeps_the_memory_until_its_deleter(trial: Trial) -> None:
    """A consumed tensor keeps the memory after the array is gone, and its deleter may be called once."""
    expected = trial.parts.pattern(NBYTES)
    array = trial.array((COUNT,), "<f4", expected)
    trial.expect_dlpack(array)
    consumer = Capsule(trial.dlpack(array))
    consumer.consume()
    trial.drop(array)
    del array
    consumer.capsule = None
    gc.collect()
    elements = consumer.read(trial.parts.stream())
    trial.expect(elements == expected, "the memory is gone before the deleter is called")
    consumer.delete()


@check("DL6", "consumer dlpack", needs="from_dlpack", cases={"versioned": False, "unversioned": True}, advice=_CONSUMES)
def consumer_renames_the_capsule_and_deletes_once(trial: Trial, legacy: bool) -> None:
    """An import of a tensor ({case}) renames its capsule, and calls the deleter once, after the last array."""
    if not legacy:
        trial.requires("dlpack-versioned")
    tensor = trial.parts.tensor(trial.parts.memory(trial.parts.pattern(24)), (2, 3), legacy=legacy)
    imported = trial.lib.from_dlpack(tensor)
    trial.expect(tensor.capsule_name.startswith("used_"), f"the capsule's name is still {tensor.capsule_name!r}")
    gc.collect()
    trial.expect(tensor.deleted == 0, "the deleter is called while the import lives")
    trial.lib.close(imported)
    trial.drop(imported)
    del imported
    gc.collect()
    trial.expect(tensor.deleted == 1, f"the deleter is called {tensor.deleted} times")


_TENSORS: dict[str, dict[str, Any]] = {
    "versioned": {"legacy": False},
    "unversioned": {"legacy": True},
    "null-strides": {"legacy": True, "null_strides": True},
    # Versioned for a consumer that asks for version 1.0, and unversioned for the others.
    "byte-offset": {"offset": 16},
    "F-order": {"strides": (1, 2)},
}


@check(
    "DL8",
    "consumer dlpack",
    needs="from_dlpack",
    cases=_TENSORS,
    advice="Read strides in elements, null as compact, and add byte_offset to data.",
)
def tensor_is_imported(trial: Trial, fields: dict[str, Any]) -> None:
    """An import reads the elements of a tensor ({case})."""
    if fields.get("legacy") is False:
        trial.requires("dlpack-versioned")
    if "strides" in fields:
        trial.requires("strides")
    data = trial.parts.pattern(64)
    tensor = trial.parts.tensor(trial.parts.memory(data), (2, 3), **fields)
    imported = trial.lib.from_dlpack(tensor)
    offset = fields.get("offset", 0)
    expected = data[offset : offset + 24]
    if "strides" in fields:
        expected = b"".join(data[4 * at : 4 * at + 4] for at in (0, 2, 4, 1, 3, 5))
    if trial.adapter.offers("pointer"):
        pointer, first = trial.lib.pointer(imported), tensor.owner.pointer + offset
        trial.expect(pointer == first, f"the import is at {pointer:#x}, and the tensor at {first:#x}")
    if trial.adapter.offers("read"):
        elements = trial.lib.read(imported)
        trial.expect(elements == expected, f"the import reads {elements.hex(' ')} in place of {expected.hex(' ')}")


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
    "DL5",
    "consumer dlpack dlpack-versioned",
    needs="from_dlpack",
    known="D21",
    level=Level.SHOULD,
    advice="Keep the flag, or refuse the tensor.",
)
def read_only_tensor_stays_read_only(trial: Trial) -> None:
    """An import of a read-only tensor is read-only, or is refused."""
    tensor = trial.parts.tensor(trial.parts.memory(bytes(24)), (2, 3), flags=READ_ONLY)
    try:
        imported = trial.lib.from_dlpack(tensor)
    except BufferError:
        return
    entries = getattr(imported, "__cuda_array_interface__", None)
    if entries is None:
        trial.skip("the import has no __cuda_array_interface__")
    trial.expect(entries["data"][1] is True, "the import exports the array as writable")


@check(
    "DL4",
    "consumer dlpack dlpack-versioned",
    needs="from_dlpack",
    level=Level.SHOULD,
    cases={"version-2": {"version": (2, 0)}, "rocm": {"device": (ROCM, 0)}},
    advice="Check the major version and the device before the tensor is used; call the deleter, and raise BufferError.",
)
def unreadable_tensor_is_refused_and_deleted(trial: Trial, fields: dict[str, Any]) -> None:
    """A tensor that cannot be read ({case}) is an error, and its deleter is called at most once."""
    tensor = trial.parts.tensor(trial.parts.memory(bytes(24)), (2, 3), **fields)
    try:
        trial.lib.from_dlpack(tensor)
    except Exception:
        gc.collect()
        trial.expect(tensor.deleted <= 1, f"the deleter is called {tensor.deleted} times", Level.MUST)
        return
    trial.fail(f"the import accepts a tensor with {fields}")
