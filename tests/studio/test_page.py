"""The page, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import browser
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from serving import Served, demo, serving

from cepheid import Query
from cepheid.pattern.tree.nodes import Program

pytestmark = pytest.mark.skipif(browser.found() is None, reason="there is no Chromium: apt-get install chromium")

Open = Callable[[Served], Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.opened() as found:
        yield found


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Opens a window of its own on a server; an error of the page's code, or a request to elsewhere, fails the test."""
    contexts, wrong = [], list[str]()

    def open_(served: Served) -> Page:
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 800}))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        own = f"http://127.0.0.1:{served.port}/"
        page.on("request", lambda sent: None if sent.url.startswith((own, "data:")) else wrong.append(sent.url))
        page.goto(served.address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


def write(page: Page, text: str) -> None:
    text_of(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def text_of(page: Page) -> Locator:
    return page.get_by_label("query", exact=True).nth(1)


def code_of(page: Page) -> Locator:
    return page.get_by_label("the query in Python")


def test_the_demo_from_start_to_first_match(served: Served, open_page: Open) -> None:
    page = open_page(served)
    expect(page.get_by_role("status")).to_contain_text("3 matches in 59 events")
    first = page.get_by_role("row").nth(1)
    expect(first).to_contain_text("T1006")
    expect(first).to_contain_text("south door")
    expect(page.get_by_label("matches on a time line")).to_be_visible()
    page.get_by_role("tab", name="Automaton").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("PATTERN SEQ(Shelf a, !(Register b), Exit c)")
    expect(page.get_by_label("the automaton of the query")).to_be_visible()
    page.get_by_role("tab", name="Why").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("21 runs")
    expect(page.get_by_role("tabpanel")).to_contain_text("Nearest misses")
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Shelf 21")
    page.get_by_role("button", name="Python").click()
    expect(code_of(page)).to_contain_text('cep.event("Shelf", a)')


def test_an_error_is_shown_at_its_place(served: Served, open_page: Open) -> None:
    page = open_page(served)
    write(page, "PATTERN SEQ(Shelf a, Exit c)\nWHERE a.tag = c.tag_id")
    expect(page.locator(".problems")).to_contain_text("CEP301 unknown column 'tag'")
    expect(page.locator(".problems")).to_contain_text("did you mean 'tag_id'?")
    expect(page.locator(".cm-lintRange-error")).to_have_text("a.tag")
    page.get_by_role("button", name="line 2, column 7").click()
    page.keyboard.insert_text("a.tag_id")
    expect(page.locator(".problems")).to_be_empty()
    expect(page.get_by_role("status")).to_contain_text("matches in 59 events")


def test_completion_knows_the_columns(served: Served, open_page: Open) -> None:
    page = open_page(served)
    write(page, "PATTERN SEQ(Shelf a, Exit c) WHERE a")
    page.keyboard.type(".ta")
    page.get_by_role("option", name="tag_id").click()
    expect(text_of(page)).to_contain_text("WHERE a.tag_id")


def test_the_page_is_used_by_keyboard(served: Served, open_page: Open) -> None:
    page = open_page(served)
    expect(page.get_by_role("status")).to_contain_text("3 matches")
    write(page, "PATTERN SEQ(Shelf a, Exit c) WHERE a")
    page.keyboard.type(".ta")
    expect(page.get_by_role("option", name="tag_id")).to_be_visible()
    page.wait_for_timeout(200)  # a suggestion that has just come is not accepted: it may not be the one that was meant
    page.keyboard.press("Tab")
    expect(text_of(page)).to_contain_text("WHERE a.tag_id")
    page.keyboard.type(" = c.tag_id WITHIN 12 hours")
    expect(page.get_by_role("slider")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_role("slider")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("tab", name="Matches")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Automaton")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel")).to_contain_text("How far the query gets")


def test_a_slider_keeps_the_focus(served: Served, open_page: Open) -> None:
    page = open_page(served)
    slider = page.get_by_role("slider", name="WITHIN hours")
    slider.focus()
    for hours in (13, 14, 15):
        with page.expect_response("**/api/constants"):  # after which the sliders are those of the new text
            page.keyboard.press("ArrowRight")
        expect(text_of(page)).to_contain_text(f"WITHIN {hours} hours")
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", "15 hours")


def test_a_reload_keeps_the_query(served: Served, open_page: Open) -> None:
    page = open_page(served)
    write(page, "PATTERN Exit a -- mine")
    expect(page.get_by_role("status")).to_contain_text("11 matches")
    page.reload()
    expect(text_of(page)).to_contain_text("PATTERN Exit a -- mine")
    expect(page.get_by_role("status")).to_contain_text("11 matches")
    page.get_by_role("button", name="Python").click()
    expect(code_of(page)).to_contain_text('cep.event("Exit", a)')
    page.reload()
    expect(code_of(page)).to_contain_text('cep.event("Exit", a)')


def test_a_server_that_has_ended_is_told(chromium: Browser) -> None:
    with serving(demo()) as served:
        context = chromium.new_context()  # its log is not looked at: that nothing answers is an error there
        page = context.new_page()
        page.goto(served.address)
        expect(page.get_by_role("status")).to_contain_text("3 matches")
    write(page, "PATTERN Exit a")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer. Start cepheid studio again")
    expect(text_of(page)).to_have_text("PATTERN Exit a")
    context.close()


def test_nothing_is_cut_off_on_a_phone_in_the_dark(served: Served, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 360, "height": 740}, color_scheme="dark")
    page = context.new_page()
    page.goto(served.address)
    expect(page.get_by_role("status")).to_contain_text("3 matches in 59 events")
    for name in ("Automaton", "Why", "Events", "Matches"):
        page.get_by_role("tab", name=name).click()
        expect(page.get_by_role("tabpanel")).not_to_be_empty()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    context.close()


def test_a_slider_moves_the_constant_and_the_count_follows(served: Served, open_page: Open) -> None:
    page = open_page(served)
    slider = page.get_by_role("slider", name="WITHIN hours")
    slider.focus()
    slider.press("Home")
    expect(page.get_by_role("status")).to_contain_text("3 matches in 59 events")
    expect(text_of(page)).to_contain_text("WITHIN 1 hours")
    write(page, "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id] AND length(a.reader) > 5 WITHIN 12 hours")
    expect(page.get_by_role("slider")).to_have_count(2)
    many = page.get_by_role("slider", name="length(a.reader) >")
    many.focus()
    many.press("End")
    expect(text_of(page)).to_contain_text("length(a.reader) > 10 WITHIN 12 hours")


def test_the_python_form_is_edited_and_given_back_as_text(served: Served, open_page: Open) -> None:
    page = open_page(served)
    page.get_by_role("button", name="Python").click()
    expect(code_of(page)).to_contain_text('.within("12 hours")')
    code_of(page).click()
    page.keyboard.press("Control+a")
    code = "import cepheid as cep\n\na, c = cep.var('a'), cep.var('c')\n"
    query = (
        "cep.Query(cep.seq(cep.event('Shelf', a), cep.event('Exit', c)).where(a.tag == c.tag_id).within('12 hours'))"
    )
    page.keyboard.insert_text(code + query)
    expect(page.locator(".problems")).to_contain_text("CEP301 unknown column 'tag'")
    expect(page.locator(".cm-lintRange-error")).to_have_text("a.tag")
    page.get_by_role("button", name="line 4, column 70").click()
    page.keyboard.insert_text("a.tag_id")
    expect(page.locator(".problems")).to_be_empty()
    expect(page.get_by_role("status")).to_contain_text("18 matches in 59 events")
    slider = page.get_by_role("slider", name="WITHIN hours")
    slider.focus()
    slider.press("Home")
    expect(code_of(page)).to_contain_text("within('1 hours')")
    page.get_by_role("button", name="Text").click()
    expect(text_of(page)).to_contain_text("WHERE a.tag_id = c.tag_idWITHIN 1 hour")
    expect(page.get_by_role("status")).to_contain_text("matches in 59 events")


def test_a_text_comes_back_with_its_comments_and_a_wrong_one_stays(served: Served, open_page: Open) -> None:
    page = open_page(served)
    write(page, "PATTERN Exit a -- who leaves")
    expect(page.get_by_role("status")).to_contain_text("11 matches")
    page.get_by_role("button", name="Python").click()
    expect(code_of(page)).to_contain_text('cep.event("Exit", a)')
    page.get_by_role("button", name="Text").click()
    expect(text_of(page)).to_contain_text("-- who leaves")
    write(page, "PATTERN Exit a WHERE")
    page.get_by_role("button", name="Python").click()
    expect(page.locator(".problems")).to_contain_text("CEP102")
    expect(text_of(page)).to_be_visible()


def test_code_is_never_run(served: Served, open_page: Open, tmp_path: Path) -> None:
    page = open_page(served)
    page.get_by_role("button", name="Python").click()
    code_of(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(f"import os\nos.system('touch {tmp_path}/made')")
    expect(page.locator(".problems")).to_contain_text("CEP114 'os' can't be imported here")
    assert list(tmp_path.iterdir()) == []


def test_reading_shows_how_far_it_is(open_page: Open) -> None:
    go_on = Event()

    def read(told: Callable[[float], None]) -> pa.Table:
        told(0.42)
        go_on.wait(30)
        return pa.table({"ts": [1], "type": ["A"]})

    with serving(demo(text="PATTERN A a", read=read)) as served:
        page = open_page(served)
        expect(page.get_by_role("status")).to_have_text("Reading the events: 42%")
        expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "42")
        go_on.set()
        expect(page.get_by_role("status")).to_contain_text("1 match in 1 event")


def test_nothing_matches_and_nothing_is_written(served: Served, open_page: Open) -> None:
    page = open_page(served)
    write(page, "PATTERN SEQ(Exit a, Dock b) WHERE [tag_id]")
    expect(page.get_by_role("status")).to_contain_text("0 matches")
    expect(page.get_by_role("button", name="Show why")).to_be_visible()
    write(page, " ")
    page.get_by_role("button", name="Start with this query").click()
    expect(text_of(page)).to_contain_text("PATTERN SEQ(Shelf a, Exit b)")


def test_a_large_file(open_page: Open) -> None:
    rows = 200_000
    events = pa.table({"ts": range(rows), "type": ["A", "B"] * (rows // 2), "id": [n // 2 for n in range(rows)]})
    text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 9 ms"
    with serving(demo(name="large", text=text, read=lambda told: events)) as served:
        page = open_page(served)
        expect(page.get_by_role("status")).to_contain_text("100,000 matches in 200,000 events")
        expect(page.locator("#source")).to_have_text("large · 200,000 events")
        expect(page.get_by_text("The first 50 of 100,000")).to_be_visible()


def test_a_long_run_shows_how_far_it_is(open_page: Open) -> None:
    rows, go_on = 100_000, Event()
    events = pa.table({"ts": range(rows), "type": ["A"] * rows, "n": range(rows)})

    def wait(n: int) -> bool:
        if n == 60_000:
            go_on.wait(30)
        return n % 1_000 == 0

    def prepare(program: Program) -> Query:
        return Query(program, functions={"wait": wait})

    source = demo(text="PATTERN A a WHERE wait(a.n)", prepare=prepare, read=lambda told: events)
    with serving(source) as served:
        page = open_page(served)
        expect(page.get_by_role("status")).to_contain_text("20 matches in the first 20,000 events")
        expect(page.get_by_role("status")).to_contain_text("all events: ")
        expect(page.get_by_role("progressbar")).to_be_visible()
        go_on.set()
        expect(page.get_by_role("status")).to_contain_text("100 matches in 100,000 events")
        expect(page.get_by_role("status")).not_to_contain_text("all events")
        expect(page.get_by_role("progressbar")).not_to_be_visible()


def test_two_windows_do_not_disturb_each_other(served: Served, open_page: Open) -> None:
    one, other = open_page(served), open_page(served)
    write(one, "PATTERN SEQ(Exit a, Dock b) WHERE [tag_id]")
    write(other, "PATTERN Exit a")
    expect(one.get_by_role("status")).to_contain_text("0 matches")
    expect(other.get_by_role("status")).to_contain_text("11 matches")
    expect(one.get_by_label("query", exact=True).nth(1)).to_contain_text("SEQ(Exit a, Dock b)")


def test_a_dead_stream_is_said_to_be_dead(tmp_path: Path, open_page: Open) -> None:
    (tmp_path / "offsets").mkdir()
    facts = {"batchWatermarkMs": 1_700_000_000_000, "batchTimestampMs": 1_700_000_100_000}
    (tmp_path / "offsets" / "0").write_text(f"v1\n{json.dumps(facts)}\n-")
    with serving(demo(read=None, checkpoint=tmp_path)) as served:
        page = open_page(served)
        expect(page.get_by_role("status")).to_contain_text("The stream has stopped")
        expect(page.get_by_role("status")).to_contain_text("Micro-batch 0 began")
        expect(page.locator(".figures")).to_contain_text("2023-11-14 22:13:20")


def test_without_the_token_there_is_no_page(served: Served, chromium: Browser) -> None:
    page = chromium.new_page()
    answer = page.goto(f"http://127.0.0.1:{served.port}/")
    assert answer is not None
    assert answer.status == 403
    expect(page.locator("body")).to_contain_text("open the address that `cepheid studio` printed")
    page.close()


def test_what_events_hold_is_never_read_as_html(open_page: Open) -> None:
    bad = "<img src=x onerror=alert(1)>"
    events = pa.table({"ts": [1, 2], "type": [bad, "B"], bad: ["<script>alert(1)</script>", bad]})
    with serving(demo(name=bad, text="PATTERN SEQ(* a, B b)", read=lambda told: events)) as served:
        page = open_page(served)
        expect(page.get_by_role("status")).to_contain_text("1 match in 2 events")
        page.get_by_role("tab", name="Events").click()
        expect(page.get_by_role("tabpanel")).to_contain_text(bad)
        assert page.locator("img[src], img[onerror]").count() == 0
