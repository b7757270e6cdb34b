"""Tree to text: the canonical spelling that the parser reads back to the same tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import singledispatch
from typing import NamedTuple

from cepheid.front.automata.registers import REGISTER
from cepheid.language.lexis import TYPE, WORD
from cepheid.pattern.algebra.tree import algebra_of
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import spell
from cepheid.pattern.expressions.paths import spell as spell_path
from cepheid.pattern.expressions.timestamps import print_timestamp
from cepheid.pattern.expressions.types import Kind, zone_of
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.walk import walk

_INDEXED = re.compile(r"[α-ωΑ-Ω]_|µ(?:_|\Z)")  # which CESAR reads as a letter with an index: θ_3 is θ3 there
# Words that the grammar would read as something else where a bare name stands in an expression or as a variable.
# Matched as the grammar does, which folds case beyond ASCII.
_RESERVED = re.compile(
    """
    all|and|any|as|at|between|by|case|cast|date|else|end|event|extract|false|for|from|having|in|interval|into|is|like|not|null|or
    |output|partition|pattern|regexp|return|rlike|seq|then|ties|timestamp|true|when|where|within
    |distinct|filter|match_id
    |skip_till_next_match|skip_till_any_match|strict_contiguity|partition_contiguity
    |count|sum|avg|min|max|first|last|stddev|median|percentile|collect
    """,
    re.IGNORECASE | re.VERBOSE,
)

# Words that may stand where a variable ends an event or a value: of automata, and of CESAR.
_NEXT_WORDS = re.compile("automaton|register|arc|epsilon|ignore|set|let|union", re.IGNORECASE)


def quote_name(name: str) -> str:
    """A name, in back quotes where it must be."""
    reserved = _RESERVED.fullmatch(name) or _NEXT_WORDS.fullmatch(name) or _INDEXED.match(name)
    plain = WORD.fullmatch(name) and not reserved
    return name if plain else "`" + name.replace("`", "``") + "`"


def quote_type(name: str) -> str:
    """A type or set name: hyphens need no quotes there."""
    first, *rest = name.split("-")
    reserved = _RESERVED.fullmatch(first) or any(map(_INDEXED.match, [first, *rest]))
    plain = TYPE.fullmatch(name) and not reserved
    return name if plain else "`" + name.replace("`", "``") + "`"


class Printed(NamedTuple):
    """Printed text and how tightly it binds."""

    text: str
    level: int


OR, AND, NOT, PREDICATE, SUM, PRODUCT, UNARY, PRIMARY = range(8)


def print_expression(node: ex.Expression) -> str:
    """One expression as text.

    >>> from cepheid.pattern.expressions.types import INT
    >>> print_expression(ex.Arithmetic("*", ex.Minus(ex.Name("x")), ex.Literal(2, INT)))
    '-x * 2'
    """
    return _print(node).text


def _wrap(node: ex.Expression, least: int) -> str:
    text, level = _print(node)
    return text if level >= least else f"({text})"


@singledispatch
def _print(node: ex.Expression) -> Printed:
    raise TypeError(f"no printer for {type(node).__name__}")


@_print.register
def _(node: ex.Literal) -> Printed:
    if node.type.kind is Kind.TIMESTAMP and isinstance(node.value, int):
        zoned = zone_of(node.type) is not None
        return Printed(f"TIMESTAMP '{print_timestamp(node.value, zoned=zoned)}'", PRIMARY)
    text = _LITERALS[node.type.kind](node.value)
    return Printed(text, UNARY if text.startswith("-") else PRIMARY)


def print_string(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _float(value: object) -> str:
    return repr(value).replace("inf", "1e999")  # beyond every double, and read back as such


_LITERALS: dict[Kind, Callable[[object], str]] = {
    Kind.INT: str,
    Kind.FLOAT: _float,
    Kind.DECIMAL: str,
    Kind.STRING: print_string,
    Kind.BOOL: lambda value: "TRUE" if value else "FALSE",
    Kind.NULL: lambda value: "NULL",
    Kind.DATE: lambda value: f"DATE '{date(1970, 1, 1) + timedelta(days=int(str(value)))}'",
    Kind.DURATION: lambda value: spell(int(str(value))),
    Kind.ANY: repr,
}


@_print.register
def _(node: ex.Name) -> Printed:
    return Printed(quote_name(node.name), PRIMARY)


def _indexed(variable: str, index: ex.AnyIndex) -> str:
    a = quote_name(variable)
    return f"{a}[{a}.LEN]" if index is ex.Index.LAST else a + index.value


@_print.register
def _(node: ex.Attribute) -> Printed:
    # After a dot every word is a name.
    if not node.variable:  # of the event at hand, in FROM
        return Printed(quote_name(node.name), PRIMARY)
    attribute = node.name if WORD.fullmatch(node.name) else quote_name(node.name)
    return Printed(f"{_indexed(node.variable, node.index)}.{attribute}", PRIMARY)


@_print.register
def _(node: ex.RegisterField) -> Printed:
    return Printed(f"{REGISTER}.{node.name if WORD.fullmatch(node.name) else quote_name(node.name)}", PRIMARY)


@_print.register
def _(node: ex.Field) -> Printed:
    field = node.name if WORD.fullmatch(node.name) else quote_name(node.name)
    return Printed(f"{print_expression(node.operand)}.{field}", PRIMARY)


@_print.register
def _(node: ex.Element) -> Printed:
    return Printed(f"{print_expression(node.operand)}[{_wrap(node.index, SUM)}]", PRIMARY)


@_print.register
def _(node: ex.Rows) -> Printed:
    return Printed(_indexed(node.variable, node.index), PRIMARY)


@_print.register
def _(node: ex.MatchId) -> Printed:
    return Printed("match_id", PRIMARY)


@_print.register
def _(node: ex.Length) -> Printed:
    return Printed(f"{quote_name(node.variable)}.LEN", PRIMARY)


@_print.register
def _(node: ex.AggregateCall) -> Printed:
    distinct = "DISTINCT " if node.distinct else ""
    share = f", {print_expression(node.share)}" if node.share is not None else ""
    condition = f" FILTER (WHERE {print_expression(node.filter)})" if node.filter is not None else ""
    name = node.function if node.function in ex.AGGREGATES else quote_name(node.function)
    return Printed(f"{name}({distinct}{print_expression(node.argument)}{share}){condition}", PRIMARY)


@_print.register
def _(node: ex.Quantified) -> Printed:
    return Printed(f"{node.quantifier}({print_expression(node.condition)})", PRIMARY)


@_print.register
def _(node: ex.Call) -> Printed:
    return Printed(f"{quote_name(node.function)}({', '.join(map(print_expression, node.arguments))})", PRIMARY)


@_print.register
def _(node: ex.Minus) -> Printed:
    inner = _wrap(node.operand, UNARY)  # a space keeps --x from being read as a comment
    return Printed(f"-{' ' if inner.startswith('-') else ''}{inner}", UNARY)


@_print.register
def _(node: ex.Arithmetic) -> Printed:
    level = SUM if node.operator in "+-" else PRODUCT
    return Printed(f"{_wrap(node.left, level)} {node.operator} {_wrap(node.right, level + 1)}", level)


@_print.register
def _(node: ex.Compare) -> Printed:
    return Printed(f"{_wrap(node.left, SUM)} {node.operator} {_wrap(node.right, SUM)}", PREDICATE)


@_print.register
def _(node: ex.And) -> Printed:
    return Printed(" AND ".join(_wrap(o, NOT) for o in node.operands), AND)


@_print.register
def _(node: ex.Or) -> Printed:
    return Printed(" OR ".join(_wrap(o, AND) for o in node.operands), OR)


@_print.register
def _(node: ex.Not) -> Printed:
    return Printed(f"NOT {_wrap(node.operand, NOT)}", NOT)


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


@_print.register
def _(node: ex.IsNull) -> Printed:
    return Printed(f"{_wrap(node.operand, SUM)} IS {_not(node.negated)}NULL", PREDICATE)


@_print.register
def _(node: ex.In) -> Printed:
    choices = ", ".join(_wrap(c, SUM) for c in node.choices)
    return Printed(f"{_wrap(node.operand, SUM)} {_not(node.negated)}IN ({choices})", PREDICATE)


@_print.register
def _(node: ex.InSet) -> Printed:
    return Printed(f"{_wrap(node.operand, SUM)} {_not(node.negated)}IN {quote_type(node.set)}", PREDICATE)


@_print.register
def _(node: ex.Between) -> Printed:
    low, high = _wrap(node.low, SUM), _wrap(node.high, SUM)
    return Printed(f"{_wrap(node.operand, SUM)} {_not(node.negated)}BETWEEN {low} AND {high}", PREDICATE)


@_print.register
def _(node: ex.Like) -> Printed:
    return Printed(f"{_wrap(node.operand, SUM)} {_not(node.negated)}LIKE {_wrap(node.pattern, SUM)}", PREDICATE)


@_print.register
def _(node: ex.RLike) -> Printed:
    return Printed(f"{_wrap(node.operand, SUM)} {_not(node.negated)}RLIKE {_wrap(node.pattern, SUM)}", PREDICATE)


@_print.register
def _(node: ex.Cast) -> Printed:
    return Printed(f"CAST({print_expression(node.operand)} AS {node.type})", PRIMARY)


@_print.register
def _(node: ex.When) -> Printed:
    return Printed(f"WHEN {print_expression(node.condition)} THEN {print_expression(node.result)}", PRIMARY)


@_print.register
def _(node: ex.CaseWhen) -> Printed:
    subject = f" {print_expression(node.subject)}" if node.subject is not None else ""
    arms = "".join(f" {print_expression(arm)}" for arm in node.arms)
    otherwise = f" ELSE {print_expression(node.otherwise)}" if node.otherwise is not None else ""
    return Printed(f"CASE{subject}{arms}{otherwise} END", PRIMARY)


@_print.register
def _(node: ex.SameValue) -> Printed:
    value = f" = {_wrap(node.value, SUM)}" if node.value is not None else ""
    return Printed(f"[{spell_path(node.path)}{value}]", PRIMARY)


@singledispatch
def print_pattern(node: tree.PatternTree) -> str:
    """A pattern as text."""
    raise TypeError(f"no printer for {type(node).__name__}")


def _types(event: tree.EventPattern) -> str:
    names = ", ".join(map(quote_type, event.types)) or "*"
    return names if len(event.types) <= 1 else f"ANY({names})"


def _variable(event: tree.EventPattern, array: str = "") -> str:
    return f" {quote_name(event.variable)}{array}" if event.variable is not None else ""


@print_pattern.register
def _(node: tree.EventPattern) -> str:
    return _types(node) + _variable(node)


@print_pattern.register
def _(node: tree.Negation) -> str:
    period = f" FOR {print_window(node.period)}" if node.period is not None else ""
    return f"!({print_pattern(node.event)}){period}"


@print_pattern.register
def _(node: tree.Repeat) -> str:
    match (node.low, node.high):
        case (1, None):
            times = "+"
        case (0, None):
            times = "*"
        case (low, None):
            times = f"{{{low},}}"
        case (low, high):
            times = f"{{{low},{high}}}"
    if isinstance(node.body, tree.EventPattern):
        return _types(node.body) + times + _variable(node.body, "[]")
    return f"({print_pattern(node.body)}){times}"


@print_pattern.register
def _(node: tree.Maybe) -> str:
    if isinstance(node.body, tree.EventPattern):
        return f"{_types(node.body)}?{_variable(node.body)}"
    return f"({print_pattern(node.body)})?"


def _call(operator: str, parts: tuple[tree.PatternTree, ...]) -> str:
    return f"{operator}({', '.join(map(print_pattern, parts))})"


@print_pattern.register
def _(node: tree.Seq) -> str:
    return _call("SEQ", node.parts)


@print_pattern.register
def _(node: tree.Either) -> str:
    return _call("OR", node.parts)


@print_pattern.register
def _(node: tree.AnyOrder) -> str:
    return _call("AND", node.parts)


@print_pattern.register
def _(node: tree.AutomatonPattern) -> str:
    lines = [f"{quote_name(node.start)} -> {', '.join(map(quote_name, node.finals))}"]
    if node.register:
        slots = (f"{quote_name(s.name)} {s.type} = {_wrap(s.initial, SUM)}" for s in node.register)
        lines.append(f"REGISTER {', '.join(slots)}")
    return "\n".join([*lines, *map(print_arc, node.arcs)])


def print_arc(arc: tree.ArcClause) -> str:
    """An arc as a line of text; its lifetime has no spelling."""
    word = "IGNORE" if arc.ignores else "EPSILON" if arc.fires is tree.Fires.NOTHING else "ARC"
    label = f" {quote_name(arc.name)}:" if arc.name is not None else ""
    way = quote_name(arc.source) + ("" if arc.ignores else f" -> {quote_name(arc.target)}")
    on = f" ON {', '.join(map(quote_type, arc.types))}" if arc.types else ""
    on += {tree.Fires.INSTANT: " ON ALL", tree.Fires.END: " AT END"}.get(arc.fires, "")
    when = f" WHEN {print_expression(arc.condition)}" if arc.condition is not None else ""
    assigns = ", ".join(f"{quote_name(a.name)} = {print_expression(a.value)}" for a in arc.assigns)
    return f"{word}{label} {way}{on}{when}{f' SET {assigns}' if assigns else ''}"


def _conditions(conditions: tuple[ex.Expression, ...], indent: str) -> str:
    return f"\n{indent}AND ".join(_wrap(c, NOT) for c in conditions)


def print_window(window: tree.Window) -> str:
    """A window as text."""
    unit = window.unit or ""
    if isinstance(window.amount, ex.Literal) and window.amount.value == 1 and unit:
        unit = unit[:-1]
    return f"{print_expression(window.amount)} {unit}".rstrip()


def print_query(query: tree.QueryTree) -> str:
    """A query as text, one clause a line, in the order of the semantics page."""
    return _QUERIES[query.language](query)


def _print_cesar(query: tree.QueryTree) -> str:
    parts = [query.language.value, print_pattern(query.pattern)]
    if query.into is not None:
        parts.append(f"INTO {quote_name(query.into)}")
    return ("\n  " if algebra_of(query).lets else " ").join(parts)


def _print_clauses(query: tree.QueryTree) -> str:
    lines = [_source(query)] if query.streams else []
    lines.append(f"{query.language.value} {print_pattern(query.pattern)}")
    if query.strategies:
        repeats = (node.body for node in walk(query.pattern) if isinstance(node, tree.Repeat))
        arrays = {body.variable for body in repeats if isinstance(body, tree.EventPattern)}
        chosen = ", ".join(_selection(s, arrays) for s in query.strategies)
        body = f"\n    {_conditions(query.where, '    ')}\n" if query.where else " "
        lines.append(f"WHERE {chosen} {{{body}}}")
    elif query.where:
        lines.append(f"WHERE {_conditions(query.where, '  ')}")
    if query.partition_by:
        lines.append(f"PARTITION BY {', '.join(_column(column) for column in query.partition_by)}")
    if query.within is not None:
        lines.append(f"WITHIN {print_window(query.within)}")
    if query.having is not None:
        lines.append(f"HAVING {print_expression(query.having)}")
    if query.returns:
        items = ", ".join(f"{print_expression(r.expression)} AS {quote_name(r.name)}" for r in query.returns)
        into = f" INTO {quote_type(query.into)}" if query.into is not None else ""
        lines.append(f"RETURN {items}{into}")
    if query.output is not tree.Output.ALL or query.cooldown is not None:
        wait = f" COOLDOWN {print_window(query.cooldown)}" if query.cooldown is not None else ""
        lines.append(f"OUTPUT {query.output.value}{wait}")
    if query.ties is not tree.Ties.ORDERED:
        lines.append(f"TIES {query.ties.value}")
    return "\n".join(lines)


_QUERIES: Mapping[tree.Language, Callable[[tree.QueryTree], str]] = {
    tree.Language.PATTERN: _print_clauses,
    tree.Language.AUTOMATON: _print_clauses,
    tree.Language.CESAR: _print_cesar,
}


def _column(column: tree.KeyColumn) -> str:
    # Only the first name can be mistaken for a word of the grammar.
    return ".".join((quote_name(column.name), *(spell_path((name,)) for name in column.fields)))


def _source(query: tree.QueryTree) -> str:
    streams = (
        quote_type(stream.name) + (f"({', '.join(map(quote_type, stream.types))})" if stream.types else "")
        for stream in query.streams
    )
    where = f" WHERE {print_expression(query.sees)}" if query.sees is not None else ""
    return f"FROM {', '.join(streams)}{where}"


def _selection(selection: tree.Selection, arrays: set[str | None]) -> str:
    variables = ", ".join(quote_name(name) + "[]" * (name in arrays) for name in selection.variables)
    return selection.strategy.value + (f"({variables})" if variables else "")


def print_program(program: tree.Program) -> str:
    """All queries of a program."""
    return ";\n\n".join(map(print_query, program.queries))
