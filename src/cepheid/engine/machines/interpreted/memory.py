"""The events of a partition that its runs may still ask about."""

from __future__ import annotations

from cepheid.reference.partition import Substream
from cepheid.values.rows import Event


class Memory(Substream):
    """The events of a partition that a run may still ask about."""

    def __init__(self, *, one_key: bool) -> None:
        super().__init__((), one_key=one_key)
        self.events: list[Event] = []
        self.parts: dict[frozenset[str], Memory] = {}
        self.seen = 0

    def append(self, event: Event) -> None:
        self.index[event.position] = self.seen
        self.seen += 1
        self.events.append(event)
        self.positions.append(event.position)
        for types, part in self.parts.items():
            if event.type in types:
                part.append(event)

    def of_types(self, types: frozenset[str]) -> Substream:
        """Only the events of some types."""
        if types not in self.parts:
            part = self.parts[types] = Memory(one_key=self.one_key)
            for event in self.events:
                if event.type in types:
                    part.append(event)
        return self.parts[types]

    def forget(self, position: int) -> None:
        """Events before a position are no longer asked for."""
        cut = self.before(position)
        for event in self.events[:cut]:
            del self.index[event.position]
        del self.events[:cut], self.positions[:cut]
        for part in self.parts.values():
            part.forget(position)
