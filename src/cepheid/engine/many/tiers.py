"""Which tier runs which rules."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.engine.many.alone import Alone
from cepheid.engine.many.protocol import Tier
from cepheid.engine.many.rules import Rules, Template
from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.pipeline import MachineFactory
from cepheid.pattern.schema import Roles


class Tiers:
    """Makes the tiers of a stream as rules need them, and finds the one of each."""

    def __init__(self, stream: InputStream, roles: Roles, factory: MachineFactory, *, once: bool) -> None:
        self._stream = stream
        self._roles = roles
        self._factory = factory
        self._once = once
        self._alone: dict[int, Alone] = {}

    def split(self, template: Template, rules: Rules) -> Iterator[tuple[str, Tier, Rules]]:
        """The rules of a template by the tier that runs them, and by a name that it has in snapshots."""
        number = rules.template
        if number not in self._alone:
            self._alone[number] = Alone(
                number, template, self._roles, self._stream.schema, self._factory, once=self._once
            )
        yield f"alone {number}", self._alone[number], rules
