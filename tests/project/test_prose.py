"""Tests of the language check (prose.py): each rule finds its case, and good prose passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from project import prose

LONG = "Word " + " ".join(["word"] * 35) + "."


def findings(text: str, name: str) -> list[tuple[int, str]]:
    suffix = Path(name).suffix or Path(name).name
    found = prose.LANGUAGES[suffix](name, dedent(text))
    return [(finding.line, finding.reason) for finding in sorted(found, key=lambda finding: finding.line)]


GOOD = {
    "page.md": """
        # A page

        Import an array with `cuarray.as_cuda_array(whoever)`. The call waits for the producer's stream.
        It does not copy. See [What is a race?](page.md#what) for the terms.

        What is a race? Two accesses are a race if nothing orders them.

        - The first item of a list has a sentence with about a dozen words in it.
        - The second item of the list has as many words, and it is a separate paragraph.
        - The third item of the list makes the whole list longer than the longest sentence.

        | column | another |
        |---|---|
        | a cell is its own text, so its words are counted alone | and so are those of the next cell in the row |

        ```python
        whoever = "What is in a block of code is not checked"
        ```

            whoever is here, in indented code

        That is why a page may open a paragraph with these two words. The same holds in the middle of one.
        """,
    "lib.rs": """
        //! Read and write the interface.

        /// Return the address of the first element.
        ///
        /// ```
        /// let whoever = "What the example says";
        /// ```
        fn address() -> &'static str {
            let quote = '"'; // the opening quote
            "the stream is 0: use 1 for the legacy default stream"
        }

        #[test]
        fn strided_copy_of_empty_layout_is_a_no_op() {}
        """,
    "module.py": '''
        """Read and write the interface."""

        # The driver keeps one table for each context.
        def test_p3_stream_is_none_after_completion(): ...

        MESSAGE = f"the stream is {0}: use 1 for the legacy default stream"
        ''',
}


@pytest.mark.parametrize("name", GOOD)
def test_good_prose_has_no_findings(name: str) -> None:
    assert findings(GOOD[name], name) == []


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("page.md", f"# Title\n\nShort.\n{LONG}\n", 4),
        ("page.md", f"- item\n- {LONG}", 2),
        ("page.md", f"| a | {LONG} |", 1),
        ("lib.rs", f"fn f() {{}}\n/// {LONG}\nfn g() {{}}", 2),
        ("lib.rs", f"fn f() {{}} // {LONG}", 1),
        ("lib.rs", f"/* {LONG} */", 1),
        ("module.py", f'def f():\n    """{LONG}"""', 2),
        ("module.py", f'x = "# no comment"\n# {LONG}', 2),
        ("Makefile", f"all:\n# {LONG}", 2),
    ],
)
def test_long_sentence_is_found_with_its_line(name: str, text: str, line: int) -> None:
    assert findings(text, name) == [(line, "36 words in a sentence")]


def test_sentence_over_several_comment_lines_is_counted_as_one() -> None:
    half = "// Word " + " ".join(["word"] * 17)
    assert findings(f"{half}\n{half}.", "lib.rs") == [(1, "36 words in a sentence")]
    assert findings(f"{half}.\n{half}.", "lib.rs") == []


def test_abbreviation_does_not_end_a_sentence() -> None:
    assert findings(" ".join(["word"] * 18) + ", e.g. " + " ".join(["word"] * 18), "page.md") == [
        (1, "37 words in a sentence")
    ]


def test_code_and_addresses_count_as_one_word() -> None:
    sentence = " ".join(["word"] * 32)
    assert findings(f"{sentence} `one two three four five` https://example.org/a-b-c.", "page.md") == []
    assert findings(f"{sentence} [one](https://example.org/a/b/c/d) <https://example.org>.", "page.md") == []


@pytest.mark.parametrize("opening", [*prose.OPENINGS, *prose.FIRST_OPENINGS])
@pytest.mark.parametrize(
    ("name", "form"),
    [("page.md", "{} is here."), ("lib.rs", "/// {} is here.\nfn f() {{}}"), ("module.py", '"""{} is here."""')],
)
def test_opening_is_found(opening: str, name: str, form: str) -> None:
    if opening == "That":  # "That is why …" is good prose
        form = form.replace("is here", "array stays")
    elif opening in prose.FIRST_OPENINGS:
        form = form.replace("is here", "array is here")
    assert (1, f"opens with `{opening}`") in findings(form.format(opening), name)


def test_opening_inside_a_paragraph_is_found() -> None:
    assert findings("An array is made here. What it keeps is dropped later.", "page.md") == [(1, "opens with `What`")]


@pytest.mark.parametrize(
    "phrase",
    [
        "that which",
        "put by",
        "of which",
        "nobody holds",
        "somebody else's",
        "whoever",
        "nothing is said of",
        "is said of",
        "has nothing to say",
        "how-manieth",
        "forgiven",
        "of one's own",
        "was taken for",
        "those that waited",
        "is for the",
        "had it not",
        "lets go of",
        "and its kin",
        "in the place of",
        "in a process of its own",
    ],
)
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("page.md", "The text {} here."),
        ("lib.rs", "// The text {} here."),
        ("lib.rs", 'fn f() {{ g("the text {} here") }}'),
        ("lib.rs", 'fn f() {{ g(r#"the "text" {} here"#) }}'),
        ("module.py", "# The text {} here."),
        ("module.py", 'raise ValueError("the text {} here")'),
        ("module.py", 'raise ValueError(f"the text {{x}} {} here")'),
        ("Makefile", "\t$(call say,the text {} here)"),
    ],
)
def test_banned_phrase_is_found(phrase: str, name: str, form: str) -> None:
    found = findings(form.format(phrase), name)
    assert found
    assert all(line == 1 and "(write: " in reason for line, reason in found)


def test_phrase_across_lines_is_found_where_it_begins() -> None:
    assert [line for line, _ in findings("One.\nThe memory is put\nby here.", "page.md")] == [2]


@pytest.mark.parametrize(
    "name",
    [
        "test_and_has_nothing_to_say_of_what_is",
        "test_p3_nor_when_it_is_done",
        "test_a_stream_nor_an_event_is_kept",
        "test_what_is_no_array",
        "test_i10_what_is_no_mask_is_refused",
        "test_a_stream_of_ones_own",
        "test_views_keep_it_too",
        "test_it_is_kept",
        "test_options",
    ],
)
def test_dialect_in_a_test_name_is_found(name: str) -> None:
    assert findings(f"def {name}(): ...", "module.py")
    assert findings(f"#[test]\nfn {name.removeprefix('test_')}() {{}}", "lib.rs")


def test_functions_other_than_tests_may_have_any_name() -> None:
    assert findings("def what_is_here(): ...", "module.py") == []
    assert findings("fn what_is_here() {}", "lib.rs") == []


def test_file_that_does_not_parse_is_reported() -> None:
    assert [reason for _, reason in findings("def f(:\n", "module.py")] == ["cannot be parsed"]


def test_command_prints_findings_and_counts(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, prose.__file__, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("Nobody reads it.\n")
    (tmp_path / "README.md").write_text("Good prose.\n")
    found = run()
    assert found.returncode == 1
    assert found.stdout.startswith("docs/page.md:1: `Nobody` ")
    assert run("README.md").returncode == 0
    assert run("--count").stdout.split() == ["1", "docs", "1", "in", "all"]
