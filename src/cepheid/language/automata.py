"""From parse tree to an automaton of the user's own: its register and its arcs (S18)."""

from __future__ import annotations

from lark import Token, v_args
from lark.tree import Meta

from cepheid.errors import ParseError
from cepheid.front.automata.registers import read_slot_type
from cepheid.language.expressions import ExpressionBuilder, Parts
from cepheid.language.lexis import name_of
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import NULL
from cepheid.pattern.tree.nodes import ArcClause, Assignment, Fires, RegisterSlot


@v_args(meta=True)
class AutomatonBuilder(ExpressionBuilder):
    """The part of the transformer that reads registers and arcs."""

    def state(self, meta: Meta, parts: list[Token]) -> str:
        return name_of(parts[0])

    def register(self, meta: Meta, parts: list[RegisterSlot]) -> list[RegisterSlot]:
        return parts

    def slot(self, meta: Meta, parts: Parts) -> RegisterSlot:
        name, type_, initial = parts
        return RegisterSlot(name_of(name), type_, initial or ex.Literal(None, NULL), span=self.span(meta))

    def slot_type(self, meta: Meta, parts: list[Token | None]) -> str:
        name, *sizes = (str(part) for part in parts if part is not None)
        text = f"{name}({','.join(sizes)})" if sizes else name
        try:
            return read_slot_type(text)
        except ValueError as reason:
            raise ParseError("CEP113", f"unknown type '{text}'", str(reason), self.span(meta)) from None

    def label(self, meta: Meta, parts: list[Token]) -> str:
        return name_of(parts[0])

    def on_types(self, meta: Meta, parts: list[str]) -> dict[str, tuple[str, ...]]:
        return {"types": tuple(parts)}

    def on_all(self, meta: Meta, _: Parts) -> dict[str, Fires]:
        return {"fires": Fires.INSTANT}

    def at_end(self, meta: Meta, _: Parts) -> dict[str, Fires]:
        return {"fires": Fires.END}

    def when(self, meta: Meta, parts: list[ex.Expression]) -> ex.Expression:
        return parts[0]

    def set(self, meta: Meta, parts: list[Assignment]) -> tuple[Assignment, ...]:
        return tuple(parts)

    def assign(self, meta: Meta, parts: Parts) -> Assignment:
        return Assignment(name_of(parts[0]), parts[1], span=self.span(meta))

    def arc(self, meta: Meta, parts: Parts) -> ArcClause:
        name, source, target, trigger, condition, assigns = parts
        return ArcClause(
            source,
            target,
            name=name,
            condition=condition,
            assigns=assigns or (),
            span=self.span(meta),
            **(trigger or {}),
        )

    def epsilon(self, meta: Meta, parts: Parts) -> ArcClause:
        name, source, target, condition, assigns = parts
        return ArcClause(source, target, Fires.NOTHING, name, (), condition, assigns or (), span=self.span(meta))

    def ignore(self, meta: Meta, parts: Parts) -> ArcClause:
        name, state, trigger, condition = parts
        if trigger is not None and "types" not in trigger:
            remedy = "leave it out: IGNORE is a loop on events"
            raise ParseError("CEP101", "IGNORE can't be ON ALL or AT END", remedy, self.span(meta))
        types = (trigger or {}).get("types", ())
        return ArcClause(state, state, Fires.EVENT, name, types, condition, ignores=True, span=self.span(meta))
