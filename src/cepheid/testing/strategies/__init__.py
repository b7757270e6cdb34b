"""Hypothesis strategies for tests of queries, of engines, and of whatever reads or writes the language.

- `schemas()`, `streams(schema)`, `rows(schema)`: events with ties, NULLs, equal rows and disorder
- `queries(schema, features)`, `programs(schema)`: queries over the whole language that have a meaning on such events,
  or over the part of it that `Features` names
- `scenarios(features)`: a query and a stream for it
- `patterns(types)`, `conjuncts(…)`, `conditions(scope)`, `expressions(scope, sort)`: their parts
- `any_programs()`, `any_queries()`, `any_patterns()`, `any_expressions()`: all that the grammar can spell
- `text_near_queries()`: texts that are almost queries
- `odd_events()`, `odd_options()`, `odd_values()`: what is no stream, no option, or hardly a value

To test a query of your own on streams that you would not think of:

>>> import cepheid as cep
>>> import pyarrow as pa
>>> from hypothesis import given, settings
>>> events = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("tag_id", pa.int64())])
>>> theft = cep.Query("PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] WITHIN 8 ms")
>>> @settings(max_examples=20, database=None)
... @given(streams(events, event_types=["Shelf", "Register", "Exit"]))
... def test_that_a_theft_ends_at_the_exit(stream):
...     assert all(match["c"]["ts"] == match["match_end"] for match in theft.match(stream))
>>> test_that_a_theft_ends_at_the_exit()
"""

from cepheid.testing.strategies.conjuncts import conjuncts, same_values
from cepheid.testing.strategies.expressions import conditions, expressions
from cepheid.testing.strategies.features import EVERYTHING, Features
from cepheid.testing.strategies.malformed import odd_events, odd_options, odd_values
from cepheid.testing.strategies.names import names, type_names
from cepheid.testing.strategies.patterns import patterns
from cepheid.testing.strategies.queries import GeneratedQuery, is_demanding, programs, queries
from cepheid.testing.strategies.scenarios import scenarios
from cepheid.testing.strategies.schemas import PLAIN, schemas, tick
from cepheid.testing.strategies.scope import Scope
from cepheid.testing.strategies.sorts import Sort
from cepheid.testing.strategies.streams import rows, streams
from cepheid.testing.strategies.texts import text_near_queries
from cepheid.testing.strategies.trees import any_expressions, any_patterns, any_programs, any_queries

__all__ = [
    "EVERYTHING",
    "PLAIN",
    "Features",
    "GeneratedQuery",
    "Scope",
    "Sort",
    "any_expressions",
    "any_patterns",
    "any_programs",
    "any_queries",
    "conditions",
    "conjuncts",
    "expressions",
    "is_demanding",
    "names",
    "odd_events",
    "odd_options",
    "odd_values",
    "patterns",
    "programs",
    "queries",
    "rows",
    "same_values",
    "scenarios",
    "schemas",
    "streams",
    "text_near_queries",
    "tick",
    "type_names",
]
