"""Warnings about templates on their events: what runs without an error, and does not do what its author meant."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from cepheid.api.many.framed_texts import samples
from cepheid.api.many.options import SharedOptions
from cepheid.api.many.read_rules import example
from cepheid.api.surprises import Surprises
from cepheid.engine.encoding.times import ticks
from cepheid.engine.many.rules import RuleSet
from cepheid.errors import CepheidWarning
from cepheid.pattern.binding.schema import Schema

MOST_TEMPLATES, MOST_EVENTS = 16, 100_000
"""How many are looked at: it must not take long."""
_CODES = ("CEP005", "CEP008", "CEP009")  # of windows, which each rule has its own, nothing is said


def surprises_of(rules: RuleSet, options: SharedOptions, schema: Schema, events: pa.Table) -> Iterator[CepheidWarning]:
    """What the first events say about the first templates: types that none has, keys that are all NULL, units."""
    some, whole = events.slice(0, MOST_EVENTS), events.num_rows <= MOST_EVENTS
    times = ticks(schema, some)
    for rules_of_template in rules.rules[:MOST_TEMPLATES]:
        template = rules.templates[rules_of_template.template]
        program, params = template.of(example(template, rules_of_template))
        if template.texts:
            program = next(samples(rules_of_template), program)
        compiled = options.compiled_program(template, program, params)
        surprises = Surprises(compiled)
        warnings = surprises.of_events(schema, surprises.observe(schema, some, times, whole=whole))
        yield from (warning for warning in warnings if warning.code in _CODES)
