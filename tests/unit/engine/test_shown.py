"""Matches as a shell and a notebook show them."""

import datetime as dt

import pyarrow as pa
import pytest

import cepheid as cep

ROWS = [{"ts": t, "type": "A" if t == 0 else "B", "s": "<" * t} for t in range(12)]


def test_the_first_rows() -> None:
    matches = cep.Query("PATTERN SEQ(A a, B b) RETURN b.ts AS n, b.s AS s").match(ROWS)
    assert repr(matches).splitlines() == [
        "<11 matches>",
        "match_start  match_end  n  s",
        "0            1          1  <",
        "0            2          2  <<",
        "0            3          3  <<<",
        "0            4          4  <<<<",
        "0            5          5  <<<<<",
        "…",
    ]
    page = matches._repr_html_()
    assert page.startswith("<p>11 matches</p><table><thead><tr><th>match_start</th><th>match_end</th><th>n</th>")
    assert '<tr><td>0</td><td>3</td><td>3</td><td style="text-align:left">&lt;&lt;&lt;</td></tr>' in page
    assert page.count("<tr>") == 11
    assert "</table><p>…</p><svg " in page


def test_no_matches() -> None:
    matches = cep.Query("PATTERN SEQ(B b, A a)").match(ROWS)
    assert repr(matches) == "<0 matches: match_start, match_end, b, a>"
    assert matches._repr_html_() == "<p>&lt;0 matches: match_start, match_end, b, a&gt;</p>"


def test_width_is_bounded() -> None:
    wide = [{"ts": 0, "type": "A", **{f"column{k}": "x" * 1000 for k in range(40)}}]
    returned = ", ".join(f"a.column{k} AS column{k}" for k in range(40))
    for text in ("PATTERN A a", f"PATTERN A a RETURN {returned}"):
        shown = repr(cep.Query(text).match(wide))
        assert max(map(len, shown.splitlines())) <= 110
        assert "…" in shown


def test_a_long_list_tells_its_length() -> None:
    rows = [{"ts": t, "type": "A"} for t in range(9)]
    matches = cep.Query("PATTERN A{9} a[] WHERE strict_contiguity(a) { }").match(rows)
    html = matches._repr_html_()
    assert "[{ts: 0, type: A}, {ts: 1, type: A}, {ts: 2, type: A}, … 9 in all]" in html


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("SEQ(A a, B+ b[], !(C c))", "<576,460,752,303,423,487 matches: match_start, match_end, a, b>"),
        (
            "SEQ(A a, (B+ b[])+)",
            "<at most 7,065,193,045,869,367,252,382,405,533 matches: match_start, match_end, a, b>",
        ),
    ],
)
def test_what_explodes_is_not_enumerated(pattern: str, shown: str) -> None:
    """Where matches are not found in their order, or may be found twice, all of them would have to be made."""
    rows = [{"ts": t, "type": "A" if t == 0 else "B"} for t in range(60)]
    assert repr(cep.Query(f"PATTERN {pattern} WITHIN 1 hour").match(rows)) == shown


def test_times_that_python_has_no_value_for() -> None:
    events = pa.table({"ts": pa.array([2**62], pa.timestamp("us")), "type": ["A"]})
    assert repr(cep.Query("PATTERN A a").match(events)).startswith("<1 match>\nmatch_start")


def test_a_function_that_fails() -> None:
    query = cep.Query("PATTERN A a RETURN f(a.ts) AS x", functions={"f": lambda ts: 1 // ts})
    assert repr(query.match(ROWS)) == "<1 match: match_start, match_end, x>"


def test_a_session() -> None:
    query = cep.Query("PATTERN SEQ(A a, B b) WITHIN 1 hour")
    session = query.session()
    assert repr(session) == "<Session of PATTERN SEQ(A a, B b) WITHIN 1 hour: open, 0 events, 0 matches>"
    session.push([{"ts": dt.datetime(2024, 1, 1), "type": "A"}])
    session.advance("2024-01-02")
    assert repr(session).endswith(": open, 1 event, 0 matches, watermark 2024-01-02 00:00:00>")
    session.close()
    assert repr(session).endswith(": closed, 1 event, 0 matches, watermark 2024-01-02 00:00:00>")
    days = query.session(lateness=0)
    days.push([{"ts": dt.date(2024, 1, 1), "type": "A"}])
    assert repr(days).endswith(": open, 1 event, 0 matches, watermark 2024-01-01>")
