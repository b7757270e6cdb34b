"""Reads templates, and lists of queries: texts, objects of the builder, and `Query` objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from cepheid.api.many.framed_texts import TOLD_ALONE, check_texts, rules_of_frame, texts_of_frames
from cepheid.api.many.ids import check_ids
from cepheid.api.many.options import SharedOptions, check_roles
from cepheid.api.many.problems import Problems
from cepheid.api.many.read_rules import of_template
from cepheid.api.query import Query
from cepheid.api.read_program import read_program
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.errors import CepheidError, UsageError
from cepheid.language.texts.skeleton import cut
from cepheid.language.texts.template import ReadTexts, WrongTexts, read_cut


def read_template(name: str | None, source: object, options: SharedOptions) -> Template:
    """A template: its own errors, such as those of the text, are raised at once."""
    try:
        if isinstance(source, Query):
            check_roles(source, options.roles)
            return Template(name, source.parsed, (), source.params, source.compiled.functions)
        return Template(name, read_program(source), (), options.params, options.functions)
    except CepheidError as error:
        if name is None:
            raise
        message = f"the template {name!r}: {error.message}"
        raise type(error)(error.code, message, error.remedy, error.span) from None


def read_templates(source: object, options: SharedOptions) -> list[Template]:
    """One template without a name, or several with names."""
    if not isinstance(source, Mapping):
        return [read_template(None, source, options)]
    for name in source:
        if not isinstance(name, str) or not name:
            raise UsageError("CEP603", f"{name!r} can't be the name of a template", "use texts as names")
    return [read_template(name, text, options) for name, text in source.items()]


def is_list(source: object) -> TypeGuard[Iterable[object]]:
    """Whether a source is a list of queries, each of which has an id."""
    is_one_query = isinstance(source, str | bytes | Mapping | Query) or hasattr(source, "program")
    return isinstance(source, Iterable) and not is_one_query


def with_roles_of(source: object, options: SharedOptions) -> SharedOptions:
    """The roles that the first `Query` has, where none are given."""
    if options.roles != SharedOptions({}, {}).roles:
        return options
    some = source.values() if isinstance(source, Mapping) else source if isinstance(source, list) else [source]
    first = next((query for query in some if isinstance(query, Query)), None)
    return options if first is None else options.like(first)


def read_list(
    queries: Sequence[object],
    ids: pa.Array,
    options: SharedOptions,
    *,
    collect: bool,
    report: Callable[[int], object] | None,
) -> tuple[RuleSet, Problems]:
    """A list of queries as rules: those whose texts differ in constants alone are of one template."""
    problems = Problems(ids, collect=collect, what="query")
    check_ids(ids, problems, "give each query a text or a whole number as its id")
    texts = np.array([k for k, query in enumerate(queries) if isinstance(query, str)], np.int64)
    parts = list(_texts([queries[k] for k in texts], texts, ids, options, problems, report))
    parts += _objects(queries, ids, options, problems, report)
    merged: dict[object, int] = {}
    templates: list[Template] = []
    rules: list[Rules] = []
    for template, part in parts:
        number = merged.setdefault(template.key, len(templates))
        if number == len(templates):
            templates.append(template)
        rules.append(replace(part, template=number))
    return RuleSet(tuple(templates), tuple(rules), ids, options.roles).without(problems.numbers), problems


_Part = tuple[Template, Rules]


def _texts(
    texts: Sequence[str],
    numbers: np.ndarray,
    ids: pa.Array,
    options: SharedOptions,
    problems: Problems,
    report: Callable[[int], object] | None,
) -> Iterator[_Part]:
    """Texts by the template that is left when their constants are cut out."""
    pieces = cut(texts, None if report is None else lambda done: _told(report, done))
    common = texts_of_frames(pieces, options.known.drafts)
    if common is None:
        yield from _read(read_cut(pieces, options.known.drafts), texts, numbers, ids, options, problems)
        return
    framed, frames = common
    _tell(framed.wrong, texts, numbers, problems)
    for frame in frames:
        name = ids[int(numbers[framed.frames[frame].texts[0]])].as_py()
        template, rules = rules_of_frame(framed, frame, texts, numbers, name, options)
        check_texts(template, rules, options, problems)
        yield template, rules
    places = np.flatnonzero((framed.frame >= 0) & ~np.isin(framed.frame, frames))
    rest = [texts[place] for place in places.tolist()]
    yield from _read(read_cut(cut(rest), options.known.drafts), rest, numbers[places], ids, options, problems)


def _tell(wrong: Sequence[WrongTexts], texts: Sequence[str], numbers: np.ndarray, problems: Problems) -> None:
    """Errors of texts, each with its place in it."""
    for mistake in wrong:
        for place in mistake.texts:
            problems.add(numbers[place : place + 1], mistake.error_of(texts[place]))


def _read(
    reading: ReadTexts,
    texts: Sequence[str],
    numbers: np.ndarray,
    ids: pa.Array,
    options: SharedOptions,
    problems: Problems,
) -> Iterator[_Part]:
    """A template for each program that is left without constants."""
    _tell(reading.wrong, texts, numbers, problems)
    for constant_free in reading.templates:
        rule_numbers = numbers[constant_free.texts]
        name = ids[int(rule_numbers[0])].as_py()
        template = Template(
            name, constant_free.program, tuple(constant_free.columns), options.params, options.functions
        )
        wrong = Problems(ids, collect=True)
        with wrong.of(rule_numbers):
            rows = pa.table({name: pa.chunked_array([column]) for name, column in constant_free.columns.items()})
            yield template, of_template(0, template, rule_numbers, rows, options, wrong)
        for number, error in wrong.items():
            text = texts[int(np.searchsorted(numbers, number))]
            problems.add([number], _error_of(text, options, error) if len(wrong.numbers) <= TOLD_ALONE else error)


def _told(report: Callable[[int], object], done: int) -> None:
    report(done)


def _error_of(text: str, options: SharedOptions, known: CepheidError) -> CepheidError:
    """What is wrong with a text, with the place in it."""
    try:
        options.compiled(Template(None, read_program(text), (), options.params, options.functions), {})
    except CepheidError as error:
        return error
    return known


def _objects(
    queries: Sequence[object],
    ids: pa.Array,
    options: SharedOptions,
    problems: Problems,
    report: Callable[[int], object] | None,
) -> Iterator[_Part]:
    """What is no text: each is a template."""
    for number, query in enumerate(queries):
        if isinstance(query, str):
            continue
        with problems.of([number]):
            template = replace(read_template(None, query, options), name=ids[number].as_py())
            if not isinstance(query, Query):
                options.compiled(template, {})  # which tells what is wrong
            yield template, Rules(0, np.array([number], np.int64), pa.table({}))
        if report is not None:
            report(1)
