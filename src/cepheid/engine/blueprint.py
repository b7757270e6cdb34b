"""What is made of a query once, for all of its runs on events of one schema."""

from __future__ import annotations

from typing import Any

from cepheid.automaton.build import build
from cepheid.automaton.model import Automaton, NotNative
from cepheid.engine.columns import Strings
from cepheid.engine.times import tick
from cepheid.kernel.construct import JoinSource, generate_join
from cepheid.kernel.judge import Trial, try_out
from cepheid.kernel.source import Source, generate
from cepheid.pattern.bind import Bound
from cepheid.pattern.types import Kind
from cepheid.plan.choice import Choice
from cepheid.plan.join import Join, NotJoined, make_join

MOST_SPARE = 256 * 2**20


class Blueprint:
    """A bound query, its automaton, and the sources that were generated for it."""

    def __init__(self, query: Bound, *, merge: bool = True) -> None:
        self.query = query
        self.merge = merge
        self.automaton: Automaton | None = None
        self.reason = ""  # why there is no kernel
        self.strings = Strings()  # the constants of the query
        self.sources: dict[frozenset[str], Source] = {}
        self.spare: list[dict[str, Any]] = []  # arrays that an earlier run has done with (SASE+ 5.3)
        self.spare_stacks: list[Any] = []  # likewise, of a join
        self.spare_parts: list[Any] = []  # and those that its matches were in
        self.why_not_joined = ""
        self.joins: dict[Any, JoinSource] = {}
        self.trials: dict[Any, Trial] = {}
        self.splits: dict[tuple[str, ...], Join | None] = {}
        try:
            self.automaton = build(query)
            self.source(frozenset())
        except NotNative as reason:
            self.automaton, self.reason = None, str(reason)
        try:
            self._join: Join | None = make_join(query)
            self.join_source(frozenset())
        except (NotJoined, NotNative) as reason:
            self._join, self.why_not_joined = None, str(reason)

    @property
    def hollow(self) -> bool:
        """Whether a column has no type, as those of an empty stream, and there is no join for that reason."""
        return bool(self.why_not_joined) and any(t.kind is Kind.NULL for t in self.query.schema.columns.values())

    @property
    def join(self) -> Join:
        """The query as a join, its lanes being those of all its equivalence attributes."""
        assert self._join is not None, self.why_not_joined
        return self._join

    def join_of(self, choice: Choice) -> Join:
        """The query as a join whose lanes are those of a plan."""
        if choice.partition is None:
            return self.join
        if choice.late:
            return make_join(self.query, choice.partition, late=True)
        found = self.split(choice.partition)
        assert found is not None  # else the plan would not have been made
        return found

    def split(self, partition: tuple[str, ...]) -> Join | None:
        """The join whose stream some attributes split; None where no kernel can compare the others."""
        if partition not in self.splits:
            try:
                join = make_join(self.query, partition)
                self.join_source(frozenset(), None, join)
                self.splits[partition] = join
            except (NotJoined, NotNative):
                self.splits[partition] = None
        return self.splits[partition]

    def join_source(
        self, nullable: frozenset[str], order: tuple[int, ...] | None = None, join: Join | None = None
    ) -> JoinSource:
        """The source of the join in an order (None: in any), where some columns have NULLs."""
        join = join or self.join
        key = nullable, order, join.lanes, any(joint.late for joint in join.joints)
        if key not in self.joins:
            self.joins[key] = generate_join(join, nullable, self.strings.code, self.window, order)
        return self.joins[key]

    def trial(self, join: Join, nullable: frozenset[str]) -> Trial:
        """What a join asks of its events, to try on a sample."""
        key = nullable, join.lanes
        if key not in self.trials:
            self.trials[key] = try_out(join, nullable, self.strings.code, self.window)
        return self.trials[key]

    @property
    def window(self) -> int | None:
        """The window in ticks, or in events."""
        within = self.query.within
        if within is None or within.nanoseconds is None:
            return None if within is None else within.events
        return -(-within.nanoseconds // tick(self.query.schema))

    def take_back(self, state: dict[str, Any]) -> None:
        """Arrays that a run has done with: to touch fresh memory takes longer than many a scan."""
        if not self.spare and sum(array.nbytes for array in state.values()) <= MOST_SPARE:
            self.spare.append(state)

    def source(self, nullable: frozenset[str]) -> Source:
        """The source where some columns have NULLs."""
        assert self.automaton is not None
        if nullable not in self.sources:
            made = generate(self.automaton, nullable, self.strings.code, self.window, merge=self.merge)
            self.sources[nullable] = made
        return self.sources[nullable]
