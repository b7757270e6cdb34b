"""S13: queries of which one's INTO feeds another's FROM, in one flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from cepheid.engine.blueprint import Blueprint
from cepheid.engine.found import NONE
from cepheid.engine.matches import Matches
from cepheid.engine.stage import Machine, Stage
from cepheid.pattern.analysis import Analysed
from cepheid.pattern.bind import Bound, bind
from cepheid.pattern.schema import END, START, Roles, Schema, make_schema

_KEPT = 16  # blueprints: a query is seldom run on events of many schemas


@dataclass(frozen=True, slots=True)
class Plan:
    """A program as it is to be run: its queries, what each reads, the user's functions, and how machines are made."""

    queries: Sequence[Analysed]
    sources: Sequence[str | None]
    functions: Mapping[str, Callable[..., object]]
    machine: Callable[[Blueprint, str | None], Machine]  # of a kind, or of the kind that suits best
    made: dict[Any, Blueprint]  # what was made for earlier runs


class Pipeline:
    """The stages of a program over events of a schema."""

    def __init__(self, plan: Plan, schema: Schema) -> None:
        self.plan = plan
        self.schema = schema
        self.stages: list[Stage] = []
        made: dict[str, Schema] = {}
        for query, source in zip(plan.queries, plan.sources, strict=True):
            stage = self.stage(query, schema if source is None else made[source])
            self.stages.append(stage)
            if stage.query.into is not None:
                empty = Matches(stage.query, stage.query.schema.arrow.empty_table(), NONE)
                made[stage.query.into] = composite_schema(composite(stage.query, empty, schema.roles), schema.roles)

    def stage(self, query: Analysed, schema: Schema, kind: str | None = None) -> Stage:
        """A query over a schema, ready to run."""
        made, key = self.plan.made, (self.plan.queries.index(query), schema.arrow.serialize().to_pybytes())
        if key not in made:
            if len(made) > _KEPT:
                made.clear()
            made[key] = Blueprint(bind(query, schema, self.plan.functions))
        blueprint = made[key]
        return Stage(
            blueprint.query, self.plan.machine(blueprint, kind), lambda: self.plan.machine(blueprint, "interpreted")
        )

    def push(self, table: pa.Table) -> None:
        """Events for the queries that read the stream itself."""
        for stage, source in zip(self.stages, self.plan.sources, strict=True):
            if source is None:
                stage.arrivals.add(table)

    def advance(self, now: int | None) -> list[Matches]:
        """What each query gives when all events before a time (None: all) are in."""
        given: list[Matches] = []
        made: dict[str, tuple[pa.Table, int | None]] = {}
        for number, source in enumerate(self.plan.sources):
            until = now
            if source is not None:
                table, until = made[source]
                self.receive(number, table)
            stage = self.stages[number]
            matches = stage.advance(until)
            given.append(matches)
            if stage.query.into is not None:
                # No match that ends before this time is still to come, so that the next query may go so far.
                certain = None if until is None else stage.certain(until)
                made[stage.query.into] = composite(stage.query, matches, self.schema.roles), certain
        return given

    def receive(self, number: int, table: pa.Table) -> None:
        """Composite events. What a user function returns has no type before there is a value: then the stage is new."""
        stage = self.stages[number]
        if table.num_rows and not stage.events and not stage.arrivals.tables and table.schema != stage.schema.arrow:
            self.stages[number] = stage = self.stage(
                self.plan.queries[number], composite_schema(table, self.schema.roles)
            )
        stage.arrivals.add(table)


def composite_schema(table: pa.Table, roles: Roles) -> Schema:
    """The schema of composite events."""
    return make_schema(table.schema, replace(roles, order_by=(), types=None, type=roles.type or "type"), START)


def composite(query: Bound, matches: Matches, roles: Roles) -> pa.Table:
    """A composite event's time is its end; it carries its start, its type is the name of INTO."""
    table = matches.to_arrow()
    type_column = roles.type or "type"
    columns = {
        roles.time: table[END],
        type_column: pa.array([query.into] * table.num_rows, pa.string()),
        START: table[START],
        **{r.name: table[r.name] for r in query.returns},
    }
    return pa.table(columns)
