"""What the documents show is what comes out."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


EXAMPLES = [
    ROOT / "README.md",
    *sorted(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "automata",
            "builder",
            "cesar",
            "changes",
            "data",
            "diagnose",
            "engine",
            "many",
            "plans",
            "recipes",
            "sessions",
            "tasks",
        )
    ),
]


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_examples(page: Path) -> None:
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried >= 10
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    # SELECT[c](S) is code, and no link.
    prose = re.sub(
        r"```.*?```|`[^`\n]*`|^    .*?$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
