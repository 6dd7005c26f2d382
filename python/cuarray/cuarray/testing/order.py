"""The assertion that the work of a block is ordered between libraries.

On the simulated driver the assertion is a proof: it fails if any two operations of the block touch the same memory and nothing orders
them, whatever the timing. On a GPU nothing can prove an order. There the block's streams are kept busy for a while, so that a consumer
that does not wait reads old values, and the block's own comparisons fail.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from cuarray.check import parts
from cuarray.check.driver import call, context, is_simulated
from cuarray.check.registry import ORDER

__all__ = ["assert_ordered"]


@contextlib.contextmanager
def assert_ordered(stream: Any, /, *streams: Any) -> Iterator[None]:
    """Assert that the operations of the block are ordered, and that memory and streams live until their use.

    ``stream`` and ``streams`` are those in which the producer's work is enqueued: handles, or objects with ``__cuda_stream__``,
    ``handle``, ``cuda_stream`` or ``ptr``. 1 is the legacy default stream. At the end of the block the device is synchronized.

    - On the simulated driver, a finding of the block about order or lifetime fails it; no stream needs to be busy.
    - On a GPU, each stream is first kept busy for 0.3 seconds. The block has to compare the values that it reads: a read that does not
      wait gets the old ones. A block without a comparison asserts nothing on a GPU.

    :raises AssertionError: the simulated driver found an operation that is not ordered; the message has its report.
    """
    if not is_simulated():
        for each in (stream, *streams):
            parts.hold(each)
        yield
        _synchronize()
        return
    before = _findings()
    yield
    _synchronize()
    found = _findings() - before
    if found:
        raise AssertionError(
            "\n".join([f"not ordered: {', '.join(sorted(kind for kind, _ in found))}", *_report(found)])
        )


def _synchronize() -> None:
    with context():
        call("cuCtxSynchronize")


def _findings() -> Counter[tuple[str, int]]:
    """Return the number of occurrences of each finding about order, by its kind and number."""
    import cuarray_sim

    return Counter(
        {
            (each["kind"], each["number"]): each["count"]
            for each in cuarray_sim.findings()["findings"]
            if each["kind"] in ORDER
        }
    )


def _report(found: Counter[tuple[str, int]]) -> list[str]:
    """Return the parts of the text report about these findings; each begins with its number in brackets."""
    import cuarray_sim

    wanted = {f"[{number}]" for _, number in found}
    lines, shown = [], False
    for line in cuarray_sim.report("text").splitlines():
        if line.startswith("["):
            shown = line.partition(" ")[0] in wanted
        elif line and not line.startswith(" "):
            shown = False
        if shown:
            lines.append(line)
    return lines
