"""What many queries give (S23), by definition: the union of what each gives alone.

`alone` is the reference on one rule. For the simplest rules there is a second definition that shares nothing with the
package: `Chain`, a sequence of single events with conditions, by trying the events one after another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from random import Random
from typing import Any

from algebra_generator import Printer, scenario, show
from algebra_oracle import Expr, World, rank, value
from many_generator import Row, Rule, Scene, Template, Values, constant, stream

from cepheid import Query, add_query, remove_query
from cepheid.testing.outcomes import to_json

Tagged = tuple[Any, str]
"""The id of a rule and a match, as text."""
Life = tuple[int | None, int | None]
"""(at, until], None: from the beginning, to the end."""


def alone(scene: Scene, rule: Rule, events: Sequence[Row], life: Life = (None, None), engine: str = "reference") -> Any:
    """What one rule gives, in the order of S9; life: added and removed while others run (S17)."""
    query = Query(scene.templates[rule.template].text, params=rule.values, **scene.options)
    table = scene.table(events)
    if life == (None, None):
        return query.match(table, engine=engine).to_pylist()
    other = Query("PATTERN Nothing z" if scene.options.get("type", "type") else "PATTERN * z", **scene.options)
    changes: list[Any] = [add_query("own", query, at=-1 if life[0] is None else life[0])]
    if life[1] is not None:
        changes.append(remove_query("own", at=life[1]))
    return other.match(table, engine=engine, changes=changes).outputs["own"].to_pylist()


def union(
    scene: Scene,
    events: Sequence[Row] | None = None,
    lives: Mapping[Any, Life] | None = None,
    engine: str = "reference",
) -> list[Tagged]:
    """S23: what each gives alone, by end, position of the id, S9."""
    events = scene.events if events is None else events
    known: dict[str, list[Row]] = {}
    found: list[tuple[int, int, int, Tagged]] = []
    for position, rule in enumerate(scene.rules):
        life = (lives or {}).get(rule.id, (None, None))
        key = repr((rule.template, rule.values, life))  # equal rules give the same
        if key not in known:
            known[key] = alone(scene, rule, events, life, engine)
        for turn, row in enumerate(known[key]):
            found.append((row["match_end"], position, turn, (rule.id, to_json(row))))
    return [tagged for *_, tagged in sorted(found, key=lambda one: one[:3])]


def by_id(found: Sequence[Tagged]) -> dict[Any, list[str]]:
    """The matches of each rule, in their order."""
    rules: dict[Any, list[str]] = {}
    for name, row in found:
        rules.setdefault(name, []).append(row)
    return rules


# Chains, by trying.


@dataclass(frozen=True)
class Chain:
    """SEQ of single events. `tests`: what an event must fulfil, given those before it; `("const", "<int>")` is a place.

    An event is bound to `a`, `b`, `c`; its attributes are `a.x`.
    """

    types: tuple[tuple[str, ...] | None, ...]
    tests: tuple[tuple[Expr, ...], ...]
    strategy: str
    same: bool = False
    fixed: str | None = None  # the place of [k = …]
    window: str | None = None  # the place of WITHIN
    kinds: Mapping[str, str] = field(default_factory=dict)

    @property
    def template(self) -> Template:
        shown = {None: "*"}
        parts = [
            f"{shown.get(kinds) or (f'ANY({chr(44).join(kinds)})' if len(kinds) > 1 else kinds[0])} {v}"
            for kinds, v in zip(self.types, "abc", strict=False)
        ]
        conditions = [f"({show(test)})" for tests in self.tests for test in tests]
        conditions += ["[k]"] if self.same else [f"[k = {self.fixed}]"] if self.fixed else []
        window = f"WITHIN {self.window}" if self.window else ""
        draft = f"PATTERN SEQ({', '.join(parts)}) WHERE {self.strategy} {{ {' AND '.join(conditions)} }} {window}"
        return Template(re.sub(r"'(<\w+>)'", r"\1", draft), self.kinds)

    def matches(self, rows: Sequence[Row], values: Values, names: Sequence[str]) -> list[tuple[int, ...]]:
        """The places of the events of each match in the order of S1, by end, start, places (S9)."""
        stream = ordered(rows, names)
        found = [places for first in range(len(stream)) for places in self._from((first,), stream, values)]
        return sorted(found, key=lambda places: (places[-1], places))

    def _from(self, chosen: tuple[int, ...], stream: Sequence[Row], values: Values) -> Iterator[tuple[int, ...]]:
        if not self._fits(chosen, stream, values):
            return
        if len(chosen) == len(self.types):
            yield chosen
            return
        key = stream[chosen[0]]["k"]
        for place in range(chosen[-1] + 1, len(stream)):
            longer = (*chosen, place)
            fits = self._fits(longer, stream, values)
            if fits:
                yield from self._from(longer, stream, values)
            if self.strategy == "strict_contiguity":
                return
            if self.strategy == "partition_contiguity" and key is not None and stream[place]["k"] == key:
                return
            if self.strategy == "skip_till_next_match" and fits:
                return

    def _fits(self, chosen: tuple[int, ...], stream: Sequence[Row], values: Values) -> bool:
        """Whether the last of the chosen events may be where it is."""
        at = len(chosen) - 1
        event, first = stream[chosen[-1]], stream[chosen[0]]
        kinds = self.types[at]
        if kinds is not None and event["type"] not in kinds:
            return False
        if (self.same or self.fixed) and (event["k"] is None or event["k"] != first["k"]):
            return False
        if self.fixed and event["k"] != values[self.fixed.strip("<>")]:
            return False
        if self.window and not event["ts"] - first["ts"] < values[self.window.strip("<>")]:
            return False
        seen = {
            f"{v}.{name}": cell for v, place in zip("abc", chosen, strict=False) for name, cell in stream[place].items()
        }
        return all(value(_filled(test, values), seen, 0) is True for test in self.tests[at])


def _filled(test: Any, values: Values) -> Any:
    """A condition, or a tree of the algebra, with the constants of a rule."""

    def fill(constant: Any) -> Any:
        place = isinstance(constant, str) and constant.startswith("<")
        return values[constant.strip("<>")] if place else constant

    return _with_constants(test, fill)


def _with_constants(node: Any, fill: Callable[[Any], Any]) -> Any:
    if isinstance(node, tuple):
        if node[:1] == ("const",) and len(node) == 2:
            return ("const", fill(node[1]))
        return tuple(_with_constants(part, fill) for part in node)
    if is_dataclass(node):
        return replace(node, **{f.name: _with_constants(getattr(node, f.name), fill) for f in fields(node)})  # type: ignore[type-var]
    return node


def ordered(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """S1: by time, then all columns in the order of the schema; NULL comes first, NaN last."""

    def place(row: Row) -> list[tuple[Any, ...]]:
        return [(0,) if row[name] is None else (1, rank(row[name])) for name in ("ts", *names)]

    return sorted(rows, key=place)


def chain(chance: Random) -> Chain:
    kinds: dict[str, str] = {}

    def place(kind: str) -> str:
        name = f"{kind}{len(kinds)}"
        kinds[name] = kind
        return f"<{name}>"

    def unary(v: str) -> Expr:
        column, kind = chance.choice([("x", "int")] * 4 + [("y", "float")] * 2 + [("k", "key"), ("s", "word")] * 2)
        relation = chance.choice(["=", "=", "=", "<>", "<", "<=", ">", ">="])
        made: Expr = (relation, ("attr", f"{v}.{column}"), ("const", place(kind)))
        if chance.random() < 0.15:
            made = ("or", made, unary(v))
        return ("not", made) if chance.random() < 0.1 else made

    def binary(v: str, u: str) -> Expr:
        relation = chance.choice(["=", "<>", "<", "<=", ">", ">="])
        form = chance.random()
        if form < 0.3:
            return ("=", ("attr", f"{v}.k"), ("attr", f"{u}.k"))
        if form < 0.6:
            return (relation, ("attr", f"{v}.x"), ("attr", f"{u}.x"))
        if form < 0.8:
            return (relation, ("attr", f"{v}.x"), ("+", ("attr", f"{u}.x"), ("const", place("int"))))
        return (relation, ("attr", f"{v}.y"), ("*", ("const", 1.01), ("attr", f"{u}.y")))

    count = chance.choice([1, 2, 2, 2, 3, 3])
    tests = []
    for at in range(count):
        own = [unary("abc"[at]) for _ in range(chance.choice([0, 1, 1, 2]))]
        if at and chance.random() < 0.6:
            own.append(binary("abc"[at], "abc"[chance.randrange(at)]))
        tests.append(tuple(own))
    strategy = chance.choice(
        ["skip_till_any_match"] + ["skip_till_next_match"] * 3 + ["strict_contiguity", "partition_contiguity"]
    )
    split = "same" if strategy == "partition_contiguity" else chance.choice(["same", "fixed", None, None])
    return Chain(
        tuple(chance.choice([("A",), ("A",), ("B",), ("A", "B"), None]) for _ in range(count)),
        tuple(tests),
        strategy,
        same=split == "same",
        fixed=place("key") if split == "fixed" else None,
        window=place("window") if chance.random() < 0.7 else None,
        kinds=kinds,
    )


def chain_scene(seed: int, rules: int = 12) -> tuple[Chain, Scene]:
    """A chain with constants for its rules; the events have numbers, so that a match tells its events."""
    chance = Random(seed)
    made = chain(chance)
    events, schema = stream(chance, True, False, 30, True)
    found = tuple(
        Rule(f"r{i}", "t0", {name: constant(chance, kind) for name, kind in made.kinds.items()}) for i in range(rules)
    )
    return made, Scene({"t0": made.template}, found, tuple(events), schema)


def by_definition(made: Chain, scene: Scene) -> dict[Any, list[tuple[int, ...]]]:
    """The numbers of the events of each match, by rule."""
    placed = ordered(scene.events, scene.schema.names)
    return {
        rule.id: [tuple(placed[i]["n"] for i in places) for places in found]
        for rule in scene.rules
        if (found := made.matches(scene.events, rule.values, scene.schema.names))
    }


def numbers(rows: Sequence[Row]) -> list[tuple[int, ...]]:
    """The numbers of the events of matches."""
    return [tuple(row[v]["n"] for v in "abc" if v in row) for row in rows]


# Expressions of the algebra, by set comprehensions.


def expressions(seed: int, count: int = 6) -> tuple[Template, dict[str, tuple[Values, Any]], World]:
    """A CESAR expression with its constants as parameters, and for each rule its constants and its own tree."""
    tree, _, world = scenario(seed)
    chance = Random(seed)
    kinds: dict[str, str] = {}
    first: Values = {}

    def cut(constant: Any) -> Any:
        if chance.random() < 0.1:
            return constant
        name = f"p{len(kinds)}"
        kinds[name], first[name] = {int: "int", float: "float", str: "word"}[type(constant)], constant
        return f"<{name}>"

    general = _with_constants(tree, cut)
    draft = re.sub(r"'(<\w+>)'", r"\1", Printer(chance).text(general))
    domains = {"int": (-1, 0, 1, 2, 3), "float": (0.0, 0.5, 1.0, 2.5), "word": ("a", "b", "c")}
    rules = {}
    for number in range(count):
        values = first if not number else {name: chance.choice(domains[kind]) for name, kind in kinds.items()}
        rules[f"r{number}"] = values, _filled(general, values)
    return Template(draft, kinds, "cesar"), rules, world
