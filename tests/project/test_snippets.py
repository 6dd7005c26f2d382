"""The blocks of the documents: `make docs-test` can run each of them, and the code that runs them notices mistakes.

Only `make docs-test` checks their results, because that needs empty environments and the network.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest
from documents.__main__ import pages
from documents.blocks import PARSED, RUN, SHOWN, Block, blocks, commands, fits
from documents.session import converse, run

ROOT = Path(__file__).parents[2]
BLOCKS = [block for page in pages() for block in blocks(page, (ROOT / page).read_text(encoding="utf-8"))]


def place(block: Block) -> str:
    return block.place


def test_documents_have_blocks_of_each_kind() -> None:
    assert {block.language for block in BLOCKS} >= {"console", "python", "rust", "c", "toml", "yaml"}
    assert len({block.page for block in BLOCKS}) > 20


@pytest.mark.parametrize("block", BLOCKS, ids=place)
def test_block_can_be_run_or_parsed(block: Block) -> None:
    assert block.language in RUN | PARSED | SHOWN
    if block.language == "python":
        compile(block.text, block.place, "exec")
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "console":
        script = "\n".join(command.text for command in commands(block.text))
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_block_knows_its_file_and_the_reason_why_it_is_not_run() -> None:
    page = (
        "text\n\n```python\n# a/b.py\nprint()\n```\n\n*Not run here: it needs a GPU.*\n\n"
        "```console\n$ nvidia-smi\n```\n\n1. step\n\n   ```c\n   /* a.c */\n   int a;\n   ```\n"
    )
    found = blocks(Path("page.md"), page)
    assert [(block.line, block.language, block.file, block.reason) for block in found] == [
        (3, "python", "a/b.py", None),
        (10, "console", None, "it needs a GPU"),
        (16, "c", "a.c", None),
    ]
    assert found[2].text == "/* a.c */\nint a;\n"


def test_command_has_its_continuation_and_its_output() -> None:
    assert commands("$ cc \\\n    a.c\n$ ./a\none\n> two\n$ cat <<end\n> x\n> end\n") == [
        ("cc \\\n    a.c", ""),
        ("./a", "one\n> two\n"),
        ("cat <<end\nx\nend", ""),
    ]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\n", "a  \n\n", True),
        ("a ... c\n", "a b c", True),
        ("...\nc\n", "a\nb\nc\n", True),
        ("...\nc\n...\n", "c\n", True),
        ("a\n", "a\nb\n", False),
        ("...c\n", "c d", False),
    ],
)
def test_ellipsis_stands_for_any_text(expected: str, printed: str, same: bool) -> None:
    assert fits(expected, printed) is same


def test_right_comments_behind_expressions_pass() -> None:
    run("len([1])  # 1\nlen([])  # the length\nint('x')  # ValueError: invalid literal ... 'x'\n", {})


@pytest.mark.parametrize("wrong", ["len([1])  # 2", "int('x')  # ValueError: no number", "int('1')  # ValueError: bad"])
def test_wrong_comment_behind_an_expression_fails(wrong: str) -> None:
    with pytest.raises(AssertionError):
        run(wrong, {})


def test_session_of_prompts_defines_names_and_compares_answers() -> None:
    names: dict[str, object] = {}
    converse(">>> a = 1\n>>> a + 1\n2\n", names, "page")
    assert names["a"] == 1
    with pytest.raises(AssertionError):
        converse(">>> a + 1\n3\n", names, "page")
