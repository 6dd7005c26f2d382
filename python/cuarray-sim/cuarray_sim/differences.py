"""The command ``cuarray-sim diff``: compare the findings of two reports in JSON by their fingerprints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .findings_report import Finding
from .places import line_of_finding, shown

__all__ = ["print_differences"]


def print_differences(old: str, new: str) -> bool:
    """Print the findings that only one of two reports has; return whether the new one has more.

    :raises OSError: a file cannot be read.
    :raises ValueError: a file is no report, or one of a version without fingerprints.
    """
    before, after = _findings(old), _findings(new)
    gone, added = list(_beyond(before, after)), list(_beyond(after, before))
    for sign, findings in (("-", gone), ("+", added)):
        for finding in findings:
            place = shown(line_of_finding(finding))
            print(sign, *([f"{place}:"] if place else []), finding["fingerprint"])
    return bool(added)


def _findings(file: str) -> list[Finding]:
    try:
        findings: list[Finding] = json.loads(Path(file).read_bytes())["findings"]
        Counter(finding["fingerprint"] for finding in findings)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is no report with fingerprints: {type(error).__name__}: {error}") from None
    return findings


def _beyond(findings: list[Finding], others: list[Finding]) -> Iterator[Finding]:
    """Yield the findings that others do not have, by fingerprint and number."""
    left = Counter(finding["fingerprint"] for finding in others)
    for finding in findings:
        if left[finding["fingerprint"]]:
            left[finding["fingerprint"]] -= 1
        else:
            yield finding
