"""The requests of a consumer: version, device and copy. The producer grants each, or raises `BufferError`."""

from __future__ import annotations

from typing import Any

from cuarray.check.clauses import Level
from cuarray.check.registry import check
from cuarray.check.tensors import CPU, CUDA, IS_COPIED, READ_ONLY, ROCM, Capsule
from cuarray.check.trial import Trial, said

VERSIONED = (1, 0)


@check(
    "DL2", "producer dlpack", needs="make", advice="Return 'dltensor_versioned' only for max_version (1, 0) or later."
)
def capsule_without_max_version_is_a_dltensor(trial: Trial) -> None:
    """Without `max_version` the capsule is an unversioned one, as consumers before DLPack 1.0 expect."""
    array = trial.exporter((2, 3), "<f4")
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
    array = trial.exporter((2, 3), "<f4")
    capsule = Capsule(trial.dlpack(array, max_version=VERSIONED))
    trial.expect(capsule.name == "dltensor_versioned", f"the capsule's name is {capsule.name!r}")
    trial.expect(capsule.version[0] == 1, f"the version is {capsule.version}", Level.MUST)


@check(
    "DL2",
    "producer dlpack",
    needs="make",
    cases={"0.8": (0, 8), "1.0": (1, 0), "1.99": (1, 99), "2.0": (2, 0)},
    advice="Export a tensor whose major version is at most that of max_version, and an unversioned one below 1.0.",
)
def capsule_is_of_a_version_that_the_consumer_reads(trial: Trial, version: tuple[int, int]) -> None:
    """With `max_version` {case} the capsule is unversioned, or has a major version that is not above it."""
    capsule = Capsule(trial.dlpack(trial.exporter((2, 3), "<f4"), max_version=version))
    if version < VERSIONED:
        trial.expect(not capsule.is_versioned, f"the capsule's name is {capsule.name!r}")
    trial.expect(capsule.version[0] <= version[0], f"the version is {capsule.version}")
    trial.expect(capsule.version[0] >= 1 or not capsule.is_versioned, f"the version is {capsule.version}")


@check(
    "DL4",
    "producer dlpack dlpack-versioned",
    needs="make",
    cases={"default": None, "first": (CUDA, 0)},
    advice="Grant dl_device=None, and the array's own device.",
)
def own_device_is_granted(trial: Trial, device: tuple[int, int] | None) -> None:
    """A request for the device that the array is on ({case}) returns a tensor of the array's memory."""
    array = trial.exporter((4,), "<f4")
    capsule = Capsule(trial.dlpack(array, max_version=VERSIONED, dl_device=device))
    trial.expect(capsule.device == (CUDA, 0), f"the tensor's device is {capsule.device}")
    if trial.adapter.offers("pointer"):
        pointer = trial.lib.pointer(array)
        trial.expect(
            capsule.pointer == pointer, f"the tensor is at {capsule.pointer:#x}, and the array at {pointer:#x}"
        )


@check(
    "DL4",
    "producer dlpack dlpack-versioned",
    needs="make",
    advice="Copy the elements to the host for dl_device=(1, 0), or raise BufferError.",
)
def tensor_for_the_host_is_in_host_memory(trial: Trial) -> None:
    """A request for the device (1, 0) returns a tensor in host memory, or raises `BufferError`."""
    array = trial.exporter((4,), "<f4")
    try:
        capsule = Capsule(trial.dlpack(array, max_version=VERSIONED, dl_device=(CPU, 0)))
    except Exception:
        return
    trial.expect(capsule.device == (CPU, 0), f"the tensor's device is {capsule.device}")


@check(
    "DL4",
    "producer dlpack dlpack-versioned",
    needs="make",
    level=Level.SHOULD,
    advice="Raise BufferError for a device that the array is not on.",
)
def unknown_device_is_a_buffer_error(trial: Trial) -> None:
    """A request for a device of another kind is a `BufferError`."""
    array = trial.exporter((4,), "<f4")
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
    cases={"absent": {}, "None": {"copy": None}, "False": {"copy": False}},
    advice="Copy for copy=True only.",
)
def tensor_shares_the_arrays_memory(trial: Trial, request: dict[str, Any]) -> None:
    """Unless a copy is asked for (copy={case}), each tensor of an array has its memory, and no flag of a copy."""
    array = trial.exporter((64,), "<f4")
    first = Capsule(trial.dlpack(array, max_version=VERSIONED, **request))
    second = Capsule(trial.dlpack(array, max_version=VERSIONED, **request))
    trial.expect(first.pointer == second.pointer, f"two tensors are at {first.pointer:#x} and {second.pointer:#x}")
    trial.expect(not first.flags & IS_COPIED, "the tensor has the flag IS_COPIED")
    if trial.adapter.offers("pointer"):
        pointer = trial.lib.pointer(array)
        trial.expect(first.pointer == pointer, f"the tensor is at {first.pointer:#x}, and the array at {pointer:#x}")


@check(
    "DL4",
    "producer dlpack dlpack-versioned",
    needs="make",
    advice="Copy for copy=True, do not for copy=False, and raise BufferError if that is impossible.",
)
def copy_flag_is_honoured(trial: Trial) -> None:
    """With `copy=True` the tensor has its own memory, and with `copy=False` it has the array's; else a `BufferError`."""
    array = trial.exporter((64,), "<f4")
    shared = Capsule(trial.dlpack(array, max_version=VERSIONED, copy=False))
    copied = _copy(trial, array)
    trial.expect(copied.pointer != shared.pointer, "the tensor of copy=True shares the array's memory")
    trial.expect(bool(copied.flags & IS_COPIED), "the tensor of copy=True has no flag IS_COPIED", Level.SHOULD)


def _copy(trial: Trial, array: Any) -> Capsule:
    """Return the tensor of `copy=True`; a producer that refuses it passes the check."""
    try:
        return Capsule(trial.dlpack(array, max_version=VERSIONED, copy=True))
    except BufferError as error:
        trial.skip(f"copy=True is refused: {said(error)}")


@check(
    "DL4",
    "producer dlpack dlpack-versioned",
    needs="make read write",
    advice="Order the copy after pending work on the array, and before the given stream.",
)
def copy_has_the_arrays_elements(trial: Trial) -> None:
    """The tensor of `copy=True` has the elements, in the layout of its strides."""
    expected = trial.parts.pattern(256)
    copied = _copy(trial, trial.expect_dlpack(trial.array((16, 4), "<f4", expected)))
    trial.expect(copied.shape == (16, 4), f"the shape is {copied.shape}")
    elements = copied.read(1)
    trial.expect(elements == expected, f"read {elements[:16].hex(' ')} in place of {expected[:16].hex(' ')}")


@check(
    "DL5",
    "producer dlpack dlpack-versioned read-only",
    needs="make",
    known="D21",
    advice="Set DLPACK_FLAG_BITMASK_READ_ONLY.",
)
def read_only_array_has_the_tensor_flag(trial: Trial) -> None:
    """The tensor of a read-only array has the flag, and of a writable one it does not."""
    array = trial.exporter((4,), "<f4", readonly=True)
    flags = Capsule(trial.dlpack(array, max_version=VERSIONED)).flags
    trial.expect(bool(flags & READ_ONLY), "the tensor of a read-only array is writable")
    writable = Capsule(trial.dlpack(trial.exporter((4,), "<f4"), max_version=VERSIONED))
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
    array = trial.exporter((4,), "<f4", readonly=True)
    try:
        trial.dlpack(array)
    except Exception:
        return
    trial.fail("the unversioned tensor of a read-only array has no flag")
