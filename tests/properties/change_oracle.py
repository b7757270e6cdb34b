"""Change streams by their definition, S15 and S16 of the semantics page: after each call the answer is made anew.

Nothing here is incremental. The net multiset of the events is a list of rows, the answer is that of the reference on it
or that of a new session that waits, and the changes of a call are the difference of two answers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from cepheid import Changes, Matches, Query
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies.schemas import PLAIN, TIME

Row = dict[str, Any]
Answer = Mapping[str, list[str]]
"""The rows of each query of a program as text, in the order of S9."""


class RefusedError(Exception):
    """A call that changes nothing: a row is before the watermark, or the watermark would pass a debt."""


@dataclass(frozen=True)
class Difference:
    """What a call has to give of one query: the rows to take back and the rows to add."""

    removed: Counter[str]
    added: Counter[str]


def shown(matches: Matches | Changes) -> list[str]:
    """Rows as text: two that are equal are equal texts, NaN too."""
    return list(map(to_json, matches.to_pylist()))


def differences(before: Answer, after: Answer) -> dict[str, Difference]:
    """S15.2: as multisets of rows, so that equal rows are never both taken back and added."""
    nothing = Counter[str]()
    old, new = ({name: Counter(rows) for name, rows in answer.items()} for answer in (before, after))
    names = old.keys() | new.keys()
    pairs = {name: (old.get(name, nothing), new.get(name, nothing)) for name in names}
    return {name: Difference(was - now, now - was) for name, (was, now) in pairs.items()}


def is_in_order(rows: Sequence[str], of: Sequence[str]) -> bool:
    """Whether these are some of those, in their order."""
    rest = iter(of)
    return all(row in rest for row in rows)


@dataclass(frozen=True)
class Oracle:
    """A session after some calls. Each call gives the session after it.

    speculate: σ, or None for a session that waits; it gives what σ = 0 gives (S15.5).
    set_aside: what was late: events, retractions, and debts that the watermark has passed.
    """

    query: Query
    speculate: int | str | None
    late: str = "error"
    lateness: int | None = None
    schema: pa.Schema = field(default=PLAIN, repr=False)
    events: tuple[Row, ...] = ()
    debts: tuple[Row, ...] = ()
    set_aside: tuple[Row, ...] = ()
    watermark: int | None = None
    closed: bool = False
    answer: Answer = field(default_factory=dict)

    def is_late(self, row: Row) -> bool:
        return self.watermark is not None and row[TIME] < self.watermark

    def change(self, inserted: Sequence[Row] = (), retracted: Sequence[Row] = ()) -> "Oracle":
        """Rows that come in one call, in any order. With a lateness the watermark follows them, retractions too."""
        given = (*inserted, *retracted)
        late = [row for row in given if self.is_late(row)]
        if late and self.late == "error":
            raise RefusedError
        come = [row for row in inserted if not self.is_late(row)]
        gone = [row for row in retracted if not self.is_late(row)]
        events, debts = netted([*self.events, *come], [*self.debts, *gone])
        after = replace(self, events=events, debts=debts, set_aside=(*self.set_aside, *late))
        if self.lateness is not None and (come or gone):
            after = after._passed(max(row[TIME] for row in (*come, *gone)) - self.lateness)
        return after._answered()

    def advance(self, watermark: int) -> "Oracle":
        return self._passed(watermark)._answered()

    def close(self) -> "Oracle":
        return replace(self._keeping(()), closed=True)._answered()

    def _passed(self, watermark: int) -> "Oracle":
        reached = watermark if self.watermark is None else max(watermark, self.watermark)
        after = replace(self, watermark=reached)
        return after._keeping(tuple(row for row in self.debts if not after.is_late(row)))

    def _keeping(self, debts: tuple[Row, ...]) -> "Oracle":
        """S16: a debt that the watermark passes, or the end, is late."""
        passed = [row for row in self.debts if not any(row is kept for kept in debts)]
        if passed and self.late == "error":
            raise RefusedError
        return replace(self, debts=debts, set_aside=(*self.set_aside, *passed))

    def _answered(self) -> "Oracle":
        return replace(self, answer=self._answer())

    def _answer(self) -> Answer:
        """O_n of S15.1."""
        if self.closed or self.speculate == "all":
            return _outputs(self.query.match(self.table(self.events), engine="reference"))
        if self.watermark is None:
            return {}
        frontier = self.watermark + int(self.speculate or 0)
        session = self.query.session(engine="interpreted")
        session.push(self.table([row for row in self.events if row[TIME] < frontier]))
        return _outputs(session.advance(frontier))

    def table(self, rows: Sequence[Row]) -> pa.Table:
        return pa.Table.from_pylist(list(rows), schema=self.schema)


def netted(inserted: Sequence[Row], retracted: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """S16: a retraction removes one event that is equal in every column; what it does not find is a debt."""
    owed = Counter(map(to_json, retracted))
    events = []
    for row in inserted:
        if owed[to_json(row)]:
            owed[to_json(row)] -= 1
        else:
            events.append(row)
    debts = []
    for row in retracted:
        if owed[to_json(row)]:
            owed[to_json(row)] -= 1
            debts.append(row)
    return tuple(events), tuple(debts)


def _outputs(matches: Matches) -> Answer:
    return {name: shown(found) for name, found in matches.outputs.items()}
