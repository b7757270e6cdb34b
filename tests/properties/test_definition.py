"""The reference against the definition of a sequence."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from definition import AGGREGATES, COMPARISONS, STRATEGIES, Bindings, Condition, Definition, Part, Term, ordered
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import Query
from cepheid.testing.strategies import streams

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

SCHEMA = pa.schema([("ts", pa.int64()), ("type", pa.string()), *((name, pa.int64()) for name in "kxy")])
TABLES = streams(SCHEMA, event_types="AB", max_size=3) | streams(SCHEMA, event_types="AB", min_size=4, max_size=7)


def attribute(variable: str, index: str, column: str, at: int, form: str) -> Term:
    return Term(f"{variable}{index}.{column}", lambda b: b[variable][at][column], variable, form)


def aggregates(variable: str, index: str, column: str, stop: int | None, form: str) -> list[Term]:
    def term(name: str) -> Term:
        def value(bindings: Bindings) -> Any:
            found = [e[column] for e in bindings[variable][:stop] if e.get(column) is not None]
            return AGGREGATES[name](found)

        return Term(f"{name}({variable}{index}.{column})", value, variable, form)

    return [term(name) for name in AGGREGATES]


def settled(part: Part, column: str) -> list[Term]:
    """What can be said of a component that is complete."""
    a = part.variable
    if not part.array:
        return [attribute(a, "", column, 0, "one")] * 3
    return [
        attribute(a, "[1]", column, 0, "first"),
        attribute(a, f"[{a}.LEN]", column, -1, "whole"),
        Term(f"{a}.LEN", lambda b: len(b[a]), a, "whole"),
        *aggregates(a, "[]", column, None, "whole"),
    ]


@st.composite
def conditions(draw: st.DrawFn, parts: Sequence[Part], complete: bool = False) -> Condition:
    """A comparison in one of the forms that have a place (S5)."""
    column, other = draw(st.sampled_from("xy")), draw(st.sampled_from("xy"))
    constants = [Term(str(n), lambda b, n=n: n) for n in (0, 1, 2)]  # type: ignore[misc]
    positive = [p for p in parts if not p.negated]
    part = draw(st.sampled_from(positive if complete else parts))
    a = part.variable
    earlier = [t for p in positive[: positive.index(part)] for t in settled(p, other)] if part in positive else []
    everything = [t for p in positive for t in settled(p, other)]
    form = draw(st.sampled_from(["settled", "each", "later", "later"])) if part.array and not complete else "settled"
    if form == "each":
        left, rights = attribute(a, "[]", column, -1, "each"), earlier
    elif form == "later":
        left = attribute(a, "[i]", column, -1, "later")
        before = aggregates(a, "[..i-1]", other, -1, "later")
        rights = [attribute(a, "[i-1]", other, -2, "later")] * 5 + [attribute(a, "[1]", other, 0, "first")]
        rights += before + earlier
    else:
        left, rights = draw(st.sampled_from(settled(part, column))), everything
        if part.array and left.form != "first":
            # While a grows its whole is not known, so the other side is of another component or a constant.
            rights = [t for t in everything if t.variable != a or t.form in ("first", "whole")]
    right = draw(st.sampled_from([*constants, *rights]))
    return Condition(left, draw(st.sampled_from(list(COMPARISONS))), right)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    """Sequences of single, repeated and absent events."""
    strategy = draw(st.sampled_from(STRATEGIES))
    parts: list[Part] = []
    for k in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 5)) == 5:
            parts.append(Part(f"n{k}", draw(event_types()), negated=True))
        if draw(st.integers(0, 2)) < 2:
            parts.append(Part("abc"[k], draw(event_types())))
        else:
            low, high = draw(st.sampled_from([(1, 99), (1, 99), (2, 99), (1, 2), (2, 2)]))
            parts.append(Part("abc"[k], draw(event_types()), low, high, array=True))
    if draw(st.integers(0, 5)) == 5:
        parts.append(Part("n9", draw(event_types()), negated=True))
    at_an_end = parts[0].negated or parts[-1].negated
    windows = st.tuples(st.integers(1, 12), st.just("ms"))
    counts = st.tuples(st.integers(1, 5), st.just("events"))
    partitioned = draw(st.sampled_from(["same", "by", None] if strategy != "partition_contiguity" else ["same", "by"]))
    # How PARTITION BY and windows of events take a missing attribute the page does not say.
    within = draw(windows if at_an_end else windows | counts | st.none())
    declares = partitioned != "by" and (within is None or within[1] == "ms") and draw(st.integers(0, 3)) == 3
    return Definition(
        tuple(parts),
        strategy,
        conditions=tuple(draw(st.lists(conditions(parts), max_size=2))),
        same=partitioned == "same",
        partition=partitioned == "by",
        within=within,
        having=draw(conditions(parts, complete=True)) if draw(st.integers(0, 4)) == 4 else None,
        output=(output := draw(st.sampled_from(["ALL"] * 3 + ["NON_OVERLAP", "LONGEST"]))),
        cooldown=draw(st.none() | st.integers(1, 6)) if output != "ALL" else None,
        simultaneous=strategy == "skip_till_any_match" and draw(st.integers(0, 3)) == 3,
        types={name: draw(st.lists(st.sampled_from("kxy"), unique=True)) for name in "AB"} if declares else None,
        order_by=draw(st.sampled_from([(), (), ("y",), ("y", "x")])),
    )


def event_types() -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from([("A",), ("A",), ("B",), ("A", "B")])


def shown(bindings: Mapping[str, Any], parts: Sequence[Part]) -> list[list[int]]:
    """The places of the events of each variable."""
    return [[e["place"] for e in bindings[p.variable]] for p in parts]


@settings(max_examples=settings.default.max_examples * 5)
@given(definitions(), TABLES)
def test_that_the_reference_follows_the_page(definition: Definition, events: pa.Table) -> None:
    rows = events.to_pylist()
    expected = [shown(b, definition.positive) for b in definition.matches(rows)]
    placed = pa.Table.from_pylist(
        ordered(rows, definition.order_by), schema=SCHEMA.append(pa.field("place", pa.int64()))
    )
    found = Query(definition.text, order_by=definition.order_by, types=definition.types).match(placed).to_pylist()
    listed = [{p.variable: m[p.variable] if p.array else [m[p.variable]] for p in definition.positive} for m in found]
    assert [shown(m, definition.positive) for m in listed] == expected
