"""What tests of change streams share: micro-batches with retractions and disorder, an oracle, a ledger of changes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pyarrow as pa

import cepheid as cep
from cepheid.testing.outcomes import to_json

OP = "op"
INSERTS, RETRACTS = ("+", "+I", "+U"), ("-", "-D", "-U")


def with_operations(events: pa.Table, operations: Sequence[str]) -> pa.Table:
    return events.append_column(OP, pa.array(operations, pa.string()))


def cut(events: pa.Table, chance: Random, count: int, *, retracted: float = 0.3) -> list[pa.Table]:
    """Events in micro-batches, in any order.

    Some are retracted: later, in the same micro-batch, or before they came. A few retractions are of nothing, and some
    events come again.
    """
    parts: list[list[tuple[int, str]]] = [[] for _ in range(count)]
    for k in range(events.num_rows):
        at = chance.randrange(count)
        parts[at].append((k, chance.choice(INSERTS)))
        if chance.random() < retracted:
            parts[chance.randrange(count)].append((k, chance.choice(RETRACTS)))
            if chance.random() < 0.5:
                parts[chance.randrange(count)].append((k, chance.choice(INSERTS)))
        if chance.random() < retracted / 10:
            parts[chance.randrange(count)].append((k, "-"))
    for part in parts:
        chance.shuffle(part)
    return [
        with_operations(events.take(pa.array([k for k, _ in part], pa.int64())), [op for _, op in part])
        for part in parts
    ]


def counted(rows: Iterable[Any]) -> Counter[str]:
    return Counter(map(to_json, rows))


class Ledger:
    """The changes so far: what stands, and that they make sense one by one."""

    def __init__(self) -> None:
        self.stands: Counter[str] = Counter()
        self.ids: dict[str, str] = {}
        self.changes = 0

    def add(self, changes: Iterable[dict[str, Any]]) -> None:
        """The changes of one micro-batch: at most one of each match, and equal matches are not both + and -."""
        seen = set()
        signs: dict[str, str] = {}
        for change in changes:
            op, name, row = change["op"], change["match_id"], dict(change)
            del row["op"], row["match_id"]
            text = to_json(row)
            assert name not in seen, f"{name} has two changes"
            seen.add(name)
            assert signs.setdefault(text, op) == op, f"{text} is both given and taken back"
            if op == "+":
                assert name not in self.ids, f"{name} is given twice"
                self.ids[name] = text
                self.stands[text] += 1
            else:
                assert op == "-"
                assert self.ids.pop(name, None) == text, f"{name} is taken back, and was not given"
                self.stands[text] -= 1
            self.changes += 1
        self.stands = +self.stands


class Oracle:
    """The definition: after each micro-batch all that a session which waits would have given is found again."""

    def __init__(self, query: cep.Query, schema: pa.Schema, *, engine: str = "reference", **options: Any) -> None:
        self.session: Any = query.session(engine=engine, late="drop", **options)
        self.session.push(schema.empty_table())
        self.changing = options.get("speculate") is not None
        self.stands: Counter[str] = Counter()

    def step(self, rows: pa.Table | None, watermark: Any) -> Counter[str]:
        """What stands after the watermark and some rows."""
        if watermark is not None:
            self._take(self.session.advance(watermark))
        if rows is not None and rows.num_rows:
            self._take(self.session.push(rows))
        return self.stands

    def close(self) -> Counter[str]:
        self._take(self.session.close())
        return self.stands

    def _take(self, found: Any) -> None:
        if self.changing:
            self.stands.update(counted(found.added.to_pylist()))
            self.stands.subtract(counted(found.removed.to_pylist()))
            self.stands = +self.stands
        else:
            self.stands.update(counted(found.to_pylist()))
