"""Case files: events, a query, and the expected matches or error, as readable text.

    # A comment.
    === a title, unique in the file
    rule: S6
    params: {'T': timedelta(hours=1)}
    --- events
    ts | type | id | x:float64
    1  | A    | 7  | 1.5
    2  | B    | 7  | NULL
    --- query
    PATTERN SEQ(A a, B b) WHERE [id] WITHIN T
    --- matches
    a=1 b=2

The header is optional: the options of Query (`time`, `start`, `type`, `unit`, `order_by`, `params`, `types`,
`functions`; `type: none` for a stream of one type), `rule`, `source`, `note`, `warns: part of the warning` (or
`warns: none`; without it warnings are ignored) and `not_on: path: the reason` for an execution path that can't run the
case yet. `op: column` names the column of events with `+` and `-`: the matches are those of the events that are left
(S16).

Events are counted from 1 in the order of the file; with `op`, equal ones have the number of the first. The type of a
column is inferred from its cells unless given; `NULL` is NULL, 'text' a string. Without events the query is made and
not run.

A match names the events of each variable: `a=1`; `b=[2 4]` for a closure; `b=[]` if it is empty; `c=-` if nothing is
bound. Matches of a query with RETURN, and of composite events, are JSON objects with match_start and match_end first.
Instead of matches, `--- error` has the code, line and column, and message of an error: `CEP203 1:24 negation …`,
with `-` if there is no place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.errors import did_you_mean
from cepheid.testing.functions import FUNCTIONS
from cepheid.testing.headers import Functions, parse_header
from cepheid.testing.outcomes import Outcome, normalise
from cepheid.testing.page import Page, is_gap
from cepheid.testing.tables import parse_table

SECTIONS = ("events", "query", "matches", "error")


@dataclass(frozen=True)
class Case:
    """A query, its events, and the expected outcome."""

    title: str
    query: str
    events: pa.Table | None = None  # without events the query is made, and not run
    options: Mapping[str, Any] = field(default_factory=dict)  # of Query: params, functions, time, …
    op: str | None = None  # the column of insertions and retractions
    expected: Outcome | None = None
    rule: str = ""
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warns: str | None = None  # part of the expected warning; "none": no warning is expected
    not_on: Mapping[str, str] = field(default_factory=dict)  # paths that can't run the case yet, with the reason
    file: str = field(default="<text>", compare=False)
    line: int = field(default=1, compare=False)
    expected_at: tuple[int, int] = field(default=(0, 0), compare=False)  # its lines in the file, from 0


def case_files(path: str | Path) -> list[Path]:
    """A case file, or those of a folder, sorted by name."""
    path = Path(path)
    return sorted(path.glob("*.case")) if path.is_dir() else [path]


def read_cases(path: str | Path, functions: Functions | None = None) -> list[Case]:
    """The cases of a file, or of the `.case` files of a folder."""
    return [case for file in case_files(path) for case in parse_cases(file.read_text("utf-8"), str(file), functions)]


def parse_cases(text: str, file: str = "<text>", functions: Functions | None = None) -> list[Case]:
    """The cases in a text.

    >>> [case] = parse_cases('''
    ... === a pair
    ... --- events
    ... ts | type
    ... 1  | A
    ... 2  | B
    ... --- query
    ... PATTERN SEQ(A a, B b)
    ... --- matches
    ... a=1 b=2
    ... ''')
    >>> case.title, case.expected.lines
    ('a pair', ('a=1 b=2',))
    """
    page = Page(text, file)
    known = {**FUNCTIONS, **(functions or {})}
    starts = [k for k, line in enumerate(page.lines) if line.startswith("===")]
    for k, line in enumerate(page.lines[: starts[0] if starts else None]):
        if not is_gap(line):
            raise page.error(k, "there is text before the first case", "begin a case with === and its title")
    cases: dict[str, Case] = {}
    for start, end in zip(starts, [*starts[1:], len(page.lines)], strict=True):
        case = _case(page, start, end, known)
        if case.title in cases:
            message = f"the case in line {cases[case.title].line} has the same title"
            raise page.error(start, message, "choose another title")
        cases[case.title] = case
    return list(cases.values())


def _case(page: Page, start: int, end: int, functions: Functions) -> Case:
    title = page.lines[start].removeprefix("===").strip()
    if not title:
        raise page.error(start, "the case has no title", "write === and a title that says what is tested")
    sections = _sections(page, start + 1, end)
    if "query" not in sections:
        raise page.error(start, "the case has no query", "write a section: --- query")
    if "matches" in sections and "error" in sections:
        raise page.error(
            sections["error"].start - 1, "there are both matches and an error", "keep one of the two sections"
        )
    header = parse_header(page, sections[""], functions)
    query = sections["query"]
    at = sections.get("matches") or sections.get("error")
    return Case(
        title=title,
        query="\n".join(page.lines[query]),
        events=parse_table(page, sections["events"], header.options) if "events" in sections else None,
        options=header.options,
        op=header.op,
        expected=_expected(page, at, "error" if "error" in sections else "matches") if at else None,
        rule=header.rule,
        sources=header.sources,
        notes=header.notes,
        warns=header.warns,
        not_on=header.not_on,
        file=page.file,
        line=start + 1,
        expected_at=(at.start - 1, at.stop) if at else (page.trim(start, end).stop,) * 2,
    )


def _sections(page: Page, start: int, end: int) -> dict[str, slice]:
    """The lines of each section; the header is the one without a name."""
    starts = {"": start}
    for k in range(start, end):
        if name := re.fullmatch(r"--- *(\w*) *", page.lines[k]):
            if name[1] not in SECTIONS:
                raise page.error(k, f"unknown section '{name[1]}'", did_you_mean(name[1], SECTIONS, "sections"))
            if name[1] in starts:
                raise page.error(k, f"there are two sections '{name[1]}'", "keep one of them")
            starts[name[1]] = k + 1
    stops = [*(k - 1 for k in list(starts.values())[1:]), end]
    return {name: page.trim(k, stop) for (name, k), stop in zip(starts.items(), stops, strict=True)}


def _expected(page: Page, section: slice, name: str) -> Outcome | None:
    lines = []
    for k, line in page.written(section):
        try:
            lines.append(normalise(line, name))
        except ValueError as error:
            raise page.error(k, str(error), "correct the line") from None
        if name == "error" and len(lines) > 1:
            raise page.error(k, "there is more than one line", "write the error in one line")
    if name == "error" and not lines:
        return None  # to be completed
    return Outcome(tuple(lines), name == "error")
