"""Rules as a stream runs them, from when to when they live."""

from __future__ import annotations

import numpy as np

from cepheid.engine.many.lifetimes import ALWAYS, NEVER, Lifetimes
from cepheid.engine.many.rules import Rules, RuleSet
from cepheid.engine.many.stream import ManyStream
from cepheid.engine.progress import Report
from cepheid.engine.stream.input_stream import InputStream
from cepheid.pattern.binding.schema import Schema
from cepheid.plan.spec import AUTO


def many_stream(
    rules: RuleSet | None,
    schema: Schema,
    engine: str,
    *,
    events: int | None = None,
    report: Report | None = None,
    lives: Lifetimes | None = None,
    watermark: int | None = None,
    prepared: ManyStream | None = None,
) -> ManyStream:
    """What runs rules. events: how many there will be; None for a stream. watermark: no event to come is before it.

    prepared: what was made of the same rules before, and has seen no event.
    """
    from cepheid.engine.machines.factory import MachineFactory  # machines and kernels take a while to import
    from cepheid.engine.many.tiers import Tiers

    stream = InputStream(schema, once=events is not None)
    factory = MachineFactory(engine, AUTO, events)
    if prepared is not None:
        again = prepared.anew(stream, factory, once=events is not None, report=report)
        if again is not None:
            return again
    many = ManyStream(stream, Tiers(stream, schema.roles, factory, once=events is not None), report=report)
    if rules is None:
        return many
    if lives is None:
        many.add(rules.templates, rules.rules, None)
        return many
    reached = ALWAYS if watermark is None else watermark
    for some in rules.rules:
        _add(many, rules, some.take(np.flatnonzero(lives.until[some.numbers] >= reached)), lives, reached)
    return many


def _add(stream: ManyStream, rules: RuleSet, some: Rules, lives: Lifetimes, reached: int) -> None:
    since, until = lives.since[some.numbers], lives.until[some.numbers]
    begun = np.where(since < reached, ALWAYS, since)  # all events to come are after that
    for time in np.unique(begun):
        stream.add(rules.templates, [some.take(np.flatnonzero(begun == time))], None if time == ALWAYS else int(time))
    for time in np.unique(until[until < NEVER]):
        stream.remove(some.numbers[until == time], int(time))
