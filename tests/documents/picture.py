"""The picture of the first finding of an HTML report, as a self-contained SVG file: README.md shows that of docs/tutorial/first-race.md."""

from __future__ import annotations

import re


def picture(report: str) -> str:
    """Return the first picture of a report, with the report's style and light colours."""
    style = "".join(re.findall(r"<style>(.*?)</style>", report, re.DOTALL))
    colours = dict(re.findall(r"--([\w-]+): ([^;]+);", style.partition("@media")[0]))
    rules = [line for line in style.splitlines() if line.startswith("svg ") and not line.startswith("svg {")]
    rules.insert(0, 'svg text { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }')
    sheet = re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], "\n".join(rules)).replace("svg ", "")
    found = re.search(r'<div class="picture"[^>]*>(<svg.*?>)(.*?</svg>)', report, re.DOTALL)
    assert found is not None, "the report has no finding with a picture"
    paper = f'<rect width="100%" height="100%" fill="{colours["page"]}"/>'
    # Absolute paths differ between machines, so only file names stay.
    body = re.sub(r"&#10;[^ ]*/", "&#10;", found[2])
    return f"{found[1]}<style>{sheet}</style>{paper}{body}\n"
