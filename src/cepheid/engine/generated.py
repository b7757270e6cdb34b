"""A query on its generated scan: columns in, matches out, state in flat arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.blueprint import Blueprint
from cepheid.engine.columns import Strings
from cepheid.engine.encoded import Encoded, make_decoder
from cepheid.engine.finish import finish
from cepheid.engine.found import NONE, Found, Many, arranged, concatenate
from cepheid.engine.graph import PLAIN, Functions, Graph
from cepheid.engine.inputs import as_arguments, check_times, read_events
from cepheid.engine.lanes import LaneNumbers
from cepheid.engine.overlap import Chosen
from cepheid.errors import CepheidError
from cepheid.kernel.load import as_python, compiled, signature, store_functions
from cepheid.kernel.plain import NIL
from cepheid.kernel.source import ERROR, MATCHES, MERGED, NODES, POOLS, Source, tests_place
from cepheid.kernel.store import FREE
from cepheid.pattern.tree import Output
from cepheid.plan.choice import AUTOMATON
from cepheid.values.lanes import lane_of

EAGER = 200_000
"""Matches that a session enumerates as they come; more stay in a graph until they are asked for."""
FEW_LANES, FEW_STRINGS = 16, 1024
MOST_NODES = 8_000_000
"""How large a graph may become while nobody has asked for its matches."""


class Generated:
    """One query over a stream that comes in parts."""

    kind = "generated"
    plan = str(AUTOMATON)
    replans = 0

    def __init__(
        self,
        blueprint: Blueprint,
        *,
        native: bool,
        events: int | None = None,
        compile_after: int | None = None,
    ) -> None:
        assert blueprint.automaton is not None
        query, automaton = blueprint.query, blueprint.automaton
        self.blueprint = blueprint
        self.query = query
        self.automaton = automaton
        self.native = native
        self.compile_after = compile_after  # so many events a session runs as plain Python
        self.events = 0
        self.strings = Strings(blueprint.strings.codes)
        self.lanes = LaneNumbers(
            lane_of(query), {name: type_.kind for name, type_ in query.schema.columns.items()}, once=events is not None
        )
        self.window = blueprint.window
        self.timed = query.within is not None and query.within.events is None
        self.nullable: frozenset[str] = frozenset()
        self.clock = 0  # the time of the last event
        self.state: dict[str, Any] = {}
        # Where all events come at once, matches stay in the graph until they are asked for.
        self.graph_room = MOST_NODES if events is not None else 0
        least = 16_384 if native else 256
        self.few = 1024 if native else 64
        self.room = dict.fromkeys(("nodes", "matches"), max(least, min(2 * (events or 0), MOST_NODES // 2)))
        self.given: list[Found] = []
        self.enough = FEW_LANES  # lanes that there are before it is asked which of them can go
        self.enough_strings = FEW_STRINGS  # likewise
        self.source = self.write()
        self.decoder = make_decoder(automaton, self.source.shift, compiled=native)
        self.chosen = Chosen(query) if query.output is Output.NON_OVERLAP else None
        self.function = self.load_function()
        if native and blueprint.spare:
            self.take_over(blueprint.spare.pop())
        self.fit()

    @property
    def mode(self) -> str:
        """How the source runs."""
        return "compiled" if self.native else "plain"

    def write(self) -> Source:
        """The source for the columns that have NULLs so far."""
        return self.blueprint.source(self.nullable)

    def load_function(self) -> Any:
        if not self.native:
            return as_python(self.source.text, "scan")
        arguments = ["int64", "int64", "int64"]
        arguments += [f"{p.dtype}[{'r' if p.readonly else 'w'}]" for p in self.source.parameters]
        return compiled(self.source.text, (("scan", signature("int64", arguments)),))["scan"]

    @property
    def functions(self) -> Functions:
        """The functions of the match store."""
        return store_functions() if self.native else PLAIN

    # State.

    def fit(self) -> None:
        """Make every array that the scan asks for, as long as it has to be; what there is stays."""
        self.state.setdefault("meta", self.longer(None, tests_place(self.source.pools) + 1, "int64", 0))
        for parameter in self.source.parameters:
            name, size = parameter.name, parameter.size
            if size in ("events", "one"):
                continue
            table = size.removesuffix(" table")
            if size == "lanes":
                wanted = _rounded(len(self.lanes))
            elif size != table:  # twice the pool, a power of two
                wanted = 2 * _rounded(self.room.setdefault(table, self.few))
            else:
                wanted = self.room.setdefault(size, self.few)
            old = self.state.get(name)
            have = 0 if old is None else len(old)
            if have < wanted:
                # A node or a match is written before it is read.
                blank = size in ("nodes", "matches") and (name != "n_max" or self.window is not None)
                self.state[name] = self.longer(old, wanted, parameter.dtype, None if blank else parameter.initial)
                if name.endswith("_next") and name != "n_next":
                    self.add_free(name.removesuffix("_next"), have, wanted)

    def hand_back(self) -> None:
        """The run is over, and its matches are enumerated."""
        state, self.state = self.state, {}
        self.blueprint.take_back(state)

    def take_over(self, state: dict[str, Any]) -> None:
        """Begin with arrays that an earlier run has done with; those of other NULLs would not be set."""
        self.state = {p.name: state[p.name] for p in self.source.parameters if p.name in state}
        self.room |= {"nodes": len(state["n_word"]), "matches": len(state["m_root"])}
        state["meta"].fill(0)
        for parameter in self.source.parameters:
            if parameter.name in state and parameter.size not in ("nodes", "matches", "one"):
                state[parameter.name].fill(parameter.initial)
        for pool in self.source.pools:
            self.room[pool.name] = len(state[f"{pool.name}_next"])
            self.add_free(pool.name, 0, self.room[pool.name])

    def longer(self, old: Any, size: int, dtype: str, initial: int | None) -> Any:
        """An array with more room."""
        if not self.native:
            return (old or []) + [initial or 0] * (size - (len(old) if old else 0))
        array = np.empty(size, np.dtype(dtype))
        if initial is not None:
            array.fill(initial)
        if old is not None:
            array[: len(old)] = old
        return array

    def add_free(self, pool: str, begin: int, end: int) -> None:
        """New entries of a pool are free; a new pool begins with all of them."""
        number = [p.name for p in self.source.pools].index(pool)
        following = self.state[f"{pool}_next"]
        meta = self.state["meta"]
        following[begin:end] = range(begin + 1, end + 1)
        following[end - 1] = NIL if begin == 0 else meta[POOLS + 2 * number]
        meta[POOLS + 2 * number] = begin

    # Events.

    def feed(self, table: pa.Table, times: Any, base: int) -> None:
        """The next events in the order of S1; `base` is the position of the first."""
        check_times(times, self.window if self.timed else None)
        self.events += table.num_rows
        if not self.native and self.compile_after is not None and self.events > self.compile_after:
            self.go_native()
        read = (*self.source.columns, *self.lanes.agreed)
        empty = {name for name in read if table.column(name).null_count} - self.nullable
        if empty:
            self.nullable |= empty
            self.source = self.write()
            self.function = self.load_function()
        errors: dict[int, CepheidError] = {}
        arrays = self.columns(table, times, errors)
        self.fit()
        n = table.num_rows
        i = 0
        while i < n:
            arguments = [arrays[p.name] if p.size == "events" else self.state[p.name] for p in self.source.parameters]
            reached = int(self.function(i, n, base, *arguments))
            self.clock = int(times[reached - 1]) if reached else self.clock
            failed = int(self.state["meta"][ERROR])
            if failed:
                raise errors[failed - 1]
            if reached < n:
                self.make_room(stuck=reached == i)
            i = reached

    def columns(self, table: pa.Table, times: Any, errors: dict[int, CepheidError]) -> dict[str, Any]:
        """The arguments of the scan that are of the events."""
        found = {"lanes": self.lanes.of(table), "times": times}
        found |= read_events(self.query, self.source, self.source.parameters, table, self.strings, errors)
        return as_arguments(found, native=self.native)

    def make_room(self, *, stuck: bool) -> None:
        """The scan has stopped before an event that could make an array overflow."""
        meta = self.state["meta"]
        if self.room["nodes"] < self.graph_room and self.room["matches"] < self.graph_room:
            self.room["nodes"] *= 2
            self.room["matches"] *= 2
        else:
            self.flush()
            self.sweep(lanes_too=False)  # the events at hand have their lanes already
            self.collect()
            if stuck or 2 * int(meta[NODES]) > self.room["nodes"]:
                self.room["nodes"] *= 2
            if stuck:
                self.room["matches"] *= 2
        for number, pool in enumerate(self.source.pools):
            if stuck or 2 * int(meta[POOLS + 2 * number + 1]) > self.room[pool.name]:
                self.room[pool.name] *= 2
        self.fit()

    def go_native(self) -> None:
        """From plain Python to compiled code, in the middle of a stream: the state is the same."""
        self.native = True
        self.decoder = replace(self.decoder, compiled=True)
        for parameter in self.source.parameters:
            if parameter.size != "events":
                self.state[parameter.name] = np.array(self.state[parameter.name], np.dtype(parameter.dtype))
        self.function = self.load_function()

    # Matches.

    def graph(self) -> Graph:
        """The match store as it is."""
        s = self.state
        nodes = s["n_word"], s["n_next"], s["n_alt"], s["n_max"]
        matches = s["m_root"], s["m_word"], s["m_low"]
        return Graph(nodes, matches, int(s["meta"][MATCHES]), self.native, dense=not self.lanes.columns)

    def flush(self) -> None:
        """Enumerate the matches so far, so that their nodes can go."""
        if int(self.state["meta"][MATCHES]):
            self.given.append(Encoded(self.graph(), self.decoder, 0).all())
            self.state["meta"][MATCHES] = 0

    def settle(self, now: int | None, kept: pa.Table, base: int) -> Found | Many:
        """The matches that became certain."""
        self.expire(now)
        if now is not None and len(self.lanes) > self.enough:
            self.sweep()
        if now is not None and len(self.strings.codes) > self.enough_strings:
            self.forget_strings()
        if self.query.having is None and self.chosen is None and not self.given:
            if now is None:
                # A session tells of its state after its end.
                done = self.hand_back if self.native and self.graph_room else None
                return Encoded(self.graph(), self.decoder, base, done)
            found = Encoded(self.graph(), self.decoder, base).some(EAGER if self.native else EAGER // 100)
            self.state["meta"][MATCHES] = 0
            return found
        self.flush()
        found = concatenate(self.given) if self.given else NONE
        self.given = []
        found = arranged(found)
        found = replace(found, rows=found.rows - base)
        return finish(self.query, found, kept, base, self.chosen, None if now is None else self.unsettled_nodes())

    def expire(self, now: int | None) -> None:
        """Matches after which nothing came that must be absent: their windows are over."""
        for number, pool in enumerate(self.source.pools):
            if not pool.name.startswith("d") or not int(self.state["meta"][POOLS + 2 * number + 1]):
                continue
            if now is not None and not self.timed:
                continue
            nodes = np.asarray(self.state[f"{pool.name}_node"])
            alive = np.flatnonzero(nodes != NIL)
            starts = np.asarray(self.state["n_max"])[nodes[alive]]
            over = alive if now is None else alive[starts + self.window <= now]
            if len(over):
                self.release(number, pool.name, over)

    def release(self, number: int, pool: str, over: Any) -> None:
        """Give the matches of some entries, and free those."""
        s, meta = self.state, self.state["meta"]
        while int(meta[MATCHES]) + len(over) > self.room["matches"]:
            self.room["matches"] *= 2
        self.fit()
        # In the order of their ends, as the scan gives them.
        over = over[np.argsort([int(s["n_word"][s[f"{pool}_node"][r]]) for r in over], kind="stable")]
        for r in over.tolist():
            k, node = int(meta[MATCHES]), s[f"{pool}_node"][r]
            s["m_root"][k], s["m_word"][k], s["m_low"][k] = node, -1, s["n_max"][node]
            meta[MATCHES] = k + 1
        self.drop(number, pool, set(over.tolist()))

    def drop(self, number: int, pool: str, gone: set[int]) -> None:
        """Free some entries of a pool."""
        s, meta = self.state, self.state["meta"]
        for lane in {int(s[f"{pool}_lane"][r]) for r in gone}:
            kept = []
            r = int(s[f"{pool}_head"][lane])
            while r != NIL:
                following = int(s[f"{pool}_next"][r])
                if r in gone:
                    s[f"{pool}_next"][r] = meta[POOLS + 2 * number]
                    meta[POOLS + 2 * number] = r
                    meta[POOLS + 2 * number + 1] -= 1
                    s[f"{pool}_node"][r] = NIL
                else:
                    kept.append(r)
                r = following
            for r, after in zip(kept, [*kept[1:], NIL], strict=False):
                s[f"{pool}_next"][r] = after
            s[f"{pool}_head"][lane] = kept[0] if kept else NIL
            s[f"{pool}_count"][lane] = len(kept)

    def unsettled_nodes(self) -> int | None:
        """The first position where a match ends that waits for an absence."""
        ends = []
        for pool in self.source.pools:
            if pool.name.startswith("d"):
                nodes = np.asarray(self.state[f"{pool.name}_node"])
                used = nodes[nodes != NIL]
                if len(used):
                    ends.append(int(np.asarray(self.state["n_word"])[used].min()) >> self.source.shift)
        return min(ends, default=None)

    def unsettled(self) -> int | None:
        """The first position where a match ends that is not certain yet."""
        ends = [self.unsettled_nodes(), self.chosen.first_end() if self.chosen is not None else None]
        return min((end for end in ends if end is not None), default=None)

    # Clearing.

    def roots(self) -> list[tuple[Any, Any]]:
        """The arrays of nodes that a match to come can use, and the lane of each entry (None: its own number)."""
        pools = [(self.state[f"{p.name}_node"], self.state[f"{p.name}_lane"]) for p in self.source.pools]
        return [*((self.state[name], None) for name in self.source.slots), *pools]

    def collect(self) -> None:
        """Clear the nodes that no match to come can reach, and close the gaps."""
        meta, s = self.state["meta"], self.state
        nodes = int(meta[NODES])
        limits: Any = np.full(nodes, FREE, np.int64)
        starts = np.asarray(s["n_max"])
        for array, lanes in self.roots():
            entries = np.asarray(array)
            used = np.flatnonzero(entries != NIL)
            if len(used):
                low = self.lows(used if lanes is None else np.asarray(lanes)[used])
                np.minimum.at(limits, entries[used], np.minimum(low, starts[entries[used]]))
        number: Any = np.zeros(nodes, np.uint32)
        if not self.native:
            limits, number = limits.tolist(), number.tolist()
        f = self.functions
        kept = int(f["mark_nodes"](nodes, s["n_next"], s["n_alt"], s["n_max"], limits, number))
        f["move_nodes"](nodes, s["n_word"], s["n_next"], s["n_alt"], s["n_max"], number)
        for array, _ in self.roots():
            f["renumber"](array, number)
        meta[NODES] = kept

    def sweep(self, *, lanes_too: bool = True) -> None:
        """Give up runs whose window is over, and then lanes that have nothing left."""
        s, starts = self.state, np.asarray(self.state["n_max"])
        lanes = len(self.lanes)
        low = self.lows(np.arange(lanes))
        alive = np.zeros(lanes, bool)
        for name in self.source.slots:
            nodes = np.array(s[name][:lanes], np.uint32)
            used = np.flatnonzero(nodes != NIL)
            over = used[starts[nodes[used]] < low[used]] if self.timed else used[:0]
            for lane in over.tolist():
                s[name][lane] = NIL
            alive[np.setdiff1d(used, over)] = True
        for number, pool in enumerate(self.source.pools):
            nodes = np.asarray(s[f"{pool.name}_node"])
            used = np.flatnonzero(nodes != NIL)
            if self.timed and pool.name.startswith("l"):
                over = used[starts[nodes[used]] < self.clock - (self.window or 0) + 1]
                self.drop(number, pool.name, set(over.tolist()))
                used = np.setdiff1d(used, over)
            alive[np.asarray(s[f"{pool.name}_lane"])[used]] = True
        for witness in self.automaton.witnesses:
            alive |= np.array(s[f"w{witness.negation}"][:lanes], np.int64) >= low
        if lanes_too and not alive.all() and self.lanes.columns:
            self.lanes.keep(alive)
            kept = np.flatnonzero(alive)
            number_of = np.zeros(lanes, np.uint32)
            number_of[kept] = np.arange(len(kept))
            for parameter in self.source.parameters:
                if parameter.size == "lanes":
                    array = np.asarray(s[parameter.name][:lanes])[kept]
                    s[parameter.name] = array.astype(parameter.dtype) if self.native else array.tolist()
            for pool in self.source.pools:
                owners = number_of[np.minimum(np.asarray(s[f"{pool.name}_lane"]), lanes - 1)]
                s[f"{pool.name}_lane"] = owners if self.native else owners.tolist()
            self.fit()
        if lanes_too:
            self.enough = 2 * len(self.lanes) + FEW_LANES

    def forget_strings(self) -> None:
        """Give up the codes of strings that no run holds; those of the query's constants stay as they are."""
        arrays = {name: np.asarray(self.state[name], np.int64) for name in self.source.coded}
        for name, moved in self.strings.forget(len(self.blueprint.strings.codes), arrays).items():
            self.state[name] = moved if self.native else moved.tolist()
        self.enough_strings = 2 * len(self.strings.codes) + FEW_STRINGS

    def lows(self, lanes: Any) -> Any:
        """The first start that is still in the window, for some lanes."""
        if self.window is None:
            return np.zeros(len(lanes), np.int64)
        if self.timed:
            return np.full(len(lanes), self.clock - self.window + 1, np.int64)
        return np.asarray(self.state["seen"])[lanes] - self.window + 1

    def oldest(self) -> int | None:
        """The first position that a match to come can have among the events so far."""
        self.flush()
        self.collect()
        words = np.asarray(self.state["n_word"][: int(self.state["meta"][NODES])], np.int64)
        words = words[words >= 0]
        found = [int(words.min()) >> self.source.shift] if len(words) else []
        found += [int(part.rows.min()) for part in self.given if len(part)]
        held = self.chosen.first_start() if self.chosen is not None else None
        first = min([*found, *([held] if held is not None else [])], default=None)
        if self.chosen is not None:
            self.chosen.forget(first)
        return first

    @property
    def runs(self) -> int:
        """How many runs are alive: merged ones are one."""
        used = sum(int(self.state["meta"][POOLS + 2 * k + 1]) for k in range(len(self.source.pools)))
        return used + sum(int((np.asarray(self.state[name]) != NIL).sum()) for name in self.source.slots)

    @property
    def merged(self) -> int:
        """How many runs became one with another."""
        return int(self.state["meta"][MERGED])

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return int(self.state["meta"][tests_place(self.source.pools)]) if self.state else 0

    def state_bytes(self) -> int:
        """The arrays of the state."""
        return sum(8 * len(a) if isinstance(a, list) else a.nbytes for a in self.state.values())

    # Snapshots.

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The arrays as they are, after what is over has been cleared."""
        self.flush()
        self.collect()
        names, arrays = [], []
        for parameter in self.source.parameters:
            if parameter.size in ("events", "matches") or parameter.size.endswith("table"):
                continue
            array = self.state[parameter.name]
            length = int(self.state["meta"][NODES]) if parameter.size == "nodes" else len(array)
            names.append(parameter.name)
            arrays.append(np.asarray(array[:length], np.dtype(parameter.dtype)))
        keys, numbers = self.lanes.dump()
        arrays.append(numbers)
        facts = {
            "names": names,
            "nullable": sorted(self.nullable),
            "strings": list(self.strings.codes),
            "lanes": keys,
            "clock": self.clock,
            "room": self.room,
            "chosen": self.chosen.dump() if self.chosen is not None else None,
        }
        assert not self.given or not any(map(len, self.given))
        return facts, arrays

    def load(self, facts: dict[str, Any], arrays: list[Any], kept: pa.Table, base: int) -> None:
        """Take up a state that was dumped, by either kind of run."""
        self.nullable = frozenset(facts["nullable"])
        self.strings.codes = {text: code for code, text in enumerate(facts["strings"])}
        self.lanes.load(facts["lanes"], arrays[-1])
        self.clock = facts["clock"]
        self.room = dict(facts["room"])
        self.source = self.write()
        self.function = self.load_function()
        self.state = {}
        given = dict(zip(facts["names"], arrays[:-1], strict=True))
        for name, array in given.items():
            self.state[name] = array.copy() if self.native else array.tolist()
        # The first snapshots did not count the tests.
        self.state["meta"] = self.longer(self.state["meta"], tests_place(self.source.pools) + 1, "int64", 0)
        self.fit()
        if self.chosen is not None:
            self.chosen.load(facts["chosen"])


def _rounded(size: int) -> int:
    return 1 << max(4, (max(size, 1) - 1).bit_length())
