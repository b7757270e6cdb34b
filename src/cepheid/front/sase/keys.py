"""Keys: what PARTITION BY and `[attr]` name, a column or a field of a struct in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cepheid.errors import BindError, Span
from cepheid.front.analysed import Analysed
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.paths import Path, StructField, part_name, read_path, resolve_path, spell
from cepheid.pattern.expressions.types import Kind, Type, is_unknown
from cepheid.pattern.tree.walk import walk


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys by name. `parts`: which of the names stand for fields, and for which."""

    partition_by: tuple[str, ...]
    same: tuple[ex.SameValue, ...]
    parts: Mapping[str, StructField]


def bind_keys(analysed: Analysed, typer: Typer) -> Keys:
    """Check the keys of a query against the schema."""
    parts: dict[str, StructField] = {}

    def name_of(path: Path, type_: Type) -> str:
        name = part_name(path, typer.schema.columns)
        if len(path) > 1:
            parts[name] = StructField(path, type_)
        return name

    partition_by = []
    for column in analysed.query.partition_by:
        path, type_ = _key(typer, column.path, column.span)
        if type_.kind is Kind.OPAQUE:
            remedy = "partition by a column of simple values, such as strings or integers"
            if is_unknown(type_):
                remedy = "cast the column to string or integer before"
            message = f"'{spell(column.path)}' is {type_}, which can't be compared for equality"
            raise BindError("CEP305", message, remedy, column.span)
        partition_by.append(name_of(path, type_))
    same = []
    for test in analysed.same:
        path, type_ = _key(typer, test.path, test.span)
        same.append(replace(_checked(typer, test), attribute=name_of(path, type_), fields=()))
    return Keys(tuple(partition_by), tuple(same), parts)


def _key(typer: Typer, written: Path, span: Span | None) -> tuple[Path, Type]:
    path = resolve_path(written, typer.schema.columns)
    checked, type_ = typer.check(read_path(path, "", span))
    if any(isinstance(node, ex.Element) for node in walk(checked)):
        remedy = f"compare it, a.{spell(path)} = b.{spell(path)}; a field of a struct can be a key"
        raise BindError("CEP305", f"'{spell(path)}' is a value of a map, which can't be a key", remedy, span)
    return path, type_


def _checked(typer: Typer, test: ex.SameValue) -> ex.SameValue:
    checked, _ = typer.check(test)
    assert isinstance(checked, ex.SameValue)
    if checked.value is not None and not isinstance(checked.value, ex.Literal):
        message = f"[{spell(test.path)} = …] needs a constant"
        raise BindError("CEP305", message, "write a literal or a parameter", test.span)
    return checked
