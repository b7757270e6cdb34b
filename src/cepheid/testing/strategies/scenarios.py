"""A query and a stream for it: the input of most property tests."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.pattern.tree.nodes import EventPattern, PatternTree
from cepheid.pattern.tree.walk import walk
from cepheid.testing.strategies.features import EVERYTHING, Features
from cepheid.testing.strategies.queries import GeneratedQuery, is_demanding, queries
from cepheid.testing.strategies.schemas import KEY, TIME, TYPE, schemas
from cepheid.testing.strategies.streams import LONGEST, moment, rows, streams


@st.composite
def scenarios(
    draw: st.DrawFn, features: Features = EVERYTHING, *, schema: pa.Schema | None = None, typed: bool = True
) -> tuple[GeneratedQuery, pa.Table]:
    """A query and events for it; few events if there could be many matches."""
    schema = schema or draw(schemas(typed=typed))
    query = draw(queries(schema, features))
    few = is_demanding(query.tree)
    if draw(st.booleans()):
        return query, draw(streams(schema, max_size=6 if few else 9))
    likely = draw(_likely(schema, query.tree.pattern))
    return query, pa.concat_tables([likely, draw(streams(schema, max_size=2 if few else 4))])


@st.composite
def _likely(draw: st.DrawFn, schema: pa.Schema, pattern: PatternTree) -> pa.Table:
    """Events of the pattern's types in its order: without them most queries would match nothing."""
    first = draw(rows(schema))
    time = draw(st.integers(0, 2))
    events: list[dict[str, object]] = []
    for event in [node for node in walk(pattern) if isinstance(node, EventPattern)]:
        row = {**(first if draw(st.booleans()) else draw(rows(schema))), KEY: first[KEY]}
        time = min(time + draw(st.integers(0, 2)), LONGEST)
        row[TIME] = moment(schema.field(TIME).type, time)
        if TYPE in row:
            row[TYPE] = event.types[0] if event.types else row[TYPE]
        events.append(row)
    return pa.Table.from_pylist(events, schema=schema)
