"""Reads templates, and lists of queries: texts, objects of the builder, and `Query` objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.api.many.ids import check_ids
from cepheid.api.many.options import Options, check_roles
from cepheid.api.many.problems import Problems
from cepheid.api.query import Query, read_program
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.errors import CepheidError, UsageError


def read_template(name: Any, source: Any, options: Options) -> Template:
    """A template: its own errors, such as those of the text, are raised at once."""
    try:
        if isinstance(source, Query):
            check_roles(source, options.roles)
            return Template(name, source.parsed, (), source.params, source.compiled.functions)
        return Template(name, read_program(source), (), options.params, options.functions)
    except CepheidError as error:
        if name is None:
            raise
        told = f"the template {name!r}: {error.message}"
        raise type(error)(error.code, told, error.remedy, error.span) from None


def read_templates(source: Any, options: Options) -> list[Template]:
    """One template without a name, or several with names."""
    if not isinstance(source, Mapping):
        return [read_template(None, source, options)]
    for name in source:
        if not isinstance(name, str) or not name:
            raise UsageError("CEP603", f"{name!r} can't be the name of a template", "use texts as names")
    return [read_template(name, one, options) for name, one in source.items()]


def is_list(source: object) -> bool:
    """Whether a source is a list of queries, each of which has an id."""
    one = isinstance(source, str | bytes | Mapping | Query) or hasattr(source, "program")
    return isinstance(source, Iterable) and not one


def with_roles_of(source: Any, options: Options) -> Options:
    """The roles that the first `Query` has, where none are given."""
    if options.roles != Options({}, {}).roles:
        return options
    some = source.values() if isinstance(source, Mapping) else source if isinstance(source, list) else [source]
    found = next((one for one in some if isinstance(one, Query)), None)
    return options if found is None else options.like(found)


def read_list(
    queries: Sequence[Any], ids: pa.Array, options: Options, *, collect: bool, report: Callable[[int], object] | None
) -> tuple[RuleSet, Problems]:
    """A list of queries, each of which is a rule of a template without parameters; equal texts are one template."""
    problems = Problems(ids, collect=collect, what="query")
    check_ids(ids, problems, "give each query a text or a whole number as its id")
    templates: list[Template] = []
    numbers: list[list[int]] = []
    known: dict[Any, int] = {}
    for number, one in enumerate(queries):
        with problems.of([number]):
            key = one if isinstance(one, str) else id(one)
            if key not in known:
                template = replace(read_template(None, one, options), name=ids[number].as_py())
                if not isinstance(one, Query):
                    options.query(template, {})  # which tells what is wrong
                known[key] = len(templates)
                templates.append(template)
                numbers.append([])
            numbers[known[key]].append(number)
        if report is not None:
            report(1)
    rules = tuple(Rules(template, np.array(own, np.int64), pa.table({})) for template, own in enumerate(numbers) if own)
    return RuleSet(tuple(templates), rules, ids, options.roles).without(problems.numbers), problems
