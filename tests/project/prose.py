"""Check the language of documents, comments, docstrings, messages and test names.

    python tests/project/prose.py [PATHS...]     print `path:line: reason: text` for each finding; exit status 1 if any
    python tests/project/prose.py --count        print the number of findings in each folder

Without PATHS, all files that git tracks are checked. CONTRIBUTING.md states the rules.
"""

from __future__ import annotations

import argparse
import ast
import bisect
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

LONGEST = 35  # words in a sentence

# Words and phrases that plain technical English does not need, each with its replacement.
BANNED = {
    r"that which": "name the thing",
    r"put by": "deferred",
    r"(?:of|in|at|by|from|after|before|for) whom": "name the subject",
    r"of which": "a separate sentence, or `whose`",
    r"(?:no|any|some)body(?: else)?(?:'s)?": "name the subject: the program, the caller, a thread, another library",
    r"who(?:m|so)?ever": "name the subject",
    r"what it is that": "name the thing",
    r"those (?:who|that (?:waited|came|wait|come|know|knew))": "name the subject",
    r"(?:he|she|one) who": "name the subject",
    r"is for the": "state the use",
    r"(?:is|are|was|were|nothing|much|more|something|anything) said of": "state the fact",
    r"(?:has|have|had) nothing to say|nothing to say": "no findings",
    r"how-?manieth": "index",
    r"the meant": "the current",
    r"forg[ia]v(?:e|es|en|ing)": "deviations; accept, accepts",
    r"one's(?: own)?": "its, their, your",
    r"(?:is|are|was|were|be|been) taken for": "is treated as, is read as",
    r"(?:is|are|was|were|be|been) told": "is reported, receives",
    r"asks? after|asked after": "queries",
    r"(?:its|and|their) kin": "name the others",
    r"lets? go(?: of)?|letting go(?: of)?": "releases, drops",
    r"(?:has|have|had) not(?=[.,;:)]|$)": "lacks, does not have",
    r"(?:th|wh)(?:ereof|erein|ence|ereupon)|hither|lest|betimes|aught|na?ught|nought": "current English",
    r"(?:is|are) content with": "accepts",
    r"se(?:es?|en) to (?!be\b|it that\b)": "handles",
    r"as yet": "yet",
    r"(?:can|cannot|could|may|to) be had": "is available",
    r"(?:had|were|be) it (?:not|so|that)|be it": "if",
    r"(?:brings?|brought|bringing)(?: \w+)? along": "provides, includes",
    r"in (?:its|their|his|whose) stead": "instead",
    r"(?:no|a) part of what": "name the thing",
    r"(?:the |a |one )?ways? round(?! trip)": "a way around, a bypass",
    r"kno(?:ws?|wn) (?:of no|nothing of)": "lacks, does not know",
    r"(?:manual|text|driver|header) has (?:it|them)": "documents it",
    r"the same of": "name the thing",
    r"(?:is|are|was|were) met at": "name the event",
    r"(?:how )?many an?": "many",
    r"in vain": "without effect",
    r"unto": "to",
    r"ours|theirs": "name the owner",
    r"(?:are|is) wont to": "usually",
    r"by its likes?|and its like|the likes? of": "name the others",
    r"go(?:es|ing)? on (?:without|with|waiting)|went on (?:without|with|waiting)": "continue",
    r"(?:does|do|did) with (?:what|those|that)": "uses, accepts",
    r"(?:nothing|none) of (?:this|that|it) (?:kind|sort)": "name the thing",
    r"(?:which|that) (?:is|are) (?-i:none)": "state the fact",
    r"mends?|mended|amiss": "fix, wrong",
    r"a (?:good|great) (?:many|deal)": "many",
    r"in the place of": "instead of, in place of",
    r"besides,": "leave it out",
    r"an? [\w-]+ of (?:its|their) own": "its own, a separate",
}

OPENINGS = (
    "What",
    "Who",
    "Whom",
    "Whoever",
    "Whomever",
    "Whatever",
    "Of which",
    "Of what",
    "Those that",
    "Those who",
    "Nor",
    "How many a",
)
# A sentence may open with these, but a paragraph or a doc comment may not.
FIRST_OPENINGS = ("The same", "That", "As above", "Likewise")

# Patterns that no test name may match, after `test_` and the id of a clause are removed.
TEST_NAMES = {
    r"^(?:what|who|whoever|whatever|of_which|those_that|the_same|that)_": "opens with {0}",
    r"^(?:and|nor|but|or|so|as|it|they|neither)_": "depends on the name before it: opens with {0}",
    r"_nor_": "`_nor_`: name one case",
    r"nothing_to_say": "say `has_no_findings`",
    r"(?:no|any|some)body": "name the subject",
    r"whoever|whatever": "name the subject",
    r"lets?_go|letting_go": "say `releases` or `drops`",
    r"is_said|are_said|is_told|are_told": "{0}: state the fact",
    r"ones_own": "say `own`",
    r"forg[ia]v": "say `deviation` or `accepted`",
    r"put_by": "say `deferred`",
    r"gone_round|way_round": "say `bypassed`",
    r"_too$|_as_well$": "depends on the name before it: ends with {0}",
    r"^[a-z0-9]+$": "one word: say the case and the expectation",
}

ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|etc|no|fig|approx|resp|incl)|\b[A-Z])\.$", re.IGNORECASE)
ITEM = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
LABEL = re.compile(r"^(?:SAFETY|TODO|NOTE|Safety|Note|Errors|Panics|Returns|Raises|Yields)(?: \([^)]*\))?: *")
WORD = re.compile(r"[^\W_]")
SENTENCE_END = re.compile(r"[.!?][\"')\]*_]*(?=\s|$)")


class Finding(NamedTuple):
    path: str
    line: int
    reason: str
    text: str

    def __str__(self) -> str:
        text = " ".join(self.text.split())
        return f"{self.path}:{self.line}: {self.reason}: {text if len(text) <= 160 else text[:157] + '...'}"


@dataclass
class Block:
    """Adjacent lines of prose: a comment, a docstring, or a document."""

    line: int
    lines: list[str]
    doc: bool = True  # False: a plain comment
    numbers: list[int] | None = None

    def number(self, index: int) -> int:
        return self.numbers[index] if self.numbers is not None else self.line + index


@dataclass
class Paragraph:
    pieces: list[tuple[int, str]]
    heading: bool = False

    def text_and_lines(self) -> tuple[str, list[tuple[int, int]]]:
        text, starts = "", []
        for line, piece in self.pieces:
            starts.append((len(text), line))
            text += piece + "\n"
        return text, starts


def _phrases(table: Iterable[str]) -> str:
    return "|".join(f"(?:{each})" for each in table)


_BANNED = [
    (re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE), advice) for pattern, advice in BANNED.items()
]
_OPENS = re.compile(rf"(?:{_phrases(OPENINGS)})\b")
_OPENS_LOWER = re.compile(r"(?:what|whoever|whatever|of which|those that|the same of)\b")
_OPENS_FIRST = re.compile(rf"(?:{_phrases(FIRST_OPENINGS)})\b(?! is\b)")
_NAMES = [(re.compile(pattern), reason) for pattern, reason in TEST_NAMES.items()]
_CLAUSE = re.compile(r"^(?:test_)?(?:[a-z]?\d+[a-z]?_(?:\d+[a-z]?_)*)?")


# --- prose ---------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Remove markup. Newlines stay, so that each position keeps its line number."""

    def keep_newlines(found: re.Match[str], by: str) -> str:
        return by + "\n" * found[0].count("\n")

    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", lambda found: keep_newlines(found, "CODE"), text, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", lambda found: keep_newlines(found, ""), text)
    text = re.sub(
        r"\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])?",
        lambda found: found[1] + "\n" * (found[0].count("\n") - found[1].count("\n")),
        text,
    )
    text = re.sub(r"<[^<>\n]*://[^<>\n]*>|\b[a-z]+://\S*[^\s.,;:)]", "URL", text)
    text = re.sub(r"</?[a-zA-Z!][^<>]*>", lambda found: keep_newlines(found, ""), text)
    return text.replace("**", "").replace("__", "")


def paragraphs(block: Block) -> Iterator[Paragraph]:
    """Split Markdown at blank lines, list items and table rows. Docstrings and comments are Markdown too."""
    pieces: list[tuple[int, str]] = []
    fence = ""
    indent_allowed = 0
    for index, raw in enumerate(block.lines):
        number = block.number(index)
        line = raw.strip()
        if fence:
            if line.startswith(fence):
                fence = ""
            continue
        indent = len(raw) - len(raw.lstrip())
        ends = False
        if line.startswith(("```", "~~~")):
            fence, ends = line[:3], True
        elif not line or re.fullmatch(r"[-=*_#~+|: ]{3,}", line) or re.match(r"\[\^|\[[^\]]+\]: |>>>|<!--", line):
            ends = True
        elif not pieces and indent >= indent_allowed + 4 and not ITEM.match(line):
            ends = True  # an indented block of code
        if ends:
            if pieces:
                yield Paragraph(pieces)
                pieces = []
            if not line:
                continue
            if fence or indent >= 4:
                continue
            indent_allowed = 0
            continue
        if line.startswith("#") and re.match(r"#{1,6} ", line):
            if pieces:
                yield Paragraph(pieces)
                pieces = []
            yield Paragraph([(number, line.lstrip("# "))], heading=True)
            indent_allowed = 0
        elif line.startswith("|"):
            if pieces:
                yield Paragraph(pieces)
                pieces = []
            for cell in re.split(r"(?<!\\)\|", line.strip("|")):
                if cell.strip():
                    yield Paragraph([(number, cell.strip())], heading=True)
        elif (item := ITEM.match(line)) is not None:
            if pieces:
                yield Paragraph(pieces)
            pieces = [(number, line[item.end() :])]
            indent_allowed = indent + item.end()
        else:
            if not pieces and indent < indent_allowed:
                indent_allowed = 0
            pieces.append((number, line.lstrip("> ") if line.startswith(">") else line))
    if pieces:
        yield Paragraph(pieces)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a paragraph with their positions in it."""
    start = 0
    for end in SENTENCE_END.finditer(text):
        if ABBREVIATION.search(text[: end.start() + 1]) or text[: end.end()].endswith("..."):
            continue
        yield start, text[start : end.end()]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]


def words(sentence: str) -> int:
    return sum(WORD.search(word) is not None for word in sentence.split())


def check_paragraph(path: str, paragraph: Paragraph, first: bool, doc: bool) -> Iterator[Finding]:
    raw, starts = paragraph.text_and_lines()
    text = plain(raw)
    if text.count("\n") != raw.count("\n"):  # unbalanced markup: positions would be wrong
        text = raw

    breaks = [index for index, each in enumerate(text) if each == "\n"]

    def line_at(position: int) -> int:
        return starts[min(sum(each < position for each in breaks), len(starts) - 1)][1]

    for number, (position, sentence) in enumerate(sentences(text)):
        position += len(sentence) - len(sentence.lstrip())
        sentence = sentence.strip()
        count = words(sentence)
        if count > LONGEST:
            yield Finding(path, line_at(position), f"{count} words in a sentence", sentence)
        question = sentence.rstrip("\"')*_").endswith("?")
        opening = LABEL.sub("", sentence).lstrip("*_(\"'“")
        found = _OPENS.match(opening)
        if found is None and number == 0 and (first or doc):
            found = _OPENS_FIRST.match(opening) if not paragraph.heading else None
        if found is None and number == 0 and not paragraph.heading:
            found = _OPENS_LOWER.match(opening)
        if found is not None and not question:
            yield Finding(path, line_at(position), f"opens with `{found[0]}`", sentence)
    for pattern, advice in _BANNED:
        for found in pattern.finditer(text.replace("\n", " ")):
            near = text[max(0, found.start() - 60) : found.end() + 60]
            yield Finding(path, line_at(found.start()), f"`{found[0].strip()}` (write: {advice})", near)


def check_block(path: str, block: Block) -> Iterator[Finding]:
    for index, paragraph in enumerate(paragraphs(block)):
        yield from check_paragraph(path, paragraph, index == 0, block.doc)


def check_name(path: str, line: int, name: str) -> Iterator[Finding]:
    base = name[_CLAUSE.match(name).end() :]  # type: ignore[union-attr]
    for pattern, reason in _NAMES:
        if (found := pattern.search(base)) is not None:
            yield Finding(path, line, f"test name {reason.format('`' + found[0].strip('_') + '`')}", name)


def check_message(path: str, line: int, text: str) -> Iterator[Finding]:
    """Check a string literal for banned phrases, if it is a sentence and not code."""
    if len(text) > 4000 or words(text) < 4 or re.search(r"[{}]\s*\n|;\s*\n|^\s*[.%#]\w|\n\s+\w+\(|\bdef \w+\(", text):
        return
    text = " ".join(plain(re.sub(r"\\\n\s*", "", text)).split())
    for pattern, advice in _BANNED:
        for found in pattern.finditer(text):
            near = text[max(0, found.start() - 60) : found.end() + 60]
            yield Finding(path, line, f"message: `{found[0].strip()}` (write: {advice})", near)
    if _OPENS_LOWER.match(text) or (_OPENS.match(text) and not text.endswith("?")):
        yield Finding(path, line, "message opens with `" + text.split()[0] + "`", text)


# --- languages -----------------------------------------------------------------------------------

RUST = re.compile(
    r"""
      (?P<line>//[^\n]*)
    | (?P<block>/\*.*?\*/)
    | (?P<raw>\b(?:b|c|br|cr)?r(?P<hashes>\#*)".*?"(?P=hashes))
    | (?P<string>\b[bc]?"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*")
    | (?P<char>'(?:[^'\\\n]|\\[^\n]{1,10}?)')
    """,
    re.VERBOSE | re.DOTALL,
)


def _line_counter(text: str) -> list[int]:
    return [index for index, each in enumerate(text) if each == "\n"]


def slashes(path: str, text: str, messages: bool = True) -> Iterator[Finding]:
    """Check the comments and messages of Rust, C, C++ and CUDA."""
    newlines = _line_counter(text)

    def line_of(position: int) -> int:
        return bisect.bisect_left(newlines, position) + 1

    block: Block | None = None
    kind = ""
    for found in RUST.finditer(text):
        line = line_of(found.start())
        if found["line"] is not None:
            comment = found["line"]
            mark = re.match(r"//[/!]?(?!/)|/+", comment)[0]  # type: ignore[index]
            start = text.rfind("\n", 0, found.start()) + 1
            alone = not text[start : found.start()].strip()
            here = mark if alone else ""
            body = comment[len(mark) :]
            body = body.removeprefix(" ")
            if block is not None and alone and kind == here and line == block.line + len(block.lines):
                block.lines.append(body)
                continue
            if block is not None:
                yield from check_block(path, block)
            block, kind = Block(line, [body], doc=mark != "//"), here
            if not alone:
                yield from check_block(path, block)
                block = None
            continue
        if found["block"] is not None:
            body = found["block"][2:-2].lstrip("*!")
            lines = [
                re.sub(r"^\s*\* ?", "", each) if index else each.strip() for index, each in enumerate(body.split("\n"))
            ]
            yield from check_block(path, Block(line, lines, doc=found["block"].startswith(("/**", "/*!"))))
        elif messages and found["char"] is None:
            literal = found["raw"] if found["raw"] is not None else found["string"]
            yield from check_message(path, line, literal[literal.index('"') + 1 : -1].rstrip('"'))
    if block is not None:
        yield from check_block(path, block)


def rust(path: str, text: str) -> Iterator[Finding]:
    yield from slashes(path, text)
    for found in re.finditer(r"#\[test\](?:\s*#\[[^\]]*\]|\s*//[^\n]*)*\s*(?:pub |async )*fn (\w+)", text):
        yield from check_name(path, text.count("\n", 0, found.start(1)) + 1, found[1])


def python(path: str, text: str) -> Iterator[Finding]:
    try:
        tree = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError) as error:
        yield Finding(path, getattr(error, "lineno", None) or 1, "cannot be parsed", str(error))
        return
    docstrings = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and body:
            # A string after an assignment documents an attribute.
            for statement in body if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else body[:1]:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    value = statement.value
                    if isinstance(value.value, str):
                        docstrings.add(id(value))
                        lines = value.value.split("\n")
                        depth = min((len(x) - len(x.lstrip()) for x in lines[1:] if x.strip()), default=0)
                        yield from check_block(
                            path, Block(value.lineno, [lines[0], *(each[depth:] for each in lines[1:])])
                        )
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield from check_name(path, node.lineno, node.name)
    in_joined = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docstrings and id(node) not in in_joined:
                yield from check_message(path, node.lineno, node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [value.value if isinstance(value, ast.Constant) else "`VALUE`" for value in node.values]
            yield from check_message(path, node.lineno, "".join(map(str, parts)))
    yield from _hashes(
        path,
        (
            (token.start[0], token.line[: token.start[1]].strip() == "", token.string)
            for token in tokens
            if token.type == tokenize.COMMENT
        ),
    )


def _hashes(path: str, comments: Iterable[tuple[int, bool, str]]) -> Iterator[Finding]:
    block: Block | None = None
    for line, alone, comment in comments:
        body = comment.lstrip("#:").removeprefix("!").strip()
        if re.match(r"type:|noqa|ruff:|mypy:|/usr/bin|/bin/|-\*-|fmt:|cython:|distutils:", body):
            continue
        body = re.sub(r"^-{2,}\s*|\s*-{2,}$", "", body)
        if block is not None and alone and line == block.line + len(block.lines):
            block.lines.append(body)
            continue
        if block is not None:
            yield from check_block(path, block)
            block = None
        if alone:
            block = Block(line, [body], doc=False)
        else:
            yield from check_block(path, Block(line, [body], doc=False))
    if block is not None:
        yield from check_block(path, block)


def hashes(path: str, text: str) -> Iterator[Finding]:
    """Check the comments of shell scripts, makefiles, TOML, YAML and requirements.

    A comment after code is skipped if the code has a quote or a `$`: its `#` may then be part of a string.
    """
    yield from _hashes(
        path,
        (
            (number, not found[1].strip(), found[2])
            for number, line in enumerate(text.split("\n"), 1)
            if (found := re.match(r"""^([^"'#$]*)(?<!\S)(#.*)$""", line)) is not None
        ),
    )
    # Messages of recipes, and the help texts of targets.
    if Path(path).name == "Makefile":
        for number, line in enumerate(text.split("\n"), 1):
            for found in re.finditer(r"## (.*)$|\$\(call say,(.*)\)$|echo (['\"])(.*?)\3", line):
                yield from check_message(path, number, found[1] or found[2] or found[4] or "")


def markdown(path: str, text: str) -> Iterator[Finding]:
    yield from check_block(
        path, Block(1, re.sub(r"<!--.*?-->", lambda f: "\n" * f[0].count("\n"), text, flags=re.DOTALL).split("\n"))
    )


LANGUAGES = {
    ".md": markdown,
    ".rs": rust,
    ".py": python,
    ".pyi": python,
    ".pyx": hashes,
    ".c": slashes,
    ".cpp": slashes,
    ".h": slashes,
    ".cu": slashes,
    ".sh": hashes,
    ".toml": hashes,
    ".yml": hashes,
    ".yaml": hashes,
    ".txt": hashes,
    "Makefile": hashes,
    ".ci/run": hashes,
}
# Files without prose of this project, and the files that quote banned phrases.
EXCLUDED = re.compile(
    r"(^|/)(fuzz/corpus|target|\.venv|build|dist|CMakeLists\.txt|LICENSE[^/]*)(/|$)|(^|/)tests/project/(test_)?prose\.py$"
)


def check_file(path: Path, name: str) -> list[Finding]:
    language = LANGUAGES.get(path.suffix) or LANGUAGES.get(path.name)
    if language is None and name.endswith(".ci/run"):
        language = hashes
    if language is None or EXCLUDED.search(name):
        return []
    return sorted(language(name, path.read_text(encoding="utf-8")), key=lambda finding: finding.line)


def tracked(root: Path, paths: list[str]) -> list[str]:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths]
    found = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True)
    return sorted(set(filter(None, found.stdout.split("\0"))))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", help="files or folders; all tracked files if omitted")
    parser.add_argument("--count", action="store_true", help="print the number of findings in each folder")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    findings = [
        finding
        for name in tracked(root, options.paths or ["."])
        if (path := root / name).is_file() and not path.is_symlink()
        for finding in check_file(path, name)
    ]
    if options.count:
        folders = Counter("/".join(finding.path.split("/")[:-1][:2]) or finding.path for finding in findings)
        for folder, count in sorted(folders.items()):
            print(f"{count:6} {folder}")
        print(f"{len(findings):6} in all")
    else:
        for finding in findings:
            print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
