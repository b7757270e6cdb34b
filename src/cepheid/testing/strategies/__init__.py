"""Hypothesis strategies for tests of queries, engines, parsers and printers.

- `schemas()`, `streams(schema)`, `rows(schema)`: events with ties, NULLs, equal rows and disorder
- `queries(schema, features)`, `programs(schema)`, `merges(schema)`: valid queries on such events, over the
  whole language or the part of it that `Features` selects
- `automata(schema, features)`, `automaton_programs(schema)`: the same for automata (S18)
- `algebra_queries()`, `lasting_streams()`: CESAR expressions, and events that last for them (S19 to S22)
- `scenarios(features)`: a query and a stream for it
- `patterns(types)`, `conjuncts(…)`, `conditions(scope)`, `expressions(scope, sort)`: their parts
- `any_programs()`, `any_queries()`, `any_patterns()`, `any_automata()`, `any_algebra()`, `any_expressions()`:
  everything that the grammar can express, valid or not
- `text_near_queries()`: texts that are almost queries
- `odd_events()`, `odd_options()`, `odd_values()`: invalid events and options, and unusual values

To test your own query on generated streams:

>>> import cepheid as cep
>>> import pyarrow as pa
>>> from hypothesis import given, settings
>>> events = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("tag_id", pa.int64())])
>>> theft = cep.Query("PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE a.tag_id = c.tag_id WITHIN 8 ms")
>>> @settings(max_examples=20, database=None)
... @given(streams(events, event_types=["Shelf", "Register", "Exit"]))
... def test_that_a_theft_ends_at_the_exit(stream):
...     assert all(match["c"]["ts"] == match["match_end"] for match in theft.match(stream))
>>> test_that_a_theft_ends_at_the_exit()
"""

from cepheid.testing.strategies.algebra import LASTING, algebra_queries, lasting_streams
from cepheid.testing.strategies.automata import automata, automaton_programs
from cepheid.testing.strategies.conjuncts import conjuncts, same_values
from cepheid.testing.strategies.expressions import conditions, expressions
from cepheid.testing.strategies.features import EVERYTHING, Features
from cepheid.testing.strategies.malformed import odd_events, odd_options, odd_values
from cepheid.testing.strategies.names import names, type_names
from cepheid.testing.strategies.patterns import patterns
from cepheid.testing.strategies.queries import GeneratedQuery, is_demanding, merges, programs, queries
from cepheid.testing.strategies.scenarios import scenarios
from cepheid.testing.strategies.schemas import NESTED, PLAIN, schemas, tick
from cepheid.testing.strategies.scope import Scope
from cepheid.testing.strategies.sorts import Sort
from cepheid.testing.strategies.streams import rows, streams
from cepheid.testing.strategies.texts import text_near_queries
from cepheid.testing.strategies.trees import (
    any_algebra,
    any_automata,
    any_expressions,
    any_patterns,
    any_programs,
    any_queries,
)

__all__ = [
    "EVERYTHING",
    "LASTING",
    "NESTED",
    "PLAIN",
    "Features",
    "GeneratedQuery",
    "Scope",
    "Sort",
    "algebra_queries",
    "any_algebra",
    "any_automata",
    "any_expressions",
    "any_patterns",
    "any_programs",
    "any_queries",
    "automata",
    "automaton_programs",
    "conditions",
    "conjuncts",
    "expressions",
    "is_demanding",
    "lasting_streams",
    "merges",
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
