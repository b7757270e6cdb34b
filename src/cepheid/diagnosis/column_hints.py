"""What the columns of all events show to be wrong with a query, whatever its runs do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow.compute as pc

from cepheid.diagnosis.as_text import near
from cepheid.diagnosis.facts import Hint
from cepheid.diagnosis.key_columns import another_key, together
from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.diagnosis.written import text_of
from cepheid.errors import nearest
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import spell
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.walk import walk

_MOSTLY = 0.95  # of the values are NULL
_VALUES = 6  # that are shown
_MANY = 5_000  # different values, that are not looked at for other spellings
_LIKE = 2_000  # different values that are looked at for a likeness
_FAR = 60  # windows that must lie between two events before it is reported of a query with matches


def column_hints(columns: QueryColumns, matches: int) -> Iterator[Hint]:
    """What all events show to be wrong with a query."""
    if not columns.table.num_rows:
        yield Hint("CEP032", "there are no events", "check what reads them: the path, the filter, the table")
        return
    yield from _similar_types(columns)
    yield from _literals(columns)
    yield from _key_values(columns)
    yield from _nulls(columns)
    yield from _numbers_as_text(columns)
    if not matches:
        yield from _keys(columns)
        yield from _joins(columns)
    yield from _window(columns, 1 if not matches else _FAR)


def kind_of(component: Component) -> str:
    """What the events of a component are called."""
    return "|".join(component.types) or "event"


def shown_values(values: Sequence[Any]) -> str:
    """Some values of a column."""
    some = sorted(values, key=lambda value: (str(type(value)), value))[:_VALUES]
    return ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in some) + (
        ", …" if len(values) > _VALUES else ""
    )


def _similar_types(columns: QueryColumns) -> Iterator[Hint]:
    """Types that differ in case or space only: one of them is most likely meant too."""
    counts = columns.types
    named = {name for component in columns.query.components.values() for name in component.types}
    for name in sorted(named & counts.keys()):
        for other in sorted(counts.keys() - named):
            if _plain(other) == _plain(name):
                message = f"some events have the type '{name}' ({counts[name]:,}), others '{other}' ({counts[other]:,})"
                yield Hint("CEP028", message, f"write ANY({name}, `{other}`), or make them one type before")


def absent_types(columns: QueryColumns, made: Collection[str]) -> Iterator[Hint]:
    """Types that a match needs and no event has. made: those that other queries make, whose cause is reported there."""
    counts, name = columns.types, columns.query.schema.roles.type
    if name is not None and not counts and columns.table.num_rows:
        message = f"every event has NULL in '{name}', so that it has no type"
        yield Hint("CEP005", message, "name the column that has the types: type=…")
    for component in columns.query.positive if counts else ():
        if component.types and not any(name in counts or name in made for name in component.types):
            for name in component.types:
                yield Hint("CEP005", f"no event has the type '{name}'", f"the types are: {shown_values(list(counts))}")


def _plain(text: str) -> str:
    return text.strip().casefold()


def _tests(query: Runnable) -> Iterator[tuple[Component, ex.Expression, ex.Attribute, tuple[ex.Literal, ...]]]:
    """Conditions that say that an attribute has one of some values."""
    for condition in query.conditions:
        match condition:
            case ex.Compare("=", ex.Attribute() as read, ex.Literal() as value):
                values: tuple[ex.Expression, ...] = (value,)
            case ex.Compare("=", ex.Literal() as value, ex.Attribute() as read):
                values = (value,)
            case ex.In(ex.Attribute() as read, choices, False):
                values = choices
            case _:
                continue
        if read.variable in query.components and all(isinstance(value, ex.Literal) for value in values):
            literals = tuple(value for value in values if isinstance(value, ex.Literal))
            yield query.components[read.variable], condition, read, literals


def _literals(columns: QueryColumns) -> Iterator[Hint]:
    """A text that no event has, most often of another case; or that others have in another case."""
    for component, condition, read, literals in _tests(columns.query):
        if read.name not in columns.table.column_names or any(
            literal.type.kind is not Kind.STRING for literal in literals
        ):
            continue
        values = [value for value in columns.values(component, read.name) if isinstance(value, str)]
        wanted = [str(literal.value) for literal in literals]
        if values and not set(wanted) & set(values):
            text = text_of(condition)
            said = (
                "this value" if all(literal in text for literal in wanted) else shown_values(wanted)
            )  # that of a parameter
            message = f"{text}: no {kind_of(component)} has {said} in '{read.name}'"
            yield Hint("CEP021", message, _instead(wanted, values))
        elif len(values) <= _MANY:
            yield from _other_spellings(columns, component, condition, read.name, wanted, values)


def _key_values(columns: QueryColumns) -> Iterator[Hint]:
    """`[attr = 'text']` with a text that no event of the pattern has."""
    query = columns.query
    for test in query.same:
        wanted = test.value
        if not isinstance(wanted, ex.Literal) or test.fields or test.attribute not in columns.table.column_names:
            continue
        column_values = dict.fromkeys(
            value for component in query.positive for value in columns.values(component, test.attribute)
        )
        values = [value for value in column_values if isinstance(value, str)]
        if values and isinstance(wanted.value, str) and wanted.value not in values:
            message = f"{text_of(test)}: no event of the pattern has this value in '{test.attribute}'"
            yield Hint("CEP021", message, _instead([wanted.value], values))


def _instead(wanted: Sequence[str], values: Sequence[str]) -> str:
    """What was meant by a text that no event has."""
    shown = f"the values are: {shown_values(values)}"
    for text in wanted:
        if any(sign in text for sign in "%*") and not any(sign in value for value in values for sign in "%*"):
            pattern = text.replace("*", "%")
            return f"= compares the whole text; to search, write LIKE '{pattern}'; {shown}"
    for alike in (str.strip, _plain, _number):
        close = [value for text in wanted for value in values if alike(value) == alike(text) is not None]
        if close:
            blank = alike is str.strip and close[0] != close[0].strip()
            trim = f"texts are compared with their blanks: write trim(…) = '{close[0].strip()}'; " if blank else ""
            return f"did you mean '{close[0]}'? {(trim + shown)[0].upper()}{(trim + shown)[1:]}"
    likely = next((similar for text in wanted if (similar := nearest(text, values[:_LIKE])) is not None), None)
    return shown if likely is None else f"did you mean '{likely}'? T{shown[1:]}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _other_spellings(
    columns: QueryColumns,
    component: Component,
    condition: ex.Expression,
    name: str,
    wanted: list[str],
    values: list[str],
) -> Iterator[Hint]:
    """Values that differ from one that is asked for in case or space only."""
    plain = {_plain(text) for text in wanted}
    others = [value for value in values if value not in wanted and _plain(value) in plain]
    if others:
        counts = Counter(
            {
                counted["values"]: counted["counts"]
                for counted in pc.value_counts(columns.of(component, name)).to_pylist()
            }
        )
        count = sum(counts[value] for value in others)
        message = f"{text_of(condition)}: {count:,} more {kind_of(component)} events have {shown_values(others)}"
        remedy = f"texts are compared with their case and blanks: write lower(trim(….{name})) = '{_plain(wanted[0])}'"
        yield Hint("CEP028", message, remedy)


def _nulls(columns: QueryColumns) -> Iterator[Hint]:
    """A condition on a column that is NULL."""
    reported = set()
    for condition in columns.query.conditions:
        if any(isinstance(node, ex.IsNull | ex.Or | ex.Call | ex.CaseWhen) for node in walk(condition)):
            continue
        for read in (node for node in walk(condition) if isinstance(node, ex.Attribute)):
            if (read.variable, read.name) in reported or read.variable not in columns.query.components:
                continue
            reported.add((read.variable, read.name))
            component = columns.query.components[read.variable]
            if read.name not in columns.table.column_names:
                continue
            column = columns.of(component, read.name)
            if len(column) and column.null_count >= _MOSTLY * len(column):
                every = column.null_count == len(column)
                share = (
                    f"every {kind_of(component)}"
                    if every
                    else (f"{column.null_count:,} of {len(column):,} {kind_of(component)} events")
                )
                message = (
                    f"{text_of(condition)}: '{read.name}' is NULL in {share}, and a comparison with NULL is never TRUE"
                )
                remedy = "use a column that has values, or say what NULL counts as: "
                other = ", ''" if pc.unique(column).type in ("string", "large_string") else ", 0"
                yield Hint("CEP020", message, f"{remedy}coalesce({read.variable}{read.index.value}.{read.name}{other})")


def _numbers_as_text(columns: QueryColumns) -> Iterator[Hint]:
    """Texts that are numbers, compared by < or >, which compares them letter by letter."""
    query = columns.query
    for condition in query.conditions:
        match condition:
            case ex.Compare("<" | "<=" | ">" | ">=", one, other):
                sides = [one, other]
            case ex.Between(value, low, high):
                sides = [value, low, high]
            case _:
                continue
        reads = [side for side in sides if isinstance(side, ex.Attribute)]
        texts = [side for side in sides if isinstance(side, ex.Literal)]
        if not reads or len(reads) + len(texts) < len(sides):
            continue
        kinds = [query.schema.columns.get(read.name) for read in reads]
        if any(kind is None or kind.kind is not Kind.STRING for kind in kinds):
            continue
        component = query.components.get(reads[0].variable)
        if component is None or not all(_number(str(text.value)) is not None for text in texts):
            continue
        values = columns.values(component, reads[0].name)[:1_000]
        numbers = sum(_number(value) is not None for value in values)
        if values and numbers >= _MOSTLY * len(values):
            message = (
                f"{text_of(condition)}: '{reads[0].name}' is text, which is compared letter by letter: '9' > '100'"
            )
            read = f"{reads[0].variable}{reads[0].index.value}.{reads[0].name}"
            yield Hint("CEP034", message, f"compare numbers: CAST({read} AS DOUBLE), with constants without quotes")


def _keys(columns: QueryColumns) -> Iterator[Hint]:
    """A key under which the events of a match never come together."""
    query, table = columns.query, columns.table
    needed = needed_types(columns)
    if needed is None:
        return
    declared = query.schema.roles.types is not None
    names = [test.attribute for test in query.same if not declared] + list(query.partition_by)
    for name in dict.fromkeys(names):
        if name not in table.column_names or table.column(name).null_count == table.num_rows:
            continue
        if together(columns, name, needed):
            continue
        kinds = " and ".join(dict.fromkeys("|".join(types) for types in needed))
        codes = columns.codes(name)
        empty = [types for types in dict.fromkeys(needed) if not codes[columns.of_types(types)].any()]
        if empty:
            message = f"the key '{name}' is NULL in every {'|'.join(empty[0])}, and NULL agrees with nothing"
        elif kinds and len(set(needed)) > 1:
            message = f"the key '{name}': no value of it occurs in {kinds}, so that they never agree on it"
        else:
            message = f"the key '{name}': no two events have the same value"
        yield Hint("CEP025", message, another_key(columns, name, needed))


def needed_types(columns: QueryColumns) -> list[tuple[str, ...]] | None:
    """The types that the events of a match have; None if it has one event, or if some type is not there."""
    query = columns.query
    if len(query.positive) < 2 and not any(component.array for component in query.positive):
        return None
    needed = [component.types for component in query.positive if component.types]
    missing = any(not any(columns.types.get(name) for name in names) for names in needed)
    return None if missing else needed


def _joins(columns: QueryColumns) -> Iterator[Hint]:
    """`a.x = b.y`, where no x is a y."""
    query = columns.query
    for condition in query.conditions:
        match condition:
            case ex.Compare("=", ex.Attribute() as one, ex.Attribute() as other) if one.variable != other.variable:
                pass
            case _:
                continue
        types = [query.components[read.variable].types for read in (one, other) if read.variable in query.components]
        if one.name == other.name and len(types) == 2 and types[0] == types[1]:
            continue
        sides = []
        for read in (one, other):
            component = query.components.get(read.variable)
            if component is not None and read.name in columns.table.column_names:
                sides.append((component, read.name, columns.values(component, read.name)))
        if len(sides) < 2 or not all(values for _, _, values in sides):
            continue
        try:
            common = set(sides[0][2]) & set(sides[1][2])
        except TypeError:
            continue  # lists and structs
        if not common:
            message = f"{text_of(condition)}: no value is in both columns, so that it is never TRUE"
            shown = [
                f"'{name}' of {kind_of(component)} has {shown_values(values)}" for component, name, values in sides
            ]
            yield Hint("CEP025", message, "; ".join(shown))


def _window(columns: QueryColumns, times: int) -> Iterator[Hint]:
    """A window shorter than what usually lies between two events."""
    query, within = columns.query, columns.query.within
    if within is None or within.nanoseconds is None or len(query.positive) < 2:
        return
    gap = columns.gap
    if gap is not None and gap >= times * within.nanoseconds:
        where = " of one partition" if columns.keys else ""
        message = f"WITHIN is {spell(within.nanoseconds)}, but two events{where} are {near(gap)} apart (median)"
        yield Hint("CEP023", message, "write a longer window, or check its unit")
