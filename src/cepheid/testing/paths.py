"""Execution paths: ways to run a query; each must return the expected outcome of a case."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

import pyarrow as pa

from cepheid.api import Matches, Query
from cepheid.errors import CepheidError, CepheidWarning
from cepheid.testing.cases import Case
from cepheid.testing.outcomes import Outcome, to_json
from cepheid.testing.runs import Rows, make_query, run_case
from cepheid.testing.sessions import Feed, batch_of_1, restart_every_batch, shuffled_within_watermark, speculating


@dataclass(frozen=True, slots=True)
class Path:
    """A way to run a case. Another engine plugs in as `Path("engine", partial(run_case, match=…))`.

    plan: the one that the path forces; a case that has no such plan is not run on it.
    """

    name: str
    run: Callable[[Case], Outcome]
    plan: str = "auto"


def run_reference(case: Case) -> Outcome:
    """The reference interpreter on the events in the order of the case."""
    return run_case(case, _reference)


def run_shuffled(case: Case) -> Outcome:
    """The reference on the events in other orders, which must not matter (S1): the first wrong outcome, if any."""
    outcomes = [run_case(case, partial(_shuffled, seed)) for seed in range(3)]
    return next((o for o in outcomes if o != case.expected), outcomes[0])


def run_dictionary(case: Case) -> Outcome:
    """The reference on dictionary-encoded strings."""
    return run_case(case, _encoded)


def run_engine(case: Case, engine: str) -> Outcome:
    """One call of an engine."""
    return run_case(case, partial(_match, engine))


def run_session(case: Case, feed: Feed, plan: str = "auto") -> Outcome:
    """A session that gets the events in small batches.

    It emits matches when they are certain, so all matches together are those of the case, in some order.
    """
    outcome = run_case(case, partial(_session, feed, case.options.get("time", "ts"), plan))
    if case.expected is not None and sorted(outcome.lines) == sorted(case.expected.lines):
        return replace(outcome, lines=case.expected.lines)
    return outcome


def run_plan(case: Case, plan: str) -> Outcome:
    """One call with a forced plan."""
    return run_case(case, partial(_planned, plan, case.title))


def run_speculating(case: Case, ahead: object) -> Outcome:
    """A session that emits matches before they are certain: what is left of its changes is the match (S15)."""
    outcome = run_case(case, partial(_speculating, ahead, case.options.get("time", "ts")))
    if case.expected is not None and sorted(outcome.lines) == sorted(case.expected.lines):
        return replace(outcome, lines=case.expected.lines)
    return outcome


class Planned(Query):
    """A query that forces a plan for its sessions, restored ones too."""

    def __init__(self, query: Query, plan: str) -> None:
        vars(self).update(vars(query))
        self._query = query
        self._forced = plan

    def session(self, **options: Any) -> Any:
        """Like the method of the query."""
        return self._query.session(**{**options, "plan": self._forced})


def applicable_paths(case: Case, paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths on which a case tests something of its own.

    A query that is refused, or that has no events, is the same on each: the first one is enough.
    """
    paths = tuple(paths)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        try:
            query = make_query(case)
        except CepheidError:
            return paths[:1]
        if case.events is None:
            return paths[:1]
        empty = case.events.slice(0, 0)
        plans = {plan for plan in {path.plan for path in paths} if _applies(plan, case.title, query, empty)}
    return tuple(path for path in paths if path.plan in plans)


def _applies(plan: str, title: str, query: Query, empty: pa.Table) -> bool:
    if plan == "auto":
        return True
    if plan == "lazy" and len(query.compiled.queries) > 1:
        return False  # there is no order of the variables of several queries
    try:
        _planned(plan, title, query, empty)
    except Exception as error:  # any other is for a test to show
        return getattr(error, "code", None) != "CEP610"
    return True


def _lazy_order(query: Query, title: str) -> str:
    """A lazy plan in an order that is random, and the same for each run of a case."""
    names = [component.variable for component in query.compiled.queries[-1].positive]
    random.Random(crc32(title.encode())).shuffle(names)
    return f"lazy({', '.join(names)})"


def _planned(plan: str, title: str, query: Query, table: pa.Table) -> Rows:
    matches: Matches = query.match(table, engine="plain", plan=_lazy_order(query, title) if plan == "lazy" else plan)
    return matches.to_pylist()


def _reference(query: Query, table: pa.Table) -> Rows:
    return _match("reference", query, table)


def _match(engine: str, query: Query, table: pa.Table) -> Rows:
    matches: Matches = query.match(table, engine=engine)
    return matches.to_pylist()


def _shuffled(seed: int, query: Query, table: pa.Table) -> Rows:
    order = list(range(table.num_rows))
    order.reverse() if seed == 0 else random.Random(seed).shuffle(order)
    return _reference(query, table.take(pa.array(order, pa.int64())))


def _encoded(query: Query, table: pa.Table) -> Rows:
    for k, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(k, field.name, table.column(k).dictionary_encode())
    return _reference(query, table)


def _session(feed: Feed, time: str, plan: str, query: Query, table: pa.Table) -> Rows:
    # Read only after the last call: matches must stay unchanged by later calls.
    emissions = list(feed(Planned(query, plan), table, time, random.Random(table.num_rows)))
    return [match for matches in emissions for match in matches.to_pylist()]


def _speculating(ahead: object, time: str, query: Query, table: pa.Table) -> Rows:
    left: list[Mapping[str, object]] = []
    for changes in list(speculating(query, table, time, random.Random(table.num_rows), ahead)):
        for change in changes:
            op = change.pop("op")
            if op == "+":
                left.append(change)
            else:
                left.remove(next(match for match in left if to_json(match) == to_json(change)))
    return left


REFERENCE = Path("reference", run_reference)
PATHS = (
    REFERENCE,
    Path("shuffled", run_shuffled),
    Path("arrow_dictionary", run_dictionary),
    Path("engine", partial(run_engine, engine="auto")),
    Path("plain", partial(run_engine, engine="plain")),
    Path("compiled", partial(run_engine, engine="compiled")),  # one or two seconds per kernel
    Path("interpreted", partial(run_engine, engine="interpreted")),
    Path("batch_of_1", partial(run_session, feed=batch_of_1)),
    Path("restart_every_batch", partial(run_session, feed=restart_every_batch)),
    Path("shuffled_within_watermark", partial(run_session, feed=shuffled_within_watermark)),
    Path("speculate_all", partial(run_speculating, ahead="all")),
    Path("speculate_some", partial(run_speculating, ahead=None)),
    *(Path(plan, partial(run_plan, plan=plan), plan) for plan in ("stacks", "tree", "lazy")),
    *(
        Path(f"tree_{feed.__name__}", partial(run_session, feed=feed, plan="tree"), "tree")
        for feed in (batch_of_1, restart_every_batch, shuffled_within_watermark)
    ),
)
QUICK = tuple(path for path in PATHS if path.name != "compiled")
"""All paths except the one that compiles every query for seconds."""
