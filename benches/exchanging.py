"""Exchanges from C: the cost of each protocol in each direction for a library written in C.

The loops are in `exchange.c`, which this module compiles. Imports read a producer in C whose structures are constant. Exports are of a
`DeviceArray`. Each call releases its result, so the figures include the end of an exchange."""

import importlib.util
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import peers
from measure import Call

import cuarray

LOOP = 1000
MADE = "exchange table: an array of a tensor, without its release"
DICTIONARY_OUT, DICTIONARY_IN = "dictionary: `__cuda_array_interface__`", "dictionary: `as_cuda_array(obj)`"
EMPTY, ATTRIBUTE = "an empty C function", "reading an attribute implemented in C"
RELEASE = "releasing the GIL and taking it again"
OWN = "cuarray.from_dlpack(tensor)"
CORE = "cuda.core StridedMemoryView.from_dlpack(tensor, -1)"


@cache
def compiled():
    """Build and import the extension with the loops; return `None` without a compiler."""
    if shutil.which("cc") is None:
        return None
    source = Path(__file__).with_name("exchange.c")
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / ("exchange_calls" + sysconfig.get_config_var("EXT_SUFFIX"))
        command = ["cc", "-O2", "-shared", "-fPIC", f"-I{cuarray.get_include()}"]
        command += [f"-I{sysconfig.get_paths()['include']}", source, "-o", module]
        subprocess.run(command, check=True)
        spec = importlib.util.spec_from_file_location("exchange_calls", module)
        calls = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(calls)
    return calls


def loop(function, *arguments):
    names = {f"_{index}": argument for index, argument in enumerate(arguments)}
    given = "".join(f"{name}, " for name in names)
    return Call(f"call({given}{LOOP})", {"call": function, **names}, calls=LOOP)


@cache
def sources(calls):
    """Return an object for each protocol, and their common array."""
    shape = (10, 10, 10)
    array = cuarray.device_array(shape, "float32")
    made = [calls.OfDictionary, calls.OfStructure, calls.OfCapsules, calls.OfTable]
    return array, [kind(array.ptr, dict(array.__cuda_array_interface__), shape) for kind in made]


def exports(calls, array, source):
    """Return the calls that export, by row. The first two rows are baselines: calls that do no export."""
    return {
        EMPTY: loop(calls.call_empty),
        ATTRIBUTE: loop(calls.read_dictionary, source),
        DICTIONARY_OUT: loop(calls.read_dictionary, array),
        "DLPack: `__dlpack__()`": loop(calls.call_dlpack, array),
        "structure: `__cuda_array_c_interface__`": loop(calls.read_structure, array),
        "exchange table: a tensor that owns": loop(calls.table_export, array),
        "exchange table: a tensor that borrows": loop(calls.table_borrow, array),
    }


def imports(calls, array, made):
    """Return the calls that import, by row. Each is a call with one argument, except those of the function table."""
    dictionary, structure, capsules, table = made
    return {
        EMPTY: loop(calls.call_empty),
        ATTRIBUTE: loop(calls.read_dictionary, dictionary),
        RELEASE: loop(calls.release_gil),
        DICTIONARY_IN: loop(calls.call_import, cuarray.as_cuda_array, dictionary),
        "DLPack: the producer's `__dlpack__()` alone": loop(calls.call_dlpack, capsules),
        "DLPack: `from_dlpack(obj)`": loop(calls.call_import, cuarray.from_dlpack, capsules),
        "DLPack, table: `from_dlpack(obj)`": loop(calls.call_import, cuarray.from_dlpack, table),
        "structure: `as_cuda_array(obj)`": loop(calls.call_import, cuarray.as_cuda_array, structure),
        "exchange table: an array of a tensor": loop(calls.table_import, array),
        MADE: replace(loop(calls.table_make, array), answers=True),
    }


def beside(capsules):
    """Return `from_dlpack` of cuarray and cuda.core for one producer of capsules, by column. cuda.core reads the tensor
    only on access, so the second column includes the access.
    """
    takes = {OWN: ("take(tensor)", cuarray.from_dlpack)}
    present, _ = peers.load()
    if "cuda.core" in present:
        takes[CORE] = ("take(tensor, -1)", present["cuda.core"].from_dlpack)
    columns = {"3-d": "{}", "3-d, shape and dtype read": "view = {}; view.shape; view.dtype"}
    return {
        column: {
            name: Call(statement.format(call), {"take": take, "tensor": capsules})
            for name, (call, take) in takes.items()
        }
        for column, statement in columns.items()
    }
