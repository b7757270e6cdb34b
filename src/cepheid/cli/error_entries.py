"""The entries of docs/errors.md, which the wheel carries, so that a code can be looked up without the site."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import cepheid

# In a wheel the page lies beside the package's modules; in a clone it is where it is written.
_PLACES = (Path(cepheid.__file__).parent / "errors.md", Path(cepheid.__file__).parents[2] / "docs" / "errors.md")
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")


@cache
def entries() -> dict[str, str]:
    """The text of each entry by its code, in the order of the page.

    >>> "CEP301" in entries()
    True
    """
    text = next(place for place in _PLACES if place.exists()).read_text(encoding="utf-8")
    sections = re.findall(r"^### (CEP\d{3})\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    return {code: _plain(entry) for code, entry in sections}


def first_sentence(entry: str) -> str:
    """What an entry is about, in a line.

    >>> first_sentence("A window, such as `5 ms`,\\nof no use. Write another.")
    'A window, such as `5 ms`, of no use.'
    """
    line = " ".join(entry.split("\n\n")[0].split())
    return re.split(r"(?<=[.?]) (?=[A-Z`])", line)[0]


def _plain(entry: str) -> str:
    """Markdown as a terminal shows it: code is indented, a link is its words.

    >>> _plain("See [units](data.md#units).\\n\\n```python\\n>>> 1\\n1\\n\\n```\\n")
    'See units.\\n\\n    >>> 1\\n    1'
    """
    lines, inside = [], False
    for line in entry.strip().splitlines():
        if line.startswith("```"):
            inside = not inside
        else:
            lines.append(f"    {line}".rstrip() if inside else _LINK.sub(r"\1", line))
    return "\n".join(lines).strip()
