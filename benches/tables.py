"""Tables of figures, for the terminal and for a page of documentation.

A page has a place for each table between two comments that name it. Only the text between the comments is replaced."""

import re
from dataclasses import dataclass, field


@dataclass
class Table:
    """Rows of cells with their name first, and a note below them."""

    name: str
    title: str
    heads: list[str]
    rows: list[tuple[str, ...]]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of_times(cls, name, title, columns, own):
        """A row for each call, with its median and its ratio to cuarray's for each column."""
        rows = []
        for call in next(iter(columns.values())):
            cells = []
            for times in columns.values():
                cells.append(f"{times[call].median:.0f} ns ({times[call].ratio_to(times[own]):.2f})")
            rows.append((call, *cells))
        table = cls(name, title, ["", *columns], rows)
        widest = max(each.spread for times in columns.values() for each in times.values())
        table.notes.append(f"The middle half of the rounds lies within {widest:.0%} of the median, in the worst case.")
        return table

    def as_text(self):
        cells = [self.heads, *self.rows]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.heads))]
        lines = [self.title]
        for row in cells:
            first, *others = zip(row, widths, strict=True)
            others = [cell.rjust(width) for cell, width in others]
            lines.append("  ".join([first[0].ljust(first[1]), *others]).rstrip())
        return "\n".join(lines + [f"({note})" for note in self.notes])

    def as_markdown(self):
        lines = ["| " + " | ".join(self.heads) + " |", "|---" + "|---:" * (len(self.heads) - 1) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        notes = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join([*lines, *notes])


def replaced(page, tables):
    """Return the page with each table in its place; skip tables without a place."""
    for name, text in tables.items():
        place = re.compile(rf"(<!-- bench: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = place.sub(lambda found, text=text: found[1] + text + "\n" + found[2], page)
    return page
