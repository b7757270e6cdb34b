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


def as_text(findings: Findings) -> str:
    """All of it, in the order in which a reader wants it."""
    return "\n".join(_lines(findings))


def headline(findings: Findings) -> str:
    """How many events and matches there are."""
    count = said_matches(findings.matches, exact=findings.exact) if findings.matches else "no match"
    return f"{count} in {findings.seen.events:,} event{'s' if findings.seen.events != 1 else ''}"


def events_line(findings: Findings) -> str:
    """Say of which types, times and partitions the events are; nothing if there are none."""
    seen = findings.seen
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


def tried(findings: Findings) -> str:
    """On which events changes were tried, if not on all."""
    events = findings.seen.events
    return "" if findings.tried >= events else f" (in {findings.tried:,} of {events:,} events)"


def coverage(findings: Findings) -> str:
    """What of the stream the runs are known of."""
    parts = []
    if findings.sampled < findings.seen.events:
        parts.append(f"the runs in {findings.sampled:,} of {findings.seen.events:,} events")
    if findings.followed < findings.begun:
        parts.append(f"{findings.followed:,} of the {findings.begun:,} runs that began were followed to their end")
    return "; ".join(parts)


def _lines(findings: Findings) -> Iterator[str]:
    yield headline(findings)
    if said := events_line(findings):
        yield f"  {said}"
    for hint in findings.hints:
        yield ""
        yield f"{hint.code}: {hint.message}"
        yield f"  -> {hint.remedy}"
    if findings.changes:
        yield ""
        yield "what if" + tried(findings)
        for change in findings.changes:
            yield f"  {change.text}: {change}"
    if findings.misses and not findings.matches:
        yield ""
        yield "nearest misses"
        for number, miss in enumerate(findings.misses, 1):
            yield from _miss(number, miss.events, miss.refused, miss.reason)
    yield ""
    yield "funnel"
    yield from _funnel(findings)
    if note := coverage(findings):
        yield f"  ({note})"


def left_out_events(count: int) -> str:
    """How many events of a miss are not shown; empty if all are."""
    hidden = count - SHOWN
    return f"… {hidden:,} more event{'s' if hidden > 1 else ''}" if hidden > 0 else ""


def said_runs(findings: Findings, stage: Stage) -> str:
    """How many runs came to a component. None came among those that were followed: that is not none of all."""
    if stage.runs or findings.followed == findings.begun:
        return f"{stage.runs:,} run{'s' if stage.runs != 1 else ''}"
    return "none of the runs that were followed" if findings.followed or stage.tests else "no run was followed so far"


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


def _funnel(findings: Findings) -> Iterator[str]:
    stages = findings.funnel
    most = max((stage.runs for stage in stages), default=0)
    several = len({stage.query for stage in stages}) > 1
    query = None
    for stage in stages:
        if several and stage.query != query:
            query = stage.query
            yield f"  {query}"
        bar = "█" * (-(-_BAR * stage.runs // most) if most else 0)
        types = "|".join(stage.types) or "*"
        yield f"  {types} {stage.component}: {said_runs(findings, stage)}  {bar}".rstrip()
        for test in stage.tests:
            share = f" ({test.passed / test.tested:.1%})" if test.tested else ""
            yield f"    {test.text}: TRUE {test.passed:,} of {test.tested:,}{share}"
        for why, count in list(stage.ended.items())[:_ENDS]:
            yield f"    {count:,} ended here: {why}" if stage.component != COMPLETE else f"    {count:,} {why}"
