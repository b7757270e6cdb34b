"""A session as one line, and as a piece of a page in a notebook."""

from __future__ import annotations

from cepheid.engine.program import CompiledProgram
from cepheid.engine.session.stats import Stats
from cepheid.language import print_query
from cepheid.pictures import fact_table

_SHOWN = 80  # characters of the query


def shown_program(program: CompiledProgram) -> str:
    """The queries in one line, or its beginning."""
    text = " ".join("; ".join(print_query(analysed.query) for analysed in program.queries).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def session_line(of: str, *, closed: bool, failed: bool, events: int, matches: int, reached: object) -> str:
    """What a session is of, and how far it is. reached: the watermark as the time column has it."""
    state = "closed" if closed else "stopped by an error" if failed else "open"
    counts = f"{events} event{'s' * (events != 1)}, {matches} match{'es' * (matches != 1)}"
    return f"<Session of {of}: {state}, {counts}{'' if reached is None else f', watermark {reached}'}>"


def session_page(line: str, stats: Stats, rate: float, reached: object) -> str:
    """The counters of a session as a table. rate: events a second since it was opened."""
    facts = {
        "events": stats.events,
        "matches": stats.matches,
        "events a second": _rounded(rate),
        "matches in 1,000 events": _rounded(1000 * stats.matches / stats.events) if stats.events else "",
        "watermark": reached or "none yet",
        "runs": stats.runs,
        "state": f"{stats.state_bytes:,} bytes",
        "late events": stats.late,
        "plan": stats.plan,
    }
    return fact_table(line, facts)


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
