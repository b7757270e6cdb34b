"""The construction of matches: every order, little room, plain and compiled, against all combinations of events."""

from itertools import permutations

import pyarrow as pa
import pytest
from joins import Machine, bound, enumerate_all, events, find

from cepheid.kernel.join import lookup
from cepheid.plan.join import make_join

THREE = [
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.f <= c.f WITHIN 12",
    "SEQ(A a, B b, C c) WHERE [k] AND a.x + b.x >= c.x WITHIN 12",
    "SEQ(A a, AND(B b, C c)) WHERE a.x <= c.x WITHIN 8",
    "SEQ(AND(A a, B b), C c) WHERE [k] AND a.f = b.f WITHIN 12 events",
    "AND(A a, A b, B c) WHERE a.x < c.x AND b.s = c.s WITHIN 6",
    "SEQ(A a, ANY(B, C) b, C c) WHERE a.s = b.s",
]
FOUR = [
    "SEQ(A a, B b, C c, A d) WHERE a.x < c.x AND b.f >= d.f AND a.s = d.s WITHIN 12",
    "SEQ(A a, B b, !(X n), AND(C c, B d)) WHERE a.x <= b.x AND b.x + c.x > d.x AND n.x = d.x WITHIN 9",
    "SEQ(AND(A a, B b), AND(C c, A d)) WHERE [k] AND a.x != d.x AND b.x < c.x WITHIN 8",
]
ABSENT = [
    "SEQ(A a, !(X n), B b) WITHIN 12",
    "SEQ(A a, !(X n), B b) WHERE n.x > a.x AND n.s = b.s",
    "SEQ(!(X n), A a, B b) WHERE [k] AND n.x = b.x WITHIN 9",
    "SEQ(!(X n), A a, B b) WITHIN 8 events",
    "SEQ(A a, B b, !(X n)) WHERE n.x = a.x WITHIN 9",
    "SEQ(!(X m), A a, B b, !(X n)) WHERE [k] AND m.x < a.x AND n.x > b.x WITHIN 9",
    "SEQ(A a, !(X m), B b, !(X n), C c) WHERE m.f = c.f AND n.x = a.x WITHIN 14",
    "SEQ(AND(A a, B b), !(X n), C c) WHERE [k] AND n.x > a.x WITHIN 20",
    "SEQ(A a, AND(B b, C c), !(X n)) WHERE n.x = c.x WITHIN 7",
]


@pytest.fixture(autouse=True)
def sort_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stacks are sorted although they are short."""
    monkeypatch.setattr(lookup, "FEW", 3)


def orders(text: str) -> list[tuple[int, ...] | None]:
    return [None, *permutations(range(len(make_join(bound(text)).positive)))]


@pytest.mark.parametrize("text", [*THREE, *FOUR, *ABSENT])
def test_that_every_order_gives_the_same(text: str) -> None:
    query, table = bound(text), events(1, 36 if text in FOUR else 60)
    expected = enumerate_all(query, table)
    assert expected
    for order in orders(text):
        assert find(query, table, order) == expected, order


@pytest.mark.parametrize("text", [*THREE, *FOUR, *ABSENT])
def test_that_a_stream_may_come_in_parts(text: str) -> None:
    query, table = bound(text), events(2, 40)
    expected = enumerate_all(query, table)
    for order in orders(text)[:3]:
        for parts in (2, 7, 40):
            assert find(query, table, order, parts=parts) == expected, (order, parts)


@pytest.mark.parametrize("text", [THREE[0], THREE[1], THREE[3], THREE[5], FOUR[1], ABSENT[4]])
def test_that_it_goes_on_after_the_output_was_full(text: str) -> None:
    """What a lead has given is taken back, and made again when there is room."""
    query, table = bound(text), events(3, 50)
    expected = enumerate_all(query, table)
    for order in orders(text):
        machine = Machine(query, order, room=1)
        machine.feed(table)
        assert machine.settle() == expected, order
        assert machine.calls["construct"] > 1
        roomy = Machine(query, order)
        roomy.feed(table)
        assert roomy.settle() == expected
        assert roomy.calls["construct"] == 1


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (THREE[0], None),
        (THREE[0], (1, 2, 0)),
        (THREE[4], (2, 0, 1)),
        (ABSENT[5], (1, 0)),
        (ABSENT[7], None),
        pytest.param(THREE[3], (0, 2, 1), marks=pytest.mark.slow),
        pytest.param(FOUR[0], None, marks=pytest.mark.slow),
        pytest.param(FOUR[1], None, marks=pytest.mark.slow),
        pytest.param(FOUR[1], (1, 3, 0, 2), marks=pytest.mark.slow),
        pytest.param(FOUR[2], (3, 1, 0, 2), marks=pytest.mark.slow),
    ],
)
def test_that_compiled_code_gives_the_same(text: str, order: tuple[int, ...] | None) -> None:
    query = bound(text)
    table = events(4, 40, x=[0, 1, 2, None], f=[0.0, 1.5, None, float("nan")], k=[0, 1, None], s=["u", "v", None])
    expected = enumerate_all(query, table)
    assert expected
    assert find(query, table, order, native=True) == expected
    assert find(query, table, order, native=True, parts=5, room=1) == expected


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("partition", [(), ("k",), ("s",)])
@pytest.mark.parametrize(
    "pattern",
    ["SEQ(A a, B b, C c)", "AND(A a, B b, C c)", "SEQ(!(X m), A a, B b, !(X n))", "SEQ(AND(A a, B b), !(X n), C c)"],
)
def test_that_equivalence_attributes_may_be_compared(pattern: str, partition: tuple[str, ...], late: bool) -> None:
    """SASE 4.2: all of them split the stream, or some, and the others are compared early or late."""
    query = bound(f"{pattern} WHERE [k] AND [s] AND a.x <= b.x WITHIN 30")
    table = events(6, 100, "ABCABCX", k=[0, 1, None], s=["u", "v", None])
    expected = enumerate_all(query, table)
    assert expected
    join = make_join(query, partition, late=late)
    for order in (None, tuple(reversed(join.positive))):
        assert find(query, table, order, join=join) == expected


def test_that_a_rare_event_first_asks_less() -> None:
    """DEBS'15: what follows from the rare event is all that is looked at; a tree sees which it is by itself."""
    text = "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 60"
    for rare, name in enumerate("ABC"):
        table = events(rare, 800, "".join(other * 50 for other in "ABC" if other != name) + name, x=list(range(100)))
        others = [x for x in range(3) if x != rare]
        asked = {}
        for order in ((rare, *others), (*others, rare), None):
            machine = Machine(bound(text), order)
            machine.feed(table)
            asked[order] = machine.state.tests
        best, worst, tree = asked.values()
        assert best < worst
        assert tree < worst


def test_that_nothing_is_asked_before_every_component_has_an_event() -> None:
    text = "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 60"
    for order in orders(text):
        machine = Machine(bound(text), order)
        machine.feed(events(5, 40, "AB"))
        assert machine.state.tests == 0
        assert machine.calls["construct"] == 0


@pytest.mark.parametrize("window", [10**18, 4 * 10**18])
def test_that_a_window_may_be_long(window: int) -> None:
    """A time and four windows are beyond 64 bits."""
    query = bound(f"SEQ(A a, B b) WITHIN {window}")
    table = events(7, 6, "AB").set_column(0, "ts", pa.array([5 * 10**18 + at for at in range(6)]))
    expected = enumerate_all(query, table)
    for native in (False, True):
        assert find(query, table, None, native=native) == expected


def test_that_a_stream_may_have_one_type() -> None:
    query = bound("SEQ(AND(A a, A b), A c) WHERE a.x < c.x WITHIN 5", type=None)
    table = events(8, 20)
    expected = enumerate_all(query, table)
    assert expected
    for order in orders("SEQ(AND(A a, A b), A c)"):
        assert find(query, table, order) == expected
