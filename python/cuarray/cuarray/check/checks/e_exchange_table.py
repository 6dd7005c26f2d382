"""DLPack's exchange table of C functions, ``__dlpack_c_exchange_api__``."""

from __future__ import annotations

import gc
from typing import Any

from cuarray.check.registry import check
from cuarray.check.tensors import Table, exchange_table
from cuarray.check.trial import Trial

COUNT = 1024
NBYTES = 4 * COUNT


def _table(trial: Trial, array: Any) -> Table:
    found = exchange_table(array)
    if found is None:
        from cuarray.check.adapter import NotClaimed

        raise NotClaimed(f"exchange-table: a {type(array).__name__} has no __dlpack_c_exchange_api__")
    return found


@check("DLX1", "producer exchange-table", needs="make", advice="Fill in every required function of the table.")
def table_has_the_required_functions(trial: Trial) -> None:
    """The table has major version 1 and all required functions."""
    table = _table(trial, trial.lib.make((4,), "<f4"))
    trial.expect(table.version[0] == 1, f"the version is {table.version}")
    trial.expect(not table.missing(), f"null functions: {', '.join(table.missing())}")


@check("DLX1", "producer exchange-table", needs="make read write", advice="Export the same tensor as __dlpack__ does.")
def table_exports_the_arrays_memory(trial: Trial) -> None:
    """The tensor of the table has the array's memory and elements, and keeps them until its deleter is called."""
    expected = trial.parts.pattern(NBYTES)
    array = trial.array((COUNT,), "<f4", expected)
    tensor = _table(trial, array).export(array)
    trial.expect(tensor.shape == (COUNT,), f"the shape is {tensor.shape}")
    if trial.adapter.offers("pointer"):
        pointer = trial.lib.pointer(array)
        trial.expect(tensor.pointer == pointer, f"the tensor is at {tensor.pointer:#x}, and the array at {pointer:#x}")
    trial.drop(array)
    del array
    gc.collect()
    elements = tensor.read(trial.parts.stream())
    trial.expect(elements == expected, "the tensor does not have the array's elements")
    tensor.delete()


@check("DLX1", "producer exchange-table", needs="make", advice="Fill in the tensor, without a transfer of ownership.")
def table_lends_the_arrays_memory(trial: Trial) -> None:
    """The borrowed tensor of the table has the array's memory."""
    array = trial.lib.make((COUNT,), "<f4")
    table = _table(trial, array)
    if not table.functions.borrow:
        trial.skip("the table has no function for borrowed tensors, which is optional")
    tensor, owned = table.borrow(array), table.export(array)
    seen = (tensor.data or 0) + int(tensor.byte_offset)
    trial.expect(seen == owned.pointer, f"the tensor is at {seen:#x}, and the array at {owned.pointer:#x}")
    owned.delete()


@check(
    "DLX1",
    "consumer exchange-table",
    needs="make",
    advice="Call the deleter when the last array over the tensor is gone.",
)
def table_imports_a_tensor_and_deletes_it_once(trial: Trial) -> None:
    """An array that the table makes of a tensor has its memory, and calls its deleter once."""
    table = _table(trial, trial.lib.make((4,), "<f4"))
    tensor = trial.parts.tensor(trial.parts.memory(trial.parts.pattern(24)), (2, 3))
    imported = table.import_(tensor)
    if trial.adapter.offers("pointer"):
        pointer = trial.lib.pointer(imported)
        trial.expect(pointer == tensor.owner.pointer, f"the import is at {pointer:#x}")
    trial.expect(tensor.deleted == 0, "the deleter is called while the import lives")
    trial.lib.close(imported)
    del imported
    gc.collect()
    trial.expect(tensor.deleted == 1, f"the deleter is called {tensor.deleted} times")


@check(
    "DLX2",
    "producer exchange-table ordering",
    needs="pending",
    advice="Return the stream in which the library enqueues its next work, and order pending work before it.",
)
def work_stream_covers_pending_work(trial: Trial) -> None:
    """Work in the stream that the table names runs after the library's pending work on the exported tensor."""
    expected = trial.parts.pattern(NBYTES)
    array = trial.lib.pending((COUNT,), "<f4", trial.parts.values(expected))
    table = _table(trial, array)
    tensor, stream = table.export(array), table.work_stream()
    elements = tensor.read(stream or 1)
    trial.expect(elements == expected, "the work stream reads before the work is done")
    tensor.delete()
