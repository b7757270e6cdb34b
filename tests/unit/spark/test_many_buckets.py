"""A stream of many queries without Spark: buckets give what a session does, whatever they are given and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.encoding.times import ticks
from cepheid.engine.session.control import Refused
from cepheid.pattern.binding.schema import make_schema
from cepheid.spark.many.arranged import arranged, by_ids, forms_to_come, with_all_parameters
from cepheid.spark.many.book import Book
from cepheid.spark.many.bucket import ManyBucket, ManyBuckets
from cepheid.spark.many.changes import ManyControl
from cepheid.spark.many.columns import common_schema, own_schema
from cepheid.spark.many.shipped import ship
from cepheid.spark.many.split import parts_of, split
from cepheid.spark.many.steady import Steadily, hashes, places_of
from cepheid.spark.many.stream import rules_digest
from cepheid.spark.many.worker import ManyWorker
from cepheid.spark.packing import PackedEvents, pack, write
from cepheid.spark.state.cache import BucketCache
from cepheid.spark.state.fingerprint import StreamFingerprint

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
DELAY = 4_000
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("symbol", pa.string()),
        ("shop", pa.int32()),
        ("price", pa.int64()),
    ]
)
TEMPLATES = {
    "constant": "PATTERN SEQ(A a, B b) WHERE [symbol = name] AND a.price > high AND b.price < 6 WITHIN span",
    "each": "PATTERN SEQ(A a, B b) WHERE a.shop = place AND b.shop = place AND a.price > high WITHIN 6 seconds",
    "keyed": "PATTERN SEQ(A a, B b) WHERE [symbol] AND a.price > high AND b.price < 6 WITHIN 8 seconds",
    "free": "PATTERN SEQ(A a, B b) WHERE a.price > high AND b.price < 2 WITHIN 2 seconds",
    "ending": "PATTERN SEQ(A a, B b, !(C c)) WHERE [symbol = name] AND a.price > high AND c.price > 4 WITHIN span",
    "bags": "PATTERN SEQ(A a, B+ b[]) WHERE [symbol = name] AND a.price > high AND b[i].price < 4 WITHIN 6 seconds",
    "cesar": "CESAR LET S1 := A LET S2 := B SELECT[S1.price > high](S1 ;[S1.shop = S2.shop AND DUR <= 3000000000] S2)",
    "program": """
        PATTERN SEQ(A a, B b) WHERE [symbol] AND a.price > high WITHIN 6 seconds
        RETURN a.symbol AS symbol, b.price AS price INTO P;
        FROM P PATTERN SEQ(P p, P q) WHERE [symbol] AND q.price > p.price WITHIN 9 seconds
    """,
}


def second(at: float) -> datetime:
    return BEGIN + timedelta(seconds=at)


def rule(chance: Random, id: Any, names: Sequence[str]) -> dict[str, Any]:
    """Nobody has Q, and NULL is equal to nothing."""
    return {
        "id": id,
        "template": chance.choice(names),
        "name": chance.choice(["X", "Y", "Q", None]),
        "place": chance.choice([1, 2, 9, 2**40, None]),
        "high": chance.randint(8, 18),
        "span": chance.choice(["5 seconds", "9 seconds", "30 days"]),
    }


COLUMNS = pa.schema(
    [(name, pa.int64() if name in ("place", "high") else pa.string()) for name in rule(Random(1), "u", ["x"])]
)


def events(chance: Random, count: int, end: int) -> list[dict[str, Any]]:
    """Events up to four seconds out of order; several have the same time."""
    return [
        {
            "ts": second(end * k // count - chance.randint(0, 4)),
            "type": chance.choice("ABC"),
            "symbol": chance.choice(["X", "Y", "Z", None]),
            "shop": chance.choice([1, 2, 3, None]),
            "price": chance.randint(0, 20),
        }
        for k in range(count)
    ]


class Memory:
    """A state store, which counts the bytes that are written."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.parts: dict[str, bytes] = {}
        self.written = 0

    def header(self) -> bytes | None:
        return self.head

    def put_header(self, header: bytes) -> None:
        self.head = header
        self.written += len(header)

    def part(self, name: str, digest: str) -> bytes | None:
        return self.parts.get(name)

    def put(self, name: str, part: bytes, digest: str) -> None:
        self.parts[name] = part
        self.written += len(part)

    def drop(self, name: str, digest: str) -> None:
        self.parts.pop(name, None)


class Stream:
    """What Spark would run. workers: how many processes take turns, each with a cache of its own."""

    def __init__(self, queries: cep.Queries, *, control: bool = False, workers: int = 1, stores: Any = None) -> None:
        self.queries, self.control = queries, control
        self.schema = make_schema(SCHEMA, queries.options.roles)
        rules = by_ids(queries.fitting(self.schema))
        parts = parts_of(rules, queries.options, self.schema)
        if control:
            whole = with_all_parameters(rules, COLUMNS.names, "id")
            parts += forms_to_come(whole, COLUMNS, queries.options, self.schema)
        self.ways = split(parts, Steadily(3, rules.ids))
        shipped = ship(with_all_parameters(rules, COLUMNS.names, "id"), self.ways, queries.options, None)
        worker = ManyWorker(shipped, SCHEMA, common_schema(rules, SCHEMA))
        shape = {"ways": repr([way.named for way in self.ways])}
        fingerprint = StreamFingerprint(rules_digest(rules), "", 3, shape=shape, control=control, many=True)
        self.count = sum(way.buckets for way in self.ways)
        self.many = ManyBuckets(worker, fingerprint, queries.rereading, self.count, DELAY)
        self.stores: list[Memory] = stores or [Memory() for _ in range(self.count)]
        self.caches = [BucketCache(10**9) for _ in range(workers)]
        self.book, self.refused = Book(), list[Refused]()
        self.rows: list[dict[str, Any]] = []
        self.late = 0

    def after(self, other: Stream) -> Stream:
        """The same on the state of another one."""
        rules = by_ids(other.queries.fitting(self.schema))
        ways, left = arranged(self.ways, parts_of(rules, self.queries.options, self.schema), rules.ids)
        assert not len(left)
        self.many = replace(self.many, before=ship(rules, ways, self.queries.options, None))
        self.stores, self.rows = other.stores, other.rows
        return self

    def places(self, way: Any, table: pa.Table) -> list[Any]:
        if way.column is not None:
            return places_of(hashes(table[way.column].combine_chunks()), way).tolist()
        if way.key:
            keys = zip(*(table[path[0]].to_pylist() for path in way.key), strict=True)
            return [way.first + sum(map(ord, repr(key))) % way.buckets for key in keys]
        return [None] * len(table)

    def run(
        self,
        rows: Sequence[dict[str, Any]],
        watermark: int | None,
        changes: Sequence[dict[str, Any]] = (),
        chance: Random | None = None,
    ) -> None:
        """One micro-batch."""
        table = pa.Table.from_pylist(list(rows), SCHEMA)
        control = self.packed_changes(changes) if changes else None
        if control is not None:
            decided = self.many.decide(control, self.book, watermark)
            self.book = decided.book
            self.refused += decided.refused
        for way in self.ways:
            places = self.places(way, table)
            for number in range(way.first, way.first + way.buckets):
                own = table.filter(pa.array([place in (None, number) for place in places], pa.bool_()))
                cache = (chance or Random(0)).choice(self.caches)
                self.call(cache, number, own, watermark, control)

    def call(
        self, cache: BucketCache, number: int, table: pa.Table, watermark: int | None, control: ManyControl | None
    ) -> None:
        store = self.stores[number]
        bucket: ManyBucket = cache.taken(
            lambda stale: self.many.open(number, stale), self.many.fingerprint, self.many.place(number), store
        )
        due = bucket.timer is not None and watermark is not None and bucket.timer < watermark
        if not len(table) and control is None and not due and self.many.before is None:
            cache.put(bucket, self.many.place(number), 1)
            return  # Spark does not call
        blobs = pack(table, ticks(self.schema, table), np.zeros(len(table), np.int64), dense=True)
        output = bucket.take([PackedEvents(*b) for _, b in blobs], watermark, "drop", control=control)
        bucket.timer = bucket.due()
        bucket.save(store)
        cache.put(bucket, self.many.place(number), 1)
        self.late += output.late
        self.rows += [row for part in bucket.tables(output) for row in part.to_pylist()]

    columns = COLUMNS  # of the control stream

    def packed_changes(self, changes: Sequence[dict[str, Any]]) -> ManyControl:
        """Rows of the control stream in several blobs, in any order."""
        columns = pa.schema([*self.columns, ("action", pa.string()), ("at", pa.int64())])
        made = []
        for one in changes:
            at = one.get("at")
            in_ticks = None if at is None else round(at.timestamp() * 1_000_000)
            made.append(write(pa.Table.from_pylist([{**one, "at": in_ticks}], columns)))
        return ManyControl(tuple(sorted(made)), DELAY)

    def end(self) -> list[str]:
        """What was given, and what would be if the stream ended here."""
        for number, store in enumerate(self.stores):
            bucket = self.many.open(number)
            bucket.load(store)
            self.rows += [row for part in bucket.tables(bucket.close()) for row in part.to_pylist()]
        return sorted(repr((row["query"], row["match_start"], row["match_end"], row["template"])) for row in self.rows)


def batches(chance: Random, rows: list[dict[str, Any]], mean: int) -> list[tuple[list[dict[str, Any]], int | None]]:
    """Micro-batches with the watermarks that Spark has: of the events of those before."""
    cuts, latest = [], None
    while rows:
        size = chance.choice([0, 1, mean, 2 * mean])
        mark = None if latest is None else int(latest.timestamp() * 1000) - DELAY
        cuts.append((rows[:size], mark))
        latest = max([row["ts"] for row in rows[:size]] + [latest] * (latest is not None), default=None)
        rows = rows[size:]
    return cuts


def on_time(cuts: Sequence[tuple[list[dict[str, Any]], int | None]]) -> pa.Table:
    kept = [
        row
        for rows, mark in cuts
        for row in rows
        if mark is None or row["ts"] >= datetime.fromtimestamp(mark / 1000, UTC)
    ]
    return pa.Table.from_pylist(kept, SCHEMA)


def table_of(rules: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rules), COLUMNS)


def listed(found: Any, template: dict[Any, str]) -> list[str]:
    return sorted(
        repr((row["query"], row["match_start"], row["match_end"], template[row["query"]])) for row in found.to_pylist()
    )


SETS = [
    ["constant"],
    ["keyed"],
    ["free"],
    ["constant", "each", "free"],
    list(TEMPLATES),
    ["ending"],
    ["cesar", "program"],
]


@pytest.mark.parametrize("names", SETS, ids="-".join)
def test_any_cut_into_micro_batches(names):
    chance = Random(len(repr(names)))
    for _ in range(2):
        rules = [rule(chance, f"u{k}", names) for k in range(14)]
        queries = cep.Queries({name: TEMPLATES[name] for name in names}, table_of(rules))
        cuts = batches(chance, events(chance, 150, 40), 30)
        stream = Stream(queries, workers=2)
        for rows, mark in cuts:
            stream.run(rows, mark, chance=chance)
        template = {one["id"]: one["template"] for one in rules}
        known = on_time(cuts)
        assert stream.end() == listed(queries.match(known), template)
        copies = sum(len(way.numbers) > 0 for way in stream.ways)
        assert copies == 0 or known.num_rows < 150 or stream.late == 0


@pytest.mark.parametrize("names", SETS[:-2], ids="-".join)
def test_rules_come_and_go(names):
    chance = Random(len(repr(names)) + 1)
    changes = 0
    for _ in range(2):
        ids = [f"u{k}" for k in range(12)]
        first = [{**rule(chance, id, names), "template": names[k % len(names)]} for k, id in enumerate(ids[:6])]
        queries = cep.Queries({name: TEMPLATES[name] for name in names}, table_of(first))
        cuts = batches(chance, events(chance, 150, 40), 20)
        stream = Stream(queries, control=True, workers=2)
        model = Model(queries, first)
        for rows, mark in cuts:
            made = [change(chance, ids, names, mark) for _ in range(chance.choice([0, 2, 5]))]
            model.take(made, mark)
            stream.run(rows, mark, made, chance)
        assert [one.row.id for one in stream.refused] == model.refused
        found = stream.end()
        session = model.session(on_time(cuts))
        assert found == listed(session, model.template)
        changes += len(model.log)
    assert changes > 8


def change(chance: Random, ids: Sequence[str], names: Sequence[str], mark: int | None) -> dict[str, Any]:
    """A row at some time, maybe before the watermark, maybe at one of the events."""
    base = 0 if mark is None else mark / 1000 - BEGIN.timestamp()
    at = chance.choice([None, second(int(base) + chance.randint(-2, 9))])
    made = {**rule(chance, chance.choice(ids), names), "action": chance.choice(["add", "remove", "replace"]), "at": at}
    # The column of the template is kept: a rule has the same one throughout, so that matches can be told apart.
    return {**made, "template": names[int(made["id"][1:]) % len(names)]}


class Model:
    """What is to come of rows, one by one, and the session that has all of it from the beginning."""

    def __init__(self, queries: cep.Queries, first: Sequence[dict[str, Any]]) -> None:
        self.queries = queries
        self.lives: dict[str, tuple[float, float]] = {one["id"]: (-np.inf, np.inf) for one in first}
        self.template = {one["id"]: one["template"] for one in first}
        self.log: list[tuple[datetime, str, dict[str, Any]]] = []
        self.refused: list[str] = []

    def take(self, rows: Sequence[dict[str, Any]], mark: int | None) -> None:
        present = (
            datetime(10, 1, 2, tzinfo=UTC) if mark is None else datetime.fromtimestamp((mark + DELAY + 1) / 1000, UTC)
        )
        order = {"remove": 0, "replace": 1, "add": 2}

        def place(row: dict[str, Any]) -> tuple[Any, ...]:
            values = {k: v for k, v in row.items() if k not in ("id", "action", "at") and v is not None}
            return row["at"] or present, row["id"], order[row["action"]], repr(values), row["at"] is None

        for row in sorted(rows, key=place):
            at, id = row["at"] or present, row["id"]
            since, until = self.lives.get(id, (np.inf, -np.inf))
            time = at.timestamp()
            wrong = mark is not None and time < mark / 1000
            if row["action"] == "add":
                wrong = wrong or until > time
            else:
                wrong = wrong or since > time or until != np.inf
            if wrong:
                self.refused.append(id)
                continue
            if row["action"] != "add":
                self.lives[id] = since, time
                self.log.append((at, "remove", row))
            if row["action"] != "remove":
                self.lives[id] = time, np.inf
                self.log.append((at, "add", row))
                self.template[id] = row["template"]

    def session(self, known: pa.Table) -> Any:
        session = self.queries.session()
        session.push(SCHEMA.empty_table())
        for at, action, row in sorted(self.log, key=lambda one: one[0]):
            if action == "remove":
                session.remove([row["id"]], at=at)
            else:
                session.add(table_of([{name: row[name] for name in COLUMNS.names}]), at=at)
        session.push(known)
        return session.close()


def test_rules_come_to_a_stream_that_has_none():
    chance = Random(5)
    names = ["constant", "free"]
    queries = cep.Queries({name: TEMPLATES[name] for name in names}, table_of([]))
    stream = Stream(queries, control=True)
    assert [way.column for way in stream.ways] == ["symbol", None]
    rules = [rule(chance, f"u{k}", names) for k in range(8)]
    cuts = batches(chance, events(chance, 100, 30), 30)
    for number, (rows, mark) in enumerate(cuts):
        stream.run(rows, mark, [{**one, "action": "add", "at": None} for one in rules] if not number else ())
    full = cep.Queries({name: TEMPLATES[name] for name in names}, table_of(rules))
    assert stream.end() == listed(full.match(on_time(cuts)), {one["id"]: one["template"] for one in rules})
    assert not stream.refused


def test_wrong_rows_are_told_and_stop_no_other():
    queries = cep.Queries({"constant": TEMPLATES["constant"]}, table_of([rule(Random(1), "u1", ["constant"])]))
    stream = Stream(queries, control=True)
    good = {"template": "constant", "name": "X", "high": 9, "span": "5 seconds", "action": "add"}
    stream.run(
        [],
        None,
        [
            {**good, "id": "u2"},
            {**good, "id": "u3", "span": "5 secunds"},
            {**good, "id": "u1"},
            {**good, "id": "u4", "template": "constent"},
            {**good, "id": "u5", "action": "ad"},
            {**good, "id": None},
            {"id": "u9", "action": "remove"},
        ],
    )
    told = {one.row.id: one.reason for one in stream.refused}
    assert set(stream.book.lives) == {"u2"}
    assert told["u3"].startswith("CEP307: column 'span': the parameter 'span' is '5 secunds', which is not a window")
    assert told["u1"].startswith("CEP616: the rule 'u1' is there already; remove it first")
    assert told["u4"] == "CEP616: there is no template 'constent'; did you mean 'constant'?"
    assert told["u5"] == "CEP615: unknown action 'ad' in the column `action`; did you mean 'add'?"
    assert told[None].startswith("CEP615: the row has no id")
    assert told["u9"].startswith("CEP229: there is no rule 'u9'")
    stream.run([], 1_767_225_600_000, [{"id": "u1", "action": "remove", "at": second(-1)}])
    assert stream.refused[-1].reason.startswith(
        "CEP608: the change at 2025-12-31 23:59:59+00:00 is before the watermark"
    )


def test_a_rule_that_fits_no_way_is_refused():
    templates = {name: TEMPLATES[name] for name in ("constant", "free")}
    queries = cep.Queries(templates, table_of([rule(Random(1), "u1", ["constant"]), rule(Random(1), "u2", ["free"])]))
    stream = Stream(queries, control=True)
    stream.ways = [way for way in stream.ways if way.column is not None]
    shipped = ship(stream.many.worker.shipped.load()[0], stream.ways, queries.options, None)
    stream.many = replace(stream.many, worker=replace(stream.many.worker, shipped=shipped))
    stream.many = replace(stream.many, fingerprint=replace(stream.many.fingerprint, query="other"))
    stream.run([], None, [{"id": "u3", "action": "add", "template": "free", "high": 9}])
    assert [one.reason.split(":")[0] for one in stream.refused] == ["CEP229"]


@pytest.mark.parametrize("names", [["constant"], ["keyed"], ["free"]], ids="-".join)
def test_other_rules_go_on_with_the_state(names):
    chance = Random(len(repr(names)) + 7)
    templates = {name: TEMPLATES[name] for name in names}
    first = [rule(chance, f"u{k}", names) for k in range(10)]
    later = [*first[:5], *(rule(chance, f"u{k}", names) for k in range(8, 14))]
    chance.shuffle(later)
    cuts = batches(chance, events(chance, 200, 60), 30)
    middle = next(k for k, (_, mark) in enumerate(cuts) if mark is not None and mark / 1000 > second(20).timestamp())
    queries, others = cep.Queries(templates, table_of(first)), cep.Queries(templates, table_of(later))
    stream = Stream(queries)
    for rows, mark in cuts[:middle]:
        stream.run(rows, mark)
    changed = Stream(others).after(stream)
    for number, (rows, mark) in enumerate(cuts[middle:]):
        changed.run(rows, mark)
        if number == 1:  # started again, without the rules before
            again = Stream(others, stores=changed.stores)
            again.rows = changed.rows
            changed = again
    mark = cuts[middle][1]
    assert mark is not None
    at = datetime.fromtimestamp((mark + DELAY + 1) / 1000, UTC)
    session = queries.session()
    session.push(SCHEMA.empty_table())
    same = [one["id"] for one in first if one in later]
    session.remove([one["id"] for one in first if one["id"] not in same], at=at)
    session.add(table_of([one for one in later if one["id"] not in same]), at=at)
    session.push(on_time(cuts))
    template = {one["id"]: one["template"] for one in (*first, *later)}
    assert changed.end() == listed(session.close(), template)
    assert len(same) >= 5


def test_the_state_has_no_rules_of_the_start():
    count = 3000
    rules = [{"id": f"u{k}", "name": f"S{k}", "high": k, "span": "5 seconds"} for k in range(count)]
    queries = cep.Queries(TEMPLATES["constant"], pa.Table.from_pylist(rules))
    stream = Stream(queries)
    rows = [{"ts": second(k), "type": "A", "symbol": f"S{k}", "shop": None, "price": 10**6} for k in range(60)]
    marks = [None, *(int(second(k).timestamp() * 1000) for k in range(0, 60, 10))]
    sizes = []
    for number, mark in enumerate(marks[:6]):
        stream.run(rows[10 * number : 10 * number + 10], mark)
        sizes.append(sum(store.written for store in stream.stores))
    steps = np.diff(sizes)
    assert max(steps) < 8 * count  # the numbers alone would take as much
    stored = sum(len(part) for store in stream.stores for part in store.parts.values())
    assert stored < 20 * count
    assert b"S2999" not in b"".join(store.head or b"" for store in stream.stores)


def test_what_finds_the_rules_is_made_once_in_a_worker(monkeypatch):
    chance = Random(3)
    queries = cep.Queries({"keyed": TEMPLATES["keyed"]}, table_of([rule(chance, f"u{k}", ["keyed"]) for k in range(9)]))
    made = []
    original = cep.Queries.stream
    monkeypatch.setattr(cep.Queries, "stream", lambda self, *given: (made.append(1), original(self, *given))[1])
    stream = Stream(queries)
    cuts = batches(chance, events(chance, 150, 40), 30)
    for rows, mark in cuts:
        stream.run(rows, mark)
    assert len(made) == 1  # for three buckets and all micro-batches
    assert stream.end() == listed(queries.match(on_time(cuts)), {f"u{k}": "keyed" for k in range(9)})


def test_queries_of_a_list_come_and_go():
    texts = ["PATTERN SEQ(A a, B b) WHERE [symbol] AND a.price > 9 WITHIN 4 seconds", "PATTERN C c WHERE c.price > 18"]
    more = "CESAR LET S1 := A LET S2 := B S1 ;[S1.shop = S2.shop AND DUR <= 2000000000] S2"
    queries = cep.Queries(texts, ids=["first", "second"])
    stream = Stream(queries, control=True)
    stream.columns = pa.schema([("id", pa.string()), ("text", pa.string())])
    chance = Random(8)
    cuts = batches(chance, events(chance, 120, 30), 30)
    changes = [
        {"id": "third", "action": "add", "at": second(10), "text": more},
        {"id": "first", "action": "remove", "at": second(15)},
        {"id": "fourth", "action": "add", "text": "PATTERN C c WHERE"},
    ]
    for number, (rows, mark) in enumerate(cuts):
        stream.run(rows, mark, changes if not number else ())
    assert [(one.row.id, one.row.text, one.reason[:6]) for one in stream.refused] == [
        ("fourth", "PATTERN C c WHERE", "CEP102")
    ]
    session = queries.session()
    session.push(SCHEMA.empty_table())
    session.add([more], ids=["third"], at=second(10))
    session.remove(["first"], at=second(15))
    session.push(on_time(cuts))
    assert stream.end() == listed(session.close(), {name: name for name in ("first", "second", "third")})


def test_a_rule_with_other_columns_is_refused_where_matches_have_their_own():
    templates = {"constant": TEMPLATES["constant"], "returns": f"{TEMPLATES['constant']} RETURN a.price AS price"}
    queries = cep.Queries(templates, table_of([rule(Random(1), "u1", ["constant"])]))
    stream = Stream(queries, control=True)
    own = own_schema(queries.rules, queries.options, SCHEMA)
    stream.many = replace(stream.many, worker=replace(stream.many.worker, own=True, match_schema=own))
    added = {"name": "X", "high": 9, "span": "5 seconds", "action": "add"}
    stream.run([], None, [{**added, "id": "u2", "template": "constant"}, {**added, "id": "u3", "template": "returns"}])
    assert [(one.row.id, one.reason[:6]) for one in stream.refused] == [("u3", "CEP229")]
    assert set(stream.book.lives) == {"u2"}


def test_that_streams_of_one_worker_decide_for_themselves() -> None:
    """Two streams with other rules that read the same rows of a control stream: `add x` is right in one of them."""

    def rule(name: str) -> dict[str, Any]:
        return {"id": name, "template": "constant", "name": "X", "place": 1, "high": 8, "span": "30 days"}

    def stream(*names: str) -> Stream:
        queries = cep.Queries({"constant": TEMPLATES["constant"]}, table_of([rule(name) for name in names]))
        return Stream(queries, control=True)

    one, other = stream("x", "z"), stream("y", "z")
    for row in ({**rule("x"), "action": "add", "at": second(0)}, {"id": "x", "action": "remove", "at": second(1)}):
        one.run([], None, [row])
        other.run([], None, [row])
    assert len(one.refused) == 1
    assert other.refused == []
