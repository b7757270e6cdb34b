"""An analysed query: names, parameters and strategies are resolved. No schema is needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from cepheid.errors import BindError, CepheidWarning, did_you_mean
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.paths import Path, resolve_path
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.layout import Layout
from cepheid.pattern.tree.nodes import QueryTree, Strategy
from cepheid.pattern.tree.walk import children, expressions, walk

Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True, slots=True)
class Analysed:
    """A query, checked without a schema. `same`: its `[attr]` tests; `conditions`: its other conjuncts.

    names: of a query that reads every column of its events: the columns that it names. None: it reads what it names.
    types_named: types that no component has.
    """

    query: QueryTree
    components: Mapping[str, Component]
    layout: Layout
    strategies: Mapping[str, Strategy]
    same: tuple[ex.SameValue, ...]
    conditions: tuple[ex.Expression, ...]
    roles: Roles
    types_seen: tuple[str, ...]  # those that FROM lists; none: all
    surprises: tuple[CepheidWarning, ...]  # allowed, but likely to surprise
    names: tuple[str, ...] | None = None
    types_named: tuple[str, ...] = ()

    @property
    def positive(self) -> tuple[Component, ...]:
        """The components that a match binds, in the order of the text."""
        return tuple(c for c in self.components.values() if not c.negated)


def check_types(named: Mapping[str, Component], roles: Roles) -> None:
    """Types that are named exist, and are one where events have no types."""
    names = dict.fromkeys(name for c in named.values() for name in c.types)
    if roles.type is None and len(names) > 1:
        raise BindError(
            "CEP302",
            f"type=None means that all events have one type, but the query names {', '.join(names)}",
            "use one type name for all components, or name the type column with type=",
            next(c.span for c in named.values() if c.types and (c.types[0] != next(iter(names)) or len(c.types) > 1)),
        )
    if roles.types is not None:
        for component in named.values():
            for name in component.types:
                if name not in roles.types:
                    remedy = did_you_mean(name, roles.types, "types")
                    raise BindError("CEP302", f"unknown type '{name}'", remedy, component.span)


def columns_read(analysed: Analysed, columns: Collection[str] = ()) -> tuple[str, ...]:
    """The columns that a query needs, each once. `columns`: those of the events, if they are known."""
    return tuple(dict.fromkeys(path[0] for path in paths_read(analysed, columns)))


def paths_read(analysed: Analysed, columns: Collection[str] = ()) -> tuple[Path, ...]:
    """The columns that a query needs, each with the fields of structs, or keys of maps, that lead to what is read."""
    query, roles = analysed.query, analysed.roles
    names = [roles.time, *([roles.type] if roles.type else []), *roles.order_by]
    names += [name for attributes in (roles.types or {}).values() for name in attributes]
    names += [roles.start] if roles.start else []
    if analysed.names is not None:
        return tuple((name,) for name in dict.fromkeys([*names, *(columns or analysed.names)]))
    keys = (resolve_path(column.path, columns) for column in query.partition_by)
    read = (path for e in expressions(query) for path in _paths(e, columns))
    return tuple(dict.fromkeys(chain(((name,) for name in names), keys, read)))


def _paths(node: ex.Expression, columns: Collection[str], after: Path = ()) -> Iterator[Path]:
    match node:
        case ex.Attribute(name=name):
            yield name, *after
        case ex.SameValue():
            yield resolve_path(node.path, columns)
        case ex.Field(operand=operand, name=name) | ex.Element(operand=operand, index=ex.Literal(value=str(name))):
            yield from _paths(operand, columns, (name, *after))
            return
    for child in children(node):
        yield from _paths(child, columns)


def reads_whole_events(query: QueryTree) -> bool:
    """Whether the matches need every column of the events: those of a query without RETURN are whole events."""
    nodes = (node for item in query.returns for node in walk(item.expression))
    return (
        not query.returns
        or any(isinstance(item.expression, ex.Rows) for item in query.returns)
        or any(isinstance(node, ex.MatchId) for node in nodes)
        or any(isinstance(node, ex.MatchId) for node in walk(query.having or ex.And(())))
    )
