"""One run of one check: the library's functions and the kit's, with a record of each call for the reproduction."""

from __future__ import annotations

import contextlib
import gc
import traceback
import weakref
from typing import Any, NoReturn

from cuarray.check import driver, parts, script, tensors
from cuarray.check.adapter import Adapter, NotClaimed
from cuarray.check.causes import FREED, NO_TENSORS, Cause, Export, Made, cause_of
from cuarray.check.clauses import Level
from cuarray.check.outcome import FAILED, KNOWN, PASSED, SKIPPED, UNCLAIMED, Outcome
from cuarray.check.registry import Check
from cuarray.check.script import Recorder, Script

__all__ = ["Failed", "Skipped", "Trial", "run_check"]

_REPORT_LINES = 24


class Failed(Exception):
    """The check failed; the argument says what was seen, ``reason`` why this is a known difference, and ``cause`` the root cause."""

    def __init__(
        self, message: str, level: Level = Level.MUST, reason: str | None = None, cause: Cause | None = None
    ) -> None:
        super().__init__(message)
        self.level, self.reason, self.cause = level, reason, cause


class Skipped(Exception):
    """The check cannot be decided on this machine."""


class Trial:
    """The functions of a check. ``lib`` has those of the adapter, and ``parts`` those of the kit.

    In a check of two libraries, ``lib`` is the producer and ``consumer`` the consumer.
    """

    def __init__(self, adapter: Adapter, record: str | None = None, consumer: Adapter | None = None) -> None:
        self.adapter, self.consuming = adapter, consumer or adapter
        self.script = Script(modules(adapter, consumer), record)
        self.lib: Any = Recorder(self.script, "producer" if consumer else "adapter", self._library)
        self.consumer: Any = Recorder(self.script, "consumer" if consumer else "adapter", self.consuming.function)
        self.parts: Any = Recorder(self.script, "parts", self._part)
        #: The exports of the library, by which a failure gets its root cause.
        self.exports: list[Export] = []
        self._made: dict[int, Made] = {}
        self._alive: list[weakref.ref[Any]] = []

    def _library(self, name: str) -> Any:
        """Return a function of the adapter; the layouts of new arrays are noted."""
        function = self.adapter.function(name)
        if name not in ("make", "pending"):
            return function

        def make(shape: tuple[int, ...], typestr: str, *rest: Any, **layout: Any) -> Any:
            array = function(shape, typestr, *rest, **layout)
            size = parts.size_of(typestr)
            strides = layout.get("strides")
            self._made[id(array)] = Made(shape, parts.contiguous(shape, size) if strides is None else strides, size)
            with contextlib.suppress(TypeError):
                self._alive.append(weakref.ref(array))
            return array

        return make

    def _part(self, name: str) -> Any:
        """Return a function of the kit; what its consumer reads is noted."""
        if name != "read_by_the_text":
            return getattr(parts, name)

        def read(array: Any) -> bytes:
            entries = array.__cuda_array_interface__
            self._note_entries(array, entries)
            return parts.read_by_the_text(entries)

        return read

    def _note_entries(self, array: Any, entries: Any) -> None:
        if isinstance(entries, dict):
            data = entries.get("data")
            pointer = data[0] if isinstance(data, tuple) and data else None
            self.exports.append(Export(self._made.get(id(array)), pointer, entries.get("strides")))

    def cause(self) -> Cause | None:
        """Return the root cause of a failure, while the arrays of the check live."""
        if not self.exports:
            for array in (each() for each in self._alive):
                with contextlib.suppress(Exception):
                    # An array that is gone has no attribute.
                    self._note_entries(array, getattr(array, "__cuda_array_interface__", None))
        return cause_of(self.exports)

    def interface(self, array: Any) -> dict[str, Any]:
        """Read an array's dictionary."""
        entries = self.script.record(
            "entries", f"{self.script.name(array)}.__cuda_array_interface__", lambda: array.__cuda_array_interface__
        )
        if not isinstance(entries, dict):
            self.fail(f"__cuda_array_interface__ is a {type(entries).__name__}, not a dict")
        self._note_entries(array, entries)
        return entries

    def dlpack(self, array: Any, **request: Any) -> Any:
        """Ask an array for a tensor."""
        given = ", ".join(f"{key}={self.script.name(value)}" for key, value in request.items())
        capsule = self.script.record(
            "capsule", f"{self.script.name(array)}.__dlpack__({given})", lambda: array.__dlpack__(**request)
        )
        with contextlib.suppress(tensors.NoTensor):
            tensor = tensors.Capsule(capsule)
            self.exports.append(Export(self._made.get(id(array)), tensor.pointer, tensor.strides, is_tensor=True))
        return capsule

    def array(self, shape: tuple[int, ...], typestr: str, data: bytes, **layout: Any) -> Any:
        """Make an array of the library with these elements, and wait for them."""
        array = self.lib.make(shape, typestr, **layout)
        self.set(array, data)
        return array

    def set(self, array: Any, data: bytes) -> None:
        """Write the elements of an array with the library, and wait for them."""
        self.lib.write(array, self.parts.values(data))
        seen = self.lib.read(array)
        self.expect(seen == data, f"write() and read() disagree: wrote {shown(data)}, read {shown(seen)}")

    def import_legal(self, obj: Any, *parts: str, by: str = "import_") -> Any:
        """Import an array that the text allows, or a tensor by ``from_dlpack``.

        A refusal fails the check as a *should*, because the library stays safe. If one of the parts is not claimed, it is expected.
        """
        try:
            return getattr(self.lib, by)(obj)
        except NotClaimed:
            raise
        except Exception as error:
            self.requires(*parts)
            raise Failed(f"the import refuses a legal array: {said(error)}", Level.SHOULD) from error

    def refusal(self, obj: Any) -> Exception | None:
        """Import an array that should be refused; return the error, or None."""
        try:
            self.lib.import_(obj)
        except NotClaimed:
            raise
        except Exception as error:
            return error
        return None

    def drop(self, *arrays: Any) -> None:
        """Record that the program drops its references; the check itself has to delete its variables."""
        for array in arrays:
            self.script.add(f"del {self.script.name(array)}")
        for export in self.exports:
            export.dropped = True
        gc.collect()

    def requires(self, *names: str) -> None:
        """End the check if one of these parts is not claimed."""
        for adapter in dict.fromkeys((self.adapter, self.consuming)):
            for name in names:
                if name in adapter.not_claimed:
                    raise NotClaimed(f"{name}: {adapter.not_claimed[name]}")

    def expect(self, condition: bool, otherwise: str, level: Level = Level.MUST) -> None:
        """Fail the check unless a condition holds."""
        if not condition:
            self.fail(otherwise, level)

    def expect_dlpack(self, array: Any) -> Any:
        """Return an array that has `__dlpack__`, or fail the check."""
        if not hasattr(array, "__dlpack__"):
            raise Failed(f"a {type(array).__name__} has no __dlpack__", cause=NO_TENSORS)
        return array

    def expect_typestr(self, imported: Any, obj: Any, typestr: str) -> None:
        """Fail the check if an import that is exported again has another type."""
        entries = None if imported is obj else getattr(imported, "__cuda_array_interface__", None)
        if entries is not None:
            seen = entries["typestr"]
            self.expect(
                seen[1:] == typestr[1:], f"the import exports the typestr {seen!r}, and the array has {typestr!r}"
            )

    def exporter(self, *arguments: Any, **layout: Any) -> Any:
        """Make an array of the library that has `__dlpack__`, or fail the check."""
        return self.expect_dlpack(self.lib.make(*arguments, **layout))

    def fail(self, message: str, level: Level = Level.MUST, reason: str | None = None) -> NoReturn:
        """Fail the check; with a reason the failure is a known difference."""
        raise Failed(message, level, reason)

    def skip(self, reason: str) -> NoReturn:
        """End the check without a result."""
        raise Skipped(reason)


def modules(adapter: Adapter, consumer: Adapter | None) -> dict[str, str]:
    """Return the modules of the adapters, by their names in a reproduction."""
    if consumer is None:
        return {"adapter": adapter.module.__name__}
    return {"producer": adapter.module.__name__, "consumer": consumer.module.__name__}


def _unclaimed(adapter: Adapter, parts: tuple[str, ...], needs: tuple[str, ...]) -> str | None:
    """Return the reason why a check does not apply to a library; None if it does."""
    for part in parts:
        if part in adapter.not_claimed:
            return f"{part}: {adapter.not_claimed[part]}"
    return next((f"the adapter has no {name}()" for name in needs if not adapter.offers(name)), None)


def run_check(adapter: Adapter, check: Check, record: str | None = None, consumer: Adapter | None = None) -> Outcome:
    """Run a check in this process; the file ``record`` gets each call before it is made."""
    outcome = Outcome(check.id, check.clause, check.title, check.level.value, PASSED, disagreement=check.known)
    if consumer is None:
        reason = _unclaimed(adapter, check.parts, check.needs)
    else:
        # `producer` and `consumer` are parts of one library each.
        reason = _unclaimed(adapter, tuple(part for part in check.parts if part != "consumer"), check.needs)
        reason = reason or _unclaimed(
            consumer, tuple(part for part in check.parts if part != "producer"), check.consumer_needs or ()
        )
    if reason is not None:
        outcome.status, outcome.message = UNCLAIMED, reason
        return outcome
    trial = Trial(adapter, record, consumer)
    cause: Cause | None = None
    try:
        check.run(trial)
    except NotClaimed as reason:
        outcome.status, outcome.message = UNCLAIMED, str(reason)
    except Skipped as reason:
        outcome.status, outcome.message = SKIPPED, str(reason)
    except Failed as failure:
        outcome.status, outcome.message = FAILED if failure.reason is None else KNOWN, str(failure)
        outcome.advice = failure.reason or ""
        if failure.level is Level.SHOULD:
            outcome.level = Level.SHOULD.value
        # The traceback keeps the arrays of the check.
        cause = failure.cause or trial.cause()
    except (driver.DriverError, Exception) as error:
        outcome.status, outcome.message = FAILED, f"unexpected {said(error)}"
        outcome.evidence = _traceback(error)
        cause = trial.cause()
    if "use-after-free" in _judge_findings(check, outcome) and not any(each.dropped for each in trial.exports):
        cause = FREED
    if outcome.status == FAILED and cause is not None:
        outcome.cause, outcome.advice = cause
    if outcome.status in (FAILED, KNOWN):
        outcome.advice = outcome.advice or check.advice
        outcome.reproduction = trial.script.program(check, outcome)
    return outcome


def _judge_findings(check: Check, outcome: Outcome) -> list[str]:
    """Fail a check by the findings of the simulated driver; return their kinds."""
    if not check.findings or outcome.status in (SKIPPED, UNCLAIMED) or not driver.is_simulated():
        return []
    import cuarray_sim

    found = [each for each in cuarray_sim.findings()["findings"] if each["kind"] in check.findings]
    if not found:
        return []
    report = cuarray_sim.report("text").splitlines()
    kinds = list(dict.fromkeys(each["kind"] for each in found))
    if outcome.status == PASSED:
        outcome.status = FAILED
        headline = next((line for line in report if line.startswith("[")), ", ".join(kinds))
        outcome.message = f"the simulated driver found: {headline.partition('] ')[2] or headline}"
    outcome.evidence = "\n".join([*report[:_REPORT_LINES], *([outcome.evidence] if outcome.evidence else [])])
    return kinds


def _traceback(error: BaseException) -> str:
    """Return the traceback below the kit's own frames."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [number for number, frame in enumerate(frames) if frame.filename == script.__file__]
    shown = frames[inside[-1] + 1 :] if inside else frames
    return "".join([*traceback.format_list(shown), *traceback.format_exception_only(error)])


def said(error: BaseException) -> str:
    """Return an exception in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def shown(data: Any) -> str:
    """Return the beginning of some bytes."""
    if not isinstance(data, bytes):
        return f"a {type(data).__name__}"
    return f"{data[:8].hex(' ')}{' …' if len(data) > 8 else ''} ({len(data)} bytes)"
