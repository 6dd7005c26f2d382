"""Run the checks of one pair, in their own processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from cuarray.check.adapter import AdapterError
from cuarray.check.outcome import FAILED, KNOWN, PASSED
from cuarray.check.registry import select
from cuarray.check.runner import run, session


@dataclass
class Pair:
    """The result of a pair: the checks that hold, and those that fail with what was seen."""

    producer: str
    consumer: str
    #: Name and version of both, or empty if the pair did not run.
    versions: tuple[str, str]
    passed: list[str]
    failed: dict[str, str]
    #: The library and the reason, for each failure that ``KNOWN`` of an adapter names.
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def unexplained(self) -> dict[str, str]:
        """The failures that no adapter gives a reason for."""
        return {check: message for check, message in self.failed.items() if check not in self.reasons}

    @classmethod
    def of(cls, data: dict[str, Any]) -> Pair:
        """Read a result."""
        return cls(**{**data, "versions": tuple(data["versions"])})

    def as_json(self) -> dict[str, Any]:
        """Return the result as data that JSON can hold."""
        return asdict(self)


def installed(adapter: str) -> bool:
    """Return whether the adapter's library can be imported."""
    try:
        with session(adapter, driver="simulated"):
            return True
    except AdapterError:
        return False


def run_pair(producer: str, consumer: str) -> Pair:
    """Check one library as the producer and one as the consumer. An MPI without CUDA needs `CUARRAY_SIM_HOST_READABLE=1`."""
    result = run(
        f"{producer}>{consumer}", [each.id for each in select(None, pairs=True)], driver="simulated", timeout=60
    )
    names, versions = result.library.split(" → "), result.version.split(" → ")
    described = tuple(f"{name} {version}" for name, version in zip(names, versions, strict=False))
    return Pair(
        producer,
        consumer,
        described if len(described) == 2 else (result.library, result.version),
        [each.check for each in result.outcomes if each.status == PASSED],
        {each.check: each.message for each in result.outcomes if each.status in (FAILED, KNOWN)},
        # The session puts the reason in place of the advice.
        {each.check: each.advice for each in result.outcomes if each.status == KNOWN},
    )
