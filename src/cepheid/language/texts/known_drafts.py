"""What skeletons were read as: more texts with one of them cost no parsing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.language.texts.constants import ConstantReader

MOST_DRAFTS = 1 << 14
"""Drafts that are remembered: with more of them, what they are of does not come again."""


@dataclass(frozen=True, slots=True)
class TextDraft:
    """What a text is, and at which of its constants there can be others: how they are read, or None."""

    value: Any
    readers: tuple[ConstantReader | None, ...]
    text: str


class KnownDrafts:
    """Drafts by what they are of, how its constants are spelt, and by those constants that shape them.

    They can be made again at any time, so that no copy takes them along.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], dict[tuple[int, ...], dict[tuple[str, ...], TextDraft]]] = {}
        self._count = 0
        self.sound: set[str] = set()
        """The keys of conditions in texts that were read as a whole too, and found to be the same."""

    def __reduce__(self) -> tuple[object, ...]:
        return KnownDrafts, ()

    def draft(self, key: tuple[object, ...], constants: Sequence[str], make: Callable[[], TextDraft]) -> TextDraft:
        """The draft of a text. key: its skeleton, where it stands, and the spellings of the constants."""
        for kept, drafts in list(self._known.get(key, {}).items()):
            draft = drafts.get(tuple(constants[place] for place in kept))
            if draft is not None:
                return draft
        made = make()
        if self._count >= MOST_DRAFTS:
            self._known, self._count, self.sound = {}, 0, set()
        kept = tuple(place for place, reader in enumerate(made.readers) if reader is None)
        self._known.setdefault(key, {}).setdefault(kept, {})[tuple(constants[place] for place in kept)] = made
        self._count += 1
        return made
