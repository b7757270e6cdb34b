"""What the runs show to be wrong with a query that has no matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.diagnosis.arcs import ArcCounting
from cepheid.diagnosis.counting import Counting
from cepheid.diagnosis.facts import Change, Hint
from cepheid.diagnosis.said_events import describe
from cepheid.diagnosis.written import text_of
from cepheid.pattern.tree import Strategy
from cepheid.values.rows import Event


def run_hints(counted: Counting, events: dict[int, Event]) -> Iterator[Hint]:
    """The first rule that ends every run. events: by their rows."""
    yield from _witnesses(counted, events)
    yield from _having(counted)
    yield from _contiguity(counted)
    yield from _never_true(counted)


def _witnesses(counted: Counting, events: dict[int, Event]) -> Iterator[Hint]:
    """Every complete run has a witness against it."""
    refuted = sum(counted.witnesses.values())
    if not refuted or refuted < sum(counted.given.values()):
        return
    (variable, row), times = counted.witnesses.most_common(1)[0]
    often = f"most often (for {times:,})" if times > 1 else "such as"
    common = f", {often} {describe(counted.query, events[row])} (row {row})" if row in events else ""
    runs = f"all {refuted:,} complete runs are" if refuted > 1 else "the only complete run is"
    message = f"{runs} dropped because of !{variable}: such an event is there{common}"
    yield Hint("CEP026", message, f"add a condition on {variable}, such as a key that it shares with the others")


def _having(counted: Counting) -> Iterator[Hint]:
    """HAVING is never TRUE."""
    dropped, having = counted.given["HAVING"], counted.query.having
    if dropped and dropped == sum(counted.given.values()) and having is not None:
        message = f"HAVING {text_of(having)} is not TRUE for any of {dropped:,} complete runs"
        yield Hint("CEP029", message, "see the nearest misses, which have the values")


def _contiguity(counted: Counting) -> Iterator[Hint]:
    """Other events come between, and may not be skipped."""
    for stage in counted.stages():
        strict = [
            (why, count)
            for why, count in stage.ended.items()
            if why.startswith((Strategy.STRICT.value, Strategy.PARTITION.value))
        ]
        count = sum(number for _, number in strict)
        if strict and count * 2 > sum(stage.ended.values()):
            why, _ = max(strict, key=lambda one: one[1])
            name = why.partition(":")[0]
            message = (
                f"{count:,} of {stage.runs:,} runs end after {stage.component} since {name} lets them skip nothing"
            )
            detail = f"{message}: {why.partition(': ')[2]}"
            remedy = "use skip_till_next_match, or see only the types that count: FROM stream(A, B)"
            yield Hint("CEP024", detail, remedy)
            return


def arc_hints(counted: ArcCounting) -> Iterator[Hint]:
    """The first arc whose condition is never TRUE."""
    yield from _never_true(counted)


def _never_true(counted: Counting | ArcCounting) -> Iterator[Hint]:
    """A condition that was tested and never TRUE, at the first component that no run gets over."""
    for stage in counted.stages():
        for test in stage.tests:
            if test.tested and not test.passed:
                message = f"{test.text} was tested on {test.tested:,} events for {stage.component}, and never TRUE"
                yield Hint("CEP030", message, "see the nearest misses, which have the values")
                return


def change_hints(changes: Sequence[Change], hints: Sequence[Hint]) -> Iterator[Hint]:
    """The single change that gives matches: one that another hint speaks of; a key is left out last."""

    def order(change: Change) -> tuple[bool, bool, int]:
        what = change.text.removeprefix("without ")
        agrees = any(hint.message.startswith((what, f"{what}:")) or f" {what}" in hint.message for hint in hints)
        return not agrees, what.startswith(("[", "PARTITION BY")), change.matches

    for change in sorted(changes, key=order)[:1]:
        count = f"{change.matches:,} match{'es' if change.matches != 1 else ''}"
        yield Hint("CEP031", f"one change would give {count}: {change.text}", "change it if that is what you meant")
