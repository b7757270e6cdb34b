"""A diagnosis as text: what is likely wrong comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.diagnosis.facts import COMPLETE, Findings, Stage
from cepheid.engine.matches.in_words import said_matches
from cepheid.pattern.expressions.durations import NANOSECONDS, spell

SHOWN = 3
"""Events of a miss that are shown."""
_ENDS = 4  # reasons shown for each component
_BAR = 20  # cells


def as_text(found: Findings) -> str:
    """All of it, in the order in which a reader wants it."""
    return "\n".join(_lines(found))


def headline(found: Findings) -> str:
    """How many events and matches there are."""
    count = said_matches(found.matches, exact=found.exact) if found.matches else "no match"
    return f"{count} in {found.seen.events:,} event{'s' if found.seen.events != 1 else ''}"


def events_line(found: Findings) -> str:
    """Types, times and partitions."""
    seen = found.seen
    ordered = sorted(seen.types.items(), key=lambda item: -item[1])
    types = ", ".join(f"{name} {count:,}" for name, count in ordered[:8])
    parts = [types + (", …" if len(ordered) > 8 else "")] if types else []
    if seen.first is not None:
        parts.append(f"{seen.first} to {seen.last}")
    if seen.partitions > 1:
        parts.append(f"{seen.partitions:,} partitions")
    if seen.median_gap is not None:
        parts.append(f"median gap {near(seen.median_gap)}")
    return "; ".join(parts)


def near(nanoseconds: int) -> str:
    """A duration in a few digits, as one reads it.

    >>> near(90_000_000_000), near(43_200_000_000_000), near(5_462_000_000_000)
    ('90 seconds', '12 hours', '1.52 hours')
    """
    exact = spell(nanoseconds)
    if len(exact.split()[0]) <= 3:
        return exact
    for unit in ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds"):
        if nanoseconds >= NANOSECONDS[unit]:
            number = f"{nanoseconds / NANOSECONDS[unit]:.3g}"
            return f"{number} {unit[:-1] if number == '1' else unit}"
    return exact


def tried(found: Findings) -> str:
    """On which events changes were tried, if not on all."""
    events = found.seen.events
    return "" if found.tried >= events else f" (in {found.tried:,} of {events:,} events)"


def coverage(found: Findings) -> str:
    """What of the stream the runs are known of."""
    parts = []
    if found.sampled < found.seen.events:
        parts.append(f"the runs in {found.sampled:,} of {found.seen.events:,} events")
    if found.followed < found.begun:
        parts.append(f"{found.followed:,} of the {found.begun:,} runs that began were followed to their end")
    return "; ".join(parts)


def _lines(found: Findings) -> Iterator[str]:
    yield headline(found)
    if said := events_line(found):
        yield f"  {said}"
    for hint in found.hints:
        yield ""
        yield f"{hint.code}: {hint.message}"
        yield f"  -> {hint.remedy}"
    if found.changes:
        yield ""
        yield "what if" + tried(found)
        for change in found.changes:
            yield f"  {change.text}: {change}"
    if found.misses and not found.matches:
        yield ""
        yield "nearest misses"
        for number, miss in enumerate(found.misses, 1):
            yield from _miss(number, miss.events, miss.refused, miss.reason)
    yield ""
    yield "funnel"
    yield from _funnel(found)
    if note := coverage(found):
        yield f"  ({note})"


def left_out_events(count: int) -> str:
    """How many events of a miss are not shown; empty if all are."""
    hidden = count - SHOWN
    return f"… {hidden:,} more event{'s' if hidden > 1 else ''}" if hidden > 0 else ""


def said_runs(found: Findings, stage: Stage) -> str:
    """How many runs came to a component. None came among those that were followed: that is not none of all."""
    if stage.runs or found.followed == found.begun:
        return f"{stage.runs:,} run{'s' if stage.runs != 1 else ''}"
    return "none of the runs that were followed" if found.followed or stage.tests else "no run was followed so far"


def _miss(
    number: int, events: Sequence[tuple[str, int, str]], refused: tuple[str, int, str] | None, reason: str
) -> Iterator[str]:
    mark = f"  {number}. "
    for component, row, text in events[:SHOWN]:
        yield f"{mark}{component}: {text} (row {row})"
        mark = "     "
    if left_out := left_out_events(len(events)):
        yield f"     {left_out}"
    if refused is not None:
        yield f"{mark}{'then ' if events else ''}{refused[2]} (row {refused[1]})"
        mark = "     "
    yield f"{mark}{reason}"


def _funnel(found: Findings) -> Iterator[str]:
    stages = found.funnel
    most = max((stage.runs for stage in stages), default=0)
    several = len({stage.query for stage in stages}) > 1
    query = None
    for stage in stages:
        if several and stage.query != query:
            query = stage.query
            yield f"  {query}"
        bar = "█" * (-(-_BAR * stage.runs // most) if most else 0)
        types = "|".join(stage.types) or "*"
        yield f"  {types} {stage.component}: {said_runs(found, stage)}  {bar}".rstrip()
        for test in stage.tests:
            share = f" ({test.passed / test.tested:.1%})" if test.tested else ""
            yield f"    {test.text}: TRUE {test.passed:,} of {test.tested:,}{share}"
        for why, count in list(stage.ended.items())[:_ENDS]:
            yield f"    {count:,} ended here: {why}" if stage.component != COMPLETE else f"    {count:,} {why}"
