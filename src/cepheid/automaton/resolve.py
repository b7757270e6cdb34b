"""References to variables become reads of the event at hand or of a register (SASE+ 5.2.1: the computation state)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from cepheid.automaton.model import Config, Held, Holds, NotNative, Now, Register, Test
from cepheid.pattern import expressions as ex
from cepheid.pattern.bind import Bound
from cepheid.pattern.types import INT, NULL
from cepheid.pattern.uses import uses
from cepheid.pattern.walk import walk


@dataclass(frozen=True)
class Sight:
    """What a test can see: what a config has bound, and the variable of the event at hand, if there is one.

    `again`: that variable had an event before.
    """

    query: Bound
    config: Config
    variable: str | None = None
    again: bool = False

    def test(self, condition: ex.Expression) -> Test | None:
        """A conjunct with its references resolved; None where it is not tested, since a variable of it is unbound."""
        if not all(self.sees(use.variable, use.index, counts=use.counts) for use in uses(condition)):
            return None
        self.check_missing(condition)
        resolved = self.resolve(condition)
        alone = not any(isinstance(node, Held) for node in walk(resolved))
        return Test(resolved, condition, self.variable or "", unary=alone and self.variable is not None)

    def sees(self, variable: str, index: ex.Index, *, counts: bool) -> bool:
        """Whether a variable is there, as S5 asks before it tests a conjunct."""
        if variable == self.variable:
            return True
        if index is ex.Index.ONE:
            return variable in self.config.now
        return variable in self.config.bound or (counts and variable in self.config.reached)

    def check_missing(self, condition: ex.Expression) -> None:
        """Missing is not NULL (S3): an attribute that some type of its component lacks can't be read as it is."""
        for node in walk(condition):
            if isinstance(node, ex.Attribute) and not all(
                self.query.schema.has(name, node.name) for name in self.query.components[node.variable].types
            ):
                raise NotNative(f"{node.variable}.{node.name} is missing in some of its types")

    def resolve(self, node: ex.Expression) -> ex.Expression:
        """A node with every reference below it resolved."""
        match node:
            case ex.Attribute(variable=variable, index=index, name=name):
                type_ = self.query.schema.columns[name]
                earlier = self.again and index in (ex.Index.FIRST, ex.Index.PREVIOUS)
                if variable == self.variable and not earlier:
                    return Now(name, type_)
                holds = Holds.FIRST if index is ex.Index.FIRST else Holds.LAST
                return Held(Register(holds, variable, name), type_)
            case ex.Length(variable=variable):
                return self.length(variable)
            case ex.Aggregate():
                return self.aggregate(node)
        changes: dict[str, Any] = {}
        for field in fields(node):
            value = getattr(node, field.name)
            if isinstance(value, ex.Expression):
                changes[field.name] = self.resolve(value)
            elif isinstance(value, tuple):
                changes[field.name] = tuple(self.resolve(v) if isinstance(v, ex.Expression) else v for v in value)
        return replace(node, **changes) if changes else node

    def length(self, variable: str) -> ex.Expression:
        """How many events a variable has."""
        if variable in self.config.bound:
            return Held(Register(Holds.LENGTH, variable), INT)
        return ex.Literal(0, INT) if variable in self.config.reached else ex.Literal(None, NULL)

    def aggregate(self, node: ex.Aggregate) -> ex.Expression:
        """A running aggregate; over nothing `count` is 0 and the others are NULL."""
        variable = uses(node.argument)[0].variable
        if variable not in self.config.bound:
            return ex.Literal(0, INT) if node.function == "count" else ex.Literal(None, NULL)
        if isinstance(node.argument, ex.Rows) and node.function == "count":
            return Held(Register(Holds.LENGTH, variable), INT)
        if isinstance(node.argument, ex.Rows):
            raise NotNative(f"{node.function} of whole events")
        argument = Sight(self.query, self.config, variable).resolve(node.argument)
        type_ = self.query.typer.check(node)[1]
        return Held(Register(Holds.FOLD, variable, function=node.function, argument=argument), type_)
