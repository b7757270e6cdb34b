"""Matches on a time axis."""

import datetime as dt
import json
import re
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import UsageError
from cepheid.pictures.timeline import Scale, Stretch

READINGS = [
    {"ts": 1, "type": "Shelf", "tag": 42},
    {"ts": 2, "type": "Shelf", "tag": 17},
    {"ts": 3, "type": "Register", "tag": 17},
    {"ts": 4, "type": "Exit", "tag": 17},
    {"ts": 5, "type": "Exit", "tag": 42},
]
THEFT = cep.Query("PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag] WITHIN 12 hours")


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_lanes_bands_and_an_absence() -> None:
    found = THEFT.match(READINGS).on_time_axis(5)
    first, second = found.lanes
    assert (first.label, second.label) == ("tag 42", "tag 17")
    assert [(point.at, point.label) for point in second.events] == [(2, "Shelf"), (3, "Register"), (4, "Exit")]
    assert (first.events, second.bands) == ((), ())
    (band,) = first.bands
    assert (band.start, band.end) == (1, 5)
    assert [(p.at, p.label, p.tooltip) for p in band.points] == [
        (1, "a", "a {ts: 1, type: Shelf, tag: 42}"),
        (5, "c", "c {ts: 5, type: Exit, tag: 42}"),
    ]
    assert band.absences == (Stretch(1, 5, "no Register"),)
    assert (found.title, found.value, found.notes, found.scale) == ("1 match", None, (), Scale())


def test_the_picture() -> None:
    picture = THEFT.match(READINGS).timeline()
    ElementTree.fromstring(picture.svg)
    assert texts(picture.svg) == [
        "1 match", "tag 42", "a", "c", "no Register", "tag 17", "Shelf", "Register", "Exit", "1", "2", "3", "4", "5",
    ]  # fmt: skip
    assert picture._repr_html_() == picture.svg


@pytest.mark.parametrize(
    ("pattern", "gaps"),
    [
        ("SEQ(A a, !(X x)) WITHIN 4 seconds", [Stretch(20, 24, "no X")]),
        ("SEQ(!(X x), A a) WITHIN 4 seconds", [Stretch(16, 20, "no X")]),
        ("SEQ(!(X x) FOR 5 seconds, A a, !(Y y) FOR 3 seconds)", [Stretch(15, 20, "no X"), Stretch(20, 23, "no Y")]),
    ],
)
def test_absences_at_the_ends(pattern: str, gaps: list[Stretch]) -> None:
    matches = cep.Query(f"PATTERN {pattern}", unit="s").match([{"ts": 20, "type": "A"}, {"ts": 22, "type": "Z"}])
    (lane,) = matches.on_time_axis(5).lanes
    assert list(lane.bands[0].absences) == gaps


@pytest.mark.parametrize(
    ("pattern", "gaps"),
    [
        ("SEQ(A a, B b, !(X x)) WITHIN 5 events", [Stretch(2, 5, "no X")]),
        ("SEQ(A a, B b, !(X x)) WITHIN 99 events", [Stretch(2, 11, "no X")]),
        ("SEQ(A a, B b, !(X x)) WHERE [k] WITHIN 4 events", [Stretch(2, 10, "no X")]),
        ("SEQ(!(X x), C c, D d) WITHIN 4 events", [Stretch(4, 10, "no X")]),
    ],
)
def test_absences_in_a_window_of_events(pattern: str, gaps: list[Stretch]) -> None:
    times, keys = (0, 2, 3, 4, 5, 10, 11), (1, 1, 2, 1, 2, 1, 1)
    rows = [{"ts": t, "type": kind, "k": k} for t, kind, k in zip(times, "ABZZZCD", keys, strict=True)]
    (band,) = (
        band for lane in cep.Query(f"PATTERN {pattern}").match(rows).on_time_axis(5).lanes for band in lane.bands
    )
    assert list(band.absences) == gaps


def test_a_long_absence_is_cut() -> None:
    rows = [{"ts": 0, "type": "A"}, {"ts": 10, "type": "B"}]
    (lane,) = cep.Query("PATTERN SEQ(A a, B b, !(X x)) WITHIN 1 day").match(rows).on_time_axis(5).lanes
    assert lane.bands[0].absences == (Stretch(10, 70, "no X …", clipped=True),)


def test_a_number_as_a_line() -> None:
    rows = [{"ts": t, "type": "S", "price": p, "volume": 9} for t, p in enumerate([5, 3, None, 4])]
    query = cep.Query("PATTERN SEQ(S a, S+ b[]) WHERE strict_contiguity { b[1].price < a.price AND a.volume > 1 }")
    matches = query.match(rows)
    found = matches.on_time_axis(1)
    assert found.value == "price"
    assert [(p.label, p.value, p.each) for p in found.lanes[0].bands[0].points] == [("a", 5, False), ("b[1]", 3, True)]
    assert [(p.at, p.value) for p in found.lanes[0].events] == [(2, None), (3, 4)]
    assert matches.on_time_axis(1, "volume").value == "volume"
    assert matches.on_time_axis(1, False).value is None
    assert "price" in texts(matches.timeline(1).svg)
    with pytest.raises(UsageError, match="the events have no column 'prize'"):
        matches.timeline(value="prize")
    with pytest.raises(UsageError, match="the column 'type' is string"):
        matches.timeline(value="type")
    for n in (0, -1, "x", 2.5, None, True):
        with pytest.raises(UsageError, match=f"n can't be {n!r}"):
            matches.timeline(n)  # type: ignore[arg-type]


def test_events_without_the_number_are_beside_the_line() -> None:
    """Of another type: the line goes past them. Of a type that has the number, it is broken."""
    rows = [{"ts": t, "type": "SSNS"[t], "p": [5, 3, None, 4][t]} for t in range(4)]
    query = cep.Query("PATTERN SEQ(S a, S b) WHERE b.p < a.p")
    (lane,) = query.match(rows).on_time_axis(1).lanes
    assert [(p.label, p.aside) for p in lane.events] == [("N", True), ("S", False)]
    svg = query.match(rows).timeline(1).svg
    assert len(re.findall(r'd="M[\d. ]+(?:L[\d. ]+){2}" fill="none"', svg)) == 1
    assert "N" in texts(svg)
    line = query.match(rows).plot(1).to_dict()["vconcat"][0]["layer"][1]
    assert [point["y"] for point in line["data"]["values"]] == [4, 5, 3]


def test_matches_that_overlap_have_bars_below_the_line() -> None:
    rows = [{"ts": t, "type": "S", "p": p} for t, p in enumerate([1, 2, 3])]
    matches = cep.Query("PATTERN SEQ(S a, S b) WHERE b.p > a.p").match(rows)
    bars = [rect.get("height") for rect in ElementTree.fromstring(matches.timeline().svg).iter() if "rect" in rect.tag]
    assert bars == ["8", "8", "8"]
    (band,) = (rect for rect in ElementTree.fromstring(matches.timeline(1).svg).iter() if "rect" in rect.tag)
    assert band.get("height") == "108"
    behind, line = matches.plot().to_dict()["vconcat"][0]["layer"]
    assert [layer["mark"]["type"] for layer in (*behind["layer"], *line["layer"])] == ["rect", "line", "circle"]
    assert behind["layer"][0]["encoding"]["y"]["field"] == "row"


def test_one_instant_is_in_the_middle() -> None:
    svg = cep.Query("PATTERN A a").match([{"ts": 5, "type": "A"}]).timeline().svg
    (dot,) = (part for part in ElementTree.fromstring(svg).iter() if "circle" in part.tag)
    assert 400 < float(dot.get("cx", "0")) < 500


def test_labels_stay_on_the_page() -> None:
    rows = [{"ts": t, "type": kind} for t, kind in enumerate(["A", "B", "Some_other_type_of_events"])]
    svg = cep.Query("PATTERN SEQ(A a, B b) WITHIN 10").match(rows).timeline().svg
    (x,) = re.findall(r'<text x="([\d.]+)"[^>]*>Some_other_type_of_even…</text>', svg)
    assert float(x) + 24 * 10 * 0.31 < 860


def test_no_more_than_fifty() -> None:
    found = cep.Query("PATTERN A a").match([{"ts": t, "type": "A"} for t in range(60)]).on_time_axis(1000)
    assert (found.title, found.notes) == ("60 matches, the first 50", ("at most 50 matches are drawn",))


@pytest.mark.parametrize(
    ("zone", "day", "step", "lines"),
    [("UTC", "2024-01-01 UTC", 2, 1), ("America/New_York", "2023-12-31 America/New_York", 1, 2)],
)
def test_ticks_do_not_touch(zone: str, day: str, step: int, lines: int) -> None:
    """Every other one is written if there is no room for all; a long name of the day and the zone is below them."""
    times = pa.array([1_704_067_200_000_000_000 + t for t in range(1, 10)], pa.timestamp("ns", zone))
    svg = cep.Query("PATTERN A a").match(pa.table({"ts": times, "type": ["A"] * 9})).timeline().svg
    ticks = [text for text in texts(svg) if text.startswith("00.")]
    assert ticks == [f"00.00000000{k}" for k in range(1, 10, step)]
    assert len(set(re.findall(rf'y="([\d.]+)"[^>]*>(?:{day}|00\.000000001)<', svg))) == lines


def test_no_match_and_too_many() -> None:
    assert texts(cep.Query("PATTERN B b").match([{"ts": 1, "type": "A"}]).timeline().svg) == ["no match in 1 event"]
    rows = [{"ts": t, "type": "A" if t == 0 else "B"} for t in range(60)]
    many = cep.Query("PATTERN SEQ(A a, B+ b[], !(C c)) WITHIN 1 hour").match(rows)
    title, why = texts(many.timeline().svg)
    assert title == "576,460,752,303,423,487 matches"
    assert why.startswith("which come first is known when all are enumerated")


def test_what_is_left_out_is_told() -> None:
    rows = [{"ts": t, "type": "AB"[t % 999 == 998], "id": t % 3} for t in range(3000)]
    found = cep.Query("PATTERN SEQ(A{320} a[]) WHERE strict_contiguity(a) { }").match(
        [{"ts": t, "type": "A"} for t in range(320)]
    )
    assert found.on_time_axis(5).notes == ("match 1: 300 of its 320 events are drawn",)
    found = cep.Query("PATTERN SEQ(B b, B c) WHERE skip_till_next_match { }").match(rows)
    (lane,) = found.on_time_axis(5).lanes
    assert len(lane.events) == 300
    assert found.on_time_axis(5).notes == ("events: 300 of 2,997 other events are drawn",)


def test_many_keys() -> None:
    rows = [{"ts": t, "type": "AB"[t // 20], "id": t % 20} for t in range(21)]
    found = cep.Query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1 hour").match(rows).on_time_axis(5)
    assert [lane.label for lane in found.lanes] == ["id 0"]
    assert found.notes == ("19 keys without a match here are left out",)


def test_results_and_automata() -> None:
    quotes = [{"ts": t, "type": "Stock", "price": p} for t, p in ((2, 22), (15, 19), (30, 23))]
    lanes = cep.Query("CESAR SELECT[price > 20](Stock)").match(quotes).on_time_axis(5).lanes
    assert [(lane.label, lane.bands[0].start, lane.bands[0].end) for lane in lanes] == [
        ("result 1", 2, 2),
        ("result 2", 30, 30),
    ]
    own = cep.Query("AUTOMATON q -> s ARC q -> r WHEN e.price < 20 ARC r -> s WHEN e.price > 20").match(quotes)
    found = own.on_time_axis(5)
    assert found.value == "price"
    assert [(p.at, p.label) for p in found.lanes[0].bands[0].points] == [(15, "first"), (30, "last")]


@pytest.mark.parametrize(
    ("times", "scale"),
    [
        (pa.array([1, 2], pa.timestamp("s", "Europe/Berlin")), Scale(10**9, "Europe/Berlin")),
        (pa.array([1, 2], pa.timestamp("ns")), Scale(1)),
        (pa.array([2**62, 2**62 + 1], pa.timestamp("us")), Scale(1000)),
        (pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)]), Scale(86_400 * 10**9)),
        (pa.array([-(2**62), 2**62]), Scale()),
    ],
)
def test_times(times: pa.Array, scale: Scale) -> None:
    matches = cep.Query("PATTERN A a").match(pa.table({"ts": times, "type": ["A", "A"]}))
    assert matches.on_time_axis(5).scale == scale
    ElementTree.fromstring(matches.timeline().svg)


@pytest.mark.parametrize(
    ("key", "values", "labels"),
    [
        ("PARTITION BY k", [None, None, "<&>"], ["k NULL", "k <&>"]),
        ("PARTITION BY k", ["\x01'", "\x01'", "\u2028"], ["k \x01'", "k \u2028"]),
        ("PARTITION BY k", [1.5, 1.5, 2.5], ["k 1.5", "k 2.5"]),
        ("WHERE [k]", pa.array(["x", "x", None]).dictionary_encode(), ["k x", "k NULL"]),
    ],
)
def test_keys(key: str, values: Any, labels: list[str]) -> None:
    events = pa.table({"ts": [1, 2, 2], "type": ["A", "B", "C"], "k": values})
    matches = cep.Query(f"PATTERN SEQ(A a, B b) {key} WITHIN 10").match(events)
    lanes = matches.on_time_axis(5).lanes
    assert [lane.label for lane in lanes] == labels
    assert [len(lane.events) for lane in lanes] == [0, 1]
    ElementTree.fromstring(matches.timeline().svg)


def test_the_chart() -> None:
    rows = [{"ts": dt.datetime(2024, 1, 1, 0, t), "type": "S", "price": p} for t, p in enumerate([5, 3, 4])]
    query = cep.Query("PATTERN SEQ(S a, S b, !(X x)) WHERE b.price < a.price WITHIN 1 hour")
    chart = query.match(rows).plot(1).to_dict()
    (lane,) = chart["vconcat"]
    assert [layer["mark"]["type"] for layer in lane["layer"]] == ["rect", "rect", "line", "circle"]
    assert query.match(rows[:1]).plot().to_dict()["mark"]["type"] == "text"


def test_a_chart_is_json_whatever_the_events_have() -> None:
    """JSON has no NaN, and a control character in a text ends the program that draws the chart."""
    values = [float("nan"), float("inf"), 1.5]
    events = [
        {"ts": t, "type": kind, "k": "a\0\n", "v": v} for t, (kind, v) in enumerate(zip("AAB", values, strict=True))
    ]
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE [k] AND (b.v > a.v OR a.ts >= 0) WITHIN 10")
    chart = json.loads(query.match(events).plot().to_json(), parse_constant=pytest.fail)
    (lane,) = chart["vconcat"]
    assert lane["title"] == "k a··"
    assert [point["y"] for point in lane["layer"][-1]["layer"][-1]["data"]["values"]] == [None, 1.5, None, 1.5]


def test_a_chart_is_a_page_whatever_the_events_have() -> None:
    """Altair writes the chart into a script, which the text of a value must not end."""
    odd = "</script><img src=x onerror=alert(1)><!--"
    rows = [{"ts": t, "type": kind, "k": odd, odd: t} for t, kind in enumerate("AB")]
    query = cep.Query(f"PATTERN SEQ(A a, B b) WHERE [k] AND b.`{odd}` > a.`{odd}` WITHIN 10")
    page = query.match(rows).plot().to_html()
    assert "<img" not in page
    assert "<!--" not in page
    assert page.count("</script>") == page.count("<script")


def test_events_of_one_time_are_named_together() -> None:
    matches = cep.Query("PATTERN SEQ(A a, B b) WITHIN 10").match([{"ts": 5, "type": kind} for kind in "ABBC"])
    assert texts(matches.timeline().svg) == ["2 matches", "events", "a, b", "a, b", "C", "5"]


def test_long_labels_are_cut_by_their_width() -> None:
    def label(key: str) -> str:
        events = [{"ts": t, "type": kind, "k": key} for t, kind in enumerate("AB")]
        return texts(cep.Query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10").match(events).timeline().svg)[1]

    assert label("x" * 22) == "k " + "x" * 22
    assert label("x" * 23) == "k " + "x" * 21 + "…"
    assert label("日" * 11) == "k " + "日" * 11
    assert label("日" * 30) == "k " + "日" * 10 + "…"


def test_without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape("pip install 'cepheid[plot]'")):
        THEFT.match(READINGS).plot()


def test_many_queries() -> None:
    rules = [{"id": "ann", "low": 1}, {"id": "bob", "low": 2}]
    found = cep.Queries("PATTERN SEQ(A a, B b) WHERE b.x > low WITHIN 10", rules).match(
        [{"ts": 1, "type": "A", "x": 0}, {"ts": 2, "type": "B", "x": 9}]
    )
    assert [t for t in texts(found.timeline().svg) if ":" in t] == ["ann: events", "bob: events"]
    assert "<svg " in found._repr_html_()
    session = cep.Queries("PATTERN SEQ(A a, B b) WHERE b.x > low WITHIN 10", rules).session()
    session.push([{"ts": 1, "type": "A", "x": 0}])
    page = session._repr_html_()
    assert "<th>queries</th><td>2</td></tr><tr><th>events</th><td>1</td>" in page
    assert "<th>watermark</th><td>none yet</td>" in page
    assert len(found.plot().to_dict()["vconcat"]) == 2


def test_pages() -> None:
    query = cep.Query("PATTERN SEQ(A a, B b) WHERE a.x = '<' WITHIN 1 hour")
    page = query._repr_html_()
    assert '<span style="color:#289549">&#x27;&lt;&#x27;</span>' in page
    assert '<svg class="cepheid cepheid-graph"' in page
    assert page.startswith('<pre style="background:transparent;color:inherit;line-height:1.35;font-family:ui-monospace')
    session = query.session()
    assert "<th>watermark</th><td>none yet</td>" in session._repr_html_()
    session.push([{"ts": 1, "type": "A", "x": "<"}, {"ts": 2, "type": "B", "x": ""}])
    session.advance(3)
    assert "<th>matches</th><td>1</td>" in session._repr_html_()
    assert "<th>matches in 1,000 events</th><td>500</td>" in session._repr_html_()
    assert "<th>events a second</th><td>0</td>" in query.restore(session.snapshot())._repr_html_()
    changes = query.session(speculate="all").push([{"ts": 1, "type": "A", "x": "<"}, {"ts": 2, "type": "B", "x": ""}])
    assert '<td style="text-align:left">+</td>' in changes._repr_html_()
    assert "<svg " in changes._repr_html_()
