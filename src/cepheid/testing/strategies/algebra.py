"""CESAR expressions that can be bound, and streams of events that last (S19 to S22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.language import parse
from cepheid.pattern.expressions.comparisons import SIGNS
from cepheid.testing.strategies.queries import GeneratedQuery

START = "began"
LASTING = pa.schema(
    [
        ("ts", pa.int64()),
        (START, pa.int64()),
        ("type", pa.string()),
        ("k", pa.int64()),
        ("x", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
    ]
)
"""Events that last: `start='began'`."""
COLUMNS: Mapping[str, str] = {"k": "int", "x": "int", "f": "float", "s": "text"}
TYPES = ("A", "B")
NUMBERS = ("int", "float")


@st.composite
def lasting_streams(draw: st.DrawFn, *, max_size: int = 8, lasting: bool = True, distinct: bool = False) -> pa.Table:
    """Events with ties, overlaps, NULLs and equal rows, in no order. distinct: no two of one time; all are points."""
    rows: list[dict[str, object]] = []
    times = draw(st.lists(st.integers(0, 10), max_size=max_size, unique=distinct))
    for end in times:
        if rows and not distinct and draw(st.integers(0, 7)) == 0:
            rows.append(draw(st.sampled_from(rows)))
            continue
        lasts = draw(st.sampled_from((0, 0, 0, 1, 2, 4))) if lasting and not distinct else 0
        row = {
            "ts": end,
            START: end - lasts,
            "type": draw(st.sampled_from("AAB")),
            "k": draw(st.sampled_from((0, 0, 1, None))),
            "x": draw(st.sampled_from((0, 1, 2, 3, None))),
            "f": draw(st.sampled_from((0.0, -0.0, 0.5, 2.0, float("nan"), None))),
            "s": draw(st.sampled_from(("u", "v", None))),
        }
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=LASTING)


Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stream as text, and its attributes: their sorts, and their columns."""

    text: str
    sorts: Mapping[str, str]
    origins: Mapping[str, str] = field(default_factory=dict)


@st.composite
def algebra_queries(draw: st.DrawFn, *, depth: int = 2, start: bool = True) -> GeneratedQuery:
    """CESAR expressions on `lasting_streams`. start: the events have durations."""
    writer = _StreamDrawer(draw)
    piece = writer.stream(depth)
    text = "\n".join(["CESAR", *writer.lets, f"  SELECT[TRUE]({piece.text})"])
    return GeneratedQuery(parse(text), {"start": START} if start else {})


class _StreamDrawer:
    """Draws an expression; streams that are named become LETs."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lets: list[str] = []
        self.names: list[str] = []

    def one_of(self, *choices: Choice) -> Choice:
        return self.draw(st.sampled_from(choices))

    # Streams.

    def stream(self, depth: int) -> Piece:
        kind = self.one_of("then", "then", "iterate", "iterate", "unary", "union") if depth else "leaf"
        match kind:
            case "then":
                return self.then(self.stream(self.one_of(0, depth - 1)), self.right(depth))
            case "iterate":
                return self.iterate(self.stream(self.one_of(0, depth - 1)), self.right(depth))
            case "unary":
                return self.unary(self.stream(depth - 1))
            case "union":
                return self.union(self.stream(depth - 1), self.stream(depth - 1))
        return self.leaf()

    def leaf(self) -> Piece:
        kind = self.one_of(*TYPES)
        if self.one_of(False, True, True):
            return self.named(Piece(kind, COLUMNS, {name: name for name in COLUMNS}))
        return Piece(kind, COLUMNS, {name: name for name in COLUMNS})

    def named(self, of: Piece) -> Piece:
        if of.text in self.names:  # another name would take the place of this one
            return of
        name = f"S{len(self.lets) + 1}"
        self.names.append(name)
        self.lets.append(f"  LET {name} := {of.text}")
        sorts = {f"{name}.{attribute}": sort for attribute, sort in of.sorts.items()}
        return Piece(name, sorts, {f"{name}.{attribute}": origin for attribute, origin in of.origins.items()})

    def right(self, depth: int) -> Piece:
        """A right operand: seldom one that is not made of single events."""
        stream = self.stream(depth - 1) if depth > 1 and self.one_of(False, False, True) else self.leaf()
        return self.unary(stream) if self.one_of(False, False, True) else stream

    def unary(self, of: Piece) -> Piece:
        match self.one_of("select", "select", "project", "rename", "add", "named"):
            case "select":
                return Piece(f"SELECT[{self.condition(of.sorts)}]({of.text})", of.sorts, of.origins)
            case "project":
                kept = self.draw(st.sets(st.sampled_from(sorted(of.sorts)))) if of.sorts else set()
                names = [name for name in of.sorts if name in kept]
                return Piece(
                    f"PROJECT[{', '.join(names)}]({of.text})",
                    {name: of.sorts[name] for name in names},
                    {name: of.origins[name] for name in names if name in of.origins},
                )
            case "rename" if of.sorts:
                old, new = self.one_of(*of.sorts), self.one_of("p", "q", "x")
                if new in of.sorts:
                    return of
                text = f"RENAME[{old} -> {new}]({of.text})"
                changed = {new if name == old else name: sort for name, sort in of.sorts.items()}
                return Piece(text, changed, {new if name == old else name: o for name, o in of.origins.items()})
            case "add":
                name = self.one_of("m", "n", "x")
                if of.sorts.get(name) in (None, "int"):
                    text = f"ADD[{name} := {self.number(of.sorts, ('int',))}]({of.text})"
                    return Piece(text, {**of.sorts, name: "int"}, {n: o for n, o in of.origins.items() if n != name})
            case "named":
                return self.named(of)
        return of

    def union(self, left: Piece, right: Piece) -> Piece:
        """Both with one attribute of the same sort, or with the times only."""
        pairs = [(a, b) for a, s in left.sorts.items() for b, t in right.sorts.items() if s == t]
        if not pairs:
            return Piece(f"(PROJECT[]({left.text}) UNION PROJECT[]({right.text}))", {})
        mine, theirs = self.one_of(*pairs)
        texts = [
            f"RENAME[{name} -> u](PROJECT[{name}]({of.text}))" if name != "u" else f"PROJECT[u]({of.text})"
            for name, of in ((mine, left), (theirs, right))
        ]
        same = left.origins.get(mine) == right.origins.get(theirs) and mine in left.origins
        return Piece(
            f"({texts[0]} UNION {texts[1]})", {"u": left.sorts[mine]}, {"u": left.origins[mine]} if same else {}
        )

    def then(self, left: Piece, right: Piece) -> Piece:
        sorts = {**left.sorts, **right.sorts}
        text = f"THEN[{self.condition(sorts)}]({left.text}, {right.text})"
        return Piece(text, sorts, self.origins(left, right))

    def origins(self, left: Piece, right: Piece) -> dict[str, str]:
        return {**{name: o for name, o in left.origins.items() if name not in right.sorts}, **right.origins}

    def iterate(self, left: Piece, right: Piece) -> Piece:
        """With a counter now and then; `.last` of what the first stream begins."""
        counts = "c" not in (*left.sorts, *right.sorts) and self.one_of(False, True)
        if counts:
            left = Piece(f"ADD[c := 1]({left.text})", {**left.sorts, "c": "int"}, left.origins)
        sorts = {**left.sorts, **right.sorts}
        begun = [name for name in right.sorts if name in left.sorts or right.origins.get(name) in left.origins.values()]
        same = [name for name in begun if left.sorts.get(name, right.sorts[name]) == right.sorts[name]]
        scope = {**sorts, **{f"{name}.last": sorts[name] for name in same}, **({"c.last": "int"} if counts else {})}
        steps = [f"SELECT[{self.condition(scope)}]"] if self.one_of(False, True, True) else []
        steps += ["ADD[c := c.last + 1]"] if counts else []
        step = " . ".join(steps) or "ID"
        text = f"ITERATE[{step}, {self.condition(scope)}]({left.text}, {right.text})"
        return Piece(text, sorts, self.origins(left, right))

    # Conditions and values.

    def condition(self, sorts: Mapping[str, str], depth: int = 1) -> str:
        match self.one_of("atom", "atom", "same", "last", "last", "true", "two", "not") if depth else "atom":
            case "two":
                word = self.one_of("AND", "AND", "OR")
                return f"({self.condition(sorts, 0)}) {word} ({self.condition(sorts, 0)})"
            case "not":
                return f"NOT ({self.condition(sorts, 0)})"
            case "true":
                return "TRUE"
            case "same" if len(keys := [name for name in sorts if name.rpartition(".")[2] == "k"]) > 1:
                return f"{keys[0]} = {keys[1]}"
            case "last" if lasts := [name for name in sorts if name.endswith(".last")]:
                last = self.one_of(*lasts)
                return f"{last.removesuffix('.last')} {self.one_of('>', '>=', '=', '<')} {last}"
        return self.atom(sorts)

    def atom(self, sorts: Mapping[str, str]) -> str:
        relation = self.one_of(*SIGNS)
        texts = [name for name, sort in sorts.items() if sort == "text"]
        match self.one_of("number", "number", "text", "null", "length"):
            case "text" if texts:
                return f"{self.one_of(*texts)} {relation} {self.one_of(*texts, repr('u'))}"
            case "null" if sorts:
                return f"{self.one_of(*sorts)} IS {self.one_of('', 'NOT ')}NULL"
            case "length":
                amount = self.draw(st.integers(1, 7))
                return f"DUR {relation} {amount}{self.one_of('', ' milliseconds')}"
        return f"{self.number(sorts)} {relation} {self.number(sorts)}"

    def number(self, sorts: Mapping[str, str], kinds: tuple[str, ...] = NUMBERS) -> str:
        names = [name for name, sort in sorts.items() if sort in kinds]
        return str(self.one_of(*names, *(f"{name} + 1" for name in names[:2]), 1, 2))
