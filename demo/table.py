"""The outcomes as a table: a row for each route, then the refusals and failures."""

from cases import LAYOUTS, SHAPES, TYPES
from outcome import FACTS


def duration(nanoseconds):
    """Format a duration with three digits and a unit.

    >>> duration(612.4), duration(16507)
    ('612 ns', '16.5 µs')
    """
    if nanoseconds is None:
        return ""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def render(outcomes):
    """Return the table with its legend and notes."""
    header = ["", *LAYOUTS, *FACTS, "one exchange"]
    rows = [
        [
            each.route,
            *(str(each.layouts[layout]) or "·" for layout in LAYOUTS),
            *(_verdict(each.facts[fact]) for fact in FACTS),
            duration(each.nanoseconds),
        ]
        for each in outcomes
    ]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    ends_group = {0, len(LAYOUTS), len(LAYOUTS) + len(FACTS)}
    lines = [_line(header, widths, ends_group), _rule(widths, ends_group)]
    lines += [_line(row, widths, ends_group) for row in rows]
    legend = [
        f"C, F, sliced, reversed: number of arrays with this layout that passed every check, of {len(TYPES)} types",
        f"({', '.join(TYPES)}) in 0 to {max(map(len, SHAPES))} dimensions. pointer: both sides have one address.",
        "values: both sides read the same values. writes: each side reads the writes of the other side.",
        "owner: the consumer alone keeps the memory alive, and then releases it. stream: the consumer waits for pending writes.",
        "—: not supported by the peer, see below. one exchange: the median time; with mpi4py, one way between two processes.",
    ]
    return "\n".join(["", *lines, "", *legend])


def details(outcomes):
    """Return each reason of a refusal once, and every failure."""
    lines = []
    notes = list(dict.fromkeys(note for each in outcomes for note in each.notes))
    if notes:
        lines += ["", "Not supported by peers:", *(f"  {note}" for note in notes)]
    failures = [failure for each in outcomes for failure in each.failures]
    if failures:
        lines += ["", f"FAILED ({len(failures)}):", *(f"  {failure}" for failure in failures)]
    return "\n".join(lines)


def summary(outcomes):
    """Return one sentence with the numbers of checks that hold and that failed."""
    held = sum(tally.held for each in outcomes for tally in each.facts.values())
    failed = sum(len(each.failures) for each in outcomes)
    if failed:
        return f"\n{failed} checks FAILED, {held} hold, on {len(outcomes)} routes."
    return f"\nAll {held} checks hold, on {len(outcomes)} routes."


def _verdict(tally):
    if tally.failed:
        return f"{tally.failed} FAILED"
    return "ok" if tally.held else str(tally) or "·"


def _line(cells, widths, ends_group):
    """Align the first column left and the others right, with a bar after each group."""
    text = ""
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        text += cell.ljust(width) if column == 0 else "  " + cell.rjust(width)
        if column in ends_group:
            text += " │"
    return text


def _rule(widths, ends_group):
    text = ""
    for column, width in enumerate(widths):
        text += "─" * (width if column == 0 else width + 2)
        if column in ends_group:
            text += "─┼"
    return text
