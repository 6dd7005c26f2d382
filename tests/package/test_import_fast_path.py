"""The fast path for dictionaries of plain objects gives the results and errors of the general path."""

from hypothesis import given
from hypothesis import strategies as st

import cuarray

UNINTERNED = {key: "".join([key[:1], key[1:]]) for key in ("shape", "typestr", "data", "version", "strides", "stream")}

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


def import_result(desc):
    """The imported array's attributes, or the error of the import."""
    try:
        array = cuarray.from_cuda_array_interface(desc, sync=False)
    except (TypeError, ValueError, BufferError) as error:
        return type(error), str(error)
    exported = array.__cuda_array_interface__
    return exported, array.strides, array.ptr


class Number(int):
    """An int of a subclass, which selects the general path."""


def for_general_path(desc):
    """The dictionary with a version of an int subclass."""
    version = desc["version"]
    return {**desc, "version": version if isinstance(version, bool) else Number(version)}


def test_uninterned_keys_are_equal_and_distinct_objects():
    assert all(key == same and key is not same for key, same in UNINTERNED.items())


@given(dictionaries)
def test_fast_and_general_path_agree(desc):
    assert import_result(desc) == import_result(for_general_path(desc))


@given(dictionaries)
def test_uninterned_keys_are_read_as_interned_ones(desc):
    assert import_result(desc) == import_result({UNINTERNED.get(key, key): value for key, value in desc.items()})


@given(st.permutations(["shape", "typestr", "data", "version", "strides", "stream"]))
def test_key_order_does_not_matter(order):
    values = {"shape": (2, 3), "typestr": "<f4", "data": (4096, True), "version": 3, "strides": (4, 8), "stream": 7}
    array = cuarray.from_cuda_array_interface({key: values[key] for key in order}, sync=False)
    assert (array.shape, array.strides, array.ptr, array.readonly) == ((2, 3), (4, 8), 4096, True)
    assert array.__cuda_array_interface__["stream"] == 7


def test_unknown_keys_are_ignored():
    desc = {"name": "x", "shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3, 5: None, "version_": 9}
    assert cuarray.from_cuda_array_interface(desc).shape == (2,)
