"""A right library: arrays over memory of the kit's driver calls, which are exported and imported as the texts say.

It is an adapter of the kit. Each value that a text determines is a fact, which a mutant can change (:mod:`kit_mutants.facts`).
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from cuarray.check import driver, handle_of, parts, tensors
from kit_mutants.export import dictionary_of, tensor_of
from kit_mutants.facts import fact, happens

NAME = "right library"
NOT_CLAIMED = {
    "structures": "the library has no structured types",
    "exchange-table": "the library has no table",
}
CODES = {code: kind for kind, code in tensors.CODES.items()}
KINDS = {number: kind for kind, number in parts.KINDS.items()}


class Owned:
    """The owner of memory and of the streams with work on it; it is released after that work."""

    def __init__(self, keeps: Any, end: Any = None, *, waits: str = "") -> None:
        self.keeps, self.end, self.waits = keeps, end, waits
        #: The streams with work on the memory, and those of them in which the library has worked.
        self.streams: list[Any] = []
        self.worked: list[Any] = []

    def __del__(self) -> None:
        if happens(self.waits):
            for stream in self.worked:
                with driver.context():
                    driver.call("cuStreamSynchronize", ctypes.c_void_p(handle_of(stream)))
        if self.end is not None:
            self.end()


class Array:
    """An array: where it is, what it holds, who keeps it, and which streams have worked on it."""

    def __init__(
        self, owned: Any, pointer: int, shape: Any, typestr: str, strides: Any, device: tuple[int, int]
    ) -> None:
        self.owned, self.pointer, self.shape, self.typestr = owned, pointer, shape, typestr
        self.strides, self.device, self.readonly, self.lanes = strides, device, False, 1
        #: Streams of others, whose next work waits for that of the library.
        self.exported: list[Any] = []

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return parts.size_of(self.typestr) * self.lanes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dictionary_of(self)

    def __dlpack_device__(self) -> Any:
        return fact(
            "export.device", (fact("export.device.kind", self.device[0]), fact("export.device.number", self.device[1]))
        )

    def __dlpack__(self, **request: Any) -> Any:
        return tensor_of(self, **request)

    def enter(self, stream: Any) -> Any:
        """Order a stream after all earlier work; without a stream, it is the legacy default stream."""
        chosen = stream or 1
        for other in self.owned.streams:
            if handle_of(other) != handle_of(chosen):
                parts.wait(chosen, other)
        for known in (self.owned.streams, self.owned.worked):
            if chosen not in known:
                known.append(chosen)
        return chosen

    def busy(self) -> list[Any]:
        """Return the streams with pending work."""
        with driver.context():
            return [s for s in self.owned.streams if driver.library().cuStreamQuery(ctypes.c_void_p(handle_of(s)))]


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0):
    return _new(shape, typestr, strides, readonly, stream, device, "device")


def make_in(kind, shape, typestr):
    return _new(shape, typestr, None, False, None, 0, kind)


def _new(shape, typestr, strides, readonly, stream, device, kind):
    size = parts.size_of(typestr)
    steps = parts.contiguous(shape, size) if strides is None else strides
    first, end = parts.extent(shape, steps, size)
    # Device memory is freed in stream order, as pools do, so that a release before the end of the work is a fault.
    memory = parts.Memory(end - first, device, kind, 1 if kind == "device" else None)
    array = Array(
        Owned(memory, waits="export.memory.waits"),
        memory.pointer - first if end > first else 0,
        shape,
        typestr,
        steps,
        memory.dlpack_device,
    )
    array.readonly, array.base = readonly, memory.pointer
    if stream is not None:
        array.owned.streams.append(stream)
    return array


def write(array, data, *, stream=None):
    chosen = array.enter(stream)
    if array.strides == parts.contiguous(array.shape, array.itemsize):
        if len(data):
            parts.upload(array.pointer, data, chosen)
    else:
        with driver.context():
            driver.call("cuStreamSynchronize", ctypes.c_void_p(handle_of(chosen)))
        for number, at in enumerate(parts.offsets(array.shape, array.strides)):
            parts.write_bytes(array.pointer + at, bytes(data[number * array.itemsize : (number + 1) * array.itemsize]))
    for other in array.exported:
        if happens("import.stream.waits-for-the-consumer"):
            parts.wait(other, chosen)


def read(array, *, stream=None):
    chosen = array.enter(stream)
    return parts.gather(array.pointer, array.shape, array.strides, array.itemsize, chosen)


def pointer(array):
    return array.pointer


def new_stream():
    return parts.Stream()


def import_(obj, *, stream=None):
    """Read a dictionary strictly: each entry has its type, and the driver knows the memory."""
    entries = obj.__cuda_array_interface__
    shape = fact("import.shape", _integers("shape", entries["shape"]))
    found = re.fullmatch(r"([<|])([iufcb])(\d+)", _checked("typestr", entries["typestr"], str))
    if found is None or int(found[3]) not in (1, 2, 4, 8, 16):
        raise ValueError(f"typestr {entries['typestr']!r}")
    typestr = fact("import.typestr", entries["typestr"])
    data = fact("import.data.accepted", _checked("data", entries["data"], tuple))
    address, readonly = _in_range("data", data[:1])[0], fact("import.read-only", bool(data[1]))
    version = fact("import.version", _integers("version", (entries["version"],))[0])
    if entries.get("mask") is not None and version > 0 and happens("import.mask.refused"):
        raise ValueError("masks are not read")
    size = parts.size_of(typestr)
    strides = entries.get("strides")
    steps = parts.contiguous(shape, size) if strides is None else _integers("strides", strides, negative=True)
    steps = fact("import.strides", (steps, shape, size))[0] if strides is not None else steps
    if len(steps) != len(shape):
        raise ValueError(f"strides {strides!r}")
    address = fact("import.pointer", address)
    known = _known(address, shape, steps, size)
    owned = Owned(obj if happens("import.owner.kept") else None, waits="import.owner.waits")
    array = Array(owned, address, shape, typestr, steps, known)
    array.readonly, array.base = readonly, address
    exported = fact("import.stream", entries.get("stream")) if version >= 3 else None
    if exported is not None:
        if _integers("stream", (exported,))[0] == 0 and happens("import.stream.zero-is-refused"):
            raise ValueError("stream 0")
        if exported:
            owned.streams.append(exported)
            array.exported.append(exported)
    if not happens("import.owner.released"):
        _LEAKED.append(obj)
    return array


_LEAKED: list[Any] = []


def _integers(key: str, value: Any, *, negative: bool = False) -> tuple[int, ...]:
    return _in_range(key, fact(f"import.{key}.accepted", _checked(key, value, tuple)), negative=negative)


def _in_range(key: str, value: Any, *, negative: bool = False) -> tuple[int, ...]:
    for each in value:
        if not isinstance(each, int) or not (-(1 << 62) if negative else 0) <= each < 1 << 63:
            raise ValueError(f"{key} {value!r}")
    return value


def _checked(key: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{key} {value!r}")
    return value


def _known(address: int, shape: Any, strides: Any, size: int) -> tuple[int, int]:
    """Return the kind of memory and its device, as the driver says."""
    first, end = parts.extent(shape, strides, size)
    if end - first >= 1 << 62:
        raise ValueError(f"shape {shape}")
    if first == end:
        return (2, 0)
    import cuarray

    found = cuarray.pointer_attributes(address + first) if address else None
    if found is None:
        raise ValueError(f"the driver does not know {address:#x}")
    kind = 13 if found.is_managed else 2 if found.memory_type == "device" else 3
    return (kind, 0 if kind == 3 else found.device or 0)


def from_dlpack(obj, *, stream=None):
    """Import a tensor: ask for the stream that the library works in, and take the capsule once all is known to be right."""
    kind, _ = obj.__dlpack_device__()
    if fact("import.tensor.kind", kind) not in KINDS:
        raise BufferError(f"device {kind}")
    request = {"stream": fact("import.request.stream", handle_of(stream) if stream is not None else 1)}
    try:
        capsule = obj.__dlpack__(
            **fact("import.request", {**request, "max_version": fact("import.request.max_version", (1, 0))})
        )
    except TypeError:
        if not happens("import.request.again-without-versions"):
            raise
        capsule = obj.__dlpack__(**request)
    taken = tensors.Capsule(capsule)
    if fact("import.tensor.major", taken.version[0]) > 1:
        raise BufferError(f"version {taken.version}")
    kind, number = fact("import.tensor.kind", taken.device[0]), fact("import.tensor.number", taken.device[1])
    code, bits, lanes = fact("import.tensor.type", taken.dtype)
    shape = fact("import.tensor.shape", taken.shape)
    if kind not in KINDS or code not in CODES or lanes < 1 or min(shape, default=0) < 0:
        if happens("import.tensor.refused"):
            raise BufferError(f"device {taken.device}, type {taken.dtype}, shape {shape}")
        return Array(Owned(None), taken.pointer, (0,), "<f4", (4,), (2, 0))
    typestr = f"{'|' if bits == 8 else '<'}{CODES[code]}{bits // 8}"
    size = bits * lanes // 8
    steps = parts.contiguous(shape, size)
    if taken.strides is not None:
        counted = fact("import.tensor.strides", (taken.strides, shape, 1))[0]
        steps = tuple(step * size for step in counted)
    elif not happens("import.tensor.null-strides"):
        raise BufferError("no strides")
    address = fact("import.tensor.data", taken.tensor.data or 0) + fact(
        "import.tensor.byte_offset", int(taken.tensor.byte_offset)
    )
    if happens("import.capsule.renamed"):
        taken.consume()
    owned = Owned(None, _deleter(taken))
    if stream is not None or request["stream"]:
        owned.streams.append(stream if stream is not None else 1)
    array = Array(owned, address, shape, typestr, steps, (kind, number))
    array.lanes, array.base = lanes, address
    array.readonly = bool(fact("import.tensor.flags", taken.flags) & tensors.READ_ONLY)
    return array


def _deleter(taken: Any) -> Any:
    if not happens("import.deleter.late"):
        taken.delete()
        return lambda: None

    def end() -> None:
        for _ in range(fact("import.deleter.calls", 1)):
            if taken.managed.deleter or not happens("import.deleter.null-is-left-out"):
                tensors._DELETER(taken.managed.deleter or 8)(taken._address)

    return end
