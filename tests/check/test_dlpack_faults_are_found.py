"""Libraries with wrong DLPack exports and imports: each fault is found by its check."""

from __future__ import annotations

from pathlib import Path

import pytest
import wrong_libraries
from wrong_libraries import WRAPPED

from cuarray.check.outcome import FAILED, PASSED

BASE = (
    WRAPPED
    + """
class Array:
    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
    def __dlpack__(self, **request):
        return self.array.__dlpack__(**request)

def make(*arguments, **layout):
    return Array(sound.make(*arguments, **layout))
"""
)

_EXPORT = "class Array(Array):\n    def __dlpack__(self, **request):\n        "
_IMPORT = "def from_dlpack(obj, *, stream=None):\n    "

FAULTS = {
    "device-is-a-list": (
        "class Array(Array):\n    def __dlpack_device__(self):\n        return [2, 0]",
        "DL1.device-is-a-pair-of-integers",
        "returns [2, 0]",
    ),
    "always-versioned": (
        _EXPORT + "return self.array.__dlpack__(**{**request, 'max_version': (1, 0)})",
        "DL2.capsule-without-max-version-is-a-dltensor",
        "'dltensor_versioned'",
    ),
    "never-versioned": (
        _EXPORT + "request.pop('max_version', None)\n        return self.array.__dlpack__(**request)",
        "DL2.capsule-for-version-1-is-versioned",
        "'dltensor'",
    ),
    "strides-are-lost": (
        _EXPORT + "capsule = self.array.__dlpack__(**request)\n"
        "        tensors.Capsule(capsule).tensor.strides = None\n        return capsule",
        "DL2.consumer-reads-the-tensors-elements.F-order",
        "in place of",
    ),
    "byte-offset-is-wrong": (
        _EXPORT + "capsule = self.array.__dlpack__(**request)\n"
        "        tensors.Capsule(capsule).tensor.byte_offset = 4\n        return capsule",
        "DL2.consumer-reads-the-tensors-elements.C-order",
        "",
    ),
    "stream-is-ignored": (
        _EXPORT + "request['stream'] = -1\n        return self.array.__dlpack__(**request)",
        "DL3.given-stream-is-ordered-after-work-in-another-stream.handle",
        "",
    ),
    "stream-zero-is-accepted": (
        _EXPORT + "request['stream'] = request.get('stream') or None\n        return self.array.__dlpack__(**request)",
        "DL3.stream-zero-is-refused",
        "accepted",
    ),
    "minus-one-synchronizes": (
        _EXPORT
        + "\n        from cuarray.check import driver\n        with driver.context(): driver.call('cuCtxSynchronize')\n"
        "        return self.array.__dlpack__(**request)",
        "DL3.stream-minus-one-makes-no-driver-call-that-waits",
        "",
    ),
    "wrong-error-for-a-device": (
        _EXPORT + "if request.get('dl_device') == (10, 0): raise KeyError('rocm')\n"
        "        return self.array.__dlpack__(**request)",
        "DL4.unknown-device-is-a-buffer-error",
        "KeyError",
    ),
    "copy-is-ignored": (
        _EXPORT + "request.pop('copy', None)\n        return self.array.__dlpack__(**request)",
        "DL4.copy-flag-is-honoured",
        "shares the array's memory",
    ),
    "read-only-flag-is-lost": (
        _EXPORT + "capsule = self.array.__dlpack__(**request)\n"
        "        tensors.Capsule(capsule).managed.flags = 0\n        return capsule",
        "DL5.read-only-array-has-the-tensor-flag",
        "writable",
    ),
    "capsule-leaks": (
        "kept = []\n" + _EXPORT + "kept.append(self)\n        return self.array.__dlpack__(**request)",
        "DL7.unconsumed-capsule-releases-the-array",
        "a leak",
    ),
    "memory-is-not-kept": (
        "import weakref\n" + _EXPORT + "self.tensor = parts.tensor(parts.Memory(4096), (1024,))\n"
        "        self.tensor.owner = None\n        return self.tensor.__dlpack__(**request)",
        "DL6.tensor-keeps-the-memory-until-its-deleter",
        "",
    ),
    "capsule-is-not-renamed": (
        _IMPORT + "capsule = obj.__dlpack__(max_version=(1, 0))\n    t = tensors.Capsule(capsule)\n"
        "    return cuarray.from_cuda_array_interface(dict(shape=t.shape, typestr='<f4', data=(t.pointer, False), version=3), obj)",
        "DL6.consumer-renames-the-capsule-and-deletes-once.versioned",
        "still 'dltensor_versioned'",
    ),
    "deleter-is-called-twice": (
        _IMPORT + "global last; last = sound.from_dlpack(obj); last_tensor.append(obj); return last\nlast_tensor = []\n"
        "def close(array):\n    global last\n    last = array = None\n    gc.collect()\n    last_tensor[-1]._delete(0)\n",
        "DL6.consumer-renames-the-capsule-and-deletes-once.versioned",
        "times",
    ),
    "byte-offset-is-ignored": (
        "class NoOffset:\n    def __init__(self, obj): self.obj = obj\n"
        "    def __dlpack_device__(self): return self.obj.__dlpack_device__()\n"
        "    def __dlpack__(self, **request):\n        self.obj.managed.tensor.byte_offset = 0\n"
        "        return self.obj.__dlpack__(**request)\n" + _IMPORT + "return sound.from_dlpack(NoOffset(obj))",
        "DL8.tensor-is-imported.byte-offset",
        "the import is at",
    ),
    "byte-offset-is-ignored-without-versions": (
        "NOT_CLAIMED = {'dlpack-versioned': 'tensors have no version'}\n"
        "class NoOffset:\n    def __init__(self, obj): self.obj = obj\n"
        "    def __dlpack_device__(self): return self.obj.__dlpack_device__()\n"
        "    def __dlpack__(self, **request):\n        request.pop('max_version')\n"
        "        capsule = self.obj.__dlpack__(**request)\n"
        "        tensors.Capsule(capsule).tensor.byte_offset = 0\n        return capsule\n"
        + _IMPORT
        + "return sound.from_dlpack(NoOffset(obj))",
        "DL8.tensor-is-imported.byte-offset",
        "the import is at",
    ),
    "import-asks-for-no-order": (
        _IMPORT + "return sound.from_dlpack(obj, stream=-1)",
        "DL3.import-asks-for-the-stream-that-it-works-in",
        "",
    ),
    "import-asks-for-another-stream": (
        _IMPORT + "return sound.from_dlpack(obj, stream=cuarray.stream())\n"
        "def read(array, *, stream=None):\n"
        "    return parts.gather(array.ptr, array.shape, array.strides, array.itemsize, stream)",
        "DL3.import-for-a-stream-asks-for-that-stream",
        "",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_fails_its_check(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str) -> None:
    code, name, message = FAULTS[fault]
    (outcome,) = wrong_libraries.check(tmp_path, monkeypatch, f"{BASE}\n{code}", name).outcomes
    assert outcome.status == FAILED, outcome
    assert message in outcome.message


def test_sound_base_of_the_faults_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str) -> None:
    names = dict.fromkeys(name for _, name, _ in FAULTS.values())
    outcomes = wrong_libraries.check(tmp_path, monkeypatch, BASE, *names).outcomes
    assert [(each.check, each.message) for each in outcomes if each.status != PASSED] == []
