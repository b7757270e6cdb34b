"""A session's state by its parts: one way to write it, into whatever takes parts."""

from typing import Any

import pyarrow as pa
import pytest

from cepheid import Query, UsageError
from cepheid.engine.stream.parts import FlatSink, FlatSource, table_bytes
from cepheid.engine.stream.rows import StoredRows
from cepheid.engine.stream.snapshot import from_bytes, to_bytes

QUERIES = [
    "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].x > b[i-1].x WITHIN 40",
    "PATTERN SEQ(A a, B b, !(C c)) WHERE [id] WITHIN 20 OUTPUT NON_OVERLAP",
    "PATTERN SEQ(A a, B b) WITHIN 3 RETURN a.x AS x INTO P; FROM P PATTERN SEQ(P p, P q) WITHIN 8",
]
EVENTS = [{"ts": t, "type": "ABC"[t * 7 % 3], "id": t % 4, "x": t * 5 % 11} for t in range(90)]


class Pieces:
    """Parts by name, rows by the position of the first."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def add(self, name: str, part: Any) -> Any:
        assert name not in self.found
        self.found[name] = bytes(part)
        return name

    def array(self, name: str, array: Any) -> Any:
        self.found[name] = array.copy()
        return name

    def table(self, name: str, table: pa.Table) -> Any:
        self.found[name] = table
        return name

    def rows(self, name: str, table: pa.Table, base: int) -> Any:
        self.found[name] = table
        self.found[f"{name}@"] = base
        return name

    def hold(self, name: str, rows: StoredRows) -> tuple[Any, StoredRows]:
        self.found[name] = rows
        return name, rows

    # The source.

    def part(self, found: Any) -> Any:
        return self.found[found]

    def read(self, found: Any, base: int) -> pa.Table:
        assert self.found[f"{found}@"] == base
        return self.found[found]


class Given(Pieces):
    """The same parts, read."""

    def __init__(self, pieces: Pieces) -> None:
        self.found = pieces.found

    def array(self, found: Any) -> Any:  # type: ignore[override]
        return self.found[found]

    def table(self, found: Any) -> pa.Table:  # type: ignore[override]
        return self.found[found]

    def rows(self, found: Any, base: int) -> pa.Table:  # type: ignore[override]
        return self.read(found, base)

    def held(self, found: Any) -> StoredRows:
        rows: StoredRows = self.found[found]
        return rows


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("cut", [0, 1, 30, 60])
def test_parts_go_on_as_bytes_do(text: str, cut: int) -> None:
    query = Query(text)
    session = query.session(lateness=5, engine="plain")
    session.push(EVENTS[:cut])
    pieces = Pieces()
    header = session.engine.save(pieces)
    by_parts = query.session()
    by_parts.load(header, Given(pieces))
    by_bytes = query.restore(session.snapshot())
    rows = []
    for again in (session, by_parts, by_bytes):
        rows.append([*again.push(EVENTS[cut:]).to_pylist(), *again.close().to_pylist()])
    assert rows[0] == rows[1] == rows[2]


def test_what_is_at_a_position_stays() -> None:
    """Rows that two states have in common are the same: a writer may leave out those that it has."""
    session = Query(QUERIES[0]).session(lateness=0, engine="plain")
    known: dict[int, Any] = {}
    moved = False
    for t in range(0, 900, 30):
        session.push([{**e, "ts": e["ts"] + t} for e in EVENTS[:30]])
        pieces = Pieces()
        session.engine.save(pieces)
        base, rows = pieces.found["stream.0.kept@"], pieces.found["stream.0.kept"].to_pylist()
        moved |= base > 0
        for position, row in enumerate(rows, start=base):
            assert known.setdefault(position, row) == row
    assert moved


def test_a_header_with_parts_as_bytes() -> None:
    flat = FlatSink()
    table = pa.table({"x": [1, 2]})
    found = {"word": flat.add("word", b"abc"), "rows": flat.rows("rows", table, 7), "table": flat.table("table", table)}
    header, source = from_bytes(to_bytes({"found": found}, flat))
    assert bytes(source.part(header["found"]["word"])) == b"abc"
    assert source.rows(header["found"]["rows"], 7).equals(table)
    assert source.table(header["found"]["table"]).equals(table)
    assert pa.ipc.open_stream(table_bytes(table)).read_all().equals(table)


def test_a_part_beyond_the_end() -> None:
    with pytest.raises(ValueError, match="the end is missing"):
        FlatSource(memoryview(b"12345678")).part([4, 5])


def test_a_state_of_another_query() -> None:
    session = Query(QUERIES[0]).session()
    session.push(EVENTS[:3])
    pieces = Pieces()
    header = session.engine.save(pieces)
    with pytest.raises(UsageError, match="another query"):
        Query(QUERIES[1]).session().load(header, Given(pieces))
