"""The columns of matches of many queries: those that all matches can have, or those of one kind of queries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from cepheid.api.hosting import QUERY, TEMPLATE, SharedOptions, example
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.many.rules import RuleSet, Template
from cepheid.engine.matches.long_form import EVENTS, events_type
from cepheid.errors import UsageError
from cepheid.pattern.binding.schema import END, START, make_schema
from cepheid.spark.outputs import match_schema


def common_schema(rules: RuleSet, events: pa.Schema) -> pa.Schema:
    """The columns that all matches can have, whatever their queries are."""
    roles = rules.roles
    schema = make_schema(events, roles)
    start, end = (events.field(name).type for name in (schema.start or roles.time, roles.time))
    return pa.schema(
        [
            (QUERY, _id_type(rules)),
            (TEMPLATE, pa.string()),
            (START, start),
            (END, end),
            (EVENTS, events_type(events)),
        ]
    )


def own_schema(rules: RuleSet, options: SharedOptions, events: pa.Schema) -> pa.Schema:
    """The columns that the matches have, where all queries have the same ones."""
    schemas = list(_schemas(rules, options, events))
    if any(not schema.equals(schemas[0]) for schema in schemas[1:]):
        message = "the queries have matches of different columns"
        remedy = "take those of one template with output=…, or leave out own=True: all matches have their events then"
        raise UsageError("CEP612", message, remedy)
    if not schemas:
        return common_schema(rules, events)
    return schemas[0].insert(0, pa.field(QUERY, _id_type(rules)))


def of_other_columns(
    rules: RuleSet, options: SharedOptions, events: pa.Schema, columns: pa.Schema
) -> Iterator[np.ndarray]:
    """The numbers of rules whose matches do not have some columns, of which the first is the id."""
    for some, schema in zip(rules.rules, _schemas(rules, options, events), strict=True):
        if [(field.name, field.type) for field in schema] != [(field.name, field.type) for field in columns][1:]:
            yield some.numbers


def _schemas(rules: RuleSet, options: SharedOptions, events: pa.Schema) -> Iterator[pa.Schema]:
    for some in rules.rules:
        template = rules.templates[some.template]
        yield match_schema(options.query(template, example(template, some)), events)


def _id_type(rules: RuleSet) -> pa.DataType:
    return pa.int64() if pa.types.is_integer(rules.ids.type) else pa.string()


def rows_with_events(matched: RuleMatches, rules: RuleSet, schema: pa.Schema) -> pa.Table:
    """Matches with the columns that all have."""
    table = matched.matches.to_events(schema.field(EVENTS).type)
    name = _name(rules.templates[matched.template])
    columns = [
        rules.names(matched.numbers),
        pa.repeat(pa.scalar(name, pa.string()), len(matched.numbers)),
        *table.columns,
    ]
    return pa.table(dict(zip(schema.names, columns, strict=True))).cast(schema)


def own_rows(matched: RuleMatches, rules: RuleSet, schema: pa.Schema) -> pa.Table:
    """Matches with their own columns."""
    return matched.matches.to_arrow().add_column(0, QUERY, rules.names(matched.numbers)).cast(schema)


def _name(template: Template) -> str | None:
    return None if template.name is None else str(template.name)
