"""`as_cuda_array` parses its arguments itself, and must behave as a Python function does."""

import inspect

import pytest

import cuarray


class Plain:
    __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}  # noqa: RUF012


def test_signature_is_available_to_inspect():
    signature = inspect.signature(cuarray.as_cuda_array)
    assert [str(each) for each in signature.parameters.values()] == [
        "obj",
        "sync=True",
        "strict=True",
        "mask=None",
        "mask_format=None",
        "dtype=None",
        "bounds=False",
        "protocol=None",
    ]
    kinds = [each.kind for each in signature.parameters.values()]
    assert kinds == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 2 + [inspect.Parameter.KEYWORD_ONLY] * 6
    assert cuarray.as_cuda_array.__module__.startswith("cuarray")
    assert cuarray.as_cuda_array.__doc__.startswith("Imports any object with `__cuda_array_interface__`")


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((Plain(),), {}),
        ((Plain(), False), {}),
        ((Plain(),), {"sync": False}),
        ((), {"obj": Plain()}),
        ((), {"sync": True, "obj": Plain()}),
        ((Plain(),), {"".join(["sy", "nc"]): False}),
        ((Plain(),), {"strict": False, "mask": None, "mask_format": None, "dtype": "<f4", "bounds": False}),
    ],
)
def test_arguments_are_accepted_by_position_and_keyword(arguments, keywords):
    assert cuarray.as_cuda_array(*arguments, **keywords).shape == (2,)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((), {}, "missing 1 required argument: 'obj'"),
        ((), {"sync": True}, "missing 1 required argument: 'obj'"),
        ((Plain(), True, True), {}, "at most 2 positional arguments, but 3 were given"),
        ((Plain(),), {"obj": Plain()}, "multiple values for argument 'obj'"),
        ((Plain(), True), {"sync": True}, "multiple values for argument 'sync'"),
        ((Plain(),), {"synk": True}, "unexpected keyword argument 'synk'"),
        ((Plain(),), {"sync": None}, "argument 'sync' is None"),
        ((Plain(),), {"strict": "yes"}, "argument 'strict' is 'yes', a str"),
        ((Plain(),), {"mask": 3}, "argument 'mask' is 3, a int"),
    ],
)
def test_invalid_arguments_raise_type_error_that_names_them(arguments, keywords, message):
    with pytest.raises(TypeError) as raised:
        cuarray.as_cuda_array(*arguments, **keywords)
    assert message in str(raised.value)


def test_object_deleted_while_its_attribute_is_read_stays_alive():
    class Fleeting:
        @property
        def __cuda_array_interface__(self):
            held.clear()
            return dict(Plain.__cuda_array_interface__)

    held = [Fleeting()]
    assert cuarray.as_cuda_array(held[0]).shape == (2,)
