"""Files outside of docs/ as pages, and links that work on GitHub and on the site.

On GitHub a page such as docs/changelog.md is a line with a link to CHANGELOG.md; on the site it is that file. A link to
a file that is a page leads to the page; a link to any other file, to a copy of the file.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHOWN = {
    "changelog": ROOT / "CHANGELOG.md",
    "contributing": ROOT / "CONTRIBUTING.md",
    "examples": ROOT / "examples" / "README.md",
    "figures/bench": ROOT / "bench" / "README.md",
    "figures/spark": ROOT / "bench" / "spark" / "results.md",
    **{
        f"figures/{name}": ROOT / "bench" / f"{name}.md"
        for name in ("automata", "cesar", "changes", "figures", "many", "plans", "results")
    },
}
PAGES = {path: DOCS / f"{name}.md" for name, path in SHOWN.items()} | {
    ROOT / "README.md": DOCS / "index.md",
    ROOT / "examples" / "tasks": DOCS / "tasks.md",
}
CODE = re.compile(r"^```.*?^```|^~~~.*?^~~~|`[^`\n]*`", re.DOTALL | re.MULTILINE)
# A doctest ends with an empty line, which no reader needs.
END = re.compile(r"\n\n```$", re.MULTILINE)
# `[data.md](data.md)` reads well among files; on the site the link shows the title of the page.
NAMED_BY_FILE = re.compile(r"\[(?:docs/)?[\w/]+\.md\](?=\([^)\s:]+\.md(?:#[^)\s]*)?\))")
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(#[^)\s]*)?(?=\))")


def on_the_site(text: str, file: Path, page: Path) -> str:
    """Rewrite the links of a file so that they lead to the same places from a page.

    >>> on_the_site("[many](many.md#on-spark)", ROOT / "bench" / "x.md", DOCS / "figures.md")
    '[many](figures/many.md#on-spark)'
    >>> on_the_site("[rows](spark/cases.py), `SELECT[c](S1)`", ROOT / "bench" / "x.md", DOCS / "figures.md")
    '[rows](../bench/spark/cases.py), `SELECT[c](S1)`'
    >>> on_the_site("[docs/data.md](data.md)", DOCS / "x.md", DOCS / "x.md")
    '[](data.md)'
    """

    def from_page(link: re.Match[str]) -> str:
        target = (file.parent / link[1]).resolve()
        if not target.exists():
            return link[0]
        return Path(os.path.relpath(PAGES.get(target, target), page.parent)).as_posix() + (link[2] or "")

    pieces = re.split(f"({CODE.pattern})", text, flags=CODE.flags)
    return "".join(
        piece if CODE.fullmatch(piece) else NAMED_BY_FILE.sub("[]", LINK.sub(from_page, piece)) for piece in pieces
    )


def show(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a page that only links to a file by the text of that file."""
    page = DOCS / f"{docname}.md"
    file = SHOWN.get(docname, page)
    if file != page:
        app.env.note_dependency(str(file))
        source[0] = file.read_text(encoding="utf-8")
    source[0] = END.sub("\n```", on_the_site(source[0], file, page))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", show)
    return {"parallel_read_safe": True}
