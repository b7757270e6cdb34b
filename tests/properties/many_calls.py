"""One set of rules in every form that `Queries` takes, and what comes out of it as tagged rows."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from many_generator import Row, Rule, Scene
from many_oracle import Tagged

import cepheid as cep
from cepheid.testing.outcomes import to_json

FORMS = ("table", "table", "listed", "texts", "queries")


def form_of(scene: Scene, chance: Random) -> str:
    """A form that can write all of its constants."""
    form = chance.choice(FORMS)
    if form == "texts" and any(value == [] for rule in scene.rules for value in rule.values.values()):
        return "queries"
    return form


def made(scene: Scene, form: str = "table", **more: Any) -> cep.Queries:
    """The rules as `Queries`: a table or a list of rows with templates, texts with constants, or queries."""
    options = {**scene.options, **more}
    if form in ("table", "listed"):
        single = len(scene.templates) == 1
        table = scene.rule_table(named=not single)
        templates = next(t.text for t in scene.templates.values()) if single else texts(scene)
        return cep.Queries(templates, table if form == "table" else table.to_pylist(), **options)
    ids = [rule.id for rule in scene.rules]
    return cep.Queries([alone(scene, rule, form) for rule in scene.rules], ids=ids, **options)


def texts(scene: Scene) -> dict[str, str]:
    return {name: template.text for name, template in scene.templates.items()}


def alone(scene: Scene, rule: Rule, form: str) -> Any:
    template = scene.templates[rule.template]
    if form == "texts":
        return template.literal(rule.values)
    return cep.Query(template.text, params=rule.values, **scene.options)


def tagged(found: Any) -> list[Tagged]:
    """All rows with the ids of their rules: the order is that of the whole, the rows are those of each rule."""
    heads = found.to_pylist()
    own = {name: found.of(name).to_pylist() for name in {head["query"] for head in heads}}
    turns = {name: iter(rows) for name, rows in own.items()}
    rows: list[Tagged] = []
    for head in heads:
        row = next(turns[head["query"]])
        assert (row["match_start"], row["match_end"]) == (head["match_start"], head["match_end"])
        rows.append((head["query"], to_json(row)))
    assert len(rows) == len(found) == sum(map(len, own.values()))
    return rows


def batches(events: Sequence[Row], chance: Random, lateness: int) -> list[list[Row]]:
    """The events in parts of any size, each a little late."""
    coming = sorted(events, key=lambda row: row["ts"] + chance.randint(0, lateness))
    size = chance.choice([1, 3, 8, 100])
    parts = []
    while coming:
        count = chance.randint(0, size)
        parts.append(coming[:count])
        coming = coming[count:]
    return parts
