"""Blocks of code in a Markdown page, and their conventions.

- A block whose first line is a comment with nothing but a path (``# try.py``, ``// src/lib.rs``) is that file.
- A console block has commands behind ``$`` and, below a command, its output. ``...`` in the output stands for any text.
  A command without output may print anything. A command must succeed, unless ``echo $?`` follows it.
- A paragraph ``*Not run here: REASON.*`` before a block says why it cannot be run. The block is still parsed.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"\*Not run here: ([^*]+)\.\*\s*\Z")
FILE = re.compile(r"\A(?:#|//|;|/\*) ((?:[\w.-]+/)*[\w-]*\.[\w.]+)(?: \*/)?\n")
# Blocks in these languages can be neither run nor parsed.
SHOWN = {"text", "mermaid"}
RUN = {"console", "python", "pycon", "rust", "c"}
PARSED = {"toml", "yaml", "json", "bash", "cython", "dockerfile"}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str
    reason: str | None

    @property
    def file(self) -> str | None:
        """The path of the file that the block shows, if it says one."""
        found = FILE.match(self.text)
        return found[1] if found and self.language != "console" else None

    @property
    def place(self) -> str:
        """The page and line of the block, for messages."""
        return f"{self.page}:{self.line}"


def blocks(page: Path, text: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip()
        reason = NOT_RUN.search(before)
        language = re.split(r"[ ,{]", match[3].strip())[0]
        line = text.count("\n", 0, match.start()) + 1
        body = textwrap.dedent(match[4])
        found.append(Block(page, line, language, body, reason[1] if reason else None))
    return found


class Command(NamedTuple):
    """A command of a console block, and the output that the page shows for it."""

    text: str
    output: str


def commands(console: str) -> list[Command]:
    """Return the commands of a console block.

    >>> commands("$ cat <<end\\n> one\\n> end\\none\\n$ true\\n")
    [Command(text='cat <<end\\none\\nend', output='one\\n'), Command(text='true', output='')]
    """
    found: list[Command] = []
    continued = False
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], ""))
            continued = True
        elif not found:
            message = f"a console block begins with `$ `, and this one with {line!r}"
            raise ValueError(message)
        elif continued and (line.startswith("> ") or found[-1].text.endswith("\\")):
            more = line[2:] if line.startswith("> ") else line
            found[-1] = Command(f"{found[-1].text}\n{more}", "")
        else:
            continued = False
            found[-1] = Command(found[-1].text, f"{found[-1].output}{line}\n")
    return found


def fits(expected: str, printed: str) -> bool:
    """Whether an output is as the page shows it.

    A line of ``...`` stands for any number of lines, and ``...`` within a line for any text. Spaces at the ends of lines do not count.

    >>> fits("a ...\\nd", "a b\\nc\\nd \\n"), fits("...\\na", "a"), fits("a", "b")
    (True, True, False)
    """
    pattern = ""
    for line in _trimmed(expected):
        pattern += "(?:[^\n]*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + "\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(printed)), re.DOTALL) is not None


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
