"""Random rule sets: templates of all three languages, a table of constants for each, and streams that they match.

A template is a text with places for constants, `<int>`. In `Template.text` each place is a parameter, a bare name; in
`Template.literal` it is the constant itself, so that one set of rules can be written in every form that there is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
from algebra_generator import Generator, Printer
from algebra_oracle import NAN, Base

Row = dict[str, Any]
Values = dict[str, Any]

MOST, LEAST = 2**63 - 1, -(2**63)
KEYS, WORDS = ("u", "v", "w"), ("a", "b", "ab", "c")
FLOATS = (0.0, -0.0, 0.5, 1.0, 2.5)
TYPES: Mapping[str, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "key": pa.string(),
    "word": pa.string(),
    "like": pa.string(),
    "ints": pa.list_(pa.int64()),
    "words": pa.list_(pa.string()),
    "window": pa.int64(),
    "count": pa.int64(),
}


def constant(chance: Random, kind: str) -> Any:
    """A constant: most are of the domain of the events, some at its borders or beyond it."""
    seldom = chance.random()
    match kind:
        case "int" | "count":
            return chance.choice([None, MOST, LEAST, -1, 99]) if seldom < 0.07 else chance.randint(0, 3)
        case "float":
            return chance.choice([None, NAN, NAN, math.inf, -math.inf, 0.1]) if seldom < 0.1 else chance.choice(FLOATS)
        case "key":
            return chance.choice([None, "never", "", "U"]) if seldom < 0.07 else chance.choice(KEYS)
        case "word":
            return chance.choice([None, "nie gesehen ☃", "", "it's"]) if seldom < 0.07 else chance.choice(WORDS)
        case "like":
            return "never%" if seldom < 0.07 else chance.choice(["a%", "%b", "_", "%", "ab"])
        case "ints":
            return [] if seldom < 0.05 else chance.sample([0, 1, 2, 3, 99], chance.randint(1, 3))
        case "words":
            return [] if seldom < 0.05 else chance.sample([*WORDS, "never"], chance.randint(1, 3))
        case "window":
            return chance.choice([1, 2_592_000_000]) if seldom < 0.07 else chance.randint(2, 9)
    raise AssertionError(kind)


def written(value: Any) -> str:
    """A constant as it stands in a text."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return f"({', '.join(map(written, value))})"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float) and not math.isfinite(value):
        return f"CAST('{'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'}' AS DOUBLE)"
    return repr(value)


@dataclass(frozen=True)
class Template:
    """A text with places `<p1>`, and what kind of constant each is."""

    draft: str
    kinds: Mapping[str, str] = field(default_factory=dict)
    language: str = "sase"

    @property
    def text(self) -> str:
        return re.sub(r"<(\w+)>", r"\1", self.draft)

    def literal(self, values: Values) -> str:
        return re.sub(r"<(\w+)>", lambda found: written(values[found[1]]), self.draft)

    def constants(self, chance: Random) -> Values:
        return {name: constant(chance, kind) for name, kind in self.kinds.items()}

    @property
    def is_writable(self) -> bool:
        """Whether it can be written without parameters whatever they are: an empty list can't."""
        return not {"ints", "words"} & set(self.kinds.values())


@dataclass(frozen=True)
class Rule:
    id: Any
    template: str
    values: Values


@dataclass(frozen=True)
class Scene:
    """Templates by name, rules, and a stream with the roles of its columns."""

    templates: Mapping[str, Template]
    rules: tuple[Rule, ...]
    events: tuple[Row, ...]
    schema: pa.Schema
    options: Mapping[str, Any] = field(default_factory=dict)

    def table(self, events: Sequence[Row] | None = None) -> pa.Table:
        return pa.Table.from_pylist(list(self.events if events is None else events), schema=self.schema)

    def rule_table(self, rules: Sequence[Rule] | None = None, *, named: bool = True) -> pa.Table:
        """The rules as a table: id, template, and a column for each parameter, NULL where a template lacks it."""
        rules = self.rules if rules is None else rules
        kinds = {name: kind for template in self.templates.values() for name, kind in template.kinds.items()}
        ids = pa.int64() if all(isinstance(rule.id, int) for rule in self.rules) else pa.string()
        columns = {"id": pa.array([rule.id for rule in rules], ids)}
        if named:
            columns["template"] = pa.array([rule.template for rule in rules], pa.string())
        for name, kind in kinds.items():
            columns[name] = pa.array([rule.values.get(name) for rule in rules], TYPES[kind])
        return pa.table(columns)

    def of(self, *rules: Rule) -> Scene:
        return replace(self, rules=rules)


class Drafter:
    """Makes the draft of a template; `<int>` becomes a parameter, or a constant that all its rules share."""

    def __init__(self, chance: Random, typed: bool, shared: bool) -> None:
        self.chance, self.typed = chance, typed
        self.prefix = "p" if shared else f"q{chance.randint(0, 999)}_"
        self.kinds: dict[str, str] = {}

    def maybe(self, probability: float) -> bool:
        return self.chance.random() < probability

    def made(self, draft: str, language: str = "sase") -> Template:
        def place(found: re.Match[str]) -> str:
            kind = found[1]
            known = [name for name, other in self.kinds.items() if other == kind]
            if known and self.maybe(0.2):
                return f"<{self.chance.choice(known)}>"
            if kind != "window" and self.maybe(0.15):
                value = constant(self.chance, kind)
                if value != []:
                    return written(value)
            name = f"{self.prefix}{kind}{len(self.kinds)}"
            self.kinds[name] = kind
            return f"<{name}>"

        if not self.typed:
            draft = re.sub(r"\b[BC]\b", "A", draft).replace("ANY(A, A)", "A")
        draft = re.sub(r"<(\w+)>", place, draft)
        return Template(draft, self.kinds, language)

    # Conditions.

    def static(self, v: str) -> str:
        """A condition on one event; equalities are what indexes like."""
        return self.chance.choice(
            [f"{v}x = <int>", f"{v}k = <key>", f"{v}s = <word>"] * 3
            + [f"{v}x >= <int>", f"{v}x < <int>", f"{v}x <= <int>", f"{v}y > <float>", f"{v}y <= <float>"] * 2
            + [
                f"{v}x != <int>",
                f"{v}y = <float>",
                f"{v}y != <float>",
                f"{v}y >= <int>",
                f"{v}x > <float>",
                f"<int> < {v}x",
                f"{v}s > <word>",
                f"{v}s <= <word>",
                f"{v}x IN <ints>",
                f"{v}s IN <words>",
                f"{v}x IN (0, 2)",
                f"{v}s LIKE <like>",
                f"{v}s LIKE 'a%'",
                f"{v}x BETWEEN <int> AND <int>",
                f"({v}x = <int> OR {v}s = <word>)",
                f"({v}k = <key> OR {v}x > <int> AND {v}y < <float>)",
                f"NOT ({v}x = <int>)",
                f"NOT ({v}x < <int> AND {v}k = <key>)",
                f"{v}x % 2 = <int>",
                f"{v}x + <int> > 2",
                f"abs({v}y) <= <float>",
                f"coalesce({v}x, <int>) = <int>",
                f"{v}x IS NOT NULL",
                f"({v}y IS NULL OR {v}y < <float>)",
                f"{v}x > 0",
                f"{v}k = 'u'",
                f"upper({v}s) = upper(<word>)",
                f"{v}x = <int> AND {v}x = <int>",  # now and then contradictory
                f"{v}x > 1 AND {v}x < 2",  # always
            ]
        )

    def dynamic(self, v: str, u: str) -> str:
        """A condition on an event and an earlier one."""
        return self.chance.choice(
            [f"{v}k = {u}k", f"{v}x > {u}x", f"{v}x >= {u}x"] * 2
            + [
                f"{v}x = {u}x",
                f"{v}x >= {u}x + <int>",
                f"{v}y >= 1.01 * {u}y",
                f"{v}y > <float> * {u}y",
                f"{v}x + {u}x = <int>",
                f"({v}s = {u}s OR {v}x = <int>)",
                f"{v}x != {u}x AND {v}k = <key>",
            ]
        )

    def kleene(self, v: str) -> str:
        return self.chance.choice(
            [
                f"{v}[i].x >= {v}[i-1].x",
                f"{v}[].x >= <int>",
                f"{v}[].k = <key>",
                f"{v}[1].x = <int>",
                f"{v}[i].x != <int>",
                f"sum({v}[].x) > <int>",
                f"{v}[i].x >= avg({v}[..i-1].x)",
                f"{v}.LEN > 1",
            ]
        )

    # SASE+.

    def type(self) -> str:
        return self.chance.choice(["A", "A", "A", "B", "B", "C", "ANY(A, B)"] + ["* "] * self.typed)

    def sase(self) -> Template:
        if self.maybe(0.06):
            return self.choice_pattern()
        count = self.chance.choice([1, 2, 2, 2, 3, 3])
        names = "abc"[:count]
        looped = self.chance.randrange(count) if self.maybe(0.22) else None
        strategy = self.chance.choice(["any", "any", "next", "next", "next", "strict", "partition"])
        parts, conditions = [], []
        for place, v in enumerate(names):
            if place == looped:
                times = self.chance.choice(["+", "+", "+", "{1,2}", "{2,}"])
                parts.append(f"{self.type().strip()}{times} {v}[]")
                conditions += [self.kleene(v) for _ in range(self.chance.randint(0, 2))]
                continue
            parts.append(f"{self.type()} {v}")
            conditions += [self.static(f"{v}.") for _ in range(self.chance.choice([0, 1, 1, 1, 2]))]
            if place and place - 1 != looped and self.maybe(0.5):
                conditions.append(self.dynamic(f"{v}.", f"{names[place - 1]}."))
            elif place == 2 and looped != 0 and self.maybe(0.5):
                conditions.append(self.dynamic(f"{v}.", "a."))
        window = "WITHIN <window>" if self.maybe(0.7) else ""
        needs_window = looped is not None or (strategy == "any" and count == 3)
        if self.maybe(0.25):
            at = self.chance.randint(0, count)
            absent = f"!({self.chance.choice('ABC')} n)"
            if at in (0, count):
                needs_window = True
                absent += self.chance.choice(["", "", " FOR 3 milliseconds"])
            parts.insert(at, absent)
            if self.maybe(0.7):
                conditions.append(self.static("n."))
            if at and at - 1 != looped and self.maybe(0.3):
                conditions.append(self.dynamic("n.", f"{names[at - 1]}."))
        if needs_window:
            window = "WITHIN <window>" if self.maybe(0.7) else "WITHIN 6 milliseconds"
            if looped is not None and strategy == "any":
                window = "WITHIN 5 milliseconds"
        elif not window and self.maybe(0.4):
            window = self.chance.choice(["WITHIN 5 milliseconds", "WITHIN 4 events", "WITHIN 9 events"])
        splits = ["[k]", "[k = <key>]", "PARTITION BY k"]
        split = self.chance.choice(splits if strategy == "partition" else [*splits, "", "", "", ""])
        if split.startswith("["):
            conditions.append(split)
            split = ""
        elif strategy == "any" and self.maybe(0.1):
            split = "PARTITION BY k, x"
        self.chance.shuffle(conditions)
        ending = self.ending(names, looped)
        long = {"any": "skip_till_any_match", "next": "skip_till_next_match", "strict": "strict_contiguity"}
        named = long.get(strategy, "partition_contiguity")
        body = " AND ".join(conditions)
        where = f"WHERE {body}" if strategy == "any" and body and self.maybe(0.5) else f"WHERE {named} {{ {body} }}"
        pattern = f"SEQ({', '.join(parts)})" if len(parts) > 1 or self.maybe(0.3) else parts[0]
        if strategy == "any" and self.maybe(0.15):
            ending += " TIES SIMULTANEOUS"
        source = f"FROM stream WHERE {self.static('')} " if self.maybe(0.05) else ""
        return self.made(f"{source}PATTERN {pattern} {where} {split} {window} {ending}")

    def ending(self, names: str, looped: int | None) -> str:
        """HAVING, RETURN and OUTPUT."""
        single = [v for place, v in enumerate(names) if place != looped]
        clauses = []
        if self.maybe(0.15):
            read = [f"{v}.x" for v in single] + ([f"count({names[looped]}[].x)"] if looped is not None else [])
            clauses.append(f"HAVING {' + '.join(read)} {self.chance.choice(['<=', '>', '!='])} <count>")
        if single and self.maybe(0.25):
            v = self.chance.choice(single)
            items = [f"{v}.x AS one", f"{v}.y AS two", f"{v}.x + <int> AS three", f"{v}.s AS four", "<float> AS five"]
            clauses.append(f"RETURN {', '.join(self.chance.sample(items, self.chance.randint(1, 3)))}")
        if self.maybe(0.2):
            clauses.append(self.chance.choice(["OUTPUT NON_OVERLAP", "OUTPUT NON_OVERLAP", "OUTPUT LONGEST"]))
            if self.maybe(0.2):
                clauses[-1] += " COOLDOWN 3 milliseconds"
        return " ".join(clauses)

    def choice_pattern(self) -> Template:
        """OR, AND, and an event that may be left out."""
        pattern = self.chance.choice(["OR(A a, SEQ(C c, B b))", "AND(A a, B b)", "SEQ(A a, B? b, C c)", "OR(A a, B b)"])
        names = [v for v in "abc" if f" {v}" in pattern and f"? {v}" not in pattern]
        conditions = [self.static(f"{v}.") for v in names if self.maybe(0.8)]
        return self.made(f"PATTERN {pattern} WHERE {' AND '.join(conditions) or 'TRUE'} WITHIN <window>")

    # CESAR.

    def cesar(self) -> Template:
        kinds = self.chance.choice([("A", "A", "A"), ("A", "A", "A"), ("A", "B", "A"), ("A", "B", "C")])
        lets = " ".join(f"LET S{i} := {kind}" for i, kind in enumerate(kinds, 1))

        def several(*choices: str) -> str:
            return " AND ".join(dict.fromkeys(choices))

        def select(i: int) -> str:
            count = self.chance.choice([0, 1, 1, 2])
            return f"SELECT[{several(*(self.static(f'S{i}.') for _ in range(count)))}](S{i})" if count else f"S{i}"

        def theta(i: int, j: int) -> str:
            chosen = [self.dynamic(f"S{i}.", f"S{j}.")] if self.maybe(0.6) else []
            chosen += [self.static(f"S{i}.")] if self.maybe(0.5) else []
            chosen += ["DUR < <window>"] if self.maybe(0.4) else []
            return several(*chosen) or "TRUE"

        two = f"THEN[{theta(2, 1)}]({select(1)}, {select(2)})"
        if self.maybe(0.3):
            two = f"SELECT[{theta(2, 1)}]({two})"
        form = self.chance.choice(["one", "two", "two", "three", "three", "iterate", "count", "renamed", "union"])
        if form == "one":
            body = select(1)
        elif form == "two":
            body = two
        elif form == "three":
            body = f"THEN[{theta(3, self.chance.choice([1, 2]))}]({two}, {select(3)})"
        elif form == "iterate":
            condition = self.chance.choice(["S2.x > S2.x.last", "S2.x >= S1.x", "S2.y <= S2.y.last", "TRUE"])
            body = f"ITERATE[SELECT[{condition}], {theta(2, 1)}]({select(1)}, {select(2)})"
            body = f"SELECT[S2.x <= <int> OR DUR <= 4]({body})"
        elif form == "count":
            added = f"ADD[n := n.last + 1] . SELECT[n.last < 3 AND {self.static('S2.')}]"
            body = f"ITERATE[{added}, {theta(2, 1)}](ADD[n := 1]({select(1)}), S2)"
        elif form == "renamed":
            body = f"PROJECT[S1.k, low, high](RENAME[S2.x -> high](RENAME[S1.x -> low]({two})))"
        else:
            body = f"PROJECT[x, k](SELECT[{self.static('')}](A)) UNION PROJECT[x, k](SELECT[{self.static('')}](B))"
        return self.made(f"CESAR {lets if form != 'union' else ''} {body}", "cesar")

    def automaton(self) -> Template:
        first, then, skip = self.static("e."), self.static("e."), self.static("e.")
        on = self.chance.choice(["", "ON A", "ON B", "ON A, B"]) if self.typed else ""
        form = self.chance.choice(["two", "three", "loop", "end", "epsilon"])
        body = {
            "two": f"AUTOMATON q0 -> q2 ARC q0 -> q1 {on} WHEN {first} IGNORE q1 WHEN {skip} ARC q1 -> q2 WHEN {then}",
            "three": f"AUTOMATON q0 -> q3 REGISTER top INT, low INT = <int> "
            f"ARC q0 -> q1 {on} WHEN {first} SET top = e.x "
            f"ARC q1 -> q2 WHEN e.x >= r.top IGNORE q1 ARC q2 -> q3 WHEN {then} SET low = r.low + e.x",
            "loop": f"AUTOMATON q0 -> q1 REGISTER n INT = 0, sum INT = 0 ARC q0 -> q1 {on} WHEN {first} "
            f"SET n = 1, sum = <int> ARC q1 -> q1 WHEN e.x >= <int> SET n = r.n + 1, sum = r.sum + e.x",
            "end": f"AUTOMATON q0 -> q2 ARC q0 -> q1 {on} WHEN {first} IGNORE q1 WHEN NOT ({skip}) ARC q1 -> q2 AT END",
            "epsilon": f"AUTOMATON q0 -> q2 REGISTER n INT = 0 ARC q0 -> q1 {on} WHEN {first} SET n = e.x "
            f"ARC q1 -> q1 WHEN {then} SET n = r.n + 1 EPSILON q1 -> q2 WHEN r.n > <int>",
        }[form]
        split = self.chance.choice(["", "PARTITION BY k", "WHERE [k]"])
        window = "WITHIN <window>" if form == "end" or self.maybe(0.6) else ""
        ending = ""
        if self.maybe(0.2):
            ending = "HAVING last.x >= <int>" if self.maybe(0.5) else "RETURN last.x + <int> AS x, first.s AS s"
        return self.made(f"{body} {split} {window} {ending}", "automaton")

    def algebra(self, columns: Mapping[str, str]) -> Template:
        """Any CESAR expression, with some of its constants as parameters."""
        generator = Generator(self.chance, dict(columns), ["A", "B", "C"] if self.typed else ["A"])
        tree = generator.stream(self.chance.choice([1, 2, 2]))

        def cut(node: Any) -> Any:
            if isinstance(node, tuple):
                if node[:1] == ("const",) and len(node) == 2 and self.maybe(0.8):
                    kind = {int: "int", float: "float", str: "word"}[type(node[1])]
                    return ("attr", f"<{kind}>")
                return tuple(map(cut, node))
            if hasattr(node, "__dataclass_fields__") and not isinstance(node, Base):
                return replace(node, **{name: cut(getattr(node, name)) for name in node.__dataclass_fields__})
            return node

        return self.made(Printer(self.chance).text(cut(tree)), "cesar")


def stream(chance: Random, typed: bool, lasting: bool, most: int, numbered: bool) -> tuple[list[Row], pa.Schema]:
    """Events of small domains, with ties, NULLs and NaNs."""
    nulls, nans, ties = chance.choice([0, 0, 0.1]), chance.choice([0, 0.1]), chance.choice([0, 0.2, 0.2, 0.6])
    time, events = 0, []
    for number in range(chance.randint(most // 3, most)):
        time += 0 if chance.random() < ties else chance.choice([1, 1, 1, 2, 3])

        def some(value: Any) -> Any:
            return None if chance.random() < nulls else value

        row: Row = {"ts": time}
        if lasting:
            row["began"] = time - chance.choice([0, 0, 0, 1, 2])
        if typed:
            row["type"] = chance.choice("AAABBCZ")
        row |= {
            "k": some(chance.choice(KEYS)),
            "x": some(chance.randint(0, 3)),
            "y": some(NAN if chance.random() < nans else chance.choice(FLOATS)),
            "s": some(chance.choice(WORDS)),
        }
        if numbered:
            row["n"] = number
        events.append(row)
    fields = [("ts", pa.int64()), ("began", pa.int64()), ("type", pa.string()), ("k", pa.string()), ("x", pa.int64())]
    fields += [("y", pa.float64()), ("s", pa.string()), ("n", pa.int64())]
    left_out = {"began": not lasting, "type": not typed, "n": not numbered}
    return events, pa.schema([(name, kind) for name, kind in fields if not left_out.get(name)])


COLUMNS = {"k": "str", "x": "int", "y": "float", "s": "str"}


def template(chance: Random, typed: bool, shared: bool, language: str | None = None) -> Template:
    drafter = Drafter(chance, typed, shared)
    language = language or chance.choice(["sase"] * 6 + ["cesar"] * 3 + ["automaton"] * 2 + ["algebra"])
    if language == "sase":
        return drafter.sase()
    if language == "cesar":
        return drafter.cesar()
    return drafter.automaton() if language == "automaton" else drafter.algebra(COLUMNS)


def scene(seed: int, *, most_rules: int = 40, most_events: int = 36, language: str | None = None) -> Scene:
    """Rules and a stream. The names of parameters may be the same in several templates, if they are of one kind."""
    chance = Random(seed)
    typed, lasting = chance.random() < 0.8, chance.random() < 0.2
    shared = chance.random() < 0.5
    count = chance.choice([1, 1, 1, 2, 3, 5])
    templates = {f"t{i}": template(chance, typed, shared, language) for i in range(count)}
    rules = tuple(some_rules(chance, templates, chance.randint(2, most_rules)))
    events, schema = stream(chance, typed, lasting, most_events, chance.random() < 0.5)
    options: dict[str, Any] = {}
    if not typed:
        options["type"] = None
    if lasting:
        options["start"] = "began"
    if chance.random() < 0.1:
        options["order_by"] = "x"
    return Scene(templates, rules, tuple(events), schema, options)


def some_rules(chance: Random, templates: Mapping[str, Template], count: int, first: int = 0) -> list[Rule]:
    """Rules with ids in no order; some are equal but for it."""
    form = chance.choice(["user {}", "{}", "r{:05}"])
    ids = [form.format(number) for number in range(first, first + count)]
    chance.shuffle(ids)
    found: list[Rule] = []
    for name in ids:
        if found and chance.random() < 0.1:
            found.append(replace(chance.choice(found), id=name))
            continue
        which = chance.choice(list(templates))
        found.append(Rule(name, which, templates[which].constants(chance)))
    return found
