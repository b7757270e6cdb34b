"""Reads rules from a table, all of them at once: nothing is done rule by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api.events import to_table
from cepheid.api.many.ids import BAD_RULES, as_ids, check_ids
from cepheid.api.many.mixed_columns import ColumnReader, RuleTable
from cepheid.api.many.options import SharedOptions
from cepheid.api.many.problems import Problems
from cepheid.api.many.shaping import by_types_alone, key_of_types
from cepheid.api.many.windows import read_windows
from cepheid.api.spark_bridge import is_spark
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.many.protocol import constant_column
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.errors import BindError, FileError, InputError, UsageError, did_you_mean, nearest
from cepheid.pattern.expressions.parameter_uses import bare_names, set_names, window_uses

TEMPLATE = "template"
"""The column that says which template a rule is of, where there are several."""


def rule_table(rules: object) -> RuleTable:
    """Rules in any form that events can have; those of Spark are collected."""
    if is_spark(rules):
        rules = rules.toArrow() if hasattr(rules, "toArrow") else rules.toPandas()  # type: ignore[attr-defined]
    column = ColumnReader()
    with speaking_of_rules():
        table = to_table(rules, column=column)
    for name, count in Counter(table.column_names).items():
        if count > 1:
            raise InputError("CEP404", f"two columns of the rules are named '{name}'", "rename one of them")
    return RuleTable(table, column.mixed)


@contextmanager
def speaking_of_rules() -> Iterator[None]:
    """Rules are read by what reads events, whose errors speak of these."""
    try:
        yield
    except (FileError, InputError) as error:
        message = error.message.replace("a stream of events", "a table of rules").replace("the events", "the rules")
        raise type(error)(error.code, message, error.remedy, error.span) from None


def read_rules(
    templates: Sequence[Template], source: RuleTable, options: SharedOptions, *, id: str, named: bool, collect: bool
) -> tuple[RuleSet, Problems]:
    """The rules of a table. id: the column of their ids; named: a column says of which template each is."""
    rules = source.table
    if not rules.num_columns:
        rules = pa.table({name: pa.array([], pa.string()) for name in (id, TEMPLATE)[: 1 + named]})
    for name in (id, TEMPLATE)[: 1 + named]:
        if name not in rules.column_names:
            remedy = did_you_mean(name, rules.column_names, "columns")
            if name == id:
                remedy += f"{'' if remedy.endswith('?') else ';'} name the column of the ids with id="
            raise UsageError(BAD_RULES, f"the rules have no column '{name}'", remedy)
    ids = as_ids(rules.column(id), id)
    problems = Problems(ids, collect=collect)
    for name in (id, TEMPLATE)[: 1 + named]:
        source.tell_others(name, BAD_RULES, problems)
    check_ids(ids, problems, f"give each rule a text or a whole number in '{id}'")
    places = _places(templates, rules, problems) if named else np.zeros(len(ids), np.int64)
    rules_read: list[Rules] = []
    known = list(templates)
    for number, template in enumerate(templates):
        wanted = np.flatnonzero(places == number) if named else np.arange(len(ids))
        if not len(wanted):
            continue
        if not template.parameters:  # those of rules that there are already are known
            known[number] = template = with_parameters(template, rules.column_names, (id, TEMPLATE)[: 1 + named])
        missing = [name for name in template.parameters if name not in rules.column_names]
        if missing:
            remedy = did_you_mean(missing[0], rules.column_names, "columns")
            problems.add(wanted, BindError("CEP304", f"the rules have no column '{missing[0]}'", remedy))
        else:
            source.tell_wrong(template.parameters, wanted, problems)
            for of_types, rows in source.alike(template.parameters, wanted):
                rules_read.append(of_template(number, template, of_types, rows, options, problems))
    return RuleSet(tuple(known), tuple(rules_read), ids, options.roles).without(problems.numbers), problems


def with_parameters(template: Template, columns: Sequence[str], besides: Sequence[str]) -> Template:
    """A template whose parameters are the names in it that are columns of the rules."""
    names = bare_names(template.program)
    parameters = tuple(name for name in columns if name in names and name not in besides)
    for name in parameters:
        if name in (template.params or {}):
            message = f"the parameter '{name}' is in params= and is a column of the rules"
            raise UsageError("CEP603", message, "leave one of them out")
    return Template(template.name, template.program, parameters, template.params, template.functions)


def _places(templates: Sequence[Template], rules: pa.Table, problems: Problems) -> np.ndarray:
    """Of which template each rule is; -1 where there is none of that name."""
    column = rules.column(TEMPLATE).combine_chunks()
    if isinstance(column.type, pa.DictionaryType):
        column = column.dictionary_decode()
    names = pa.array([str(template.name) for template in templates], pa.string())
    places: np.ndarray = (
        pc.index_in(column.cast(pa.string()), names).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    for value in pc.unique(column.filter(from_numpy(places < 0))).to_pylist():
        same = column.is_null() if value is None else pc.equal(column, value)
        wrong = np.flatnonzero(same.fill_null(False).to_numpy(zero_copy_only=False))
        shown = "its template is NULL" if value is None else f"there is no template {value!r}"
        problems.add(wrong, InputError(BAD_RULES, shown, did_you_mean(str(value), names.to_pylist(), "templates")))
    return places


def of_template(
    number: int, template: Template, numbers: np.ndarray, rows: pa.Table, options: SharedOptions, problems: Problems
) -> Rules:
    """The rules of one template, and what is wrong with their values."""
    columns = {constant_column(name): rows.column(name) for name in template.parameters}
    within = None
    for use in window_uses(template.program):
        if use.name in template.parameters:
            lengths = read_windows(use, rows.column(use.name), numbers, options.roles.unit, problems)
            within = lengths if use.word == "WITHIN" and use.query == 0 else within
    for name in set_names(template.program) & set(template.parameters):
        column = rows.column(name)
        if column.null_count and pa.types.is_list(column.type):
            wrong = numbers[np.flatnonzero(column.is_null().to_numpy())]
            message = f"column '{name}': the parameter '{name}' is NULL, not a set of values"
            problems.add(wrong, BindError("CEP307", message, "pass a list of values"))
    rules = Rules(number, numbers, pa.table(columns), within)
    sound = np.flatnonzero(~np.isin(numbers, problems.numbers))
    if len(sound):
        right = rules if len(sound) == len(rules) else rules.take(sound)
        check_template(template, right, options, problems, rows.column_names)
    return rules


def check_template(
    template: Template, rules: Rules, options: SharedOptions, problems: Problems, columns: Sequence[str]
) -> None:
    """Whether a template can be a query, with values of the types that the columns have; its own errors are raised."""
    key, sound = key_of_types(template, rules), options.known.sound(None)
    if key in sound:
        return
    try:
        options.compiled(template, example(template, rules))
    except BindError as error:
        if error.code not in ("CEP304", "CEP307"):
            raise
        problems.add(rules.numbers, _missing(template, error, columns) if error.code == "CEP304" else error)
    else:
        if by_types_alone(template, rules):
            sound.add(key)


def example(template: Template, rules: Rules) -> Mapping[str, object]:
    """A value for each parameter, of which as few as can be are NULL."""
    values: dict[str, object] = {}
    for name in template.parameters:
        column = rules.constants.column(constant_column(name))
        valid = pc.index(column.is_valid(), True).as_py()
        values[name] = column[max(valid, 0)].as_py()
    return values


def _missing(template: Template, error: BindError, columns: Sequence[str]) -> BindError:
    """A parameter that the rules have no column for."""
    name = error.message.split("'")[1]
    close = nearest(name, columns)
    of_which = f" of the template '{template.name}'" if template.name is not None else ""
    remedy = f"did you mean '{close}'?" if close is not None else f"add the column, or pass params={{'{name}': …}}"
    return BindError("CEP304", f"the rules have no column '{name}' for the parameter{of_which}", remedy, error.span)
