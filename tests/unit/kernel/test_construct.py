"""The construction of matches as generated source: in any order, with little room, compiled or as it is."""

from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid import Matches, Query
from cepheid.engine.blueprint import Blueprint
from cepheid.engine.joined import Joined
from cepheid.engine.times import ticks
from cepheid.kernel import construct, native, plain
from cepheid.pattern.bind import bind
from cepheid.pattern.schema import make_schema
from cepheid.plan.choice import read_choice
from cepheid.plan.join import make_join
from cepheid.testing.outcomes import to_json

# The query of tests/properties/test_plans.py: compiled once for all of them.
COMPILED = "PATTERN SEQ(AND(A a, B b), !(X n), C c) WHERE [k] AND n.x > a.x AND c.x > b.x WITHIN 30"
FOUR = "PATTERN SEQ(A a, B b, !(X n), AND(C c, B d)) WHERE a.x <= b.x AND b.x + c.x > d.x AND n.x = d.x WITHIN 9"


def events(seed: int, size: int, **columns: list[Any]) -> pa.Table:
    chance = Random(seed)
    values = {"k": [0, 1], "x": [0, 1, 2, 3], **columns}
    return pa.table(
        {"ts": [at // 2 for at in range(size)], "type": [chance.choice("AABBCCX") for _ in range(size)]}
        | {name: [chance.choice(some) for _ in range(size)] for name, some in values.items()}
    )


@pytest.fixture(autouse=True)
def sort_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stacks are sorted although they are short."""
    monkeypatch.setattr(construct, "FEW", 2)


def rows(matches: Matches) -> list[str]:
    return list(map(to_json, matches.to_pylist()))


def run(
    text: str, table: pa.Table, plan: str, partition: tuple[str, ...] | None = None, *, late: bool = False
) -> Joined:
    """A machine that has seen a stream, whose events are in order; some of `[attr]` may be compared, not split by."""
    query = Query(text)
    schema = make_schema(table.schema, query._roles)
    blueprint = Blueprint(bind(query._analysed[0], schema, {}))
    blueprint._join = make_join(blueprint.query, partition, late=late)
    blueprint.joins.clear()
    machine = Joined(blueprint, read_choice(plan), native=False, events=table.num_rows)
    machine.feed(table, ticks(schema, table), 0)
    return machine


def count_tests(text: str, table: pa.Table, plan: str) -> int:
    """How many conditions over several events were evaluated."""
    return run(text, table, plan).tests


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        (COMPILED, "stacks"),
        ("PATTERN SEQ(A a, !(X n), B b) WHERE a.x < b.x AND n.x = a.x WITHIN 30", "tree"),
        pytest.param(COMPILED, "tree", marks=pytest.mark.slow),
        pytest.param(FOUR, "tree", marks=pytest.mark.slow),
        pytest.param(FOUR, "lazy(b, d, a, c)", marks=pytest.mark.slow),
    ],
)
def test_that_compiled_code_gives_what_plain_python_gives(text: str, plan: str) -> None:
    query, table = Query(text), events(1, 400)
    expected = rows(query.match(table, engine="plain", plan=plan))
    assert expected
    assert rows(query.match(table, engine="compiled", plan=plan)) == expected


@pytest.mark.parametrize("text", [FOUR, FOUR.replace("WHERE", "WHERE [k] AND")])
def test_that_the_order_is_a_parameter(text: str) -> None:
    query, table = Query(text), events(2, 60)
    expected = rows(query.match(table, engine="reference"))
    assert expected
    for order in permutations("abcd"):
        assert rows(query.match(table, engine="plain", plan=f"lazy({', '.join(order)})")) == expected, order


@pytest.mark.parametrize("plan", ["stacks", "tree", "lazy(b, d, a, c)"])
@pytest.mark.parametrize("text", [FOUR, "[k]".join(FOUR.split("a.x <= b.x")), FOUR.replace("WITHIN 9", "")])
def test_that_it_goes_on_after_the_output_was_full(monkeypatch: pytest.MonkeyPatch, text: str, plan: str) -> None:
    begin, grow = Joined.__init__, Joined.make_room
    grown = []

    def begin_tightly(self: Joined, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self.room = 1

    def grow_slowly(self: Joined) -> None:
        grown.append(self.room)
        grow(self)
        self.room = self.room // 2 + 1

    query, table = Query(text), events(3, 150 if "[k]" in text else 50)
    expected = rows(query.match(table, engine="reference"))
    monkeypatch.setattr(Joined, "__init__", begin_tightly)
    monkeypatch.setattr(Joined, "make_room", grow_slowly)
    assert rows(query.match(table, engine="plain", plan=plan)) == expected
    assert len(grown) > 3


def test_that_a_rare_event_first_asks_less() -> None:
    """DEBS'15: what follows from the rare event is all that is looked at; a tree sees which it is by itself."""
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 60"
    for rare in "ABC":
        kinds = [kind for other in "ABC" if other != rare for kind in [other] * 50] + [rare]
        chance = Random(rare)
        size = 1200
        table = pa.table(
            {
                "ts": range(size),
                "type": [chance.choice(kinds) for _ in range(size)],
                "x": [chance.randrange(100) for _ in range(size)],
            }
        )
        others = [name for name in "abc" if name != rare.lower()]
        best, worst = (f"lazy({', '.join(order)})" for order in ([rare.lower(), *others], [*others, rare.lower()]))
        asked = {plan: count_tests(text, table, plan) for plan in (best, worst, "tree")}
        assert asked[best] < asked[worst]
        assert asked["tree"] < asked[worst]


def test_that_nothing_is_asked_before_every_component_has_an_event() -> None:
    table = pa.table({"ts": range(40), "type": [*"AB" * 20], "x": [1] * 40})
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 60"
    for plan in ("stacks", "tree", "lazy(a, b, c)"):
        assert count_tests(text, table, plan) == 0


@pytest.mark.parametrize("name", ["at", "t", "p", "last", "n", "i", "meta", "x_z", "x_j", "été"])
@pytest.mark.parametrize("split", ["", " AND [k]"])
def test_that_a_column_may_have_any_name(name: str, split: str) -> None:
    query = Query(f"PATTERN SEQ(A a, !(X n), B b, C c) WHERE a.{name} < b.{name} AND c.x != a.x{split} WITHIN 9")
    table = events(4, 40, **{name: [1, 2, None]}, x=[1, 2, None])
    expected = rows(query.match(table, engine="reference"))
    assert expected
    for plan in ("stacks", "tree"):
        assert rows(query.match(table, engine="plain", plan=plan)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("window", [10**18, 4 * 10**18])
def test_that_a_window_may_be_long(window: int) -> None:
    """A time and four windows are beyond 64 bits."""
    table = pa.table({"ts": [5 * 10**18 + at for at in range(6)], "type": [*"ABABAB"]})
    query = Query(f"PATTERN SEQ(A a, B b) WITHIN {window}")
    for engine in ("plain", "compiled"):
        assert len(query.match(table, engine=engine, plan="tree")) == 6


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("partition", [(), ("k",), ("s",)])
@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, B b, C c)",
        "AND(A a, B b, C c)",
        "SEQ(A a, !(X n), B b)",
        "SEQ(!(X m), A a, B b, !(X n))",
        "SEQ(AND(A a, B b), !(X n), C c)",
    ],
)
def test_that_equivalence_attributes_may_be_compared(pattern: str, partition: tuple[str, ...], late: bool) -> None:
    """SASE 4.2: all of them split the stream, or some, and the others are compared early or late."""
    text = f"PATTERN {pattern} WHERE [k] AND [s] AND a.x <= b.x WITHIN 30"
    table = events(6, 120, k=[0, 1, None], s=["u", "v", None]).set_column(0, "ts", pa.array(range(120)))
    expected = Query(text).match(table, engine="reference").count()
    assert expected
    for plan in ("stacks", "tree"):
        found = run(text, table, plan, partition, late=late).settle(None, table, 0)
        assert found.count() == expected


@pytest.mark.parametrize("condition", ["a.x = b.f", "a.f = b.x", "a.x > b.f", "a.f >= b.x", "a.x + 0 = b.f"])
def test_that_a_whole_number_is_compared_with_a_double_as_a_double(condition: str) -> None:
    """S3a, also where a stack is sorted."""
    query = Query(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 99")
    table = pa.table({"ts": range(8), "type": [*"AAAABBBB"], "x": [2**53 + 1] * 8, "f": [2.0**53] * 8})
    expected = rows(query.match(table, engine="reference"))
    for plan in ("stacks", "lazy(a, b)"):
        assert rows(query.match(table, engine="plain", plan=plan)) == expected


@pytest.mark.parametrize("numbers", [[0, 1, 1, 2, 5, 7, -3], [0.0, -0.0, 1.5, float("inf"), -2.0], [1e300, 2.0, 1.0]])
def test_that_a_part_is_sorted_and_searched_as_in_plain_python(numbers: list[float]) -> None:
    chance = Random(5)
    for size in [*range(12), 33, 100]:
        keys = [chance.choice(numbers) for _ in range(size)]
        given = keys.copy(), [*range(size)]
        plain.sort_part(*given, [], [], [], size)
        made = np.array(keys or numbers[:0], float), np.arange(size, dtype=np.uint32)
        heads = np.empty(size + 2, np.uint32)
        native.sort_part(*made, np.empty(size), np.empty(size, np.uint32), heads, np.uint64(size))
        assert list(map(repr, made[0].tolist())) == [repr(float(key)) for key in given[0]]
        assert made[1].tolist() == given[1]
        for value in numbers:
            for after in (False, True):
                found = plain.seek(given[0], size, 0, value, after, [0] * 4)
                for start in (0, size // 2, max(size - 1, 0), size):
                    counted = np.zeros(4, np.int64)
                    arguments = np.uint64(size), np.uint64(start), float(value), after, counted
                    assert native.seek(made[0], *arguments) == found
