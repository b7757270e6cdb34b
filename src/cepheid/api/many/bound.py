"""Whether rules fit the columns of events: each template is bound once for each way in which its rules can differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from cepheid.api.many.framed_texts import check_texts
from cepheid.api.many.options import SharedOptions
from cepheid.api.many.problems import Problems, told
from cepheid.api.many.read_rules import example
from cepheid.api.many.shaping import by_types_alone, key_of_types, shaping
from cepheid.engine.encoding.arrow import to_numpy
from cepheid.engine.many.protocol import constant_column
from cepheid.engine.many.routed.variants import VariedTemplate
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.errors import CepheidError
from cepheid.front.templates.rule_columns import NotJoinedError
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.parameter_uses import window_uses
from cepheid.pattern.expressions.types import Kind, from_arrow


def check_bound(rules: RuleSet, options: SharedOptions, schema: Schema, problems: Problems) -> None:
    """What is wrong with rules on events of a schema."""
    for some in rules.rules:
        template = rules.templates[some.template]
        if template.texts:
            check_texts(template, some, options, problems, schema)
            continue
        key, sound = key_of_types(template, some), options.known.sound(schema)
        if key in sound:
            continue
        right = [_check(template, variant, options, schema, problems) for variant in _variants(template, some)]
        if all(right) and by_types_alone(template, some):
            sound.add(key)


def _check(template: Template, rules: Rules, options: SharedOptions, schema: Schema, problems: Problems) -> bool:
    """The same of rules that differ in values of which, but for texts, only the type matters.

    A text may be read as a time in one rule, and be none in another. Whether all are right, with any such values.
    """
    values = example(template, rules)
    texts = [name for name in _texts(template, rules) if isinstance(values[name], str)]
    try:
        options.compiled(template, values).bind(schema)
    except CepheidError as error:
        if not texts or not _binds(template, {**values, **dict.fromkeys(texts)}, options, schema):
            problems.add(rules.numbers, _of_column(error, template))
            return False
    else:
        if not texts or _binds(template, {**values, **dict.fromkeys(texts, _NO_TIME)}, options, schema):
            return True
    whole = VariedTemplate(template.program, options.roles, template.functions or {}, schema, template.params)
    try:
        _, wrong = whole.split(pa.table({name: rules.constants.column(constant_column(name)) for name in values}))
    except NotJoinedError:  # each rule will run on its own
        for number, values_of_rule in zip(rules.numbers, rules.values(template.parameters), strict=True):
            with problems.of([number]):
                options.compiled(template, values_of_rule).bind(schema)
    else:
        for mistake in wrong:
            problems.add(rules.numbers[mistake.rows], _of_column(mistake.error, template))
    return False


def _of_column(error: CepheidError, template: Template) -> CepheidError:
    """Values that can't be compared, with the column of the rules that has them, where it is one."""
    if error.code != "CEP305" or error.span is None:
        return error
    names = re.findall(r"(?<![\w.`'])[^\W\d]\w*", error.span.excerpt)
    columns = {name for name in names if name in template.parameters}
    if len(columns) != 1:
        return error
    (name,) = columns
    quoted = error.remedy.startswith("write it in quotes")  # which a text could be, and a column can't
    remedy = f"give '{name}' values of the type that it is compared with" if quoted else error.remedy
    return told(type(error)(error.code, error.message, remedy, error.span), f"column '{name}'")


_NO_TIME = "\x00"  # a text that can be read as nothing else


def _texts(template: Template, rules: Rules) -> list[str]:
    """The parameters that are texts, but for windows and those that are tried one by one."""
    tried = shaping(template.program) | {use.name for use in window_uses(template.program)}
    types = {name: rules.constants.column(constant_column(name)).type for name in template.parameters}
    return [name for name, arrow in types.items() if name not in tried and from_arrow(arrow).kind is Kind.STRING]


def _binds(template: Template, values: Mapping[str, object], options: SharedOptions, schema: Schema) -> bool:
    try:
        options.compiled(template, values).bind(schema)
    except CepheidError:
        return False
    return True


def _variants(template: Template, rules: Rules) -> Iterator[Rules]:
    """The rules by the values of the parameters of which more is asked than a type."""
    shaped = [name for name in template.parameters if name in shaping(template.program)]
    if not shaped:
        yield rules
        return
    codes: np.ndarray = np.zeros(len(rules), np.int64)
    for name in shaped:
        column = rules.constants.column(constant_column(name)).combine_chunks()
        coded = column.dictionary_encode("encode")
        coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
        _, codes = np.unique(codes * len(coded.dictionary) + to_numpy(coded.indices), return_inverse=True)
    for code in range(int(codes.max(initial=-1)) + 1):
        yield rules.take(np.flatnonzero(codes == code))
