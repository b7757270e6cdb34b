"""How queries are read: what they share, as it is passed to `Query`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cepheid.api.many.known_texts import KnownTexts
from cepheid.api.options import read_functions, read_params, read_roles
from cepheid.api.query import Query
from cepheid.engine.many.rules import Template
from cepheid.engine.program import CompiledProgram, compile_program
from cepheid.errors import CepheidWarning, UsageError
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions.calls import check_calls
from cepheid.pattern.tree.nodes import Program


@dataclass(frozen=True)
class SharedOptions:
    """The parameters, functions and roles of columns that all queries share; and what texts were read so far."""

    params: Mapping[str, object]
    functions: Mapping[str, Callable[..., object]]
    time: str = "ts"
    type: str | None = "type"
    order_by: str | Sequence[str] = ()
    types: Mapping[str, Iterable[str]] | None = None
    unit: str = "ms"
    start: str | None = None
    known: KnownTexts = field(default_factory=KnownTexts, repr=False, compare=False)

    @cached_property
    def roles(self) -> Roles:
        return read_roles(self.time, self.type, self.order_by, self.types, self.unit, self.start)

    def checked(self) -> SharedOptions:
        """The same, of which all is known to be right."""
        _ = self.roles
        return replace(self, params=read_params(self.params), functions=read_functions(self.functions))

    def like(self, query: Query) -> SharedOptions:
        """The roles of columns that a query has."""
        roles = query.compiled.roles
        return replace(
            self,
            time=roles.time,
            type=roles.type,
            order_by=roles.order_by,
            types=roles.types,
            unit=roles.unit,
            start=roles.start,
        )

    def query(self, template: Template, values: Mapping[str, object]) -> Query:
        """One query: a template with the values of a rule. It warns of nothing, as there may be very many."""
        program, params = template.of(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CepheidWarning)
            return Query(
                program,
                params=params,
                functions=template.functions,
                time=self.time,
                type=self.type,
                order_by=self.order_by,
                types=self.types,
                unit=self.unit,
                start=self.start,
            )

    def compiled(self, template: Template, values: Mapping[str, object]) -> CompiledProgram:
        """The same as the engine has it, which is made faster."""
        return self.compiled_program(template, *template.of(values))

    def compiled_program(self, template: Template, program: Program, params: Mapping[str, object]) -> CompiledProgram:
        """A program with the functions of a template."""
        functions = template.functions or {}
        for query in program.queries:
            check_calls(query, functions)
        return compile_program(program, params, self.roles, functions, "")


def check_roles(query: Query, roles: Roles) -> None:
    """All queries read one stream, which is ordered once."""
    if query.compiled.roles != roles:
        message = "the roles of its columns differ from those of the others"
        remedy = "pass the same time=, type=, order_by=, types=, unit= and start= to each Query and to Queries"
        raise UsageError("CEP603", message, remedy)
