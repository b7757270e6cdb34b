"""Binding of a CESAR expression: its attributes are found, and have types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cepheid.errors import BindError, Span, did_you_mean
from cepheid.front.analysed import Analysed, Functions
from cepheid.front.cesar import bound as b
from cepheid.front.cesar.result import bound_algebra, result_columns
from cepheid.front.runnable import BoundQuery, Runnable, derive
from cepheid.pattern.algebra.attributes import END, START, Attributes, last_of
from cepheid.pattern.algebra.flow import HIDDEN_START, MERGED_TYPE, RAW
from cepheid.pattern.algebra.tree import (
    Add,
    Apply,
    Iterate,
    Operator,
    Prefix,
    Project,
    Rename,
    Select,
    SourceTerm,
    Term,
    Then,
    Union,
    algebra_of,
)
from cepheid.pattern.binding.placement import place
from cepheid.pattern.binding.schema import START as START_COLUMN
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.common_types import common_type, comparable, converted, shown
from cepheid.pattern.expressions.declared import declared_type, how_to_declare
from cepheid.pattern.expressions.types import INT, Kind, Type, from_arrow
from cepheid.pattern.tree.walk import substitute, walk

Origins = Mapping[str, tuple[str | None, str]]
"""The stream and the column that an attribute has come from; not of those that were computed."""
_TIMES: Mapping[str, Type] = {START: INT, END: INT}


@dataclass(frozen=True)
class _Typed:
    term: b.BoundTerm
    origins: Origins

    @property
    def types(self) -> Mapping[str, Type]:
        return self.term.types


def bind_cesar(analysed: Analysed, schema: Schema, functions: Functions) -> Runnable:
    """Check an expression against a schema."""
    query, algebra = analysed.query, algebra_of(analysed.query)
    typer = Typer(schema, analysed.components, functions, {})
    term, origins = bind_term(algebra.term, schema, typer)
    names = result_columns(term.types, query.into, schema.roles, algebra.term.span)
    return derive(
        BoundQuery(
            body=bound_algebra(term, names, _key_columns(schema), schema.copies, origins),
            schema=schema,
            pattern=query.pattern,
            components=analysed.components,
            layout=analysed.layout,
            strategies=analysed.strategies,
            placement=place((), analysed.layout, analysed.components),
            into=query.into,
            output=query.output,
            ties=query.ties,
            functions=functions,
            typer=typer,
            reads=tuple(schema.columns),
        )
    )


def _key_columns(schema: Schema) -> tuple[str, ...]:
    """The columns that may split a stream."""
    roles = schema.roles
    others = (roles.time, roles.type, schema.start, roles.start)
    return tuple(n for n, t in schema.columns.items() if n not in others and t.kind not in (Kind.OPAQUE, Kind.NULL))


def bind_term(term: Term, schema: Schema, typer: Typer) -> tuple[b.BoundTerm, Origins]:
    """Check an expression against the columns of its streams; also where its attributes come from."""
    typed = _Binder(schema, typer).term(term)
    return typed.term, typed.origins


class _Binder:
    def __init__(self, schema: Schema, typer: Typer) -> None:
        self.schema = schema
        self.typer = typer

    def term(self, term: Term) -> _Typed:
        match term:
            case SourceTerm():
                return self.source(term)
            case Prefix(name=name, of=of):
                return self.prefixed(self.term(of), name)
            case Apply(operator=operator, of=of):
                return self.apply(operator, self.term(of))
            case Union():
                return self.union(self.term(term.left), self.term(term.right), term.span)
            case Then():
                return self.then(term, self.term(term.left), self.term(term.right))
            case Iterate():
                return self.iterate(term, self.term(term.left), self.term(term.right))
        raise TypeError(f"no stream: {term!r}")

    def source(self, term: SourceTerm) -> _Typed:
        """The events of a type have all columns, but for their times and their type, or those that are declared."""
        schema, roles = self.schema, self.schema.roles
        available = schema.streams.get(term.stream or "", tuple(schema.columns))
        hidden = f"{term.stream}."
        declared = (roles.types or {}).get(term.name) if term.stream is None else None
        columns = {}
        times = (schema.start, *self.starts) if term.stream is None else (START_COLUMN, HIDDEN_START)
        for name in available:
            if name in (roles.time, roles.type, *times):
                continue
            if declared is None or name in declared:
                columns[name.removeprefix(hidden) if term.stream else name] = name
        if roles.types is not None and term.stream is None and term.name not in roles.types:
            remedy = did_you_mean(term.name, list(roles.types), "types")
            raise BindError("CEP302", f"unknown type '{term.name}'", remedy, term.span)
        types = {name: schema.columns[column] for name, column in columns.items()}
        kind = term.name if term.stream is not None or roles.type is not None else None
        if term.stream is None and roles.type == MERGED_TYPE:
            kind = RAW
        origins = {name: schema.origins.get(column, (term.stream, column)) for name, column in columns.items()}
        return _Typed(b.Base(types, term.stream, kind, columns), origins)

    @property
    def starts(self) -> tuple[str, ...]:
        """The start column of the input, where several streams are merged that have another one."""
        return (self.schema.roles.start,) if self.schema.roles.start is not None else ()

    # Operators.

    def apply(self, operator: Operator, of: _Typed) -> _Typed:
        """σ, π, ρ, α."""
        attributes = Attributes(of.types, self.schema)
        if isinstance(operator, Select):
            condition = self.condition(operator.condition, attributes, of.types)
            return _Typed(b.Selected(of.types, of.term, condition), of.origins)
        values, types, origins = self.made(operator, attributes, of.types, of.origins)
        return _Typed(b.Reshaped(types, of.term, values), origins)

    def made(
        self, operator: Operator, attributes: Attributes, types: Mapping[str, Type], origins: Origins
    ) -> tuple[b.Values, Mapping[str, Type], Origins]:
        """What π, ρ or α makes of the attributes that there are."""
        kept: dict[str, ex.Expression] = {name: ex.RegisterField(name, types[name]) for name in attributes.names}
        match operator:
            case Project(attributes=wanted):
                names = list(dict.fromkeys(attributes.name(node) for node in wanted))
                return (
                    {name: kept[name] for name in names},
                    {name: types[name] for name in names},
                    {name: origins[name] for name in names if name in origins},
                )
            case Rename():
                new = self.new_names(operator, attributes)
                return (
                    {new.get(name, name): value for name, value in kept.items()},
                    {new.get(name, name): types[name] for name in kept},
                    {new.get(name, name): origin for name, origin in origins.items()},
                )
            case Add(items=items):
                types_made = {}
                for item in items:
                    if item.name in types_made:
                        remedy = "give each attribute once"
                        raise BindError("CEP320", f"ADD gives '{item.name}' twice", remedy, item.span)
                    types_made[item.name] = self.value(item.value, attributes, types)
                return (
                    {**kept, **{name: value for name, (value, _) in types_made.items()}},
                    {**{n: types[n] for n in kept}, **{name: type_ for name, (_, type_) in types_made.items()}},
                    {name: origin for name, origin in origins.items() if name not in types_made},
                )
        raise TypeError(f"no operator: {operator!r}")

    def new_names(self, operator: Rename, attributes: Attributes) -> dict[str, str]:
        """ρ is injective: two attributes never get one name."""
        new: dict[str, str] = {}
        for change in operator.changes:
            old = attributes.name(change.old)
            if old in new:
                raise BindError("CEP320", f"RENAME names '{old}' twice", "rename it once", change.span)
            new[old] = change.new
        after = [new.get(name, name) for name in attributes.names]
        for change in operator.changes:
            if after.count(change.new) > 1:
                message = f"RENAME gives two attributes the name '{change.new}'"
                remedy = "choose a name that no other attribute has, or leave the other one out with PROJECT first"
                raise BindError("CEP320", message, remedy, change.span)
        return new

    def prefixed(self, of: _Typed, name: str) -> _Typed:
        """Every attribute with a name before its own."""
        new = {old: f"{name}.{old}" for old in of.types}
        values = {new[old]: ex.RegisterField(old, type_) for old, type_ in of.types.items()}
        types = {new[old]: type_ for old, type_ in of.types.items()}
        return _Typed(b.Reshaped(types, of.term, values), {new[old]: origin for old, origin in of.origins.items()})

    def union(self, left: _Typed, right: _Typed, span: Span | None) -> _Typed:
        """Equal names, and types that have one in common."""
        if set(left.types) != set(right.types):
            only = [name for name in left.types if name not in right.types]
            others = [name for name in right.types if name not in left.types]
            differences = " and ".join(
                f"only the {side} one has {', '.join(names)}"
                for side, names in (("left", only), ("right", others))
                if names
            )
            remedy = "give both the same attributes with PROJECT, RENAME and ADD"
            raise BindError("CEP321", f"UNION of streams with unlike attributes: {differences}", remedy, span)
        types = {}
        for name, type_ in left.types.items():
            if not comparable(type_, right.types[name]) and type_ != right.types[name]:
                message = f"UNION: '{name}' is {shown(type_)} on the left, {shown(right.types[name])} on the right"
                raise BindError("CEP321", message, "make them alike: ADD[x := CAST(x AS …)]", span)
            types[name] = type_ if type_ == right.types[name] else common_type(type_, right.types[name])
        origins = {name: origin for name, origin in left.origins.items() if right.origins.get(name) == origin}
        return _Typed(b.United(types, self.fitted(left, types), self.fitted(right, types)), origins)

    def fitted(self, of: _Typed, types: Mapping[str, Type]) -> b.BoundTerm:
        """A stream with its attributes in the order and of the types of another one."""
        if list(of.types.items()) == list(types.items()):
            return of.term
        values = {n: converted(ex.RegisterField(n, of.types[n]), of.types[n], type_) for n, type_ in types.items()}
        return b.Reshaped(types, of.term, values)

    # Sequences.

    def then(self, term: Then, left: _Typed, right: _Typed) -> _Typed:
        """Attributes of both; those of the second win."""
        types = {**left.types, **right.types}
        condition = self.condition(term.condition, Attributes(types, self.schema), types)
        origins = {**{n: o for n, o in left.origins.items() if n not in right.types}, **right.origins}
        return _Typed(b.Sequence(types, left.term, right.term, condition), origins)

    def iterate(self, term: Iterate, left: _Typed, right: _Typed) -> _Typed:
        """The types of what a step hands on are found by trying: an average of integers becomes a float."""
        known: dict[str, Type] = {}
        # Each time, one more attribute may turn out to be wider.
        for _ in range(len(left.types) + len(right.types) + 2):
            bound, origins = self.stepped(term, left, right, known)
            wider = {n: self.wider(n, t, bound.types[bound.handed[n]], term.span) for n, t in bound.held.items()}
            if wider == bound.held:
                return _Typed(self.widened(bound, {bound.handed[n]: type_ for n, type_ in wider.items()}), origins)
            known |= wider
        raise BindError("CEP305", "the types of ADD differ from step to step", "write a CAST", term.span)

    def widened(self, term: b.Iteration, types: Mapping[str, Type]) -> b.Iteration:
        """The same with results of the types that the next step expects."""
        if all(term.types[name] == type_ for name, type_ in types.items()):
            return term
        new = {**term.types, **types}
        values = {n: converted(ex.RegisterField(n, old), old, new[n]) for n, old in term.types.items()}
        return replace(term, types=new, steps=(*term.steps, b.Make(values)))

    def wider(self, name: str, before: Type, after: Type, span: Span | None) -> Type:
        """The type of an attribute that a step reads of the step before."""
        if before == after:
            return before
        if not comparable(before, after):
            message = f"'{name}' is {shown(before)} before the first step, and {shown(after)} after it"
            raise BindError("CEP305", message, "give it one type with CAST", span)
        return common_type(before, after)

    def stepped(
        self, term: Iterate, left: _Typed, right: _Typed, wider: Mapping[str, Type]
    ) -> tuple[b.Iteration, Origins]:
        """One step: concatenate, θ, F from inner to outer, drop `.last` (S21).

        wider: the types of what is handed on, where these are known to be wider than those of the first stream.
        """
        carried = [name for name in left.types if name not in right.types]
        together = {**left.types, **{name: wider[name] for name in carried if name in wider}, **right.types}
        origins: Origins = {**{n: o for n, o in left.origins.items() if n not in right.types}, **right.origins}
        made = self.names_after(term, together)
        lasts = self.first_lasts(left, [*together, *made], origins)
        begun = {name: value for name, value in lasts.items() if value is not None}
        # An attribute that only F gives has no type before the first step, and then no `.last` either.
        of_last = {n: wider.get(n) or left.types.get(n) or together.get(n, left.types[o]) for n, o in begun.items()}
        kinds = {**_TIMES, **{last_of(n): type_ for n, type_ in of_last.items()}}
        unbegun = [name for name, value in lasts.items() if value is None]

        def scope(names: Mapping[str, Type]) -> Attributes:
            return Attributes(names, self.schema, list(begun), unbegun)

        condition = self.condition(term.condition, scope(together), {**together, **kinds})
        steps: list[b.Keep | b.Make] = []
        attributes, known = dict(together), origins
        for operator in term.steps:
            if isinstance(operator, Project):
                remedy = "ITERATE takes SELECT, RENAME and ADD; project its result"
                raise BindError("CEP322", "PROJECT can't be a step of ITERATE", remedy, operator.span)
            if isinstance(operator, Select):
                steps.append(b.Keep(self.condition(operator.condition, scope(attributes), {**attributes, **kinds})))
                continue
            values, types, known = self.made(operator, scope(attributes), {**attributes, **kinds}, known)
            steps.append(b.Make(values))
            attributes = dict(types)
        lost = next((name for name in carried if name not in attributes), None)
        if lost is not None:
            message = f"a step of ITERATE renames '{lost}', which the next step needs"
            raise BindError("CEP322", message, "rename attributes of the second stream only", term.span)
        bound = b.Iteration(attributes, left.term, right.term, condition, tuple(steps), tuple(carried))
        read = {part.name for e in b.own_expressions(bound) for part in walk(e) if isinstance(part, ex.RegisterField)}
        held = dict.fromkeys([*carried, *(name for name in begun if last_of(name) in read)])
        begins = {
            n: converted(ex.RegisterField(begun[n], left.types[begun[n]]), left.types[begun[n]], of_last[n])
            for n in held
        }
        after = dict(zip(together, made, strict=False))  # ρ keeps the places, and α adds to the end
        handed = {name: name if name in attributes else after[name] for name in held}
        return replace(bound, begins=begins, held={n: of_last[n] for n in held}, handed=handed), known

    def names_after(self, term: Iterate, types: Mapping[str, Type]) -> list[str]:
        """The attributes that there are after a step, each in the place that it had before it was renamed."""
        names = dict(types)
        for operator in term.steps:
            if isinstance(operator, Add):
                names |= {item.name: INT for item in operator.items if item.name not in names}
            elif isinstance(operator, Rename):
                new = self.new_names(operator, Attributes(names, self.schema))
                names = {new.get(name, name): type_ for name, type_ in names.items()}
        return list(names)

    def first_lasts(self, left: _Typed, names: list[str], origins: Origins) -> dict[str, str | None]:
        """Which attribute of the first stream `x.last` is at the first step: its x, else one of the same column."""
        lasts: dict[str, str | None] = {}
        for name in dict.fromkeys(names):
            same = [n for n, origin in left.origins.items() if origin == origins.get(name)]
            lasts[name] = name if name in left.types else same[-1] if same else None
        return lasts

    # Expressions.

    def condition(self, node: ex.Expression, attributes: Attributes, types: Mapping[str, Type]) -> ex.Expression:
        typer = replace(self.typer, registers={**_TIMES, **types})
        return _typed(typer.condition(attributes.resolved(node)), typer.registers)

    def value(
        self, node: ex.Expression, attributes: Attributes, types: Mapping[str, Type]
    ) -> tuple[ex.Expression, Type]:
        typer = replace(self.typer, registers={**_TIMES, **types})
        checked, type_ = typer.check(attributes.resolved(node))
        checked = _typed(checked, typer.registers)
        if type_.kind is not Kind.ANY:
            return checked, type_
        name, declared = declared_type(checked, typer.functions)
        if declared is None:
            remedy = f"{how_to_declare(name, typer.functions)}; or write CAST(… AS double)"
            raise BindError("CEP305", "the type of this value is not known before it runs", remedy, node.span)
        return checked, from_arrow(declared)


def _typed(node: ex.Expression, types: Mapping[str, Type]) -> ex.Expression:
    """An expression that is read apart from the stream that it was checked for."""

    def change(part: ex.Expression) -> ex.Expression | None:
        return replace(part, type=types[part.name]) if isinstance(part, ex.RegisterField) else None

    return substitute(node, change)
