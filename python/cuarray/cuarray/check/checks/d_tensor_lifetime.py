"""The lifetime of tensors: capsules are renamed, and each deleter is called once, when the last array over its tensor is gone."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from cuarray.check.registry import check
from cuarray.check.tensors import Capsule
from cuarray.check.trial import Trial

COUNT = 1024
NBYTES = 4 * COUNT

_CONSUMES = (
    "Rename the capsule before the tensor is used, and call its deleter once, when the last array over it is gone."
)


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
    array = trial.exporter((4,), "<f4")
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


@check(
    "DL6",
    "producer dlpack",
    needs="make",
    advice="Release the array in the deleter, and only there once the capsule is consumed.",
)
def deleter_releases_the_array(trial: Trial) -> None:
    """The deleter of a consumed tensor releases the array; the end of the capsule does not."""
    array = trial.exporter((4,), "<f4")
    alive = _alive(trial, array)
    consumer = Capsule(trial.dlpack(array))
    consumer.consume()
    trial.drop(array)
    del array
    consumer.capsule = None
    gc.collect()
    consumer.delete()
    gc.collect()
    trial.expect(alive() is None, "the array lives after the deleter was called: a leak")


@check("DL6", "producer dlpack", needs="make read write", advice="Give each tensor its own reference to the memory.")
def tensors_of_an_array_end_one_by_one(trial: Trial) -> None:
    """The second tensor of an array has the memory after the deleter of the first one, and after the array."""
    expected = trial.parts.pattern(NBYTES)
    array = trial.expect_dlpack(trial.array((COUNT,), "<f4", expected))
    first, second = Capsule(trial.dlpack(array)), Capsule(trial.dlpack(array))
    for each in (first, second):
        each.consume()
        each.capsule = None
    first.delete()
    trial.drop(array)
    del array
    gc.collect()
    elements = second.read(trial.parts.stream())
    trial.expect(elements == expected, "the memory is gone with the first tensor")
    second.delete()


@check("DL6", "consumer dlpack", needs="from_dlpack", advice="Do not call a deleter that is null.")
def tensor_without_a_deleter_is_imported(trial: Trial) -> None:
    """An import of a tensor whose deleter is null calls none."""
    tensor = trial.parts.tensor(trial.parts.memory(trial.parts.pattern(24)), (2, 3), no_deleter=True)
    imported = trial.import_legal(tensor, by="from_dlpack")
    trial.lib.close(imported)
    trial.drop(imported)
    del imported
    gc.collect()
