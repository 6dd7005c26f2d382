"""The quick reading of inert dictionaries reads what the careful one reads, and refuses nothing of its own."""

from hypothesis import given
from hypothesis import strategies as st

import cuarray

# A key that is no interned string makes the careful reading take the dictionary.
CAREFULLY = {key: "".join([key[:1], key[1:]]) for key in ("shape", "typestr", "data", "version", "strides", "stream")}

integers = st.one_of(st.integers(-3, 12), st.sampled_from([2**31, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63)]))
typestrs = st.sampled_from(
    ["<f4", "<f8", "<i2", "|u1", "|b1", "<c16", ">i4", "<M8[ns]", "|V12", "|t1", "<i3", "|O", "f4", "", "é"]
)
dictionaries = st.fixed_dictionaries(
    {
        "shape": st.lists(integers, max_size=8).map(tuple),
        "typestr": typestrs,
        "data": st.tuples(st.one_of(integers, st.just(4096)), st.one_of(st.booleans(), st.just(1))),
        "version": st.sampled_from([3, 3, 3, 2, 1, 0, 4, -1, True]),
    },
    optional={
        "strides": st.one_of(st.none(), st.lists(integers, max_size=8).map(tuple)),
        "stream": st.one_of(st.none(), integers),
        "descr": st.just([("", "<f4")]),
    },
)


def reading(desc):
    """What the interface reads as, or the error."""
    try:
        array = cuarray.from_cuda_array_interface(desc, sync=False)
    except (TypeError, ValueError, BufferError) as error:
        return type(error), str(error)
    exported = array.__cuda_array_interface__
    return exported, array.strides, array.ptr


def test_the_careful_reading_is_taken():
    assert all(key == same and key is not same for key, same in CAREFULLY.items())


@given(dictionaries)
def test_both_readings_say_the_same(desc):
    assert reading(desc) == reading({CAREFULLY.get(key, key): value for key, value in desc.items()})


@given(st.permutations(["shape", "typestr", "data", "version", "strides", "stream"]))
def test_the_order_of_the_keys_says_nothing(order):
    values = {"shape": (2, 3), "typestr": "<f4", "data": (4096, True), "version": 3, "strides": (4, 8), "stream": 7}
    array = cuarray.from_cuda_array_interface({key: values[key] for key in order}, sync=False)
    assert (array.shape, array.strides, array.ptr, array.readonly) == ((2, 3), (4, 8), 4096, True)
    assert array.__cuda_array_interface__["stream"] == 7


def test_keys_of_other_protocols_are_passed_over():
    desc = {"name": "x", "shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3, 5: None, "version_": 9}
    assert cuarray.from_cuda_array_interface(desc).shape == (2,)
