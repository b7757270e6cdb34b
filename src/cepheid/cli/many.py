"""`cepheid match --rules`: a template and a file of rules."""

from __future__ import annotations

import pyarrow as pa

from cepheid.api import Progress, Queries
from cepheid.api.many.read_rules import speaking_of_rules
from cepheid.cli.errors import note
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings
from cepheid.cli.replay import Tell
from cepheid.pattern.tree import Program

_TOLD = 10  # wrong rules


def read(settings: Settings, program: Program, rules: str, id: str, *, skip: bool) -> Queries:
    """The rules of a file. skip: wrong ones are told and left out."""
    with speaking_of_rules():
        table = read_events(rules, None)
    return settings.queries(program, table, id, "collect" if skip else "raise")


def matches(
    queries: Queries, events: pa.Table, tell: Tell, limit: int | None, engine: str
) -> tuple[pa.Table, str, bool]:
    """The rows, their number in words, and whether there are more."""

    def told(at: Progress) -> None:
        tell(at.events, at.total)

    found = queries.match(events, engine=engine, progress=told)
    for wrong in queries.errors.slice(0, _TOLD).to_pylist():
        note(f"rule {wrong['id']!r} is left out: {wrong['message']}")
    if queries.errors.num_rows > _TOLD:
        note(f"{queries.errors.num_rows - _TOLD:,} other rules are left out")
    total = len(found)
    if limit is not None and limit < total:
        return found.head(limit), f"the first {limit:,} of {total:,} matches", True
    count = f"{total:,} match{'es' * (total != 1)}" if total else "no matches"
    return found.to_arrow(), count, False
