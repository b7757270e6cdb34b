"""What the page shows of a query and its matches, as JSON: rows, time line, automaton, funnel."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from cepheid.api import Query
from cepheid.api.files.text_values import values
from cepheid.diagnosis.as_text import coverage, said_runs, tried
from cepheid.engine.matches.in_words import said_matches
from cepheid.engine.matches.matches import Matches
from cepheid.pictures.svg import can_draw
from cepheid.studio.plain import plain
from cepheid.values.json import Json

ROWS = 50
"""How many matches the table shows."""
BANDS = 8
"""How many matches the time line shows."""
_SOURCE_OF_PICTURE = re.compile(r"^Picture \(Mermaid\)\n(?: .*\n)*", re.MULTILINE)


def matches_view(matches: Matches) -> Json:
    """How many matches there are, and the first ones. said: their number, as one reads it."""
    count = matches.count()
    return {"count": plain(count), "said": said_matches(count), **rows_view(matches.head(ROWS).to_arrow())}


def rows_view(table: pa.Table) -> Json:
    """The columns and rows of a table."""
    rows = zip(*(values(column) for column in table.columns), strict=True)
    return {
        "columns": table.column_names,
        "rows": [plain(dict(zip(table.column_names, row, strict=True))) for row in rows],
    }


def timeline_view(matches: Matches) -> str:
    """The first matches on a time line, as SVG."""
    return matches.timeline(BANDS).svg


def explain_view(query: Query, events: pa.Table | None) -> Json:
    """A query in words, and as SVG where it can be drawn: the automaton of each query, then the plan of each."""
    explanation = query.explain(events)
    if not can_draw():
        return {"text": str(explanation), "svgs": ()}
    return {"text": _SOURCE_OF_PICTURE.sub("", str(explanation)), "svgs": explanation.svgs}


def diagnose_view(query: Query, events: pa.Table, spelt: Callable[[str], str], check: Callable[[], None]) -> Json:
    """Where runs end, and the nearest misses.

    spelt: a remedy in the words of the command line. check: raises if nobody waits for it any longer.
    """
    diagnosis = query.diagnose(events, check=check)
    check()
    shown = diagnosis.to_dict()
    for hint in shown["hints"]:
        hint["remedy"] = spelt(hint["remedy"])
    for stage, entry in zip(diagnosis.funnel, shown["funnel"], strict=True):
        entry["said"] = said_runs(diagnosis, stage)
    for change, entry in zip(diagnosis.changes, shown["changes"], strict=True):
        entry["said"] = str(change)
    of = {
        "coverage": coverage(diagnosis),
        "tried": tried(diagnosis),
        "said": said_matches(diagnosis.matches, exact=diagnosis.exact),
    }
    json: Json = plain({**shown, **of})
    return json
