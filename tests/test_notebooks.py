"""The notebook that needs no Spark shows what its cells give; the other one is in tests/spark."""

import re
import runpy
from pathlib import Path
from typing import Any

NOTEBOOKS = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "notebook.py"))
KEPT = NOTEBOOKS["kept"]("see_it")


def shown(notebook: dict[str, Any], kind: str) -> list[str]:
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = [output.get("data", {}).get(kind) or output.get("text", []) for cell in cells for output in cell["outputs"]]
    return ["".join(text) for text in found]


def words(page: str) -> list[str]:
    """What a page says: where Graphviz puts it depends on its release, and how fast a session was on the machine."""
    page = re.sub(r"(events a second</th><td>)[^<]*", r"\1", page)
    return sorted(filter(None, (text.strip() for text in re.split(r"<[^>]*>", page))))


def test_the_notebook_shows_what_its_cells_give() -> None:
    made = NOTEBOOKS["executed"]("see_it")
    assert shown(KEPT, "text/plain") == shown(made, "text/plain"), "run: make notebooks"
    assert [words(page) for page in shown(KEPT, "text/html")] == [words(page) for page in shown(made, "text/html")]


def test_that_the_notebook_shows_pages() -> None:
    """Of each thing that has one; the others are a tuple, a chart, printed lines and answers of `why_not`."""
    pages = [page for page in shown(KEPT, "text/html") if "<" in page]
    begins = ["<pre", "<div style=", "<p>3 matches", "<svg", "\n<style>", "<p>&lt;0 matches"]
    assert [page[: len(begin)] for page, begin in zip(pages, begins, strict=False)] == begins
    assert sum("<table" in page for page in pages) >= 6
