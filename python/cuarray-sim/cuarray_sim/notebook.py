"""Findings in notebooks: below the cell that made them, with the cell's number and line.

``%load_ext cuarray_sim`` installs the simulated driver, and so does :func:`cuarray_sim.install` in the first cell. After each cell that
has findings, their report and a picture are shown, and the next cell begins without findings.
"""

from __future__ import annotations

import html
import linecache
import re
import sys
from typing import TYPE_CHECKING, Any

from .findings_report import clear_findings, report

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["watch_cells"]

# The line of a report with the place of a call, or of a thread of a kernel.
_PLACE = re.compile(r"^( *)(?:in thread .*?, |launched )?at (.+?):(\d+)(?: in |,|$).*$", re.MULTILINE)

_PICTURE = """\
<details><summary>picture</summary>
<iframe srcdoc="{page}" style="width: 100%; height: 30em; border: 1px solid gray"></iframe>
</details>"""


def watch_cells() -> None:
    """Show the findings of each cell from now on, if this process runs cells of IPython."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is not None and _after_cell not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", _after_cell)


def _after_cell(result: Any) -> None:
    """Show the findings of a cell, and forget them."""
    from IPython.core.getipython import get_ipython
    from IPython.display import HTML, display

    shell = get_ipython()
    text = report()
    if not text or shell is None:
        return
    print(_named(shell, text), end="", file=sys.stderr, flush=True)
    # A terminal cannot show the page.
    if hasattr(shell, "kernel"):
        display(HTML(_PICTURE.format(page=html.escape(_with_cells(shell, report("html"))))))
    clear_findings()


def _named(shell: InteractiveShell, text: str) -> str:
    """Return a report with the cells' numbers in place of the names of their files, and with their lines."""

    def place(found: re.Match[str]) -> str:
        indent, file, line = found.groups()
        source = linecache.getline(file, int(line)).strip() if _cell(shell, file) else ""
        # The text stands below the place, as in the driver's own lines.
        column = len(indent) + (8 if found[0].lstrip().startswith("launched") else 4)
        return found[0] + (f"\n{' ' * column}{source}" if source else "")

    return _with_cells(shell, _PLACE.sub(place, text))


def _cell(shell: InteractiveShell, file: str) -> str | None:
    """Return the name of a cell, ``cell In[3]``; None for another file."""
    label = shell.compile.format_code_name(file)
    return None if label is None else " ".join(label).replace("Cell", "cell", 1)


def _with_cells(shell: InteractiveShell, text: str) -> str:
    """Return a text with the names and lines of cells in place of those of their files."""
    for file in {each for each in linecache.cache if isinstance(each, str) and each in text}:
        cell = _cell(shell, file)
        if cell is not None:
            text = re.sub(re.escape(file) + r":(\d+)", rf"{cell}, line \1", text)
    return text
