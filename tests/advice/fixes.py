"""Read the fix of a planted error from the difference between the two builds of its kernel.

The parts of a kernel that only one build has are in macros: ``CLEAN(...)`` and ``RIGHT(...)``, or ``RACY(...)`` and ``WRONG(...)``.
A kernel whose difference does not tell has a comment ``// fix: CLASS`` above it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CLASSES = {
    "barrier of the grid": ("barrier of the grid",),
    "barrier of the cluster": ("barrier of the cluster",),
    "barrier of the block": ("__syncthreads", "let all threads", "wait between"),
    "barrier of a warp": ("__syncwarp", "__syncthreads"),
    "wait": ("wait",),
    "commit": ("commit",),
    "fence": ("fence", "fences", "__threadfence", "release", "acquire"),
    "scope": ("scope",),
    "atomic or strong access": ("atomic", "strong", "volatile"),
    "lock": ("same lock",),
    "moved statement": ("move",),
    "statement too many": ("move the access", "remove", "counted once"),
    "condition": (
        "the condition",
        "let one",
        "let only",
        "let all",
        "name only",
        "do not use",
        "divergent code",
    ),
    "mask": ("mask",),
    "count of a barrier": ("barrier counts", "let it count", "its count", "count only the threads"),
    "awaited value": ("another flag", "another value"),
    "first write": ("write shared memory", "write these bytes"),
    "other value": ("do not use its value",),
    "other element": ("own memory", "distinct", "overlap", "index"),
}
"""The classes of fixes, each with the words of an advice that name it."""

SYNCHRONIZATION = {
    "barrier of the grid": r"grid(\(\))?\.sync\(",
    "barrier of the cluster": r"cluster\.sync\(",
    "barrier of the block": r"__syncthreads|block(\(\))?\.sync\(|bar\.sync|arrive_and_wait",
    "barrier of a warp": r"__syncwarp|(group|warp)\.sync\(",
    "wait": r"wait_prior|consumer_wait|wait_group|wait_parity|groups::wait|\.wait\(|^while\b",
    "commit": r"_commit\(",
}
"""The calls that order threads and copies, by the class of a fix that inserts one."""

STRENGTH = {
    "fence": r"__threadfence|memory_order_(release|acquire)",
    "atomic or strong access": r"\batomic[A-Z]|\bvolatile\b(?! \()",
}
"""The parts of statements that order memory, by class."""

PLACES = {
    "mask": r"\bmask = |elected\)",
    "count of a barrier": r"bar\.sync|\binit\(",
    "barrier of a warp": r"tiled_partition<$",
    "wait": r"wait_prior\($",
    "awaited value": r"\bwhile \(|\bwait\(",
    "lock": r"\block(\(| =)",
}
"""The text before an operand that the fix changes, by class."""

MACRO = re.compile(r"\b(CLEAN|RIGHT|RACY|WRONG)\(")
CONDITION = r"\b(?:if|for|while) \((?:[^()]|\([^()]*\))*"
SCOPES = re.compile(r"_block\b|\bblock\b|\bdevice\b|\.(cta|cluster|gpu)\b")


@dataclass
class Part:
    """A part of a kernel that one build has."""

    right: bool
    text: str
    before: str
    """The text of its line before it, in both builds."""
    after: str
    """The text behind it, in both builds."""

    @property
    def is_statement(self) -> bool:
        return self.text.endswith((";", "}"))

    @property
    def is_guard(self) -> bool:
        return re.fullmatch(r"(if|for) \(.*\)|else", self.text) is not None


def parts(text: str) -> list[Part]:
    """Return the parts of a kernel that one build has, in their order."""
    found, position, before = [], 0, ""
    text = re.sub(r"//.*", "", text)
    while macro := MACRO.search(text, position):
        end, depth = macro.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        before += text[position : macro.start()]
        inner = " ".join(text[macro.end() : end - 1].split())
        found.append(Part(macro[1] in ("CLEAN", "RIGHT"), inner, before.rsplit("\n", 1)[-1].lstrip(), text[end:]))
        position = end
    return found


def kernel(source: str, name: str) -> str:
    """Return the text of a kernel, from its name to its end."""
    return source[source.index(f"KERNEL({name})") :].partition("\n}\n")[0]


def stated(source: str, name: str) -> str | None:
    """Return the class that the comment of a kernel states."""
    found = re.search(rf"^// fix: (.*)\n(?://.*\n)*KERNEL\({name}\)", source, re.M)
    return found[1] if found else None


def fix(source: str, name: str) -> str | None:
    """Return the class of the fix of a kernel; ``None`` if no rule knows it."""
    text = kernel(source, name)
    every = parts(text)
    right, wrong = [part for part in every if part.right], [part for part in every if not part.right]
    rights = [_expanded(part.text, source, text) for part in right]
    return (
        stated(source, name)
        or _narrowed(right, wrong)
        or _moved(right, wrong)
        or _matched(SYNCHRONIZATION, rights)
        or _matched(SYNCHRONIZATION, [part.after.partition(";")[0] for part in wrong if part.is_guard])
        or _matched(STRENGTH, rights)
        or next((found for part in every if (found := _by_place(part, text))), None)
        or _by_form(right, wrong)
    )


def names(advice: str, fix: str) -> bool:
    """Whether an advice names the class of a fix."""
    return any(re.search(rf"(?<!\w){words}(?!\w)", advice) for words in CLASSES[fix])


def _expanded(part: str, source: str, text: str) -> str:
    """Return a part with the functions of the file that it calls, and with the qualifier of a pointer that it names."""
    for name in re.findall(r"\b(\w+)\(", part):
        if function := re.search(rf"__device__ \w+ {name}\(.*?\}}$", source, re.M | re.S):
            part += " " + function[0]
    return f"volatile {part}" if re.search(rf"\bvolatile \w+ \*{re.escape(part)}\b", text) else part


def _matched(patterns: dict[str, str], texts: list[str]) -> str | None:
    """Return the first class whose pattern is in a text."""
    return next((name for name, pattern in patterns.items() if any(re.search(pattern, text) for text in texts)), None)


def _narrowed(right: list[Part], wrong: list[Part]) -> str | None:
    """The class of a scope that differs, if nothing else does."""
    texts = [[part.text for part in of] for of in (right, wrong)]
    return "scope" if texts[0] != texts[1] and _without_scopes(texts[0]) == _without_scopes(texts[1]) else None


def _without_scopes(texts: list[str]) -> list[str]:
    return [SCOPES.sub("", text) for text in texts]


def _moved(right: list[Part], wrong: list[Part]) -> str | None:
    """The class of a part that both builds have at different places. A moved barrier, wait or fence is one at the right place."""
    for part in right:
        for other in wrong:
            same = sorted(re.findall(r"\w+|\S", part.text)) == sorted(re.findall(r"\w+|\S", other.text))
            if (same and part.is_statement) or f"= {part.text};" in other.text:
                is_call = re.fullmatch(r"[\w.:]+\(.*\);", part.text) and "store(" not in part.text
                return (is_call and _matched(SYNCHRONIZATION | STRENGTH, [part.text])) or "moved statement"
    return None


def _by_place(part: Part, text: str) -> str | None:
    """The class of a fix that changes an operand, by what stands before it."""
    call = re.split(r"\w+_sync\(|__syncwarp\(", part.before)
    if len(call) > 1 and call[-1].count("(") >= call[-1].count(")"):
        return "other value" if "," in call[-1] else "mask"
    if part.is_statement:
        assigned = re.match(r"(?:if \(.*\) )?(?:\+\+)?(?!return)(\w+)(?: =|;)", part.text)
    elif (place := _matched(PLACES, [part.before])) or re.search(rf"{CONDITION}$", part.before):
        return place or "condition"
    else:
        assigned = re.search(r"(\w+) = (?:(?! = ).)*$", part.before)
    if assigned and assigned[1] == "mask":
        return "mask"
    if assigned and re.search(rf"{CONDITION}\b{assigned[1]}\b", text.replace(part.text, "")):
        return "condition"
    return "other value" if assigned and part.is_statement and part.right else None


def _by_form(right: list[Part], wrong: list[Part]) -> str | None:
    """The class of a fix by the form of its parts alone."""
    if any(part.is_guard or part.text.endswith("return;") for part in right + wrong):
        return "condition"
    if wrong and not right and all(part.is_statement for part in wrong):
        return "statement too many"
    if right and not wrong and all(" = " in part.text and part.is_statement for part in right):
        return "first write"
    calls = re.findall(r"\b(\w+) ?\(", " ".join(part.text for part in right + wrong))
    return "other element" if (right or wrong) and {*calls} <= {"if", "min", "max"} else None
