"""Rules in a snapshot: templates as text, ids and constants as Arrow."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pyarrow as pa

from cepheid.api.many.options import SharedOptions
from cepheid.api.options import stable
from cepheid.api.read_program import read_program
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.engine.stream.parts import PartSource, Sink
from cepheid.errors import UsageError
from cepheid.language import print_program
from cepheid.pattern.binding.schema import Roles
from cepheid.values.json import Json


def mark_of(template: Template, roles: Roles) -> str:
    """Identifies a template: its rules go on only with the same one."""
    params = sorted((name, repr(stable(value))) for name, value in (template.params or {}).items())
    facts = [print_program(template.program), params, sorted(template.functions or ()), repr(roles)]
    facts += ["texts"] if template.texts else []
    return sha256(repr(facts).encode()).hexdigest()


def write_rule_set(rules: RuleSet, sink: Sink) -> Json:
    """The rules, for a header; tables go into a sink."""
    return {
        "templates": [
            {
                "name": template.name,
                "text": print_program(template.program),
                "parameters": list(template.parameters),
                "texts": template.texts,
                "mark": mark_of(template, rules.roles),
            }
            for template in rules.templates
        ],
        "ids": sink.table("ids", pa.table({"id": rules.ids})),
        "rules": [
            {
                "template": some.template,
                "numbers": sink.array(f"numbers.{k}", some.numbers),
                "constants": sink.table(f"constants.{k}", some.constants) if some.constants.num_columns else None,
                "within": None if some.within is None else sink.table(f"within.{k}", pa.table({"w": some.within})),
            }
            for k, some in enumerate(rules.rules)
        ],
    }


def read_rule_set(saved: Json, source: PartSource, known: RuleSet, options: SharedOptions) -> RuleSet:
    """The rules of a snapshot. known: those of the `Queries`, whose templates they have."""
    by_mark = {mark_of(template, known.roles): template for template in known.templates}
    templates = tuple(_template(part, by_mark, options) for part in saved["templates"])
    rules = tuple(
        Rules(
            part["template"],
            source.array(part["numbers"]).copy(),
            pa.table({}) if part["constants"] is None else source.table(part["constants"]),
            None if part["within"] is None else _one_array(source.table(part["within"])),
        )
        for part in saved["rules"]
    )
    return RuleSet(templates, rules, _one_array(source.table(saved["ids"])), known.roles)


def _template(saved: Json, known: dict[str, Template], options: SharedOptions) -> Template:
    template = known.get(saved["mark"])
    if template is None:  # one that was added, or that the rules now have no longer
        read = read_program(saved["text"])
        template = Template(saved["name"], read, (), options.params, options.functions, bool(saved.get("texts")))
        if mark_of(template, options.roles) != saved["mark"]:
            message = "the snapshot has rules of a template that the queries do not have"
            raise UsageError("CEP607", message, "restore it with the queries that it was taken from")
    return replace(template, name=saved["name"], parameters=tuple(saved["parameters"]))


def _one_array(table: pa.Table) -> pa.Array:
    column = table.column(0).combine_chunks()
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
