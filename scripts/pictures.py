"""Draws the pictures that README and the documentation show: `make pictures`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import cepheid as cep
from cepheid.pictures import Timeline, draw_timeline
from cepheid.pictures.timeline import Band, Lane, Point, Scale, Stretch

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
FOLDER = Path(__file__).parents[1] / "docs" / "pictures"

SHELVES = cep.Query("PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours")
TREND = cep.Query("""
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE skip_till_next_match(a[], b) {
        [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price) AND b.volume < 80%*a[a.LEN].volume }
    WITHIN 1 hour
""")
VEE = cep.Query("""
    PATTERN SEQ(Stock a, Stock+ down[], Stock+ up[])
    WHERE partition_contiguity {
        [symbol] AND down[1].price < a.price AND down[i].price < down[i-1].price
        AND up[1].price > down[down.LEN].price AND up[i].price > up[i-1].price }
    WITHIN 2 hours
    OUTPUT LONGEST
""")


def readings() -> list[dict[str, object]]:
    """Those of the README: a tag that is paid for, and one that is not."""
    seen = [(1, "Shelf", 42), (2, "Shelf", 17), (3, "Register", 17), (4, "Exit", 17), (5, "Exit", 42)]
    return [{"ts": ts, "type": place, "tag_id": tag} for ts, place, tag in seen]


def quotes() -> list[dict[str, object]]:
    """A price that falls and rises."""
    prices = [100, 104, 103, 99, 95, 92, 90, 93, 97, 101, 104, 103, 105]
    start = datetime(2024, 1, 2, 9, 30)
    return [
        {"ts": start + timedelta(minutes=3 * k), "type": "Stock", "symbol": "ACME", "price": price}
        for k, price in enumerate(prices)
    ]


def unshipped() -> str:
    """An absence at the end of a match."""
    orders = cep.Query("PATTERN SEQ(Order o, !(Ship s)) WHERE [id] WITHIN 2 days")
    rows = [(1, "Order", 1), (2, "Order", 2), (3, "Ship", 2), (4, "Order", 3), (9, "Ship", 3)]
    days = [{"ts": datetime(2024, 3, day), "type": kind, "id": order} for day, kind, order in rows]
    return orders.match(days).timeline().svg


def corrected() -> str:
    """What a session that speculates gives, and takes back when an event comes late."""
    shelf, register, leaves = (int(NOON.timestamp()) // 60 + minute for minute in (0, 3, 5))
    ends = (Point(shelf, "Shelf"), Point(leaves, "Exit"))
    gone = Band(0, shelf, leaves, ends, (Stretch(shelf, leaves, "no Register: a match"),))
    lanes = (
        Lane("12:05  + theft of 42", bands=(gone,)),
        Lane("12:08  - theft of 42", events=(ends[0], Point(register, "Register, 5 minutes late"), ends[1])),
    )
    title = "SEQ(Shelf a, !(Register b), Exit c) [tag], as it arrives"
    return draw_timeline(Timeline(title, Scale(60 * 10**9), lanes)).svg


def strategies() -> str:
    """The matches of one pattern under each strategy, on one stream of two keys."""
    kinds, other = dict(enumerate("ABAABADB", 1)), 4
    stream = [{"ts": t, "type": kind, "k": 1 + (t == other)} for t, kind in kinds.items()]
    points = {t: Point(t, kind) for t, kind in kinds.items()}
    lanes = [
        Lane("the events of key 1", events=tuple(points[t] for t in kinds if t != other)),
        Lane("one of key 2", events=(points[other],)),
    ]
    for name in ("strict_contiguity", "partition_contiguity", "skip_till_next_match", "skip_till_any_match"):
        found = cep.Query(f"PATTERN SEQ(A a, B b) WHERE {name} {{ [k] }}").match(stream)
        ends = [(match["match_start"], match["match_end"]) for match in found]
        bands = (Band(n, a, b, (points[a], points[b])) for n, (a, b) in enumerate(ends))
        lanes.append(Lane(name, bands=tuple(bands)))
    return draw_timeline(Timeline("SEQ(A a, B b) [k] under each strategy", Scale(), tuple(lanes))).svg


def compared(title: str, events: dict[int, str], queries: dict[str, str]) -> str:
    """The matches of several queries on one stream without keys, each in a lane of its own."""
    stream = [{"ts": t, "type": kind} for t, kind in events.items()]
    lanes = [Lane("the events", events=tuple(Point(t, kind) for t, kind in events.items()))]
    for name, text in queries.items():
        (found,) = cep.Query(text).match(stream).on_time_axis(9, value=False).lanes
        lanes.append(Lane(name, bands=found.bands))
    return draw_timeline(Timeline(title, Scale(), tuple(lanes))).svg


def closures() -> str:
    """A Kleene closure under the two strategies that skip events."""
    names = ("skip_till_next_match", "skip_till_any_match")
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE {} {{ b[].ts > 0 }} WITHIN 1 hour"
    return compared("SEQ(A a, B+ b[], C c)", dict(enumerate("ABBC", 1)), {name: text.format(name) for name in names})


def negations() -> str:
    """A negation between two events, and one at the end of the pattern."""
    queries = {"in between": "SEQ(A a, !(B b), C c)", "at the end": "SEQ(A a, !(B b) FOR 2 ms)"}
    patterns = {name: f"PATTERN {text}" for name, text in queries.items()}
    return compared(" and ".join(queries.values()), dict(enumerate("ABCAC", 1)), patterns)


def windows() -> str:
    """A window that is just too short for a match, and one that is not."""
    queries = {f"WITHIN {n} ms": f"PATTERN SEQ(A a, B b) WITHIN {n} ms" for n in (10, 11)}
    return compared("SEQ(A a, B b)", {0: "A", 4: "B", 6: "A", 10: "B"}, queries)


def stolen() -> str:
    """The first match of the tutorial."""
    page = (FOLDER.parent / "tutorial_spark.md").read_text(encoding="utf-8")
    query = page.split('cep.Query("""')[1].split('"""')[0].replace("... ", "")
    return cep.Query(query).match(FOLDER.parents[1] / "examples" / "tasks" / "cards.csv").timeline(1).svg


def plan() -> str:
    """The plan of a query with what was expected and counted."""
    dice = Random(1)
    kinds = dice.choices("ABC", (6, 2, 1), k=3000)
    rows = [{"ts": t, "type": kind, "id": t % 3, "x": dice.randrange(10)} for t, kind in enumerate(kinds)]
    query = cep.Query("PATTERN SEQ(A a, B b, C c) WHERE [id] AND a.x > 6 WITHIN 50")
    return query.explain(rows, plan="lazy(c, b, a)").svgs[1]


PICTURES: dict[str, Callable[[], str]] = {
    "shoplifting-automaton": lambda: SHELVES.explain().svg,
    "shoplifting": lambda: SHELVES.match(readings()).timeline().svg,
    "trend-automaton": lambda: TREND.explain().svg,
    "vee": lambda: VEE.match(quotes()).timeline(1).svg,
    "absence": unshipped,
    "kleene": lambda: (
        cep.Query("PATTERN SEQ(A a, B+ b[], C c) WITHIN 100")
        .match([{"ts": t, "type": kind} for t, kind in enumerate("ABXBC")])
        .timeline(3)
        .svg
    ),
    "changes": corrected,
    "strategies": strategies,
    "closures": closures,
    "negations": negations,
    "windows": windows,
    "stolen": stolen,
    "plan": plan,
}
"""Each picture by its name, and what draws it."""


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
