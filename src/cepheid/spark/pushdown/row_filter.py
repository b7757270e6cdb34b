"""The rows that one query may depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cepheid.front.runnable import Runnable
from cepheid.language.printer import print_expression
from cepheid.pattern.binding.placement import TestedAt
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.paths import read_path
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.uses import uses
from cepheid.spark.pushdown.predicate import (
    TRUE,
    NotPushable,
    OneOf,
    Predicate,
    all_of,
    any_of,
    computed_in,
    is_narrower,
)
from cepheid.spark.pushdown.translate import MISSING_IS_NOT_NULL, PredicateTranslator

ACCEPTS_ANY_EVENT = "all rows are sent: some component accepts any event"


class RowFilter:
    """A predicate that is TRUE for every row that a query may depend on.

    pushed, refused: in words, the conditions that are in the predicate, and those that are not, with the reason.
    """

    def __init__(self, query: Runnable, collated: frozenset[str]) -> None:
        self.query = query
        self.schema = query.schema
        self.translator = PredicateTranslator(query, collated)
        self.pushed: list[str] = []
        self.refused: list[str] = []
        self.where = self._where()

    def _where(self) -> Predicate:
        every = self.query.relevance.every
        if every is not None and not every.of_partition:
            self.refused.append(f"all rows are sent: {every.reason}")
            return TRUE
        shared = self._same_values()
        if every is not None:
            self.refused.append(f"types and conditions: {every.reason}")
            return all_of(shared)
        return all_of([*shared, self._of_components()])

    def _same_values(self) -> list[Predicate]:
        """Translate `[attr]`: an event whose attribute is NULL, or not the value that is required, fits no run (S3)."""
        predicates: list[Predicate] = []
        for test in self.query.same:
            name, *fields = path = self.schema.path(test.attribute)
            text = print_expression(replace(test, attribute=name, fields=tuple(fields)))
            if self.schema.roles.types is not None:
                self.refused.append(f"{text}: {MISSING_IS_NOT_NULL}")
                continue
            attribute = read_path(path, "")
            if self.translator.values.type_of(attribute).kind is Kind.NULL:
                self.refused.append(f"{text}: the column has no type")
                continue
            try:
                predicates.append(self.translator.translate(ex.IsNull(attribute, negated=True)))
            except NotPushable as reason:  # a field that Spark may not tell from another
                self.refused.append(f"{text}: {reason}")
                continue
            there = f"{test.attribute} IS NOT NULL, because of {text}"
            if test.value is None:
                self.pushed.append(there)
                continue
            try:
                predicates[-1] = self.translator.translate(ex.Compare("=", attribute, test.value))
                self.pushed.append(text)
            except NotPushable as reason:
                self.pushed.append(there)
                self.refused.append(f"{text}: {reason}")
        return predicates

    def _of_components(self) -> Predicate:
        """A row matters if some component can bind it, or if it can contradict a negation (S10)."""
        types_by_condition = self._types_by_condition()
        self._note_conditions()
        role = self.schema.roles.type
        if role is None:
            return any_of(list(types_by_condition))
        anything = next((c.variable for c in self.query.components.values() if not c.types), None)
        if anything is not None:
            self.refused.append(f"types: {anything} accepts events of any type")
            return any_of(list(types_by_condition))
        if self.schema.columns[role].kind is Kind.NULL:
            self.refused.append(f"types: the column {role} has no type")
            return any_of(list(types_by_condition))
        names = tuple(dict.fromkeys(name for types in types_by_condition.values() for name in types))
        self.pushed.insert(0, f"{role} IN ({', '.join(map(repr, names))})")
        accepted: list[Predicate] = []
        for condition, types in types_by_condition.items():
            # A type that a wider condition accepts anyway is left out here.
            wider = [other for other in types_by_condition if is_narrower(condition, other)]
            elsewhere = {name for other in wider for name in types_by_condition[other]}
            names_left = tuple(dict.fromkeys(name for name in types if name not in elsewhere))
            if names_left:
                accepted.append(all_of([OneOf(role, names_left, self.schema.columns[role]), condition]))
        return any_of(accepted)

    def _types_by_condition(self) -> dict[Predicate, list[str]]:
        """Return, for each condition of a component or a negation, the event types that it is for."""
        types_by_condition: dict[Predicate, list[str]] = {}
        for role in self.query.relevance.roles:
            types_by_condition.setdefault(self._conjunction(role.conditions), []).extend(role.types)
        return types_by_condition

    def _conjunction(self, conditions: Sequence[ex.Expression]) -> Predicate:
        """Return the conjunction of those conditions that can be pushed down."""
        return all_of([self.translator.of_one_event(c) for c in conditions if self.translator.can_push(c)])

    def _note_conditions(self) -> None:
        """Note for each condition whether it is pushed down; once, although it may be placed several times."""
        placement = self.query.placement
        placed = [(when, c) for tests in placement.at_place.values() for when, c in tests]
        placed += [
            (TestedAt.ALWAYS, c)
            for tests in (*placement.of_witness.values(), *placement.at_exit.values())
            for c in tests
        ]
        for when, condition in dict.fromkeys(placed):
            text = print_expression(condition)
            try:
                predicate = self.translator.of_one_event(condition)
            except NotPushable as reason:
                self.refused.append(f"{text}: {reason}")
                continue
            variable = uses(condition)[0].variable
            if when is not TestedAt.ALWAYS and not self._restricts_first_and_later(variable):
                only = "the first event" if when is TestedAt.FIRST else "the second and later events"
                self.refused.append(f"{text}: it applies only to {only} of {variable}")
            else:
                self.pushed.append(text + _also_sent(predicate))

    def _restricts_first_and_later(self, variable: str) -> bool:
        """Tell whether both the first and the later events of an array have a condition that can be pushed down."""
        restricted = set()
        for number, place in enumerate(self.query.layout.places):
            if place.variable == variable:
                for when, condition in self.query.placement.at_place.get(number, ()):
                    restricted |= {when} if self.translator.can_push(condition) else set()
        return {TestedAt.FIRST, TestedAt.LATER} <= restricted


def _also_sent(where: Predicate) -> str:
    """Say which rows are sent whatever a condition says of them."""
    rows = dict.fromkeys(doubt.rows for computed in computed_in(where) for doubt in computed.doubts)
    return f", or {', or '.join(rows)}" if rows else ""
