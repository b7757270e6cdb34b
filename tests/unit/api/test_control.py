"""Rows of a control stream: how they read, and which are refused."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.session.control import ControlDecision, ControlRow, decide, read_row
from cepheid.engine.session.history import AnyChange
from cepheid.engine.session.query_changes import AddQuery, RemoveQuery, ReplaceQuery
from cepheid.front.automata.timeline import AddArc, RemoveArc
from cepheid.pattern.tree.nodes import Fires

QUERY = cep.Query("AUTOMATON a -> b ARC up: a -> b WHEN e.x > 5", type=None)
SCHEMA = pa.schema([("ts", pa.int64()), ("x", pa.int64())])


def row(id: Any, action: Any, text: str | None = None, at: int | None = None) -> ControlRow:
    return ControlRow(id, action, text, at)


def decided(
    rows: Sequence[ControlRow], log: Sequence[AnyChange] = (), watermark: int | None = 10, query: cep.Query = QUERY
) -> ControlDecision:
    trial = query.session()
    trial.push(SCHEMA.empty_table())
    trial.engine.make(log)
    whole = None if watermark is None else 20
    return decide(rows, log, query, watermark=watermark, present=20, whole=whole, shown=str, make=trial.engine.make)


def reasons(made: ControlDecision) -> list[str]:
    return [one.reason for one in made.refused]


@pytest.mark.parametrize(
    ("text", "fires", "ignores", "name"),
    [
        ("ARC a -> c WHEN e.x > 3", Fires.EVENT, False, "high"),
        ("ARC other: a -> c WHEN e.x > 3", Fires.EVENT, False, "other"),
        ("  EPSILON b -> c\n", Fires.NOTHING, False, "high"),
        ("IGNORE a WHEN e.x = 1", Fires.EVENT, True, "high"),
        ("ARC b -> c AT END", Fires.END, False, "high"),
    ],
)
def test_an_arc(text: str, fires: Fires, ignores: bool, name: str) -> None:
    read = read_row(row("high", "add_arc", text), QUERY)
    assert isinstance(read, AddArc)
    assert (read.arc.fires, read.arc.ignores, read.arc.name, read.at) == (fires, ignores, name, None)


def test_a_removal() -> None:
    for text in (None, " "):
        assert read_row(row("up", "remove_arc", text), QUERY) == RemoveArc("up")
        assert read_row(row("up", "remove", text), QUERY) == RemoveQuery("up")


def test_a_whole_query() -> None:
    """It has the parameters and the roles of columns of the one that runs."""
    query = cep.Query("AUTOMATON a -> b ARC up: a -> b WHEN e.x > n", type=None, time="at", params={"n": 4})
    text = "AUTOMATON a -> b ARC up: a -> b WHEN e.x > n + 1"
    for action, kind in (("add", AddQuery), ("replace", ReplaceQuery)):
        read = read_row(row("more", action, text), query)
        assert isinstance(read, AddQuery | ReplaceQuery)
        assert type(read) is kind
        assert (read.name, read.query.params, read.query.compiled.roles) == ("more", {"n": 4}, query.compiled.roles)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (row(None, "remove_arc"), "CEP615: the row has no id; name what it changes in the column `id`"),
        (row(" ", "remove_arc"), "CEP615: the row has no id; name what it changes in the column `id`"),
        (row("up", None), "CEP615: unknown action None; "),
        (row("up", "add-arc", "ARC a -> b"), "CEP615: unknown action 'add-arc'; did you mean 'add_arc'?"),
        (row("up", "remove_arc", "ARC a -> b"), "CEP615: remove_arc takes no text; "),
        (row("n", "add_arc"), "CEP615: add_arc has no text; "),
        (row("n", "add_arc", "a -> b"), "CEP101: "),
        (row("n", "add_arc", "ARC a -> b WEN e.x > 3"), "CEP101: unexpected 'WEN' at 'WEN'; did you mean WHEN?"),
        (row("n", "add_arc", "ARC a -> b ARC b -> c"), "CEP615: the text is not one arc; "),
        (row("n", "add_arc", "ARC a -> b WITHIN 3"), "CEP615: the text is not one arc; "),
        (row("n", "add_arc", "REGISTER n INT = 0 ARC a -> b"), "CEP615: the text is not one arc; "),
        (row("n", "add_arc", "ARC a -> b; PATTERN A a"), "CEP615: the text is not one arc; "),
        (row("n", "add_arc", "ARC a -> b WHEN e.y > 3"), "CEP301: unknown column 'y' at 'e.y'; the columns are: ts, x"),
        (row("n", "add_arc", "ARC a -> b SET n = 1"), "CEP225: "),
        (row("up", "add_arc", "ARC a -> b"), "CEP228: there is an arc 'up' at that time; "),
        (row("down", "remove_arc"), "CEP228: there is no arc 'down'; "),
        (row("q", "add"), "CEP615: add has no text; write the query into the column `text`"),
        (row("q", "add", "AUTOMATON a -> b ARC a -> b WEN"), "CEP101: "),
        (row("q", "add", "AUTOMATON a -> b ARC a -> b WHEN e.y > 1"), "CEP301: unknown column 'y' at 'e.y'; "),
        (row("query 1", "add", "AUTOMATON a -> b ARC a -> b"), "CEP229: there is, or was, a query 'query 1'; "),
        (row("q", "remove"), "CEP229: there is no query 'q'; "),
        (row("query 1", "replace", "AUTOMATON a -> c ARC a -> c"), "CEP229: "),
        (
            row("q", "add", "AUTOMATON a -> b ARC a -> b", 19),
            "CEP608: the change at 19 is before events that have come",
        ),
        (row("query 1", "remove", None, 19), "CEP608: the change at 19 is before events that have come"),
        (row("up", "remove_arc", None, 9), "CEP608: the change at 9 is before the watermark 10; "),
    ],
)
def test_refused(given: ControlRow, reason: str) -> None:
    made = decided([given])
    assert (made.changes, [one.row for one in made.refused]) == ([], [given])
    (told,) = reasons(made)
    assert told.startswith(reason)
    assert "\n" not in told


def test_when_it_holds() -> None:
    assert decided([row("up", "remove_arc")]).changes == [RemoveArc("up", 20)]
    assert decided([row("up", "remove_arc", None, 10)]).changes == [RemoveArc("up", 10)]
    assert decided([row("up", "remove_arc", None, -5)], watermark=None).changes == [RemoveArc("up", -5)]


def test_the_order_in_which_rows_come_does_not_matter() -> None:
    rows = [
        row("up", "add_arc", "ARC a -> b WHEN e.x > 7"),
        row("up", "remove_arc"),
        row("more", "add_arc", "ARC a -> b WHEN e.x = 0", 15),
        row("more", "remove_arc", None, 30),
        row("lost", "remove_arc"),
    ]
    wanted = decided(rows)
    assert [(type(one).__name__, one.at) for one in wanted.changes] == [
        ("AddArc", 15),
        ("RemoveArc", 20),
        ("AddArc", 20),
        ("RemoveArc", 30),
    ]
    assert len(wanted.refused) == 1
    for other in permutations(rows):
        assert decided(other) == wanted


def test_rows_of_one_id_and_time_are_one_change() -> None:
    """An arc that can't be added does not leave a hole where the old one was."""
    removal = row("up", "remove_arc")
    for text, reason in (("ARC a -> b WHEN e.y > 1", "CEP301"), ("ARC a ->", "CEP102")):
        made = decided([removal, row("up", "add_arc", text)])
        assert made.changes == []
        assert {one.row.action: one.reason[:6] for one in made.refused}["add_arc"] == reason
        assert len(made.refused) == 2
    assert decided([removal, row("other", "add_arc", "ARC a ->")]).changes == [RemoveArc("up", 20)]


def test_a_row_that_comes_twice() -> None:
    rows = [row("up", "remove_arc", None, 15), row("up", "add_arc", "ARC a -> b WHEN e.x > 7", 15)]
    made = decided([*rows, rows[0]])
    assert [type(one) for one in made.changes] == [RemoveArc, AddArc]
    twice = "CEP615: the same change was made before; send each row once"
    assert [(one.row, one.reason) for one in made.refused] == [(rows[0], twice)]
    again = decided(rows, made.changes)
    assert (again.changes, reasons(again)) == ([], [twice, twice])


def test_whole_queries() -> None:
    text = "AUTOMATON a -> b ARC a -> b WHEN e.x = {}"
    rows = [
        row("query 1", "replace", text.format(1), 15),
        row("other", "add", text.format(2)),
        row("other", "replace", text.format(3), 25),
        row("other", "remove", None, 30),
    ]
    made = decided(rows)
    assert (reasons(made), [(type(one).__name__, one.at) for one in made.changes]) == (
        [],
        [("ReplaceQuery", 15), ("AddQuery", 20), ("ReplaceQuery", 25), ("RemoveQuery", 30)],
    )
    for other in permutations(rows):
        again = decided(other)
        assert ([one.at for one in again.changes], again.refused) == ([15, 20, 25, 30], [])
    twice = decided(rows, made.changes)
    assert (twice.changes, set(reasons(twice))) == ([], {"CEP615: the same change was made before; send each row once"})
