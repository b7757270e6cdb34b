"""What texts were read and checked before: more of the same kind cost the reading of their constants alone."""

from __future__ import annotations

import pyarrow as pa

from cepheid.language.texts.known_drafts import KnownDrafts
from cepheid.pattern.binding.schema import Schema

MOST_SOUND = 1 << 16
"""Keys that are remembered: with more of them, they do not come again."""


class KnownTexts:
    """Of the texts of some queries: what their skeletons were read as, and what was found to be right.

    It can be found again at any time, so that no copy takes it along.
    """

    def __init__(self) -> None:
        self.drafts = KnownDrafts()
        self._sound: dict[pa.Schema | None, set[object]] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return KnownTexts, ()

    def sound(self, schema: Schema | None) -> set[object]:
        """The keys of what is right whatever its constants are, as far as their types are the same.

        schema: on events of that schema; None: whatever the events are.
        """
        arrow = None if schema is None else schema.arrow
        if sum(map(len, self._sound.values())) > MOST_SOUND:
            self._sound = {}
        return self._sound.setdefault(arrow, set())
