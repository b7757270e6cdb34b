"""Random CESAR expressions, as trees of the oracle and as text, and random streams for them."""

from __future__ import annotations

from random import Random
from typing import Any

from algebra_oracle import (
    NAN,
    TRUE,
    Add,
    Base,
    Copy,
    Expr,
    Iterate,
    NotAllowedError,
    Project,
    Rename,
    Select,
    Then,
    Union,
    World,
    beginnings,
    evaluate,
)

RELATIONS = ["=", "=", "<>", "<", "<=", ">", ">="]


# Text.


def quote(v: Any) -> str:
    return f"'{v}'" if isinstance(v, str) else repr(v)


UNITS = {"ms": "milliseconds", "s": "seconds", "min": "minutes"}


def show(x: Expr) -> str:
    """An expression as text. `attr` and `last` may have a shorter spelling as their last item."""
    op, *args = x
    if op == "true":
        return "TRUE"
    if op == "const":
        return quote(args[0])
    if op == "attr":
        return args[-1]
    if op == "last":
        return args[-1] + ".last"
    if op == "dur":
        return "DUR"
    if op == "in":
        return f"{show(args[0])} IN ({', '.join(map(quote, args[1]))})"
    if op in ("isnull", "notnull"):
        return f"{part(args[0])} IS {'NOT ' if op == 'notnull' else ''}NULL"
    if op == "not":
        return f"NOT {part(args[0])}"
    if args[0] == ("dur",) and len(args[1]) == 3:  # a constant that is spelled as a duration
        return f"DUR {op} {args[1][1]} {args[1][2]}"
    return f"{part(args[0])} {op.upper()} {part(args[1])}"


def part(x: Expr) -> str:
    return show(x) if x[0] in ("true", "const", "attr", "last", "dur") else f"({show(x)})"


class Printer:
    """The text of a tree: copies become LETs; `rng` varies the spelling."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lets: list[tuple[str, str]] = []
        self.known: dict[str, Any] = {}
        self.greek = rng.random() < 0.2

    def condition(self, c: Expr) -> str:
        if c != TRUE and self.rng.random() < 0.15:
            name = f"c{len(self.lets)}"
            self.lets.append((name, show(c)))
            return name
        return show(c)

    def operator(self, op: Any) -> str:
        g, to, be = (True, "↦", "↦") if self.greek else (False, "->", ":=")
        if isinstance(op, Select):
            return f"{'σ' if g else 'SELECT'}[{self.condition(op.condition)}]"
        if isinstance(op, Project):
            return f"{'π' if g else 'PROJECT'}[{', '.join(op.names)}]"
        if isinstance(op, Rename):
            return f"{'ρ' if g else 'RENAME'}[{', '.join(f'{a} {to} {b}' for a, b in op.changes)}]"
        return f"{'α' if g else 'ADD'}[{', '.join(f'{n} {be} {show(x)}' for n, x in op.items)}]"

    def term(self, n: Any) -> str:
        if isinstance(n, Base):
            return n.type
        if isinstance(n, Copy):
            if n.name not in self.known:
                self.known[n.name] = n.of
                self.lets.append((n.name, self.term(n.of)))
            assert self.known[n.name] == n.of
            return n.name
        if isinstance(n, (Select, Project, Rename, Add)):
            return f"{self.operator(n)}({self.term(n.of)})"
        left, right = self.term(n.left), self.term(n.right)
        if isinstance(n, Union):
            return f"({left} {'∪' if self.greek else 'UNION'} {right})"
        c = self.condition(n.condition)
        if isinstance(n, Then):
            if self.greek:
                return f"({left} ;_{{{c}}} {right})"
            return f"({left} ;[{c}] {right})" if self.rng.random() < 0.3 else f"THEN[{c}]({left}, {right})"
        if not n.steps:
            steps = "TRUE"
        elif len(n.steps) == 1 and isinstance(n.steps[0], Select) and self.rng.random() < 0.5:
            steps = self.condition(n.steps[0].condition)
        else:
            steps = self.rng.choice([" ∘ ", " . "]).join(map(self.operator, reversed(n.steps)))
        return f"{'μ' if self.greek else 'ITERATE'}[{steps}, {c}]({left}, {right})"

    def text(self, n: Any) -> str:
        body = self.term(n)
        lines: list[tuple[list[str], str]] = []
        for name, of in self.lets:
            if lines and lines[-1][1] == of:
                lines[-1][0].append(name)
            else:
                lines.append(([name], of))
        return "\n".join(
            [
                "CESAR",
                *(f"  LET {', '.join(names)} {'≡' if self.greek else ':='} {of}" for names, of in lines),
                f"  {body}",
            ]
        )


# Trees.


class Generator:
    def __init__(self, rng: Random, columns: dict[str, str], kinds: list[str], unit: str = "ms") -> None:
        self.unit = unit
        self.rng, self.columns, self.kinds = rng, columns, kinds
        self.world = World(columns, [])
        self.count = 0
        self.pool: list[Copy] = []

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def types(self, n: Any) -> dict[str, str]:
        return evaluate(n, self.world).types

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # Expressions.

    def attribute(self, scope: dict[str, str], name: str) -> Expr:
        """An attribute, now and then by its shortest spelling that means it."""
        if self.chance(0.3):
            pieces = name.split(".")
            for i in range(len(pieces) - 1, 0, -1):
                short = ".".join(pieces[i:])
                if short not in scope and [n for n in scope if n.endswith("." + short)] == [name]:
                    return ("attr", name, short)
        return ("attr", name)

    def operand(self, scope: dict[str, str], lasts: dict[str, str], kinds: tuple[str, ...]) -> Expr | None:
        names: list[tuple[str, str]] = [("attr", n) for n, t in scope.items() if t in kinds]
        names += [("last", n) for n, t in lasts.items() if t in kinds] * 2
        if not names:
            return None
        op, n = self.rng.choice(names)
        return self.attribute(scope, n) if op == "attr" else (op, n)

    def constant(self, kind: str) -> Expr:
        r = self.rng
        return (
            "const",
            {"int": r.randint(-1, 3), "float": r.choice([0.0, 0.5, 1.0, 2.5]), "str": r.choice("abc")}[kind],
        )

    def number(self, scope: dict, lasts: dict, depth: int = 1) -> Expr:
        x = self.operand(scope, lasts, ("int", "float"))
        if x is None or self.chance(0.15):
            return self.constant(self.rng.choice(["int", "int", "float"]))
        if depth and self.chance(0.35):
            return (self.rng.choice("++--*/%"), x, self.number(scope, lasts, depth - 1))
        return x

    def atom(self, scope: dict, lasts: dict) -> Expr:
        r = self.rng.random()
        relation = self.rng.choice(RELATIONS)
        if r < 0.12 or not scope:
            relation = relation if relation not in ("=", "<>") or self.chance(0.3) else "<="
            words = (UNITS[self.unit],) if self.chance(0.2) else ()
            return (relation, ("dur",), ("const", self.rng.randint(1, 8), *words))
        if r < 0.2:
            x = self.operand(scope, lasts, ("int", "float", "str"))
            return TRUE if x is None else (self.rng.choice(["isnull", "notnull", "notnull"]), x)
        text = self.operand(scope, lasts, ("str",))
        if r < 0.5 and text is not None:
            if self.chance(0.15):
                return ("in", text, tuple(self.rng.sample("abc", 2)))
            other = self.operand(scope, lasts, ("str",)) if self.chance(0.7) else None
            return (relation, text, self.constant("str") if other in (None, text) else other)
        depth = int(self.chance(0.4))
        a, b = self.number(scope, lasts, depth), self.number(scope, lasts, depth)
        for _ in range(5):  # two attributes let the events of a run depend on each other
            if a[0] == b[0] == "const" or a == b:
                a = self.number(scope, lasts, depth)
        return (relation, a, b)

    def condition(self, scope: dict, lasts: dict | None = None, depth: int = 2) -> Expr:
        lasts = lasts or {}
        r = self.rng.random()
        if depth == 0 or r < 0.55:
            return self.atom(scope, lasts)
        if r < 0.6:
            return TRUE
        a, b = self.condition(scope, lasts, depth - 1), self.condition(scope, lasts, depth - 1)
        return ("not", a) if r < 0.68 else (("and" if r < 0.85 else "or"), a, b)

    # Streams.

    def leaf(self) -> Any:
        r = self.rng.random()
        if self.pool and r < 0.25:
            return self.rng.choice(self.pool)
        if r < 0.4:
            return Base(self.rng.choice(self.kinds))
        made = Copy(self.fresh("S"), Base(self.rng.choice(self.kinds)))
        self.pool.append(made)
        return made

    def unary(self, n: Any) -> Any:
        types = self.types(n)
        r = self.rng.random()
        if r < 0.4 or not types:
            return Select(self.condition(types), n)
        if r < 0.55:
            return Project(
                tuple(self.rng.sample(list(types), self.rng.randint(0 if self.chance(0.1) else 1, len(types)))), n
            )
        if r < 0.75:
            olds = self.rng.sample(list(types), self.rng.randint(1, min(2, len(types))))
            spare = [
                n
                for n in ["p", "q", "r", *self.columns, *(o for o in olds if "." not in o)]
                if n not in types or n in olds
            ]
            news = self.rng.sample(list(dict.fromkeys(spare)), len(olds))
            return Rename(tuple(zip(olds, news, strict=True)), n)
        return Add(self.items(types, {}), n)

    def items(self, scope: dict, lasts: dict, prefer: tuple[str, ...] = ()) -> tuple[tuple[str, Expr], ...]:
        names = ["m", "n", *prefer, *prefer, *(n for n in scope if "." not in n)]
        chosen = list(dict.fromkeys(self.rng.choice(names) for _ in range(self.rng.choice([1, 1, 2]))))
        return tuple((n, self.item(scope, lasts, scope.get(n, lasts.get(n)))) for n in chosen)

    def item(self, scope: dict, lasts: dict, kind: str | None) -> Expr:
        if kind == "str" or (kind is None and self.chance(0.1)):
            return self.operand(scope, lasts, ("str",)) or self.constant("str")
        for _ in range(20):
            x = self.number(scope, lasts, 2)
            if x[0] == "const" and kind == "int" and isinstance(x[1], float):
                continue
            if kind != "int" or "/" not in show(x):
                return x
        return ("const", 1)

    def copy(self, n: Any) -> Any:
        made = Copy(self.fresh("E"), n)
        self.pool.append(made)
        if self.chance(0.2):
            made = Copy(self.fresh("G"), made)
            self.pool.append(made)
        return made

    def right(self, depth: int) -> Any:
        if self.chance(0.7):
            n = self.leaf()
            while self.chance(0.3):
                n = self.unary(n)
            return n
        return self.stream(depth)

    def like(self, depth: int) -> Union:
        """A union of two streams that were made alike."""
        a, b = self.stream(depth), self.stream(depth)
        if self.chance(0.4):
            if self.chance(0.5):
                k, j = self.rng.choice(self.kinds), self.rng.choice(self.kinds)
                a, b = Base(k), Base(j)
                if self.chance(0.5):
                    a = Select(self.condition(self.columns), a)
                if self.chance(0.5):
                    b = Select(self.condition(self.columns), b)
                return Union(a, b)
            x, y = self.leaf(), self.leaf()
            if set(self.types(x)) != set(self.types(y)):
                both = {**self.types(x), **self.types(y)}
                make = [
                    Then(self.condition(both), x, y),
                    Then(self.condition(both), y, x),
                    Iterate((), self.condition(both), x, y),
                ]
                return Union(*self.rng.sample(make, 2))
        ta, tb = self.types(a), self.types(b)
        pairs = [(n, m) for n in ta for m in tb if ta[n] == tb[m] or {ta[n], tb[m]} == {"int", "float"}]
        self.rng.shuffle(pairs)
        chosen: list[tuple[str, str]] = []
        for n, m in pairs:
            if len(chosen) < 3 and all(n != i and m != j for i, j in chosen):
                chosen.append((n, m))
        if not chosen:
            return Union(Select(self.condition(ta), a), Select(self.condition(ta), a))
        new = self.rng.sample("pqr", len(chosen))
        la = [(n, u) for (n, _), u in zip(chosen, new, strict=True)]
        lb = [(m, u) for (_, m), u in zip(chosen, new, strict=True)]
        self.rng.shuffle(lb)
        return Union(
            Rename(tuple(la), Project(tuple(n for n, _ in la), a)),
            Rename(tuple(lb), Project(tuple(m for m, _ in lb), b)),
        )

    def iteration(self, left: Any, right: Any) -> Any:
        ta, tb = self.types(left), self.types(right)
        counters: tuple[str, ...] = ()
        if self.chance(0.35):  # an aggregate: an initialiser and an accumulator
            name = self.rng.choice(["m", "n"])
            if ta.get(name, "int") != "str" and tb.get(name, "int") != "str":
                start = self.rng.choice([("const", 1), ("const", 0.0), self.number(ta, {}, 1)])
                left = Add(((name, start),), left)
                ta = self.types(left)
                counters = (name,)
        both = {**ta, **tb}
        steps: list[Any] = []
        probe = Iterate((Add(tuple((c, ("const", 1)) for c in counters), None),), TRUE, left, right)
        begin, _ = beginnings(probe, evaluate(left, self.world), evaluate(right, self.world))
        lasts = {n: ta[a] for n, a in begin.items() if n in tb or n in counters or self.chance(0.03)}
        lasts = {n: t for n, t in lasts.items() if (n not in tb or t == tb[n])}
        theta = self.condition(both, lasts) if self.chance(0.75) else TRUE
        scope = dict(both)
        for _ in range(self.rng.choice([0, 1, 1, 1, 2, 2, 3])):
            r = self.rng.random()
            if r < 0.5 and not (counters and self.chance(0.5)):
                steps.append(Select(self.condition(scope, lasts), None))
            elif r < 0.93 or not tb:
                steps.append(Add(self.items(scope, lasts, counters), None))
                scope |= {n: "float" for n, _ in steps[-1].items if n not in scope}
                scope = self.after(steps, left, right) or scope
            else:
                old = self.rng.choice(list(tb))
                if old in scope:
                    steps.append(Rename(((old, self.rng.choice(["p", "q"])),), None))
                    scope = self.after(steps, left, right) or scope
        return Iterate(tuple(steps), theta, left, right)

    def after(self, steps: list[Any], left: Any, right: Any) -> dict[str, str] | None:
        try:
            return self.types(Iterate(tuple(steps), TRUE, left, right))
        except (NotAllowedError, KeyError):
            return None

    def stream(self, depth: int) -> Any:
        for _ in range(100):
            try:
                n = self.attempt(depth)
                self.types(n)
            except (NotAllowedError, KeyError):
                continue
            return n
        return self.leaf()

    def attempt(self, depth: int) -> Any:
        if depth <= 0:
            n = self.leaf()
            return self.unary(n) if self.chance(0.4) else n
        r = self.rng.random()
        if r < 0.34:
            left, right = self.stream(depth - 1), self.right(depth - 1)
            both = {**self.types(left), **self.types(right)}
            return Then(self.condition(both) if self.chance(0.75) else TRUE, left, right)
        if r < 0.64:
            return self.iteration(self.stream(depth - 1), self.right(depth - 1))
        if r < 0.82:
            return self.unary(self.stream(depth - (not self.chance(0.5))))
        if r < 0.9:
            return self.like(depth - 1)
        return self.copy(self.stream(depth - 1))


# Streams of events.


def rows(
    rng: Random, columns: dict[str, str], kinds: list[str], durations: bool, most: int = 14, fine: bool = False
) -> list[dict[str, Any]]:
    nulls = rng.choice([0, 0.1, 0.3])
    nans = rng.choice([0, 0, 0.1])
    last = rng.choice([3, 5, 8, 8])
    out: list[dict[str, Any]] = []
    for _ in range(rng.randint(0, most) if rng.random() < 0.3 else rng.randint(5, most)):
        if out and rng.random() < 0.1:
            out.append(dict(rng.choice(out)))
            continue
        end = rng.randint(0, last)
        row: dict[str, Any] = {
            "end": end,
            "start": end - (rng.choice([0, 0, 1, 2, 3]) if durations else 0),
            "kind": rng.choice(kinds),
        }
        for c, t in columns.items():
            v = {
                "int": rng.randint(0, 3),
                "float": rng.choice([0.0, 0.5, 1.0, 2.5, NAN if rng.random() < nans else 1.0]),
                "str": rng.choice("abc"),
            }[t]
            row[c] = None if rng.random() < nulls else v
        if fine:
            row["end"] /= 2
            row["start"] /= 2
        out.append(row)
    return out


def scenario(seed: int) -> tuple[Any, str, World]:
    """A tree, its text and a world."""
    rng = Random(seed)
    columns = {"x": "int", "y": "float", "s": "str"}
    for c in list(columns):
        if len(columns) > 1 and rng.random() < 0.25:
            del columns[c]
    typed = rng.random() < 0.7
    kinds = rng.choice([["A"], ["A", "B"], ["A", "B"], ["A", "B", "C"]]) if typed else ["A"]
    durations = rng.random() < 0.65
    if rng.random() < 0.1:  # roles that are not given are attributes like others
        if not typed:
            columns["type"] = "str"
        if not durations:
            columns["began"] = "int"
    unit = rng.choice(["ms", "ms", "s", "min"])
    fine = rng.random() < 0.1
    for attempt in range(8):  # an empty result finds few faults
        tree = Generator(rng, columns, kinds, unit).stream(rng.choice([1, 2, 2, 2, 3]))
        for _ in range(3):
            others = ["Z"] if typed and rng.random() < 0.3 else []
            events = rows(rng, columns, [*kinds, *others], durations, fine=fine)
            world = World(columns, events, typed, durations, unit, fine)
            if evaluate(tree, world).events or (attempt == 0 and rng.random() < 0.05):
                return tree, Printer(rng).text(tree), world
    return tree, Printer(rng).text(tree), world
