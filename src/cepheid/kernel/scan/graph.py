"""How a scan writes the match store: nodes, what joins histories, and matches."""

from __future__ import annotations

from cepheid.kernel.arguments import NOWHERE
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of
from cepheid.kernel.code.types import INT64, UINT32
from cepheid.kernel.reads import I
from cepheid.kernel.scan.variables import (
    FIRST_ID,
    LAST,
    LOW,
    MATCH_COUNT,
    MERGES,
    NEXT,
    NODE_COUNT,
    NOW,
    OTHER,
    ROOT,
    START,
    WORD,
)

NO_EVENT = n.Immediate(-1, INT64)
"""The word of a node that only joins two histories, or of a match whose last event is in its root."""
NEWEST = NODE_COUNT - 1
"""The node that was made last."""


class GraphCode:
    """Writes code that adds to the match store. A word is the id of an event, and the config or exit that binds it."""

    def __init__(self, code: Code, shift: int, *, windowed: bool, own: bool = False) -> None:
        self.code = code
        self.shift = shift
        self.windowed = windowed
        self.own = own  # of an automaton of one's own, for which a history is no more than where it began
        self.filled: set[n.Local] = set()  # what may hold a history by now, that another is joined to

    def word(self, number: int) -> n.Expr:
        """The event at hand, and what it is bound by."""
        return FIRST_ID + I << self.shift | number

    def emit(self, node: n.Expr, word: n.Expr, low: n.Expr) -> None:
        """Write a match down: the node that leads to it, and the oldest start that counts."""
        self.code.put(ROOT, MATCH_COUNT, node)
        self.code.put(LAST, MATCH_COUNT, word)
        self.code.put(LOW, MATCH_COUNT, low)
        self.code.step(MATCH_COUNT)

    def append(self, word: n.Expr, history: n.Local | None) -> None:
        """A node for the event after a history (None: it is the first)."""
        self._node(word, NOWHERE if history is None else history, NOWHERE, self._start(history))

    def extend(self, joined: n.Local, word: n.Expr, history: n.Local | None) -> None:
        """A node for the event after a history, joined to what a variable has: the younger start first."""
        code = self.code
        if joined not in self.filled:
            self.append(word, history)
            self.filled.add(joined)
            code.set(joined, NEWEST)
            return
        code.step(MERGES, joined.differs(NOWHERE))
        start, following = self._start(history), NOWHERE if history is None else history
        if history is not None and start is not None:
            with code.when(all_of([joined.differs(NOWHERE), START[joined] > start])):
                self._node(word, following, NOWHERE, start)
                self._node(NO_EVENT, joined, NEWEST, START[joined])
            with code.otherwise():
                self._node(word, following, joined, start)
        else:
            self._node(word, following, joined, start)
        code.set(joined, NEWEST)

    def join(self, joined: n.Local, history: n.Expr) -> None:
        """A history is joined to what a variable has: the younger start first."""
        code = self.code
        if joined not in self.filled:
            self.filled.add(joined)
            code.set(joined, history)
            return
        with code.when(joined.equals(NOWHERE)):
            code.set(joined, history)
        with code.otherwise():
            self.unite(joined, history)

    def unite(self, joined: n.Local, history: n.Expr) -> None:
        """Two runs become one: a node for both histories, the younger start first."""
        if self.own:
            with self.code.when(joined.differs(history)):
                self._united(joined, history)
        else:
            self._united(joined, history)

    def _united(self, joined: n.Local, history: n.Expr) -> None:
        code = self.code
        code.step(MERGES)
        if self.windowed:
            with code.when(START[joined] >= START[history]):
                self._node(NO_EVENT, joined, history, START[joined])
            with code.otherwise():
                self._node(NO_EVENT, history, joined, START[history])
        else:
            self._node(NO_EVENT, history, joined, None)
        code.set(joined, NEWEST)

    @property
    def newest(self) -> n.Expr:
        """The node that was made last."""
        return NEWEST

    def _start(self, history: n.Local | None) -> n.Expr | None:
        """When the run began: only a window asks."""
        if not self.windowed:
            return None
        return NOW if history is None else START[history]

    def _node(self, word: n.Expr, following: n.Expr, other: n.Expr, start: n.Expr | None) -> None:
        self.code.put(WORD, NODE_COUNT, word)
        self.code.put(NEXT, NODE_COUNT, following)
        self.code.put(OTHER, NODE_COUNT, other)
        if start is not None:
            self.code.put(START, NODE_COUNT, start)
        self.code.step(NODE_COUNT)


class NoGraph(GraphCode):
    """What a scan writes whose runs are values: a run that is alike is the same one, and matches have no events."""

    @property
    def newest(self) -> n.Expr:
        """What marks an entry as used."""
        return n.Immediate(0, UINT32)

    def word(self, number: int) -> n.Expr:
        """Nothing is bound."""
        return NO_EVENT

    def emit(self, node: n.Expr, word: n.Expr, low: n.Expr) -> None:
        """A match, whose values are written down."""
        self.code.step(MATCH_COUNT)

    def append(self, word: n.Expr, history: n.Local | None) -> None:
        """There are no nodes."""

    def unite(self, joined: n.Local, history: n.Expr) -> None:
        """Two runs are one."""
        self.code.step(MERGES)
