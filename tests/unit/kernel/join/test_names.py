"""Columns and variables may have any name: none is mistaken for another, or for what a kernel has of its own."""

import keyword
from typing import Any

import pyarrow as pa
import pytest
from joins import bound, enumerate_all, events, find

from cepheid.kernel.join.construction import variables_in
from cepheid.kernel.join.generate import generate_join
from cepheid.kernel.library import FUNCTIONS
from cepheid.plan.join import make_join

COLUMNS = ["at", "time", "last", "n", "i", "cells", "x_null", "été", "by_partition", "b", "1"]
VARIABLES = ["first", "from", "after", "at", "j", "a_x", "grouped", "event", "null", "until", "constant", "fill"]


@pytest.mark.parametrize("split", ["", " AND [k]"])
@pytest.mark.parametrize("name", COLUMNS)
def test_that_a_column_may_have_any_name(name: str, split: str) -> None:
    table = events(4, 40).rename_columns(["ts", "type", "k", "x", name, "s"])
    table = table.set_column(4, name, pa.array([None if k % 3 == 0 else k % 4 for k in range(40)]))
    quoted = f"`{name}`"
    query = bound(
        f"SEQ(A a, !(X n), B b, C c) WHERE a.{quoted} < b.{quoted} AND c.x != a.x{split} WITHIN 9", table.schema
    )
    expected = enumerate_all(query, table)
    assert expected
    for order in ((2, 1, 0), None):
        assert find(query, table, order) == expected


@pytest.mark.parametrize("name", VARIABLES)
def test_that_a_variable_may_have_any_name(name: str) -> None:
    query = bound(f"SEQ(A `{name}`, !(X n), B b, C c) WHERE `{name}`.x < b.x AND n.x = `{name}`.x WITHIN 9")
    table = events(5, 50, x=[1, 2, 3, None])
    expected = enumerate_all(query, table)
    assert expected
    for order in ((2, 1, 0), (0, 1, 2), None):
        assert find(query, table, order) == expected


@pytest.mark.parametrize("order", [(2, 1, 0, 3), (0, 3, 1, 2), None])
@pytest.mark.parametrize("split", ["", "[k] AND "])
def test_that_every_name_means_one_thing(order: tuple[int, ...] | None, split: str) -> None:
    text = f"SEQ(A a, !(X m), AND(B b, B ja), C a_x, !(X n)) WHERE {split}a.x < b.x AND ja.x = a_x.x AND n.s = b.s"
    query = bound(f"{text} AND m.f > a.f AND b.f <= a_x.f WITHIN 9")
    kernel = generate_join(make_join(query), frozenset({"x", "f", "s"}), query.window, order)
    for code in kernel.functions:
        kinds: dict[str, set[Any]] = {}
        for node in variables_in((code.function.parameters, code.function.body)):
            kinds.setdefault(node.name, set()).add(node)
        assert [name for name, found in kinds.items() if len(found) > 1] == []
        assert not kinds.keys() & FUNCTIONS.keys()
        assert not any(keyword.iskeyword(name) or not name.isidentifier() for name in kinds)
