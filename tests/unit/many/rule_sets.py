"""Rules on small streams of quotes: all at once, in sessions, and each alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

import cepheid as cep
from cepheid.testing.outcomes import to_json

Row = dict[str, Any]


def quotes(*rows: tuple[int, str, Any]) -> list[Row]:
    return [{"ts": ts, "type": "Stock", "symbol": symbol, "price": price} for ts, symbol, price in rows]


def rows(found: Any, names: Iterable[Any]) -> dict[Any, list[str]]:
    """What each gave; those that gave nothing are left out."""
    own = {name: list(map(to_json, found.of(name).to_pylist())) for name in names}
    return {name: given for name, given in own.items() if given}


def alone(
    template: str, rules: Iterable[Mapping[str, Any]], events: Any, engine: str = "reference", **options: Any
) -> dict[Any, list[str]]:
    found = {}
    for rule in rules:
        params = {name: value for name, value in rule.items() if name != "id"}
        given = cep.Query(template, params=params, **options).match(events, engine=engine).to_pylist()
        if given:
            found[rule["id"]] = list(map(to_json, given))
    return found


def check(template: str, rules: list[Row], events: Any, **options: Any) -> dict[Any, list[str]]:
    """All at once and in a session, event by event, against each alone."""
    queries = cep.Queries(template, rules, **options)
    names = [rule["id"] for rule in rules]
    expected = alone(template, rules, events, **options)
    assert rows(queries.match(events), names) == expected
    session, given = queries.session(lateness=0), dict[Any, list[str]]()
    table = pa.Table.from_pylist(events)
    for place in range(table.num_rows):
        collect(session.push(table.slice(place, 1)), given)
    collect(session.close(), given)
    assert {name: sorted(own) for name, own in given.items()} == {name: sorted(own) for name, own in expected.items()}
    return expected


def collect(found: Any, given: dict[Any, list[str]]) -> None:
    for name in {row["query"] for row in found.to_pylist()}:
        given.setdefault(name, []).extend(map(to_json, found.of(name).to_pylist()))


def heads(found: Any) -> list[tuple[Any, int, int]]:
    return [(row["query"], row["match_start"], row["match_end"]) for row in found.to_pylist()]


PAIR = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { a.price > low AND b.price > low }"
