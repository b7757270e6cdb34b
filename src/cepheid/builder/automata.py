"""Automata of one's own (S18) from Python: states, a register, and arcs between states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from cepheid.builder.columns import Column, operand
from cepheid.builder.columns import condition as read_condition
from cepheid.builder.drafts import Draft
from cepheid.builder.misuse import check_name, misuse, shown
from cepheid.front.automata.registers import read_slot_type
from cepheid.language import parse_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.walk import automaton_of

_ON_ALL = "ALL"


@dataclass(frozen=True, slots=True, repr=False)
class Automaton(Draft):
    """An automaton without clauses: arcs are added to it, then clauses such as `partition_by` and `within`.

    Conditions and assigned values are expressions of `e`, the event, and `r`, the register; or the text of such ones.
    A text constant is therefore written as `"'abc'"` or `cep.lit("abc")`.
    """

    def arc(
        self,
        source: str,
        target: str,
        /,
        condition: Column | str | None = None,
        *,
        name: str | None = None,
        on: str | Sequence[str] | None = None,
        at_end: bool = False,
        set: Mapping[str, object] | None = None,
        **fields: object,
    ) -> Automaton:
        """An arc that takes an event on which the condition holds, and assigns fields of the register.

        on: the type of the event, a list of types, or "ALL" for all events of an instant; a type ALL is ["ALL"].
        at_end: it is taken when the window of the match is over, and takes no event.
        set: fields to assign whose names are those of other arguments.

        >>> from cepheid import builder as cep
        >>> e, r = cep.var("e"), cep.var("r")
        >>> print(cep.automaton("q0", final="q1", n=0).arc("q0", "q1", (e.x > 1) & (r.n < 5), on="A", n=r.n + 1))
        AUTOMATON q0 -> q1
        REGISTER n INT = 0
        ARC q0 -> q1 ON A WHEN e.x > 1 AND r.n < 5 SET n = r.n + 1
        """
        fires, types = read_trigger(on, at_end)
        return self._added(
            make_arc(source, target, condition, name=name, set=set, fields=fields), fires=fires, types=types
        )

    def ignore(
        self,
        state: str,
        /,
        condition: Column | str | None = None,
        *,
        on: str | Sequence[str] | None = None,
        name: str | None = None,
    ) -> Automaton:
        """A loop that takes an event and changes nothing: events that are skipped.

        >>> from cepheid import builder as cep
        >>> print(cep.automaton("q0", final="q1").arc("q0", "q1").ignore("q1", "e.x = 0"))
        AUTOMATON q0 -> q1
        ARC q0 -> q1
        IGNORE q1 WHEN e.x = 0
        """
        loop = make_arc(state, state, condition, name=name, fields={})
        return self._added(loop, types=_read_types(on), ignores=True)

    def epsilon(
        self,
        source: str,
        target: str,
        /,
        condition: Column | str | None = None,
        *,
        name: str | None = None,
        set: Mapping[str, object] | None = None,
        **fields: object,
    ) -> Automaton:
        """An arc that takes no event: it is taken at once, if the condition holds of the register.

        >>> from cepheid import builder as cep
        >>> print(cep.automaton("q0", final="q2", n=0).arc("q0", "q1").epsilon("q1", "q2", "r.n < 3", n="r.n + 1"))
        AUTOMATON q0 -> q2
        REGISTER n INT = 0
        ARC q0 -> q1
        EPSILON q1 -> q2 WHEN r.n < 3 SET n = r.n + 1
        """
        return self._added(
            make_arc(source, target, condition, name=name, set=set, fields=fields), fires=tree.Fires.NOTHING
        )

    def _added(self, arc: tree.ArcClause, **changes: Any) -> Automaton:
        before = automaton_of(self.query)
        return Automaton(replace(self.query, pattern=replace(before, arcs=(*before.arcs, replace(arc, **changes)))))


def automaton(
    start: str,
    /,
    *,
    final: str | Sequence[str],
    register: Mapping[str, object] | None = None,
    **fields: object,
) -> Automaton:
    """An automaton of one's own: its start, its final states, and the fields of its register with their first values.

    final: the name of a state, or a list of names.
    A field is a Python value, whose type it has, or a type and a value: `n=0`, `price=("DOUBLE", None)`.
    register: fields whose names are those of other arguments.

    >>> from cepheid import builder as cep
    >>> e, r = cep.var("e"), cep.var("r")
    >>> up = cep.automaton("q0", final="q1", steps=0).arc("q0", "q1", e.change > 0, steps=r.steps + 1)
    >>> print(up.arc("q1", "q1", e.change > 0, steps=r.steps + 1).partition_by("symbol").within("1 hour"))
    AUTOMATON q0 -> q1
    REGISTER steps INT = 0
    ARC q0 -> q1 WHEN e.change > 0 SET steps = r.steps + 1
    ARC q1 -> q1 WHEN e.change > 0 SET steps = r.steps + 1
    PARTITION BY symbol
    WITHIN 1 hour
    """
    remedy = "write automaton('q0', final='q3') or automaton('q0', final=['q2', 'q3'])"
    finals = tuple(check_name(name, "a state", remedy) for name in _listed(final))
    slots = tuple(_slot(name, value) for name, value in _merged(register, fields).items())
    return Automaton(tree.QueryTree(tree.AutomatonPattern(check_name(start, "a state", remedy), finals, slots)))


def make_arc(
    source: object,
    target: object,
    condition: object = None,
    *,
    name: object = None,
    set: Mapping[str, object] | None = None,
    fields: Mapping[str, object],
) -> tree.ArcClause:
    """An arc that takes an event, of Python values."""
    return tree.ArcClause(
        check_name(source, "a state", "write arc('q0', 'q1')"),
        check_name(target, "a state", "write arc('q0', 'q1')"),
        name=None if name is None else check_name(name, "an arc", "write name='done'"),
        condition=_asked(condition),
        assigns=tuple(tree.Assignment(field, _value(value)) for field, value in _merged(set, fields).items()),
    )


def _asked(condition: object) -> ex.Expression | None:
    if condition is None:
        return None
    return parse_expression(condition) if isinstance(condition, str) else read_condition(condition)


def read_trigger(on: object, at_end: object) -> tuple[tree.Fires, tuple[str, ...]]:
    """What an arc is taken on, and the types of its event."""
    if not isinstance(at_end, bool):
        raise misuse(f"at_end can't be {shown(at_end)}", "pass True or False")
    if at_end and on is not None:
        raise misuse("an arc at the end of the window takes no event", "leave out on=, or at_end=True")
    if at_end:
        return tree.Fires.END, ()
    return (tree.Fires.INSTANT, ()) if on == _ON_ALL else (tree.Fires.EVENT, _read_types(on))


def _read_types(on: object) -> tuple[str, ...]:
    if on is None:
        return ()
    remedy = "write on='Shelf', on=['Shelf', 'Exit'], or leave it out for events of any type"
    return tuple(check_name(name, "a type", remedy) for name in _listed(on))


def _listed(names: object) -> Sequence[object]:
    """A list of names, or one name; what is neither is a name that can't be."""
    return names if isinstance(names, Sequence) and not isinstance(names, str | bytes) and names else [names]


def _merged(by_name: object, fields: Mapping[str, object]) -> dict[str, object]:
    """Fields by name, from a dict and from keyword arguments."""
    if by_name is None:
        return dict(fields)
    if not isinstance(by_name, Mapping):
        raise misuse(f"{shown(by_name)} is not a dict of fields", "write set={'name': cep.var('e').name}")
    for name in by_name:
        check_name(name, "a field", "write set={'name': cep.var('e').name}")
        if name in fields:
            raise misuse(f"the field '{name}' is given twice", "keep one of them")
    return {**by_name, **fields}


def _value(value: object) -> ex.Expression:
    """What an arc assigns: text is an expression."""
    return parse_expression(value) if isinstance(value, str) else operand(value)


def _slot(name: str, initial: object) -> tree.RegisterSlot:
    if isinstance(initial, tuple):
        if len(initial) != 2 or not isinstance(initial[0], str):
            raise misuse(f"{shown(initial)} is not a type and a value", "write price=('DOUBLE', None)")
        try:
            return tree.RegisterSlot(name, read_slot_type(initial[0]), _initial(initial[1]))
        except ValueError as reason:
            raise misuse(f"{shown(initial[0])} is not a type", str(reason)) from None
    spelling = next((spelled for kind, spelled in _TYPES.items() if isinstance(initial, kind)), None)
    if isinstance(initial, datetime) and initial.tzinfo is not None:
        spelling = "TIMESTAMP_LTZ"
    if isinstance(initial, Decimal) and initial.is_finite():
        spelling = f"DECIMAL(38, {min(38, max(0, -int(initial.as_tuple().exponent)))})"
    if spelling is None:
        remedy = f"pass a value of its type, {name}=0, or the type and the value: {name}=('DOUBLE', None)"
        raise misuse(f"the type of the field '{name}' can't be known from {shown(initial)}", remedy)
    return tree.RegisterSlot(name, spelling, _initial(initial))


def _initial(value: object) -> ex.Expression:
    return operand(str(value)) if isinstance(value, Decimal) else operand(value)  # the text has no decimals


_TYPES = {
    bool: "BOOLEAN",
    int: "INT",
    float: "DOUBLE",
    str: "STRING",
    datetime: "TIMESTAMP",
    date: "DATE",
    timedelta: "INTERVAL",
}
"""The type of a field by the Python value it begins with, the first that fits."""
