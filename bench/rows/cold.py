"""`engine="auto"` is never far from the best: each query at each size, in a new process with an empty cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from bench import queries, workloads
from bench.cache import kept
from bench.fresh import OVER, Spent, run
from bench.harness import Figure, Options, Target
from bench.recipes import RECIPES, STREAMS, Recipe

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
QUICK_SIZES = SIZES[:3]
QUICK = ("stock p2 s3", "sequence, 100 keys", "rare, C last", "shoplifting", "funnel", "rises")
ENGINES = ("compiled", "plain", "auto")
TIMES, PLUS = 1.3, 0.3  # what auto may take: so many times the best, and so many seconds more
PATIENCE = {"plain": 2, "compiled": 10, "auto": 10}  # times the timeout until a process is ended
NEAR, AGAIN = 1.5, 60  # what misses by less, and takes fewer seconds, is run once more, lest a noisy moment decides
WORSE = 1.5  # times compiled at a size: plain is then the worse one at larger sizes too, and is not run there
SLOWER = "slower"
LATER = 1.0  # seconds after the matches: more than it takes to leave Python

# Windows such that at ten million events no query has more matches than fit into memory.
_SHORT = "300 milliseconds"
QUESTIONS = {
    "stock p1 s3": Recipe(queries.w1("p1", "s3", 100), "stock"),
    "stock p2 s2": Recipe(queries.w1("p2", "s2"), "stock"),
    "stock p2 s3": Recipe(queries.w1("p2", "s3"), "stock"),
    "stock p3 s2": Recipe(queries.w1("p3", "s2", 100), "stock"),
    "stock p3 s3": Recipe(queries.w1("p3", "s3", 100), "stock"),
    "stock p3* s3": Recipe(queries.w1_star("s3"), "stock"),
    "sequence, 100 keys": Recipe(queries.typed(), "typed_v100"),
    "sequence, 10,000 keys": Recipe(queries.typed(), "typed_v10000"),
    "sequence of six": Recipe(queries.typed(6), "typed_v100"),
    "sequence, two keys": Recipe(queries.typed(attributes="attr1, attr2"), "typed_v100"),
    **{
        f"rare, C {place}": Recipe(text.replace("1000 milliseconds", _SHORT), "rare_last")
        for place, text in queries.W3.items()
    },
    "switching": Recipe(queries.SWITCHING, "switching"),
    "shoplifting": Recipe(queries.W4, "rfid"),
    "vshapes, balanced": Recipe(queries.W5_BALANCED, "ticks"),
    "vshapes, prices": Recipe(queries.W5_PRICES, "ticks"),
    "kleene, 10 events": Recipe(queries.kleene(10), "rare_last"),
    **RECIPES,
}


@dataclass(frozen=True)
class Line:
    """A query at a size: what each engine took, or why that is not known."""

    name: str
    events: int
    spent: dict[str, Spent | str]
    timeout: float  # plain takes longer where it is not known

    def cpu(self, engine: str) -> float | None:
        """CPU seconds, where it was run."""
        spent = self.spent[engine]
        return None if isinstance(spent, str) else spent.cpu

    @property
    def best(self) -> float | None:
        """The better of those that auto chooses from, where that can be told."""
        known = [cpu for cpu in map(self.cpu, ("plain", "compiled")) if cpu is not None]
        best = min(known, default=None)
        if best is not None and self.cpu("plain") is None and best > self.timeout and self.spent["plain"] != SLOWER:
            return None  # plain may be better than compiled
        return best

    @property
    def plain_is_worse(self) -> bool:
        """Whether plain is so much slower than compiled that it will be at any larger size."""
        plain, compiled = self.cpu("plain"), self.cpu("compiled")
        known = plain is not None and compiled is not None and plain > WORSE * compiled
        return known or self.spent["plain"] == SLOWER

    @property
    def ratio(self) -> float | None:
        """How many times the best auto takes; infinitely many where it did not end."""
        if self.best is None:
            return None
        cpu = self.cpu("auto")
        return float("inf") if cpu is None else cpu / self.best

    @property
    def bound(self) -> float | None:
        """What auto may take."""
        return None if self.best is None else TIMES * self.best + PLUS

    @property
    def holds(self) -> bool | None:
        """Whether auto does, where that can be told."""
        if self.bound is None:
            return None
        cpu = self.cpu("auto")
        return cpu is not None and cpu <= self.bound

    @property
    def misses_narrowly(self) -> bool:
        """Whether noise may be the reason that it does not hold."""
        cpu = self.cpu("auto")
        return cpu is not None and self.bound is not None and self.bound < cpu <= NEAR * self.bound

    def figure(self) -> Figure:
        """As a line of the table."""
        found = {spent.matches for spent in self.spent.values() if isinstance(spent, Spent)}
        cells = {engine: _cell(self.spent[engine], 0) for engine in reversed(ENGINES)}
        walls = " ".join(_cell(self.spent[engine], 1) for engine in reversed(ENGINES))
        beside = {
            "events": f"{self.events:,}",
            "matches": " ".join(f"{number:,}" for number in sorted(found)),
            **cells,
            "auto / best": "" if self.ratio is None else f"{self.ratio:.2f}",
            "wall": walls,
        }
        later = {name: s.after for name, s in self.spent.items() if isinstance(s, Spent) and s.after > LATER}
        note = "".join(f"; {name}: {after:.1f} s after the matches were there" for name, after in later.items())
        cpu = self.cpu("auto")
        return Figure(
            "cold",
            self.name,
            "CPU seconds",
            float("inf") if cpu is None else cpu,
            "s",
            target=None if self.bound is None else Target("≤", self.bound),
            note=(f"{self.events:,} events{note}" if note else ""),
            beside=beside,
        )


def cold(options: Options) -> Iterator[Figure]:
    """`engine="auto"` against plain and compiled, each in a new process with an empty cache."""
    names = QUICK if options.quick else tuple(QUESTIONS)
    lines = []
    for name in (name for name in names if options.only in name):
        before: list[Line] = []
        for events in QUICK_SIZES if options.quick else SIZES:
            if events <= options.most:
                before.append(_line(name, events, before, options))
                yield before[-1].figure()
        lines += before
    yield from _summary(lines)


def _summary(lines: list[Line]) -> Iterator[Figure]:
    judged = [line for line in lines if line.holds is not None]
    if not judged:
        return
    held = sum(bool(line.holds) for line in judged)
    case = f"{len(judged)} lines"
    rule = f"auto ≤ {TIMES} x the best + {PLUS} s"
    yield Figure("cold", case, "hold", held, "lines", target=Target("≥", len(judged)), note=rule)
    # The worst by the rule: where a tenth of a second is all that there is, the ratio says little.
    worst = max(judged, key=lambda line: (line.cpu("auto") or float("inf")) / (line.bound or 1))
    ratio = worst.ratio or float("inf")
    told = f"{worst.name}, {worst.events:,} events"
    yield Figure("cold", case, "worst by the rule", ratio, "x the best", note=f"worst by the rule: {told}")
    worst = max(judged, key=lambda line: line.ratio or 0.0)
    told = f"{worst.name}, {worst.events:,} events"
    yield Figure("cold", case, "worst ratio", worst.ratio or 0.0, "x the best", note=f"worst ratio: {told}")


def _line(name: str, events: int, before: list[Line], options: Options) -> Line:
    path = _events(QUESTIONS[name].stream, events)
    spent = {engine: _run(name, events, path, engine, before, options) for engine in ENGINES}
    line = Line(name, events, spent, options.timeout)
    known = [spent for spent in line.spent.values() if isinstance(spent, Spent)]
    assert len({spent.matches for spent in known}) <= 1, f"cold {name}, {events:,} events: {line.spent}"
    if line.misses_narrowly and sum(spent.wall for spent in known) < AGAIN:
        again = {engine: _run(name, events, path, engine, before, options) for engine in ENGINES}
        return replace(line, spent={engine: _better(spent[engine], again[engine]) for engine in ENGINES})
    return line


def _run(name: str, events: int, path: Path, engine: str, before: list[Line], options: Options) -> Spent | str:
    if engine == "plain":
        if any(line.plain_is_worse for line in before):
            return SLOWER
        expected = _expected(events, before)
        if expected > options.timeout:
            return "skipped" if expected == float("inf") else f"skipped, ~{expected:,.0f}"
    asked = QUESTIONS[name]
    return run(asked.text, asked.options, path, engine, PATIENCE[engine] * options.timeout)


def _expected(events: int, before: list[Line]) -> float:
    """Seconds of plain Python: on a line through the last two sizes that were run; infinite if one broke off."""
    if any(line.spent["plain"] in ("failed", OVER) for line in before):
        return float("inf")
    known = [(line.events, cpu) for line in before if (cpu := line.cpu("plain")) is not None]
    if len(known) < 2:
        return 0.0
    (x, earlier), (y, last) = known[-2:]
    return last + (last - earlier) / (y - x) * (events - y)


def _better(one: Spent | str, other: Spent | str) -> Spent | str:
    if isinstance(one, str) or isinstance(other, str):
        return one if isinstance(other, str) else other
    return min(one, other)


def _cell(spent: Spent | str, which: int) -> str:
    if isinstance(spent, str):
        return "-" if which else spent
    return f"{spent[which]:.3g}"


def _events(stream: str, events: int) -> Path:
    """The events as Arrow holds them in memory: in one piece, their types dictionary-encoded."""

    def write(draft: Path) -> None:
        table = (STREAMS.get(stream) or workloads.STREAMS[stream][0])(events)
        if "type" in table.column_names and not pa.types.is_dictionary(table.schema.field("type").type):
            at = table.schema.get_field_index("type")
            table = table.set_column(at, "type", table.column("type").combine_chunks().dictionary_encode())
        with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    return kept(f"{stream}-{events}.arrow", write)
