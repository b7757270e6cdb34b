"""The CESAR algebra by its definition (S19-S22), apart from the package: streams are sets, operators comprehensions.

An event is `(values, start, end)`, its values in the order of the schema. An expression is a tuple, the operator first:
`("=", ("attr", "S1.x"), ("const", 2))`; `("last", "S2.x")` is `S2.x.last`, `("dur",)` is DUR.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

NAN = float("nan")  # the only one, so that sets find it equal to itself
TRUE = ("true",)
Expr = tuple[Any, ...]
Event = tuple[tuple[Any, ...], int, int]


class NotAllowedError(Exception):
    """An expression that the rules do not allow."""


# The tree.


@dataclass(frozen=True)
class Base:
    """The events of a type, or all of them."""

    type: str


@dataclass(frozen=True)
class Copy:
    """`LET name := of`: of a stream with a name, the attributes get the prefix `name.`, in the place of another one."""

    name: str
    of: Any


@dataclass(frozen=True)
class Select:
    condition: Expr
    of: Any


@dataclass(frozen=True)
class Project:
    names: tuple[str, ...]
    of: Any


@dataclass(frozen=True)
class Rename:
    changes: tuple[tuple[str, str], ...]
    of: Any


@dataclass(frozen=True)
class Add:
    items: tuple[tuple[str, Expr], ...]
    of: Any


@dataclass(frozen=True)
class Union:
    left: Any
    right: Any


@dataclass(frozen=True)
class Then:
    condition: Expr
    left: Any
    right: Any


@dataclass(frozen=True)
class Iterate:
    """`steps` are `Select`, `Rename`, `Add` of None, the innermost first."""

    steps: tuple[Any, ...]
    condition: Expr
    left: Any
    right: Any


# Values and conditions: SQL's three-valued logic, None is NULL and UNKNOWN.


def rank(v: Any) -> tuple[int, Any]:
    return (1, 0) if isinstance(v, float) and math.isnan(v) else (0, v)


COMPARE = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def arithmetic(op: str, a: Any, b: Any) -> Any:
    if op == "/":
        out: Any = None if b == 0 else float(a) / float(b)
    elif op == "%":
        if b == 0:
            return None
        if isinstance(a, int) and isinstance(b, int):
            out = abs(a) % abs(b) * (-1 if a < 0 else 1)
        else:
            out = NAN if math.isinf(a) or math.isnan(a) or math.isnan(b) else math.fmod(a, b)
    else:
        out = a + b if op == "+" else a - b if op == "-" else a * b
        if isinstance(out, int):
            out = (out + 2**63) % 2**64 - 2**63
    return NAN if isinstance(out, float) and math.isnan(out) else out


def value(x: Expr, env: dict[str, Any], dur: int) -> Any:
    """The value of an expression for an event; `env` has `x.last` under that name."""
    op, *args = x
    if op == "true":
        return True
    if op == "const":
        return args[0]
    if op == "attr":
        return env[args[0]]
    if op == "last":
        return env[args[0] + ".last"]
    if op == "dur":
        return dur
    if op == "in":
        v = value(args[0], env, dur)
        return None if v is None else v in args[1]
    a = value(args[0], env, dur)
    if op == "not":
        return None if a is None else not a
    if op == "isnull":
        return a is None
    if op == "notnull":
        return a is not None
    b = value(args[1], env, dur)
    if op == "and":
        return False if a is False or b is False else None if a is None or b is None else True
    if op == "or":
        return True if a is True or b is True else None if a is None or b is None else False
    if a is None or b is None:
        return None
    return COMPARE[op](rank(a), rank(b)) if op in COMPARE else arithmetic(op, a, b)


def type_of(x: Expr, types: dict[str, str]) -> str:
    op, *args = x
    if op == "const":
        return {int: "int", float: "float", str: "str", bool: "bool"}[type(args[0])]
    if op in ("attr", "last"):
        return types[args[0] + (".last" if op == "last" else "")]
    if op == "dur":
        return "int"
    for a in args:  # so that every name in it is looked up
        if isinstance(a, tuple) and a and isinstance(a[0], str) and op != "in":
            type_of(a, types)
    if op == "in":
        type_of(args[0], types)
    if op in COMPARE and (type_of(args[0], types) == "bool" or type_of(args[1], types) == "bool"):
        raise NotAllowedError("comparison")
    if op in COMPARE and (type_of(args[0], types) == "str") != (type_of(args[1], types) == "str"):
        raise NotAllowedError("comparison")
    if op in ("and", "or", "not"):
        for a in args:
            boolean(a, types)
    if op in ("+", "-", "*", "/", "%"):
        if not {type_of(args[0], types), type_of(args[1], types)} <= {"int", "float"}:
            raise NotAllowedError("arithmetic")
        return "float" if op == "/" or "float" in (type_of(args[0], types), type_of(args[1], types)) else "int"
    return "bool"


def boolean(c: Expr, types: dict[str, str]) -> None:
    if type_of(c, types) != "bool":
        raise NotAllowedError("a condition")


# Streams.


@dataclass
class Stream:
    """`types`: attribute to type, in order. `origins`: attribute to the column that it is, through ρ and names only."""

    types: dict[str, str]
    origins: dict[str, str | None]
    events: set[Event] = field(default_factory=set)

    def dicts(self) -> list[tuple[dict[str, Any], int, int]]:
        return [(dict(zip(self.types, v, strict=True)), s, e) for v, s, e in self.events]


@dataclass(frozen=True)
class World:
    """A table: the types of its columns, and rows as dicts with `start`, `end` and `kind` beside the columns.

    Times are in ticks, which may have fractions: then the time column is a timestamp.
    """

    columns: dict[str, str]
    rows: list[dict[str, Any]]
    typed: bool = True
    durations: bool = True
    unit: str = "ms"
    fine: bool = False


def holds(c: Expr, env: dict[str, Any], start: int, end: int) -> bool:
    return value(c, env, end - start + 1) is True


def join(a: str, b: str) -> str:
    if a != b and {a, b} != {"int", "float"}:
        raise NotAllowedError(f"types {a} and {b}")
    return a if a == b else "float"


def schema_after(op: Any, types: dict[str, str], origins: dict[str, Any], lasts: dict[str, str]) -> tuple[dict, dict]:
    """The schema after a unary operator."""
    seen = {**types, **{k + ".last": t for k, t in lasts.items()}}
    if isinstance(op, Select):
        boolean(op.condition, seen)
        return types, origins
    if isinstance(op, Project):
        return {n: types[n] for n in op.names}, {n: origins[n] for n in op.names}
    if isinstance(op, Rename):
        new = dict(op.changes)
        if not set(new) <= set(types) or len({new.get(n, n) for n in types}) < len(types):
            raise NotAllowedError("rename")
        return {new.get(n, n): t for n, t in types.items()}, {new.get(n, n): o for n, o in origins.items()}
    added = {n: type_of(x, seen) for n, x in op.items}
    if "bool" in added.values():
        raise NotAllowedError("left out")
    return {**types, **added}, {**origins, **dict.fromkeys(added)}


def apply(op: Any, env: dict[str, Any], start: int, end: int, lasts: dict[str, Any]) -> dict[str, Any] | None:
    """A unary operator on one event; None if it is selected away."""
    seen = {**env, **{k + ".last": v for k, v in lasts.items()}}
    if isinstance(op, Select):
        return env if holds(op.condition, seen, start, end) else None
    if isinstance(op, Project):
        return {n: env[n] for n in op.names}
    if isinstance(op, Rename):
        new = dict(op.changes)
        return {new.get(n, n): v for n, v in env.items()}
    return {**env, **{n: value(x, seen, end - start + 1) for n, x in op.items}}


def evaluate(node: Any, world: World) -> Stream:
    if isinstance(node, Base):
        kept = [r for r in world.rows if not world.typed or r["kind"] == node.type]
        events = {(tuple(r[c] for c in world.columns), r["start"], r["end"]) for r in kept}
        return Stream(dict(world.columns), {c: c for c in world.columns}, events)
    if isinstance(node, Copy):
        of = node.of
        if not isinstance(of, (Base, Copy)):
            return evaluate(of, world)  # a name for an expression is not before its attributes
        while isinstance(of, Copy):
            of = of.of
        s = evaluate(of, world)
        names = {n: f"{node.name}.{n}" for n in s.types}
        return Stream({names[n]: t for n, t in s.types.items()}, {names[n]: o for n, o in s.origins.items()}, s.events)
    if isinstance(node, (Select, Project, Rename, Add)):
        s = evaluate(node.of, world)
        types, origins = schema_after(node, s.types, s.origins, {})
        out = ((apply(node, env, start, end, {}), start, end) for env, start, end in s.dicts())
        return Stream(types, origins, {(tuple(e[n] for n in types), a, b) for e, a, b in out if e is not None})
    left, right = evaluate(node.left, world), evaluate(node.right, world)
    if isinstance(node, Union):
        if set(left.types) != set(right.types):
            raise NotAllowedError("union")
        types = {n: join(t, right.types[n]) for n, t in left.types.items()}
        origins = {n: o if o == right.origins[n] else None for n, o in left.origins.items()}
        return Stream(types, origins, left.events | {(tuple(e[n] for n in types), a, b) for e, a, b in right.dicts()})
    types, origins = {**left.types, **right.types}, {**left.origins, **right.origins}
    if isinstance(node, Then):
        boolean(node.condition, types)
        found = {
            (tuple(c[n] for n in types), a, b)
            for env, a, end in left.dicts()
            for c, b in following(env, {}, a, end, right, node.condition)
        }
        return Stream(types, origins, found)
    return iterate(node, left, right, types, origins)


def following(env: dict, lasts: dict, start: int, end: int, right: Stream, theta: Expr) -> list[tuple[dict, int]]:
    """The concatenations of an event with the next ones of a stream, those of least end."""
    seen = {k + ".last": v for k, v in lasts.items()}
    ok = [({**env, **e}, b) for e, a, b in right.dicts() if a > end and holds(theta, {**env, **e, **seen}, start, b)]
    least = min((b for _, b in ok), default=None)
    return [(c, b) for c, b in ok if b == least]


def beginnings(node: Iterate, left: Stream, right: Stream) -> tuple[dict[str, str], dict[str, str]]:
    """The attribute of the left stream that each `.last` is at the first step, and the new names of what F renames."""
    moved = {n: n for n in right.types}
    names = dict.fromkeys([*left.types, *right.types])
    origins = dict(right.origins)
    for op in node.steps:
        if isinstance(op, Rename):
            new = dict(op.changes)
            if not set(new) <= set(moved.values()):
                raise NotAllowedError("F may rename attributes of the right stream only")
            origins.update({n: origins.get(o) for o, n in new.items()})
            moved = {k: new.get(v, v) for k, v in moved.items()}
            names.update(dict.fromkeys(new.values()))
        if isinstance(op, Add):
            names.update(dict.fromkeys(n for n, _ in op.items))
    begin = {}
    for n in names:
        same = [a for a, o in left.origins.items() if o is not None and o == origins.get(n)]
        if n in left.types:
            begin[n] = n
        elif same:
            begin[n] = same[-1]
    return begin, {k: v for k, v in moved.items() if k != v}


def iterate(node: Iterate, left: Stream, right: Stream, types: dict, origins: dict) -> Stream:
    begin, moved = beginnings(node, left, right)
    last_types = {n: left.types[a] for n, a in begin.items()}
    for _ in range(3):  # a type that grows from int to float does so in one round
        boolean(node.condition, {**types, **{k + ".last": t for k, t in last_types.items()}})
        out, out_origins = types, origins
        for op in node.steps:
            out, out_origins = schema_after(op, out, out_origins, last_types)
        last_types = {n: join(t, out.get(moved.get(n, n), t)) for n, t in last_types.items()}
    carried = [n for n in types if n in left.types and n not in right.types]
    if any(n not in out for n in carried):
        raise NotAllowedError("F takes an attribute away that the next step needs")
    runs = [(e, {n: e[a] for n, a in begin.items()}, a, b) for e, a, b in left.dicts()]
    found: set[Event] = set()
    while runs:
        made: set[Event] = set()
        for env, lasts, start, end in runs:
            for e, b in following(env, lasts, start, end, right, node.condition):
                for op in node.steps:
                    e = e if e is None else apply(op, e, start, b, lasts)
                if e is not None:
                    made.add((tuple(e[n] for n in out), start, b))
        found |= made
        runs = []
        for v, start, end in made:
            e = dict(zip(out, v, strict=True))
            lasts = {n: e[moved.get(n, n)] for n in begin}
            runs.append(({n: e[n] for n in types if n in e}, lasts, start, end))
    return Stream(out, out_origins, found)
