"""A query on a table, rule by rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Language
from cepheid.reference.negation import Absence
from cepheid.reference.output import arrange, choose, results
from cepheid.reference.own_automata import interpret_automaton
from cepheid.reference.partition import substreams
from cepheid.reference.runs import Run, Runner
from cepheid.reference.watching import SILENT, Watcher
from cepheid.values.match import Match
from cepheid.values.rows import read_events


def interpret(query: Runnable, table: pa.Table, horizon: int | None = None) -> list[Match]:
    """All matches of a bound query in a table of its schema.

    horizon: the time in nanoseconds until when absences are known; None: the end of the table ends them.
    """
    return _INTERPRETERS[query.language](query, table, horizon)


def _interpret_pattern(query: Runnable, table: pa.Table, horizon: int | None) -> list[Match]:
    runs = complete_runs(query, table, horizon)
    return results(query, choose(query, arrange(query, runs)))


_INTERPRETERS: Mapping[Language, Callable[[Runnable, pa.Table, int | None], list[Match]]] = {
    Language.PATTERN: _interpret_pattern,
    Language.AUTOMATON: interpret_automaton,
    Language.CESAR: _interpret_pattern,
}


def complete_runs(query: Runnable, table: pa.Table, horizon: int | None, watcher: Watcher = SILENT) -> list[Run]:
    """The complete runs that no witness refutes."""
    runs: list[Run] = []
    for substream in substreams(query, read_events(table, query.schema)):
        runner = Runner(query, substream, watcher)
        absence = Absence(query, runner)
        runs += [run for run in runner.complete() if absence.is_known(run, horizon) and absence.holds(run)]
    return runs
