"""The arrays of a match store, by name (`kernel.store` says what they hold)."""

from __future__ import annotations

from typing import NamedTuple

from cepheid.kernel.arrays import Array


class NodeArrays(NamedTuple):
    """The nodes: the word of an event, the nodes that follow and that are beside it, and the latest start below it."""

    word: Array
    next: Array
    other: Array
    start: Array


class MatchArrays(NamedTuple):
    """The matches: the node that leads to each, its last event as a word, and the oldest start that counts."""

    root: Array
    word: Array
    low: Array
