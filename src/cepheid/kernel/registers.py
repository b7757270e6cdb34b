"""Registers as source text: the fields of each, how it is read, and how an arc updates it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepheid.automaton.model import Holds, NotNative, Now, Register, Update
from cepheid.kernel.expressions import Code, Emitter, real
from cepheid.pattern.types import Type
from cepheid.pattern.walk import walk

DTYPES = {"i": "int64", "t": "int64", "s": "int64", "f": "float64", "b": "uint8"}
Get = Callable[[str], str]
"""The text of a field, by its suffix."""


@dataclass(frozen=True)
class Layout:
    """How one register is kept: `fields` are suffixes and dtypes."""

    register: Register
    name: str
    kind: str
    argument: Code | None
    nullable: bool

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """What is stored."""
        function, value = self.register.function, ("", DTYPES[self.kind])
        if self.register.holds is not Holds.FOLD:
            return (value, ("_z", "uint8")) if self.nullable else (value,)
        if function == "count":
            return (("_n", "int64"),)
        if function == "stddev":
            return (("_n", "int64"), ("", "float64"), ("_s", "float64"))
        if function == "avg":
            return (("", "float64"), ("_n", "int64"))
        return (value, ("_n", "int64")) if self.nullable else (value,)

    def read(self, get: Get) -> Code:
        """Its value."""
        function = self.register.function
        if self.register.holds is not Holds.FOLD:
            return Code(get(""), self.kind, f"{get('_z')} != 0" if self.nullable else "")
        if function == "count":
            return Code(get("_n"), "i")
        if function == "stddev":
            return Code(f"sqrt({get('_s')} / ({get('_n')} - 1))", "f", f"{get('_n')} < 2")
        if function == "avg":
            return Code(f"({get('')} / {get('_n')})", "f", f"{get('_n')} == 0" if self.nullable else "")
        return Code(get(""), self.kind, f"{get('_n')} == 0" if self.nullable else "")

    def update(self, update: Update, get: Get, new: str, witness: str) -> list[str]:
        """Statements that set the fields `new…` from the event at hand and from the old ones."""
        register = self.register
        if update is Update.KEEP:
            return [f"{new}{suffix} = {get(suffix)}" for suffix, _ in self.fields]
        if register.holds is Holds.START:
            return [f"{new} = t"]
        if register.holds is Holds.WITNESS:
            return [f"{new} = {witness}"]
        if register.holds is Holds.LENGTH:
            return [f"{new} = {get('')} + 1" if update is Update.STEP else f"{new} = ONE"]
        if register.holds is Holds.FOLD:
            return self.fold(get if update is Update.STEP else None, new)
        assert self.argument is not None
        lines = [f"{new} = {self.argument.text}"]
        return [*lines, f"{new}_z = U1({self.argument.null})"] if self.nullable else lines

    def fold(self, get: Get | None, new: str) -> list[str]:
        """One more event into an aggregate, or the first."""
        assert self.argument is not None
        x, null = self.argument, self.argument.null
        zero = {"float64": "ZERO_F", "int64": "ZERO", "uint8": "U1(0)"}
        old = {suffix: get(suffix) if get is not None else zero[dtype] for suffix, dtype in self.fields}
        lines = self.step(x, old, new, first=get is None)
        if not null:
            return lines
        kept = [f"    {new}{suffix} = {old[suffix]}" for suffix, _ in self.fields]
        return [f"if {null}:", *kept, "else:", *("    " + line for line in lines)]

    def step(self, x: Code, old: dict[str, str], new: str, *, first: bool) -> list[str]:
        """The aggregate with a value that is not NULL. Over NULLs so far, it is the first one."""
        function = self.register.function
        if function == "count":
            return [f"{new}_n = {old['_n']} + 1"]
        if function == "avg":
            return [f"{new} = {old['']} + {real(x)}", f"{new}_n = {old['_n']} + 1"]
        if function == "stddev":
            return [
                f"{new}_n = {old['_n']} + 1",
                f"delta = {real(x)} - {old['']}",
                f"{new} = {old['']} + delta / {new}_n",
                f"{new}_s = {old['_s']} + delta * ({real(x)} - {new})",
            ]
        count = [f"{new}_n = ONE"] if self.nullable else []  # only whether there is a value: so more runs are alike
        begins = f"{old['_n']} == 0" if self.nullable else ""
        if first or function == "last":
            return [f"{new} = {x.text}", *count]
        v = old[""]
        match function, self.kind:
            case "sum", "f":
                text = f"{v} + {real(x)}"
            case "sum", _:
                text = f"wrap({v} + {x.text})"
            case "first", _:
                text = v
            case "min", kind:
                better = f"less({x.text}, {v})" if kind == "f" else f"{x.text} < {v}"
                text = f"{x.text} if {better} else {v}"
            case "max", kind:
                better = f"less({v}, {x.text})" if kind == "f" else f"{v} < {x.text}"
                text = f"{x.text} if {better} else {v}"
            case _:
                raise NotNative(f"the aggregate {function}")
        return [f"{new} = {x.text} if {begins} else ({text})" if begins else f"{new} = {text}", *count]


def layout(register: Register, type_: Type, emitter: Emitter, name: str) -> Layout:
    """How a register is kept, given which columns have NULLs."""
    if register.holds in (Holds.LENGTH, Holds.START, Holds.WITNESS):
        return Layout(register, name, "i", None, nullable=False)
    if register.holds is not Holds.FOLD:
        argument = emitter.value(Now(register.column, type_))
        return Layout(register, name, argument.kind, argument, nullable=bool(argument.null))
    assert register.argument is not None
    argument = emitter.value(register.argument)
    if register.function not in ("count", "first", "last") and argument.kind not in "ift":
        raise NotNative(f"{register.function} of strings")
    if argument.kind == "t" and register.function not in ("min", "max", "first", "last", "count"):
        raise NotNative(f"{register.function} of times")
    if any(not isinstance(n, Now) for n in walk(register.argument)) and argument.kind == "s":
        raise NotNative("an aggregate of computed strings")
    kind = {"avg": "f", "stddev": "f", "count": "i"}.get(register.function, argument.kind)
    return Layout(register, name, kind, argument, nullable=bool(argument.null))
