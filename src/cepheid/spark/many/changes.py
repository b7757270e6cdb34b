"""The rows of a control stream of many queries: which rules come and go, and which rows are refused (S17, S23).

What is decided of a row depends on the row, the watermark, the rules at the start and the rows before. So every bucket
that is given the same rows decides the same, whatever events it has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
import pyarrow as pa

from cepheid.api import Queries
from cepheid.api.hosting import BAD_RULES, Problems, check_bound, only
from cepheid.engine.many.lifetimes import NEVER
from cepheid.engine.many.rules import TEXT, RuleSet
from cepheid.engine.session.control import ControlRow, Refused, reason_of
from cepheid.errors import CepheidError, InputError, PatternError, UsageError, did_you_mean
from cepheid.pattern.binding.schema import Schema
from cepheid.spark.many.arranged import arranged
from cepheid.spark.many.book import Book, InitialRules, Life, remembered
from cepheid.spark.many.columns import of_other_columns
from cepheid.spark.many.split import RuleSplit, parts_of
from cepheid.spark.packing import unpack
from cepheid.values.value import Value

ACTION, AT = "action", "at"
"""The columns of a control row besides those of a rule."""

ACTIONS = ("remove", "replace", "add")
"""What a row can do, in the order in which rows of one time do it."""


@dataclass(frozen=True, slots=True)
class ManyControl:
    """The control rows of a micro-batch, as blobs, and how long the watermark waits, in milliseconds."""

    rows: tuple[bytes, ...]
    delay: int

    @property
    def mark(self) -> str:
        """The same for the same rows."""
        return sha256(b"".join(sha256(blob).digest() for blob in self.rows)).hexdigest()


@dataclass(frozen=True)
class Added:
    """Rules that come. buckets: the first one of each, and the one after its last."""

    rules: RuleSet
    first: np.ndarray
    end: np.ndarray

    def of(self, bucket: int, numbers: Sequence[int]) -> RuleSet | None:
        """Those of some rules that are in a bucket."""
        wanted = np.array(numbers, np.int64)
        members = wanted[(self.first[wanted] <= bucket) & (bucket < self.end[wanted])]
        return only(self.rules, members) if len(members) else None


@dataclass(frozen=True)
class TimedChange:
    """What happens at a time, in ticks: first rules go, by their ids, then others come, by their numbers."""

    at: int
    gone: list[Value] = field(default_factory=list)
    come: dict[Value, tuple[Added, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Decided:
    """What becomes of some rows."""

    steps: Sequence[TimedChange]
    refused: Sequence[Refused]
    book: Book


@dataclass(frozen=True)
class Rulings:
    """What rows are decided by: the queries at the start, and how their events are divided.

    columns: those that all matches must have, where these are the columns of the queries.
    """

    queries: Queries
    base: InitialRules
    ways: Sequence[RuleSplit]
    schema: Schema
    id: str
    listed: bool
    columns: pa.Schema | None = None

    def decide(
        self,
        control: ManyControl,
        book: Book,
        *,
        watermark: int | None,
        present: int,
        shown: Callable[[int], object],
        stream: str,
    ) -> Decided:
        """Decide about rows. The order in which they came does not matter.

        watermark: in ticks, before which nothing changes any more. present: when a row holds from that does not say it.
        shown: a time as a reader knows it. stream: its token, as a worker may run several, with other rules.
        """
        table = pa.concat_tables([unpack(blob) for blob in control.rows], promote_options="default")
        rows = _Rows(table, self.id, present)
        errors = {n: error for n in rows.order if (error := rows.wrong(n, watermark, shown)) is not None}
        added = dict(self._read(rows, [n for n in rows.order if n not in errors], errors))
        lives: dict[Value, Life] = dict(book.lives)
        steps: dict[int, TimedChange] = {}
        for n in rows.order:
            id, at, action = rows.ids[n], rows.times[n], rows.actions[n]
            if n not in errors:
                life = lives.get(id) or self.base.life(id)
                error = self._clash(id, action, at, life, shown)
                if error is None:
                    step = steps.setdefault(at, TimedChange(at))
                    if action != "add":
                        assert life is not None
                        lives[id] = life[0], at
                        step.gone.append(id)
                        step.come.pop(id, None)  # what came at this time sees no event
                    if action != "remove":
                        lives[id] = at, NEVER
                        step.come[id] = added[n]
                else:
                    errors[n] = error
        refused = [Refused(rows.row(n), reason_of(errors[n])) for n in rows.order if n in errors]
        mark = sha256(f"{stream} {book.mark} {control.mark} {watermark} {present}".encode()).hexdigest()
        return Decided([steps[at] for at in sorted(steps)], refused, remembered(Book(mark, lives)))

    def _read(
        self, rows: _Rows, wanted: Sequence[int], errors: dict[int, CepheidError]
    ) -> Iterator[tuple[int, tuple[Added, int]]]:
        """The rules of rows that add some, each with its place among those that were read together."""
        left = [n for n in wanted if rows.actions[n] != "remove"]
        while left:
            some = list({rows.ids[n]: n for n in reversed(left)}.values())[::-1]  # an id once at a time
            taken = set(some)
            left = [n for n in left if n not in taken]
            try:
                rules_read, problems = self._rules(rows.table.take(pa.array(some, pa.int64())))
                check_bound(rules_read.without(problems.numbers), self.queries.options, self.schema, problems)
                self._check_columns(rules_read.without(problems.numbers), problems)
                made = self._placed(rules_read.without(problems.numbers), problems)
            except CepheidError as error:
                errors |= dict.fromkeys(some, error)
                continue
            errors |= {some[number]: error for number, error in problems.items()}
            yield from ((n, (made, number)) for number, n in enumerate(some) if n not in errors)

    def _rules(self, table: pa.Table) -> tuple[RuleSet, Problems]:
        queries = self.queries
        if self.listed:
            texts = table.column(TEXT).to_pylist()
            return queries.read_more(
                ["" if text is None else text for text in texts], table.column(self.id), queries.rules
            )
        return queries.read_more(table.drop_columns([ACTION, AT]), None, queries.rules)

    def _check_columns(self, rules: RuleSet, problems: Problems) -> None:
        if self.columns is None:
            return
        for numbers in of_other_columns(rules, self.queries.options, self.schema.arrow, self.columns):
            message = "its matches have other columns than those of the stream"
            remedy = "leave out own=True: all matches have their events then"
            problems.add(numbers, PatternError("CEP229", message, remedy))

    def _placed(self, rules: RuleSet, problems: Problems) -> Added:
        ways, left = arranged(self.ways, parts_of(rules, self.queries.options, self.schema), rules.ids)
        if len(left):
            message = "the events of the stream are not divided in a way that this rule could use"
            remedy = "start the stream with a rule of this form, or write what all others have in common: [attr = name]"
            problems.add(left, PatternError("CEP229", message, remedy))
        first, end = np.zeros(len(rules.ids), np.int64), np.zeros(len(rules.ids), np.int64)
        for way in ways:
            if way.places is None:
                first[way.numbers], end[way.numbers] = way.first, way.first + way.buckets
            else:
                there = way.places >= 0
                first[way.numbers[there]], end[way.numbers[there]] = way.places[there], way.places[there] + 1
        return Added(rules, first, end)

    def _clash(
        self, id: object, action: str, at: int, life: Life | None, shown: Callable[[int], object]
    ) -> CepheidError | None:
        """Why a row can't hold: what it removes is not there, or what it adds is."""
        if action == "add":
            if life is None or life[1] <= at:
                return None
            return InputError(BAD_RULES, f"the rule {id!r} is there already", "remove it first, or replace it")
        if life is None:
            known = map(str, self.base.ids.slice(0, 1000).to_pylist())
            return PatternError("CEP229", f"there is no rule {id!r}", did_you_mean(str(id), known, "ids"))
        if life[1] != NEVER:
            message = f"the rule {id!r} ends at {shown(life[1])} already"
            return PatternError("CEP229", message, "add it again at a later time, or leave it as it is")
        if life[0] > at:
            message = f"the rule {id!r} begins after that time, {shown(at)}"
            return PatternError("CEP229", message, "remove it at a later time")
        return None


class _Rows:
    """The rows of a micro-batch, in the order in which they hold."""

    def __init__(self, table: pa.Table, id: str, present: int) -> None:
        self.table = table
        self.ids: list[Value] = table.column(id).to_pylist()
        self.actions: list[Value] = table.column(ACTION).to_pylist()
        self.given: list[int | None] = table.column(AT).to_pylist()
        self.times = [present if at is None else at for at in self.given]
        others = [name for name in table.column_names if name not in (id, ACTION, AT)]
        self.values = [
            {name: value for name, value in row.items() if value is not None}
            for row in (table.select(others).to_pylist() if others else [{}] * len(self.ids))
        ]

        def place(n: int) -> tuple[object, ...]:
            rank = ACTIONS.index(self.actions[n]) if self.actions[n] in ACTIONS else -1
            return self.times[n], str(self.ids[n]), rank, repr(self.values[n]), self.given[n] is None

        self.order = sorted(range(len(self.ids)), key=place)

    def wrong(self, n: int, watermark: int | None, shown: Callable[[int], object]) -> CepheidError | None:
        """What is wrong with a row, whatever rules there are."""
        action, at = self.actions[n], self.times[n]
        if self.ids[n] is None:
            return UsageError("CEP615", "the row has no id", "name the rule that it is about")
        if action not in ACTIONS:
            remedy = did_you_mean(str(action), ACTIONS, "actions")
            return UsageError("CEP615", f"unknown action {action!r} in the column `{ACTION}`", remedy)
        if watermark is not None and at < watermark:
            message = f"the change at {shown(at)} is before the watermark {shown(watermark)}"
            return UsageError("CEP608", message, "let it hold from a later time on, or leave out `at`")
        return None

    def row(self, n: int) -> ControlRow:
        """A row as it is reported; the text has the template and the values."""
        values = self.values[n]
        text = values[TEXT] if list(values) == [TEXT] else json.dumps(values, default=str) if values else None
        return ControlRow(None if self.ids[n] is None else str(self.ids[n]), self.actions[n], text, self.given[n])
