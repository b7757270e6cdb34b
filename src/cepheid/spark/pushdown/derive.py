"""What a query needs of its input: the columns and rows that are sent to Python, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column

from cepheid.api import Query
from cepheid.engine.program import CompiledProgram
from cepheid.engine.stream.operations import SIGNS
from cepheid.front.analysed import paths_read, reads_whole_events
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.types import STRING
from cepheid.pattern.tree.flow import EVENTS
from cepheid.spark.names import column_named
from cepheid.spark.pushdown.narrow import Narrowed, narrow
from cepheid.spark.pushdown.predicate import (
    TRUE,
    CompareConstant,
    NullTest,
    Predicate,
    all_of,
    any_of,
    computed_in,
    without_computed,
    without_floats,
)
from cepheid.spark.pushdown.row_filter import ACCEPTS_ANY_EVENT, RowFilter
from cepheid.spark.pushdown.to_arrow import arrow_expression
from cepheid.spark.pushdown.to_spark import spark_condition


@dataclass(frozen=True, slots=True)
class Pushdown:
    """What is sent to Python: some columns, in the order of the schema, and the rows for which `where` is TRUE.

    where: None keeps every row.
    narrowed: of the last column, which fields are sent; None: all.
    pushed, refused: in words, what is pushed down, and what is not, with the reason.
    """

    columns: tuple[str, ...]
    where: Predicate | None
    pushed: tuple[str, ...]
    refused: tuple[str, ...]
    narrowed: Narrowed | None = None

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns that are sent, of all that there are."""
        sent = pa.schema([schema.field(name) for name in self.columns])
        if self.narrowed is None:
            return sent
        return sent.set(len(sent) - 1, sent.field(len(sent) - 1).with_type(self.narrowed.sent))

    @property
    def selection(self) -> list[Column]:
        """The columns that are sent, in Spark."""
        columns = [column_named(name) for name in self.columns]
        if self.narrowed is not None:
            columns[-1] = self.narrowed.of(columns[-1]).alias(self.columns[-1])
        return columns

    @property
    def condition(self) -> Column | None:
        """The filter for a DataFrame of Spark; None keeps every row."""
        return None if self.where is None else spark_condition(self.where)

    @property
    def arrow(self) -> pc.Expression | None:
        """The filter for a table of pyarrow, which leaves computed values to the engine; None keeps every row."""
        return None if self.where is None else arrow_expression(without_computed(self.where))

    @property
    def row_groups(self) -> pc.Expression | None:
        """The filter for the row groups of a Parquet file by their statistics; None reads all.

        It does not test floating-point columns: statistics say nothing about NaN, and pyarrow assumes that a group with
        the same minimum and maximum has no other value.
        """
        where = TRUE if self.where is None else without_floats(without_computed(self.where))
        return None if where == TRUE else arrow_expression(where)

    @property
    def computes(self) -> bool:
        """Whether the filter has computed values, which only Spark tests."""
        return self.where is not None and any(True for _ in computed_in(self.where))

    def filter_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that are sent."""
        if self.where is None:
            return batch
        where = without_computed(self.where)
        kept = arrow_expression(where, batch.column)
        if isinstance(kept, pc.Expression):  # a constant, which reads no column
            return batch if where == TRUE else batch.slice(0, 0)
        return batch if kept.true_count == len(kept) else batch.filter(kept)


def derive_pushdown(
    query: Query,
    schema: pa.Schema,
    *,
    enabled: bool = True,
    collated: frozenset[str] = frozenset(),
    whole: bool = False,
    op: str | None = None,
    control: bool = False,
) -> Pushdown:
    """Derive which columns and rows a query needs, so that its matches stay the same without the others.

    collated: string columns that Spark does not compare byte by byte.
    whole: the output has the events, whatever RETURN says.
    op: the column that says which rows insert events, and which retract them. It is sent besides.
    control: the query may change, and then read anything.
    """
    if control:
        reason = "all rows and columns are sent: the control stream may change what the query reads"
        return Pushdown(tuple(schema.names), None, (), (reason,))
    if not enabled:
        return Pushdown(tuple(schema.names), None, (), ("all rows and columns are sent: pushdown=False",))
    readers = [analysed for analysed, source in query.compiled.flow if None in source]
    names = tuple(schema.names)
    narrowed = None
    if op is not None:
        columns, sent = names, ["all columns are sent: a retraction names its event by all of them"]
    elif not whole and not any(reads_whole_events(analysed.query) for analysed in readers):
        paths = frozenset(path for analysed in readers for path in paths_read(analysed, names))
        columns, sent = _needed_columns(names, {path[0] for path in paths})
        last = columns[-1]
        narrowed = narrow(schema.field(last).type, frozenset(path[1:] for path in paths if path[0] == last))
    else:
        columns, sent = names, ["all columns are sent: a match contains whole events, or is identified by them"]
    where, pushed, refused = _needed_rows(query.compiled, query.compiled.schema(schema), collated)
    time = query.compiled.roles.time
    if where is not None and schema.field(time).nullable:
        where = any_of([where, NullTest(time)])  # a NULL time is an error, and the engine raises it
    if where is not None and op is not None:  # so are operations that do not exist
        unknown = all_of([CompareConstant(op, "!=", word, STRING) for word in SIGNS])
        where = any_of([where, NullTest(op), unknown])
    dropped = [f"column {name} is not sent: the query does not read it" for name in names if name not in columns]
    if narrowed is not None:
        dropped += [f"field {name} is not sent: the query does not read it" for name in narrowed.dropped(columns[-1])]
    return Pushdown(columns, where, (*dropped, *pushed), (*sent, *refused), narrowed)


def _needed_columns(names: Sequence[str], read: set[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return all columns up to the last one that is read: those before it break ties of time (S1)."""
    last = max(k for k, name in enumerate(names) if name in read)
    reason = f"it is before {names[last]}, and breaks ties of time"
    return tuple(names[: last + 1]), [f"column {name} is sent: {reason}" for name in names[:last] if name not in read]


def _needed_rows(
    program: CompiledProgram, schema: Schema, collated: frozenset[str]
) -> tuple[Predicate | None, tuple[str, ...], tuple[str, ...]]:
    """Return the rows that any query needs, and in words what is pushed down and what is not."""
    if any(None in source and source != EVENTS for source in program.sources):
        return None, (), ("all rows are sent: a query reads them together with composite events",)
    filters = [RowFilter(query, collated) for query in program.bind_readers(schema)]
    where = any_of([each.where for each in filters])
    refused = tuple(dict.fromkeys(reason for each in filters for reason in each.refused))
    if where == TRUE:
        open_ = next(each for each in filters if each.where == TRUE)
        return None, (), refused if open_.refused else (*refused, ACCEPTS_ANY_EVENT)
    return where, tuple(dict.fromkeys(text for each in filters for text in each.pushed)), refused
