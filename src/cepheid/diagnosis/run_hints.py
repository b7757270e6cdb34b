"""What the runs of a query without matches show to be wrong, and which single change would lead to matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from cepheid.diagnosis.arcs import ArcCounting
from cepheid.diagnosis.counting import NOT_TRUE, Counting
from cepheid.diagnosis.facts import COMPLETE, Change, Hint, Stage
from cepheid.diagnosis.said_events import describe
from cepheid.diagnosis.what_if import CLOCK, CONDITION, HAVING, KEY, NEGATION, ORDER, STRATEGY, TIMES, WINDOW
from cepheid.diagnosis.written import text_of
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import spell
from cepheid.pattern.tree.nodes import Strategy
from cepheid.pattern.tree.walk import walk
from cepheid.values.rows import Event

_MEANT = 3  # matches: so many do not come by chance when two events are the other way round
_OVER = "the window was over"
_FEW = 20  # times more matches by another change: a longer window that adds fewer adds them by chance
_DIGIT = re.compile(r"\b\d")
_INDEX = re.compile(r"\[[^\]]*\]")


def run_hints(
    counted: Counting, events: dict[int, Event], changes: Sequence[Change], gap: int | None, rows: int
) -> Iterator[Hint]:
    """What ended the runs, the likeliest cause first.

    events: by their rows. gap: between two events, in nanoseconds. rows: how many events changes were tried on.

    Runs that a negation or HAVING dropped were complete: nothing else can be the cause. Two events the other way
    round add matches by chance only if there are very few. A window comes before a condition if the events are
    usually further apart than it is long, or if the condition is a key that is written out; but not if fewer events of
    a repetition add far more matches. A key is doubted last, and not at all if there were more matches than events
    without it.
    """
    stages = counted.stages()
    blamed = list(_never_true(stages, counted, changes))
    window = _windows(counted, changes)
    tied = any(_ties(counted, test) for test in _failed(stages)[:1])
    short = _is_short(counted, gap) or tied or (not blamed and _ended_by_window(stages))
    short = short and not _by_chance(changes)
    causes = [
        *_witnesses(counted, events, changes),
        *_having(counted, changes),
        *_clocks(changes),
        *(turned := list(_orders(changes, _MEANT))),
        *_contiguity(stages, changes),
        *_taken_first(counted, changes),
        *(window if short else ()),
        *blamed,
        *_times(counted, changes),
        *(window if not short else ()),
        *_orders(changes, 1, _MEANT),
        *(_conditions(stages, changes) if not blamed and not turned else ()),
    ]
    key, many = list(_keys(changes)), any(change.matches > rows for change in _of(changes, KEY)[:1])
    stopped = [] if causes else list(_stopped(stages))
    yield from [*causes, *stopped, *key] if many else [*causes, *key, *stopped]


def _of(changes: Sequence[Change], kind: str) -> list[Change]:
    return [change for change in changes if change.kind == kind]


def _witnesses(counted: Counting, events: dict[int, Event], changes: Sequence[Change]) -> Iterator[Hint]:
    """Every complete run has a witness against it."""
    without = _of(changes, NEGATION)
    refuted = sum(counted.witnesses.values())
    if refuted and refuted >= sum(counted.given.values()):
        (variable, row), times = counted.witnesses.most_common(1)[0]
        often = f"most often (for {times:,})" if times > 1 else "such as"
        common = f", {often} {describe(counted.query, events[row])} (row {row})" if row in events else ""
        runs = f"all {refuted:,} complete runs are" if refuted > 1 else "the only complete run is"
        message = f"{runs} dropped because of !{variable}: such an event is there{common}"
        remedy = f"add a condition on {variable}, such as a key that it shares with the others"
        yield Hint(
            "CEP026", message, remedy if not is_tied(counted, variable) else f"narrow the conditions on {variable}"
        )
    elif without:
        best = max(without, key=lambda change: change.matches)
        message = f"{best.text} there would be {best}: an event that must be absent is always there"
        yield Hint("CEP026", message, "add a condition on it, such as a key that it shares with the others")


def is_tied(counted: Counting, variable: str) -> bool:
    """Whether what must be absent has a key, or is compared with another event."""
    query = counted.query
    if query.same or query.partition_by:
        return True
    for condition in query.conditions:
        named = {node.variable for node in walk(condition) if isinstance(node, ex.Attribute)}
        if variable in named and len(named) > 1:
            return True
    return False


def _having(counted: Counting, changes: Sequence[Change]) -> Iterator[Hint]:
    """Report a HAVING that is never TRUE."""
    having, without = counted.query.having, _of(changes, HAVING)
    dropped = without[0].matches if without else counted.given["HAVING"]
    if having is not None and (without or (dropped and dropped == sum(counted.given.values()))):
        message = f"HAVING {text_of(having)} is not TRUE for any of {dropped:,} complete runs"
        yield Hint("CEP029", message, _nearest(counted.closest, text_of(having)))


def _nearest(closest: Mapping[str, tuple[float, str]], text: str) -> str:
    """The nearest values of a condition, as a remedy."""
    if text not in closest:
        return "compare it with the values in the nearest misses"
    values = closest[text][1]
    return f"the nearest was {values}{_advice(text, values)}"


def _advice(text: str, values: str) -> str:
    """What to check of numbers that are compared with a constant, or with each other."""
    if _DIGIT.search(_INDEX.sub("", text)):
        return "; check the constant and its unit"
    numbers = _DIGIT.search(values) and " = " not in values
    return "; check which way round it compares, and the units" if numbers else ""


def _clocks(changes: Sequence[Change]) -> Iterator[Hint]:
    """Other times, if they lead to more matches than any change to the query that leaves its conditions as they are."""
    others = [change.matches for change in changes if change.kind in (ORDER, STRATEGY, TIMES, WINDOW)]
    for best in sorted(_of(changes, CLOCK), key=lambda change: -change.matches)[:1]:
        if best.matches > max([_MEANT, *others]):
            message = f"the times may be wrong: with {best.text} there would be {best}"
            yield Hint("CEP031", message, "read the times from the right column, and all of them in one time zone")


def _orders(changes: Sequence[Change], least: int, most: int | None = None) -> Iterator[Hint]:
    """Two events the other way round."""
    of_order = [
        loosened
        for loosened in _of(changes, ORDER)
        if loosened.matches >= least and (most is None or loosened.matches < most)
    ]
    for best in sorted(of_order, key=lambda change: -change.matches)[:1]:
        message = f"the order in SEQ may be wrong: with {best.text} there would be {best}"
        yield Hint("CEP031", message, "exchange the two in the PATTERN")


def _contiguity(stages: Sequence[Stage], changes: Sequence[Change]) -> Iterator[Hint]:
    """Other events come between, and may not be skipped."""
    loose = [change for change in _of(changes, STRATEGY) if not _skips(change)]
    if not loose:
        return
    gives = f"{loose[0].text} would give {loose[0]}"
    for stage in stages:
        strict = {
            why: n
            for why, n in stage.ended.items()
            if why.startswith((Strategy.STRICT.value, Strategy.PARTITION.value))
        }
        count = sum(strict.values())
        if strict and count * 2 > sum(stage.ended.values()):
            why = max(strict, key=lambda reason: strict[reason])
            name, _, came = why.partition(": ")
            runs = f"{count:,} of {stage.runs:,} runs end after {stage.component}"
            message = f"{name} lets runs skip nothing: {runs}, as {came}"
            yield Hint("CEP024", message, f"{gives}; or see only the types that count: FROM stream(A, B)")
            return
    yield Hint("CEP024", f"other events come in between: {gives}", "use skip_till_next_match")


def _skips(change: Change) -> bool:
    """Whether a looser strategy is in the place of one that skips already."""
    return change.text.endswith(Strategy.NEXT.value)


def _taken_first(counted: Counting, changes: Sequence[Change]) -> Iterator[Hint]:
    """The next event that fits is taken, and another one would have led to a match."""
    for change in _of(changes, STRATEGY):
        if _skips(change) and change.matches >= _MEANT:
            message = "skip_till_next_match takes the next event that fits, and a later one would lead to a match"
            remedy = "narrow the conditions on the event that is taken too early, or skip it"
            yield Hint("CEP024", f"{message}: {change.text} would give {change}", remedy)


def _by_chance(changes: Sequence[Change]) -> bool:
    """Whether fewer events of a repetition lead to far more matches than a longer window."""
    longer, fewer = _of(changes, WINDOW), _of(changes, TIMES)
    return bool(longer and fewer) and fewer[0].matches >= _FEW * longer[0].matches


def _failed(stages: Sequence[Stage]) -> list[str]:
    """Conditions that were tested and never TRUE."""
    return [test.text for stage in stages for test in stage.tests if test.tested and not test.passed]


def _ties(counted: Counting, text: str) -> bool:
    """Whether a condition is a key that is written out: `a.id = b.id`."""
    for condition in counted.query.conditions:
        match condition:
            case ex.Compare("=", ex.Attribute() as one, ex.Attribute() as other) if text_of(condition) == text:
                return one.name == other.name and one.variable != other.variable
    return False


def _is_short(counted: Counting, gap: int | None) -> bool:
    within = counted.query.within
    return gap is not None and within is not None and within.nanoseconds is not None and gap >= within.nanoseconds


def _ended_by_window(stages: Sequence[Stage]) -> bool:
    """Whether most runs that came furthest were over before the next event came."""
    reached = [stage for stage in stages if stage.runs and stage.component != COMPLETE]
    ended = reached[-1].ended if reached else {}
    return 2 * sum(n for why, n in ended.items() if why.startswith(_OVER)) > sum(ended.values())


def _windows(counted: Counting, changes: Sequence[Change]) -> list[Hint]:
    """A window that is too short, if a longer one leads to matches."""
    within = counted.query.within
    length = "" if within is None or within.nanoseconds is None else f" {spell(within.nanoseconds)}"
    return [
        Hint(
            "CEP023",
            f"WITHIN{length} is too short for any match: {change.text} would give {change}",
            "write a longer window, or check its unit",
        )
        for change in _of(changes, WINDOW)
    ]


def _times(counted: Counting, changes: Sequence[Change]) -> Iterator[Hint]:
    """A repetition never gets as many events as it needs."""
    for change in _of(changes, TIMES)[:1]:
        longest = max(counted.longest.values(), default=0)
        message = f"no run got more than {longest:,} event{'s' if longest != 1 else ''} of a repetition that needs more"
        yield Hint("CEP033", f"{message}: {change.text} would give {change}", "ask for fewer events")


def arc_hints(counted: ArcCounting) -> Iterator[Hint]:
    """The first arc whose condition is never TRUE."""
    yield from _never_true(counted.stages(), counted, ())


def _never_true(stages: Sequence[Stage], counted: Counting | ArcCounting, changes: Sequence[Change]) -> Iterator[Hint]:
    """A condition that was tested and never TRUE, at the first component that no run gets over."""
    for stage in stages:
        for test in stage.tests:
            if test.tested and not test.passed:
                events = f"{test.tested:,} event{'s were' if test.tested != 1 else ' was'} tested for {stage.component}"
                message = f"{test.text} was never TRUE: {events}"
                loosened = [change for change in changes if change.text == f"without {test.text}"]
                if loosened:
                    message += f"; without it there would be {loosened[0]}"
                yield Hint("CEP030", message, _nearest(counted.closest, test.text))
                return


def _conditions(stages: Sequence[Stage], changes: Sequence[Change]) -> Iterator[Hint]:
    """The condition that ended most runs; else the one without which there are the fewest matches."""
    loosened = _of(changes, CONDITION)
    ended: dict[str, int] = {}
    for stage in stages:
        for why, number in stage.ended.items():
            text = f"without {why.partition(NOT_TRUE)[0]}"
            ended[text] = ended.get(text, 0) + number
    for best in sorted(loosened, key=lambda change: (-ended.get(change.text, 0), change.matches))[:1]:
        message = f"{best.text} there would be {best}"
        yield Hint(
            "CEP031", message, "check this condition: it is TRUE for some events, but never where all the others are"
        )


def _keys(changes: Sequence[Change]) -> Iterator[Hint]:
    for change in _of(changes, KEY)[:1]:
        if change.text.startswith("without "):
            message = f"{change.text} there would be {change}"
            yield Hint("CEP031", message, "check that this key ties together the events that belong together")
        else:
            message = f"the key may be the wrong column: {change.text} would give {change}"
            yield Hint("CEP025", message, "use the column that ties together the events that belong together")


def _stopped(stages: Sequence[Stage]) -> Iterator[Hint]:
    """How far runs came, where nothing else can be said."""
    for stage, following in pairwise(stages):
        if stage.runs and not following.runs and stage.ended and following.component != COMPLETE:
            why, count = max(stage.ended.items(), key=lambda ended: ended[1])
            kind = "|".join(following.types) or "event"
            message = (
                f"runs get as far as {stage.component}, and no further: after it no {kind} can be {following.component}"
            )
            yield Hint("CEP037", message, f"{count:,} of the {stage.runs:,} runs there ended: {why}")
            return
