"""The table that people see: a line per event, or per match with RETURN."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def table(output: str) -> str:
    return "\n".join(line.rstrip() for line in output.splitlines())


def test_the_demo(run, thefts: Path, readings: Path) -> None:
    assert table(run("match", thefts, readings, "--format", "table").stdout) == (
        "match  variable  ts                   type   tag_id  reader\n"
        "────────────────────────────────────────────────────────────────────\n"
        "1      a         2026-03-14T11:20:13  Shelf  T1006   aisle 7 perfume\n"
        "       c         2026-03-14T11:33:57  Exit   T1006   south door\n"
        "\n"
        "2      a         2026-03-14T11:52:36  Shelf  T1002   aisle 2 razors\n"
        "       c         2026-03-14T12:06:48  Exit   T1002   south door\n"
        "\n"
        "3      a         2026-03-14T14:05:49  Shelf  T1004   aisle 5 jackets\n"
        "       c         2026-03-14T14:58:37  Exit   T1004   south door\n"
        "3 matches"
    )


def test_arrays_are_numbered_and_events_are_in_the_order_of_time(run) -> None:
    events = "n,ts,type,other\n7,1,A,\n8,2,B,\n9,3,A,\n10,4,B,\n"
    query = "PATTERN (SEQ(A a, B b)){2} WHERE strict_contiguity { a[i].n > 0 }"
    # No event has `other`: the column is left out. The time comes first.
    assert table(run("match", query, "-", "-f", "table", stdin=events).stdout) == (
        "match  variable  ts   n  type\n"
        "─────────────────────────────\n"
        "1      a[1]       1   7  A\n"
        "       b[1]       2   8  B\n"
        "       a[2]       3   9  A\n"
        "       b[2]       4  10  B\n"
        "1 match"
    )


def test_the_order_of_time_when_summer_ends(run, tmp_path: Path) -> None:
    times = pa.array([1_792_889_100_000, 1_792_890_900_000], pa.timestamp("ms", "Europe/Berlin"))
    pq.write_table(pa.table({"ts": times, "type": ["A", "B"]}), tmp_path / "events.parquet")
    found = run("match", "PATTERN AND(B b, A a)", tmp_path / "events.parquet", "-f", "table")
    assert table(found.stdout).splitlines()[2:4] == [
        "1      a         2026-10-25T02:45:00.000+02:00  A",
        "       b         2026-10-25T02:15:00.000+01:00  B",
    ]


def test_a_variable_that_binds_nothing_has_no_line(run) -> None:
    found = run("match", "PATTERN SEQ(A a, C? c, B* b[], D d)", "-", "-f", "table", stdin="ts,type\n1,A\n2,D\n")
    assert table(found.stdout).splitlines()[2:] == ["1      a          1  A", "       d          2  D", "1 match"]


def test_a_line_per_match_with_return(run) -> None:
    events = "ts,type,name,x,y\n1,A,u,1.5,\n2,A,v,,\n"
    found = run("match", "EVENT A a RETURN a.name AS name, a.x AS x, a.y AS y", "-", "-f", "table", stdin=events)
    assert table(found.stdout) == (
        "match_start  match_end  name    x  y\n"
        "────────────────────────────────────\n"
        "          1          1  u     1.5\n"
        "          2          2  v\n"
        "2 matches"
    )


def test_limit(run) -> None:
    found = run("match", "EVENT A a", "-", "-f", "table", "-n", "1", stdin="ts,type\n1,A\n2,A\n")
    assert table(found.stdout).splitlines()[-2:] == ["1      a          1  A", "the first 1 of 2 matches"]
    assert found.stderr == ""
    found = run("match", "EVENT A a", "-", "-f", "table", "-n", "0", stdin="ts,type\n1,A\n2,A\n")
    assert found.stdout == "the first 0 of 2 matches\n"


def test_attributes_that_a_narrow_terminal_has_no_columns_for(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    names = [f"attribute_{k}" for k in range(5)]
    events = f"ts,type,{','.join(names)}\n1,A,u,v,,w,x\n"
    assert table(run("match", "EVENT A a", "-", "-f", "table", stdin=events).stdout) == (
        "match  variable  ts  attributes\n"
        "──────────────────────────────────────────────────\n"
        "1      a          1  type=A  attribute_0=u\n"
        "                     attribute_1=v  attribute_3=w\n"
        "                     attribute_4=x\n"
        "1 match"
    )


def test_texts_cannot_drive_the_terminal(run) -> None:
    found = run("match", "EVENT A a", "-", "-f", "table", stdin='ts,type,s\n1,A,"[red]x[/] \x1b[31m\n\t:smile:"\n')
    assert table(found.stdout).splitlines()[2] == r"1      a          1  A     [red]x[/] \x1b[31m\n\x09:smile:"
