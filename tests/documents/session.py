"""Runs the Python blocks of one page in one process, in order, with the names of the blocks before.

    python -m cuarray_sim session.py BLOCKS.json

A comment behind an expression is compared with the expression's value if the comment is a literal. A comment that begins with an
exception's name is compared with what is raised. Any other comment is prose. This file imports nothing of the project, because it
runs in the environment of the page.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import json
import re
import sys
from pathlib import Path
from typing import Any


def run(text: str, names: dict[str, Any]) -> None:
    """Run one block, statement by statement.

    >>> run("len([1])  # 2", {})
    Traceback (most recent call last):
    AssertionError: len([1]) is 1, and the page says 2
    """
    lines = text.splitlines()
    for statement in ast.parse(text).body:
        source = ast.get_source_segment(text, statement)
        assert source is not None
        last = lines[(statement.end_lineno or 0) - 1].encode()
        comment = last[statement.end_col_offset :].decode().strip().lstrip("# ")
        kind, _, said = comment.partition(": ")
        error = names.get(kind.rpartition(".")[2], getattr(builtins, kind, None)) if kind.isidentifier() else None
        if isinstance(error, type) and issubclass(error, Exception):
            _raises(error, said, source, names)
        elif isinstance(statement, ast.Expr):
            value = eval(source, names)
            try:
                expected = ast.literal_eval(comment)
            except (ValueError, SyntaxError):
                continue
            value = value.tolist() if hasattr(value, "tolist") else value
            assert value == expected, f"{source} is {value!r}, and the page says {expected!r}"
        else:
            exec(compile(ast.Module([statement], []), "<block>", "exec"), names)


def _raises(error: type[Exception], said: str, source: str, names: dict[str, Any]) -> None:
    raised = "nothing"
    try:
        exec(source, names)
    except error as caught:
        raised = f"{error.__name__}: {caught}"
    pattern = ".*".join(re.escape(part) for part in f"{error.__name__}: {said}".split("..."))
    assert re.search(pattern, raised, re.DOTALL), f"{source} raised {raised}, and the page says {said}"


def converse(text: str, names: dict[str, Any], name: str) -> None:
    """Run a block of prompts and answers."""
    session = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    printed: list[str] = []
    # The parser copies the names; later blocks need what this one defines.
    session.globs = names
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    assert runner.run(session, out=printed.append, clear_globs=False).failed == 0, "".join(printed)


def main() -> None:
    """Run the blocks of a file: a list of the place, language and text of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for place, language, text in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        try:
            if language == "pycon":
                converse(text, names, place)
            else:
                run(text, names)
        except BaseException as error:
            print(f"{place}: {error}", file=sys.stderr)
            raise


if __name__ == "__main__":
    main()
