"""The site that `make docs` built, in a real browser and from its files: search, blocks of code, a phone."""

from __future__ import annotations

import code
import re
import runpy
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "docs"
BROWSER = runpy.run_path(str(ROOT / "tests" / "studio" / "browser.py"))

pytestmark = [
    pytest.mark.skipif(BROWSER["found"]() is None, reason="there is no Chromium: apt-get install chromium"),
    pytest.mark.skipif(not (SITE / "searchindex.js").exists(), reason="there is no site: make docs"),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    opened: AbstractContextManager[Browser] = BROWSER["opened"]()
    with opened as browser:
        yield browser


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A window that may read the files of the site, and nothing else."""
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    addresses: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: addresses.append(request.url))
    yield page
    context.close()
    assert [address for address in addresses if not address.startswith((SITE.as_uri(), "data:"))] == []


def opened(page: Page, name: str) -> Page:
    page.goto((SITE / f"{name}.html").as_uri())
    return page


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("CEP301", "errors.html#cep301"),
        ("late events", "sessions.html#late-events"),
        ("window", "concepts.html#windows"),
        ("not followed by", "from_window_functions.html#not-followed-by"),
        ("slider", "studio.html"),
    ],
)
def test_the_first_result_of_a_search(page: Page, query: str, first: str) -> None:
    page.goto((SITE / "search.html").as_uri() + f"?q={query}")
    result = page.locator("ul.search > li a").first
    result.wait_for()
    assert (result.get_attribute("href") or "").split("?")[0] == first


def test_that_no_page_is_wider_than_a_phone(page: Page) -> None:
    names = sorted(path.relative_to(SITE).with_suffix("").as_posix() for path in SITE.rglob("*.html"))
    assert len(names) > 40
    wide = [
        name
        for name in names
        if opened(page, name).evaluate("document.documentElement.scrollWidth > window.innerWidth")
    ]
    assert wide == []


def test_that_a_block_is_copied_without_prompts_and_results(page: Page) -> None:
    block = opened(page, "concepts").locator("div.highlight-python").nth(2)
    assert block.locator("pre").evaluate("codeOf").splitlines()[:4] == [
        "def pairs(text, events):",
        "    matches = cep.Query(text).match(events)",
        '    return [(match["match_start"], match["match_end"]) for match in matches]',
        "",
    ]
    page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }")
    block.get_by_text("Copy").click(force=True)
    block.get_by_text("Copied").wait_for()
    assert page.evaluate("window.copied") == block.locator("pre").evaluate("codeOf")


def test_that_the_tutorial_can_be_pasted_into_a_prompt(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line, as a prompt of Python 3.11 takes them; what goes wrong there is what the page says goes wrong."""
    monkeypatch.chdir(ROOT)
    shown = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = opened(page, "tutorial").locator("div.highlight-python pre").evaluate_all("found => found.map(codeOf)")
    names: dict[str, Any] = {}
    written: list[str] = []
    console = code.InteractiveConsole(names)
    monkeypatch.setattr(console, "write", written.append)
    for line in "".join(blocks).split("\n"):
        console.push(line)
    raised, described = (
        re.findall(r"^cepheid\.errors\.\w+: (?:error )?(CEP\d+)", text, re.MULTILINE)
        for text in ("".join(written), shown)
    )
    assert raised == described
    assert "SyntaxError" not in "".join(written)
    assert [match["card"] for match in names["found"]] == ["c023", "c013", "c003"]
