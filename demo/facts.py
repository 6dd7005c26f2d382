"""The facts that must hold for every exchange. Each is a function that raises `AssertionError` with the actual value.

The CUDA Array Interface promises these facts. No copy is made, and both sides see the same elements and each other's writes. The
memory lives as long as an array holds it and no longer. A consumer reads only after the pending work of the producer's stream. The
demo counts the facts; the tests in `tests/interop` assert them."""

import gc
import sys
import weakref

import numpy as np
from cases import Case

from cuarray.check import parts


def arrives_in_place(route, case):
    """The consumer sees the producer's memory: the same address, shape, strides and type (clauses I2, I3, I4, I8)."""
    made = route.producer.make(case)
    imported = route.take(made)
    _same("the address of the first element", imported.address, made.address, hex)
    shape, strides, dtype = imported.layout
    _same("the shape", shape, case.shape)
    _same("the strides", strides, case.strides)
    _same("the type", dtype, case.numpy_type)


def values_agree(route, case):
    """The consumer reads what the producer wrote."""
    imported = route.take(route.producer.make(case))
    _equal("the consumer reads", imported.read(), case.values())


def writes_are_seen(route, case):
    """Each side reads the other's writes, and no byte between the elements changes."""
    made = route.producer.make(case)
    gaps = _gaps(made, fill=True)
    made.write(case.values())
    imported = route.take(made)
    # Read before the write, so that a side with its own copy fails.
    _equal("the consumer reads at first", imported.read(), case.values())
    imported.write(case.values(1))
    _equal("the producer reads, after the consumer has written,", made.read(), case.values(1))
    made.write(case.values(2))
    _equal("the consumer reads, after the producer has written,", imported.read(), case.values(2))
    assert _gaps(made) == gaps, "a write changed bytes between the elements"


def _gaps(made, fill=False):
    """Return the bytes of an array's extent with zeros in place of its elements; first fill the extent on request."""
    size, shape, strides = made.case.numpy_type.itemsize, made.case.shape, made.case.strides
    first, end = parts.extent(shape, strides, size)
    if fill:
        parts.write_bytes(made.address + first, parts.pattern(end - first, 3))
    span = bytearray(parts.bytes_at(made.address + first, end - first))
    for offset in parts.offsets(shape, strides):
        span[offset - first : offset - first + size] = bytes(size)
    return span


def owner_is_kept(route, case):
    """The consumer's array alone keeps the producer's alive, and its end releases the producer's (clauses L2, L3)."""
    made = route.producer.make(case)
    watch = weakref.ref(made.held)
    imported = route.take(made)
    del made
    gc.collect()
    assert watch() is not None, "the producer's array was released while the consumer still held it"
    # If the memory were free, these arrays would get it.
    reclaim()
    others = [library.make(PAGE) for library in (route.producer, route.consumer) for _ in range(8)]
    _equal(
        "the consumer reads, when no other object holds the array,",
        imported.read(),
        case.values(),
    )
    del imported, others
    gc.collect()
    assert watch() is None, "the producer's array is still held by another object after the consumer's is gone"


def reclaim():
    """Run the deferred releases of the loaded peers, and return the memory of their pools to the driver."""
    for name in ("numba.cuda", "numba_cuda_mlir.cuda"):
        if cuda := sys.modules.get(name):
            cuda.current_context().deallocations.clear()
    if cupy := sys.modules.get("cupy"):
        cupy.get_default_memory_pool().free_all_blocks()
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()


PAGE = Case("uint8", (4096,), "C")
STREAM_CASE = Case("float32", (1 << 16,), "C")
"""Large enough that its copy is not over before the exchange begins, on a real device."""


def stream_is_honoured(route):
    """The consumer reads the values that the producer's stream has not written at the exchange (clauses S2, P1).

    The consumer reads in its own stream, which only the exchange orders.
    """
    _equal("the consumer reads", _read_while_pending(route), STREAM_CASE.values(1))


def stream_goes_through(route):
    """With `sync=False` cuarray still exports the stream, and the last consumer waits for it (clauses N2, P1)."""
    read = _read_while_pending(route, through_ordered=False)
    _equal("the last consumer reads", read, STREAM_CASE.values(1))


def wait_is_needed(route):
    """Without the wait the same read is too early, which shows that the check above can fail (on the simulated driver)."""
    read = _read_while_pending(route, ordered=False, through_ordered=False)
    assert np.array_equal(read, STREAM_CASE.values()), (
        "no call waited for the stream, but the consumer read the values written last; "
        "this driver does not defer work, and the check of streams shows nothing"
    )


def race_is_found(findings):
    """The driver finds the race without the wait, and nothing else on this route."""
    assert findings == ["data-race"], f"the driver found {', '.join(findings) or 'nothing'}; one data-race is expected"


def nothing_is_found(findings):
    """The driver finds nothing on a route whose checks all wait."""
    assert findings == [], f"the driver found {', '.join(findings)}"


def _read_while_pending(route, **ordered):
    stream, reading = route.producer.stream(), route.consumer.stream()
    made = route.producer.make(STREAM_CASE, stream)
    # The first exchange includes one-time work of the libraries, which could take longer than the pending work.
    route.take(made, reading).read(reading)
    # A real device would do the write at once.
    parts.hold(stream)
    data = made.write_later(STREAM_CASE.values(1), stream)
    imported = route.take(made, reading, **ordered)
    read = imported.read(reading)
    # This read waits for the write, which uses memory that is freed next.
    made.read(stream)
    del data
    return read


def _same(what, seen, expected, form=repr):
    assert seen == expected, f"{what} is {form(seen)}; {form(expected)} is expected"


def _equal(what, seen, expected):
    assert seen.dtype == expected.dtype, f"{what} {seen.dtype}; {expected.dtype} is expected"
    assert seen.shape == expected.shape, f"{what} an array of shape {seen.shape}; {expected.shape} is expected"
    wrong = np.argwhere(seen != expected)
    if len(wrong):
        at = tuple(int(index) for index in wrong[0])
        raise AssertionError(
            f"{what} {seen[at]!r} at index {at}; {expected[at]!r} is expected ({len(wrong)} of {seen.size} elements differ)"
        )
