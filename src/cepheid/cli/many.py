"""`cepheid match --rules` and `cepheid run --rules`: a template and a file of rules."""

from __future__ import annotations

from collections.abc import Mapping

import click
import pyarrow as pa

from cepheid.api import Progress, Queries
from cepheid.api.many.read_rules import speaking_of_rules
from cepheid.cli.errors import note
from cepheid.cli.events import read_events
from cepheid.cli.options import Settings
from cepheid.cli.replay import ReportRows
from cepheid.pattern.tree.nodes import Program

_NAMED = 10  # wrong rules


def check(rules: str | None, of_rules: Mapping[str, object], others: Mapping[str, object]) -> None:
    """Refuse options that need --rules, or that can't be combined with it."""
    for name, value in (of_rules if rules is None else others).items():
        if value:
            what = "is for many queries: add --rules FILE" if rules is None else "can't be combined with --rules"
            raise click.UsageError(f"--{name} {what}")


def read_rules(rules: str) -> pa.Table:
    """The rules of a file."""
    with speaking_of_rules():
        return read_events(rules, None)


def read(settings: Settings, program: Program, rules: pa.Table, id: str | None, wrong: str | None) -> Queries:
    """A template with rules. wrong: "skip" reports wrong ones, and leaves them out."""
    return settings.queries(program, rules, id or "id", "collect" if wrong == "skip" else "raise")


def matches(
    queries: Queries, events: pa.Table, report: ReportRows, limit: int | None, engine: str
) -> tuple[pa.Table, str, bool]:
    """The rows, their number in words, and whether there are more."""

    def advance(at: Progress) -> None:
        report(at.events, at.total)

    rows = queries.match(events, engine=engine, progress=advance)
    report_wrong(queries)
    total = len(rows)
    if limit is not None and limit < total:
        return rows.head(limit), f"the first {limit:,} of {total:,} matches", True
    count = f"{total:,} match{'es' * (total != 1)}" if total else "no matches"
    return rows.to_arrow(), count, False


def report_wrong(queries: Queries) -> None:
    """Say on stderr which rules are left out, the first of them by name."""
    for wrong in queries.errors.slice(0, _NAMED).to_pylist():
        note(f"rule {wrong['id']!r} is left out: {wrong['message']}")
    if queries.errors.num_rows > _NAMED:
        note(f"{queries.errors.num_rows - _NAMED:,} other rules are left out")
