"""Typed arguments of an extension module check type, dimensions and layout, and order work on the array."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
import typed_views
from driver_probe import ForeignStream, held
from producers import Producer, describe, foreign

import cuarray
import cuarray_sim

F4 = 4


def shaped(*shape: int, **entries: Any) -> Producer:
    return Producer(describe(shape=shape, **entries))


def test_argument_of_each_number_of_dimensions_is_accepted() -> None:
    assert typed_views.scalar(shaped()) == 1
    assert typed_views.vector(shaped(3)) == 3
    assert typed_views.matrix(shaped(3, 4)) == ([3, 4], [16, 4])
    assert typed_views.matrix(shaped(3, 4, strides=(0, -8))) == ([3, 4], [0, -8])
    assert typed_views.six(shaped(1, 2, 3, 4, 5, 6)) == [1, 2, 3, 4, 5, 6]
    for shape in [(), (3,), (2,) * 9]:
        assert typed_views.any_ndim(shaped(*shape)) == list(shape)


def test_contiguous_argument_of_each_order_is_accepted() -> None:
    assert typed_views.c_contiguous(shaped(3, 4)) == [3, 4]
    assert typed_views.f_contiguous(shaped(3, 4, strides=(4, 12))) == [3, 4]
    for take in (typed_views.c_contiguous, typed_views.f_contiguous):
        assert take(shaped(1, 4)) == [1, 4]
        assert take(shaped(0, 4)) == [0, 4]


def test_optional_argument_and_read_only_array() -> None:
    assert typed_views.optional() is None
    assert typed_views.optional(None) is None
    assert typed_views.optional(shaped(3)) == 3
    read_only = shaped(3, data=(4096, True))
    assert typed_views.vector(read_only) == 3
    assert typed_views.writable(shaped(3)) == 3
    with pytest.raises(BufferError, match="read-only; a writable array is expected"):
        typed_views.writable(read_only)


NAMES = {
    "i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "u8": "|u1", "u16": "<u2", "u32": "<u4", "u64": "<u8",
    "f16": "<f2", "f32": "<f4", "f64": "<f8", "c8": "<c8", "c16": "<c16", "bool": "|b1",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_argument_accepts_only_its_element_type(name: str) -> None:
    assert typed_views.element(name, shaped(3, typestr=NAMES[name])) == 3
    for other, typestr in NAMES.items():
        if other != name:
            with pytest.raises(BufferError) as raised:
                typed_views.element(name, shaped(3, typestr=typestr))
            assert str(raised.value) == f"the elements are '{typestr}'; '{NAMES[name]}' is expected"
    if NAMES[name][0] == "<":
        with pytest.raises(BufferError, match=f"'>{NAMES[name][1:]}'; '{NAMES[name]}' is expected"):
            typed_views.element(name, shaped(3, typestr=f">{NAMES[name][1:]}"))


def test_bfloat16_argument_accepts_void_of_two_bytes() -> None:
    assert typed_views.element("bf16", shaped(3, typestr="<V2")) == 3
    with pytest.raises(BufferError, match=r"'<f2'; 'bfloat16' is expected"):
        typed_views.element("bf16", shaped(3, typestr="<f2"))


PARTICLE = np.dtype([("charge", "i1"), ("position", "f4", (3,)), ("energy", "f8")], align=True)


def test_structure_argument_checks_fields() -> None:
    fields = PARTICLE.descr
    assert typed_views.element("particle", shaped(2, typestr="|V24", descr=fields)) == 2
    # An absent `descr` does not contradict the fields.
    assert typed_views.element("particle", shaped(2, typestr="|V24")) == 2
    with pytest.raises(BufferError, match=r"\[\('a', '<f8'\).*is expected"):
        typed_views.element("particle", shaped(2, typestr="|V24", descr=[("a", "<f8"), ("b", "|V16")]))


@pytest.mark.usefixtures("driver")
def test_structured_numpy_array_is_read_by_fields() -> None:
    host = np.zeros(2, PARTICLE)
    host[1] = (-1, (1.5, 2.5, 3.5), 1e9)
    assert typed_views.particles(cuarray.to_device(host)) == [(0, [0, 0, 0], 0.0), (-1, [1.5, 2.5, 3.5], 1e9)]


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "no array": (
        lambda: typed_views.vector(3),
        TypeError,
        "not a CUDA array: reading __cuda_array_interface__ of a int raised",
    ),
    "no dict": (
        lambda: typed_views.vector(Producer(3)),
        TypeError,
        "of a producers.Producer is a int, 3; a dict is expected",
    ),
    "wrong entry": (lambda: typed_views.vector(shaped(3, stream=0)), ValueError, "['stream']"),
    "type": (
        lambda: typed_views.vector(shaped(3, typestr="<f8")),
        BufferError,
        "the elements are '<f8'; '<f4' is expected",
    ),
    "ndim": (
        lambda: typed_views.matrix(shaped(3)),
        BufferError,
        "the array is 1-dimensional, of shape (3,); a 2-dimensional array is expected",
    ),
    "layout": (
        lambda: typed_views.c_contiguous(shaped(2, 2, strides=(4, 8))),
        BufferError,
        "of shape (2, 2) and strides (4, 8) is not C-contiguous; a C-contiguous array, such as a copy, is expected",
    ),
    "order": (
        lambda: typed_views.f_contiguous(shaped(2, 2)),
        BufferError,
        "is not Fortran-contiguous; a Fortran-contiguous array, such as a copy, is expected",
    ),
    "mask": (
        lambda: typed_views.vector(shaped(2, mask=Producer(describe(typestr="|b1")))),
        BufferError,
        "the array has a mask, and masked arrays are not accepted here",
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_wrong_argument_is_an_error_with_the_reason(reason: str) -> None:
    call, exception, message = REFUSED[reason]
    with pytest.raises(exception) as raised:
        call()
    assert type(raised.value) is exception
    assert message in str(raised.value)
    # The traceback ends with this note.
    assert raised.value.__notes__ == ["while processing 'x'"]


def test_enum_argument_accepts_each_of_its_types() -> None:
    assert typed_views.either(shaped(3)) == ("f32", 3)
    assert typed_views.either(shaped(4, typestr="<f8")) == ("f64", 4)
    with pytest.raises(TypeError) as raised:
        typed_views.either(shaped(4, typestr="<i4"))
    lines = str(raised.value).splitlines()
    assert lines[0] == "failed to extract enum Number ('F32 | F64')"
    assert lines[1].endswith("BufferError: the elements are '<i4'; '<f4' is expected")
    assert lines[2].endswith("BufferError: the elements are '<i4'; '<f8' is expected")


def _malformed() -> list[Any]:
    """Return the table of malformed interfaces from the tests of the package."""
    path = Path(__file__).parent.parent / "package" / "test_malformed_interfaces.py"
    spec = importlib.util.spec_from_file_location("malformed_interfaces", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return list(module.MALFORMED)


def test_malformed_interfaces_are_refused_with_their_key() -> None:
    rows = _malformed()
    assert len(rows) >= 120
    for row in rows:
        with pytest.raises(ValueError, match=row.key) as raised:
            typed_views.masked_any(Producer(row.interface()))
        assert type(raised.value) is ValueError
        assert f"__cuda_array_interface__['{row.key}']" in str(raised.value)


def test_error_of_the_attribute_is_the_cause_and_keyboard_interrupt_propagates() -> None:
    class Hostile:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        @property
        def __cuda_array_interface__(self) -> Any:
            raise self.error

    with pytest.raises(TypeError) as raised:
        typed_views.vector(Hostile(AttributeError("no")))
    assert isinstance(raised.value.__cause__, AttributeError)
    with pytest.raises(KeyboardInterrupt):
        typed_views.vector(Hostile(KeyboardInterrupt()))


@pytest.mark.usefixtures("driver")
def test_mask_is_a_view_of_the_arrays_shape() -> None:
    data = np.arange(6, dtype="f4").reshape(2, 3)
    assert typed_views.masked(cuarray.to_device(data)) == (data.ravel().tolist(), None)
    masked = cuarray.to_device(np.ma.MaskedArray(data, mask=[[0, 1, 0], [1, 0, 0]]))
    expected = (data.ravel().tolist(), [True, False, True, False, True, True])
    assert typed_views.masked(masked) == expected
    assert typed_views.masked(Producer(masked.__cuda_array_interface__, keeps=masked)) == expected
    row = cuarray.to_device(np.array([2, 0, 1], "u1"))
    broadcast = foreign(cuarray.to_device(data), mask=row)
    assert typed_views.masked(broadcast) == (expected[0], [True, False, True] * 2)
    for flags in (np.array([1.0, 0, 1]), np.array([1, 0, 1], "i4")):
        with pytest.raises(ValueError, match=r"\['mask'\].*a byte each is expected"):
            typed_views.masked(foreign(cuarray.to_device(data), mask=cuarray.to_device(flags)))


@pytest.mark.usefixtures("driver")
def test_element_addresses_and_strides_of_a_view() -> None:
    array = cuarray.to_device(np.zeros((4, 6), "f4"))[::2, ::-3]
    assert typed_views.element_offsets(array, [(0, 0), (1, 0), (1, 1)]) == [0, 48, 36]
    assert typed_views.element_strides(array) == [12, -3]
    for outside in [(2, 0), (0, 2), (2**63, 0)]:
        with pytest.raises(IndexError, match="is outside of the shape"):
            typed_views.element_offsets(array, [outside])
    with pytest.raises(BufferError, match="multiples of the item size"):
        typed_views.element_strides(foreign(array, shape=(2, 2), strides=(8, 2)))


@pytest.mark.usefixtures("driver")
def test_in_place_scale_of_strided_view_in_any_stream() -> None:
    array = cuarray.to_device(np.arange(12, dtype="f4").reshape(3, 4))
    typed_views.scale(array[:, ::-2], 10)
    assert array.copy_to_host().tolist() == [[0, 10, 2, 30], [4, 50, 6, 70], [8, 90, 10, 110]]
    stream = cuarray.stream()
    typed_views.scale(foreign(array), 0, stream)
    typed_views.scale(foreign(array), 0, stream.handle)
    assert not array.copy_to_host().any()
    with pytest.raises(TypeError, match="stream: 'stream' is a str"):
        typed_views.scale(array, 0, "stream")


def producers(memory: cuarray.DeviceArray, stream: ForeignStream) -> dict[str, Any]:
    return {"foreign": foreign(memory, stream=stream.handle), "bound": memory.bind(stream)}


@pytest.mark.parametrize("kind", ["foreign", "bound"])
@pytest.mark.parametrize("end", ["release", "drop", "panic"])
def test_guard_orders_work_with_the_producers_stream(
    producer_stream: ForeignStream, consumer_stream: ForeignStream, kind: str, end: str
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = producers(memory, producer_stream)[kind]
    with held(producer_stream.handle) as hold:
        driver_probe.fill(memory.ptr, 1, 4, producer_stream.handle)
        if end == "panic":
            with pytest.raises(BaseException, match="in the middle of it"):
                typed_views.panics(producer, 2, consumer_stream)
        else:
            typed_views.fill(producer, 2, consumer_stream, end == "release")
        # The host does not wait. The consumer's stream waits for the producer's, and then the producer's for it.
        assert hold.is_held
        assert not driver_probe.is_done(consumer_stream.handle)
        hold.release()
        driver_probe.synchronize(producer_stream.handle)
    assert driver_probe.is_done(consumer_stream.handle)
    assert memory.copy_to_host().tolist() == [2] * 4


@pytest.mark.cuarray_sim(expect=["data-race"])
def test_unordered_work_is_a_data_race(
    simulator: str, producer_stream: ForeignStream, consumer_stream: ForeignStream
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = foreign(memory, stream=producer_stream.handle)
    driver_probe.fill(memory.ptr, 1, 4, producer_stream.handle)
    typed_views.fill_unordered(producer, 2, consumer_stream)


@pytest.mark.cuarray_sim(allow=[])
def test_ordered_work_has_no_findings(
    simulator: str, producer_stream: ForeignStream, consumer_stream: ForeignStream
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = foreign(memory, stream=producer_stream.handle)
    driver_probe.fill(memory.ptr, 1, 4, producer_stream.handle)
    typed_views.fill(producer, 2, consumer_stream)
    driver_probe.fill(memory.ptr, 3, 4, producer_stream.handle)
    driver_probe.synchronize(producer_stream.handle)


def calls(work: Callable[[], object]) -> Counter[str]:
    before = Counter(cuarray_sim.statistics()["calls"])
    work()
    return Counter(cuarray_sim.statistics()["calls"]) - before


def test_acquire_in_another_stream_makes_two_records_and_two_waits(
    simulator: str, producer_stream: ForeignStream, consumer_stream: ForeignStream
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = foreign(memory, stream=producer_stream.handle)
    use = typed_views.acquire_and_release
    # Extracting the argument makes no driver call, and acquiring in the array's own stream makes no event call.
    assert calls(lambda: use(producer)) == {}
    use(producer, producer_stream)
    assert not {name for name in calls(lambda: use(producer, producer_stream)) if "Event" in name}
    use(producer, consumer_stream)
    made = calls(lambda: use(producer, consumer_stream))
    assert {name: count for name, count in made.items() if "Event" in name} == {
        "cuEventRecord": 2,
        "cuStreamWaitEvent": 2,
    }


def test_kept_view_is_read_in_another_thread(driver: str) -> None:
    keeper = typed_views.Keeper(cuarray.to_device(np.arange(4, dtype="f4")))
    sums: list[float] = []
    stream = cuarray.stream()
    thread = threading.Thread(target=lambda: sums.append(keeper.sum(stream)))
    thread.start()
    thread.join()
    assert sums == [6.0]


def test_bfloat16_argument_accepts_the_typestr_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert typed_views.element("bf16", shaped(3, typestr=np.dtype(ml_dtypes.bfloat16).str)) == 3


def test_failed_edge_at_guard_drop_is_unraisable_and_host_waits(simulator: str) -> None:
    program = """
import sys
import cuarray_sim
cuarray_sim.install()
import cuarray, driver_probe, typed_views
import numpy as np
from producers import foreign

producing, consuming = driver_probe.ForeignStream(), driver_probe.ForeignStream()
memory = cuarray.to_device(np.zeros(4, np.uint8))
errors = []
sys.unraisablehook = lambda unraisable: errors.append(unraisable.exc_value)
typed_views.fill(foreign(memory, stream=producing.handle), 2, consuming, False)
assert [(type(error), error.call) for error in errors] == [(cuarray.CudaError, "cuEventRecord")], errors
assert driver_probe.is_done(consuming.handle), "the host must wait instead"
print(memory.copy_to_host().tolist())
"""
    assert (
        driver_probe.run_python(program, CUARRAY_SIM_FAULTS="cuEventRecord:2:CUDA_ERROR_LAUNCH_FAILED")
        == "[2, 2, 2, 2]\n"
    )
