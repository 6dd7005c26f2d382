"""The report on an array, as text or as JSON: its interface, layout, pointer, deviations and remarks."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import cuarray
from cuarray.check.clauses import CLAUSES
from cuarray.inspection import axes as axes_of
from cuarray.inspection import deviations as clauses
from cuarray.inspection import picture
from cuarray.inspection.axes import Axis
from cuarray.inspection.deviations import Deviation
from cuarray.inspection.pointer import Pointer

_COLUMNS = 80


@dataclass(frozen=True)
class Report:
    """A report on the interface of an object; :meth:`of` makes it."""

    #: The name of the object's type.
    type_name: str
    #: The result of a lenient import, without ``left_out`` if necessary; None if it failed.
    interface: cuarray.Interface | None
    #: The error of importing all entries; None if there is none.
    refusal: str | None
    #: The invalid entries that the import left out.
    left_out: tuple[str, ...]
    axes: list[Axis]
    pointer: Pointer | None
    deviations: list[Deviation]
    remarks: list[Deviation]

    @classmethod
    def of(cls, obj: Any) -> Report:
        """Return the report on an object with ``__cuda_array_interface__``, or on such a dictionary.

        :raises TypeError: the object is not an array.
        """
        entries: dict[Any, Any] = obj if isinstance(obj, dict) else _attribute(obj)
        interface, refusal, left_out = _read(obj, entries)
        axes: list[Axis] = []
        pointer = None
        if interface is not None:
            axes = axes_of.describe(interface.shape, interface.strides, clauses.itemsize(interface))
            pointer = Pointer.ask(interface.ptr, interface.nbytes)
        return cls(
            f"{type(obj).__module__}.{type(obj).__qualname__}",
            interface,
            refusal,
            left_out,
            axes,
            pointer,
            clauses.deviations(entries, obj, interface, pointer),
            clauses.remarks(entries, interface, axes),
        )

    @property
    def clauses(self) -> list[str]:
        """The clauses that the array violates, in their order."""
        return list(dict.fromkeys(one.clause for one in self.deviations))

    def text(self) -> str:
        """Return the report for people, in 80 columns if the numbers fit."""
        lines = []
        if self.interface is not None and self.pointer is not None:
            first, end = self.interface.byte_range
            itemsize = None if _is_packed(self.interface) else clauses.itemsize(self.interface)
            lines += repr(self.interface).splitlines()
            if self.left_out:
                lines += _wrapped(f"read without its {' and '.join(map(repr, self.left_out))}, see below", "  ")
            lines += ["", "Layout", *_indented(picture.draw(self.axes, itemsize, first, end, self.interface.ptr))]
            lines += ["", "Pointer", *_indented(self.pointer.lines(first, end))]
        else:
            lines += ["CUDA Array Interface that cannot be read", *_wrapped(f"{self.refusal}", "  ")]
        for title, found in (("Deviations from the text", self.deviations), ("Remarks", self.remarks)):
            lines += ["", title if found else f"{title}: none", *(line for one in found for line in _entry(one))]
        if self.deviations:
            lines += ["", "The text", *(line for clause in self.clauses for line in _sentence(clause))]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return the report as data that JSON can hold."""
        layout = pointer = None
        if self.interface is not None and self.pointer is not None:
            layout = [
                {
                    "length": axis.length,
                    "stride": axis.stride,
                    "spacing": axis.spacing.value,
                    "between": axis.between,
                    "reversed": axis.reversed,
                }
                for axis in self.axes
            ]
            pointer = self.pointer.as_json(*self.interface.byte_range)
        return {
            "type": self.type_name,
            "interface": _interface_as_json(self.interface),
            "refusal": self.refusal,
            "left_out": list(self.left_out),
            "layout": layout,
            "pointer": pointer,
            "deviations": [one._asdict() for one in self.deviations],
            "remarks": [one._asdict() for one in self.remarks],
            "clauses": {clause: CLAUSES[clause] for clause in self.clauses},
        }


def _attribute(obj: Any) -> dict[Any, Any]:
    """Return the dictionary of an array; raise `TypeError` if there is none."""
    if not cuarray.is_cuda_array(obj):
        # Raises the error.
        cuarray.interface(obj)
    entries: dict[Any, Any] = obj.__cuda_array_interface__
    return entries


def _read(obj: Any, entries: dict[Any, Any]) -> tuple[cuarray.Interface | None, str | None, tuple[str, ...]]:
    """Import the interface without its invalid optional entries; return it, the first error, and these entries."""
    first: str | None = None
    left_out: tuple[str, ...] = ()
    read = obj
    while True:
        refusal = clauses.refusal(read, strict=False)
        if refusal is None:
            return cuarray.interface(read, strict=False), first, left_out
        first = first or refusal.text
        if refusal.key not in ("stream", "descr", "mask") or refusal.key in left_out:
            return None, first, ()
        left_out = (*left_out, refusal.key)
        read = {key: value for key, value in entries.items() if key not in left_out}


def _interface_as_json(interface: cuarray.Interface | None) -> dict[str, Any] | None:
    if interface is None:
        return None
    return {
        "version": interface.version,
        "typestr": interface.typestr,
        "shape": list(interface.shape),
        "strides": list(interface.strides),
        "ptr": interface.ptr,
        "readonly": interface.readonly,
        "stream": interface.stream,
        "nbytes": interface.nbytes,
        "byte_range": list(interface.byte_range),
        "is_c_contiguous": interface.is_c_contiguous(),
        "is_f_contiguous": interface.is_f_contiguous(),
        "mask": _interface_as_json(interface.mask),
        "deviations": list(interface.deviations),
    }


def _is_packed(interface: cuarray.Interface) -> bool:
    return interface.typestr[1:2] == "t" and int(interface.typestr[2:]) % 8 != 0


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _wrapped(text: str, margin: str) -> list[str]:
    return textwrap.wrap(text, _COLUMNS, initial_indent=margin, subsequent_indent=margin, break_long_words=False)


def _sentence(clause: str) -> list[str]:
    """Return the sentence of the text behind a clause; `cuarray check --only CLAUSE` has its checks."""
    head = f"  {clause:<3}  "
    return textwrap.wrap(
        CLAUSES[clause], _COLUMNS, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False
    )


def _entry(one: Deviation) -> list[str]:
    head = f"  {one.clause:<3}  {one.key:<8} "
    return textwrap.wrap(
        one.text, _COLUMNS, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False
    )
