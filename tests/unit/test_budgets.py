"""How much code runs for one event: calls and modules, which are counted and not timed, and may only become fewer."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import FrameType

import pyarrow as pa
import pytest

import cepheid
from cepheid import Query
from cepheid.kernel.compile import has_compiler

SOURCES = str(Path(cepheid.__file__).parent)


KERNELS = ("<cepheid", str(Path(SOURCES, "kernel", "runtime.py")))
"""Where generated code comes from, and what it calls."""


@dataclass
class Walk:
    """The calls of Python functions, also those of generated code, and the modules of `cepheid` that they are in."""

    calls: int = 0
    kernel_calls: int = 0
    modules: set[str] = field(default_factory=set)


@contextmanager
def walked() -> Iterator[Walk]:
    """Count what is called within the block."""
    walk = Walk()

    def see(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            walk.calls += 1
            walk.kernel_calls += frame.f_code.co_filename.startswith(KERNELS)
            if frame.f_code.co_filename.startswith(SOURCES):
                walk.modules.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        yield walk
    finally:
        sys.setprofile(before)
        walk.calls -= 1  # the end of the block


def event(k: int) -> dict[str, object]:
    """The k-th event: each key has all types in turn, each after the time of the one before."""
    return {"ts": k, "type": "ABCD"[k * 7 % 4], "id": k % 5, "price": float(k % 11)}


def typical_push(query: str, engine: str) -> tuple[float, float]:
    """The calls and modules of a push of one dict, as the median of a hundred, once a session is under way."""
    session = Query(query).session(lateness=0, engine=engine)
    for k in range(2000):
        session.push([event(k)])
    walks = []
    for k in range(2000, 2100):
        row = [event(k)]
        with walked() as walk:
            session.push(row)
        walks.append(walk)
    return median(walk.calls for walk in walks), median(len(walk.modules) for walk in walks)


STACKS = "PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN 100 milliseconds RETURN a.id AS id"
RUNS = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { [id] } WITHIN 100 milliseconds"
AUTOMATON = """
    AUTOMATON idle -> done
    ARC idle -> up ON B WHEN e.price > 9
    ARC up -> done ON C
    PARTITION BY id
    WITHIN 100 milliseconds
"""
CESAR = """
    CESAR
    LET first := A
    LET second := B
    LET same := first.id = second.id
    LET short := DUR < 100 milliseconds
    σ_{short}(first ;_{same} second)
"""
# A little more than what is counted: a call of the garbage collector may be among them.
BUDGETS: dict[tuple[str, str], tuple[str, int, int]] = {
    ("stacks", "plain"): (STACKS, 55, 17),
    ("stacks", "compiled"): (STACKS, 58, 18),
    ("runs", "plain"): (RUNS, 44, 16),
    ("runs", "compiled"): (RUNS, 48, 18),
    ("automaton", "plain"): (AUTOMATON, 44, 16),
    ("CESAR", "plain"): (CESAR, 43, 16),
}


@pytest.mark.parametrize(("kind", "engine"), BUDGETS)
def test_a_push_of_one_event_stays_within_its_budget(kind: str, engine: str) -> None:
    if engine == "compiled" and not has_compiler():
        pytest.skip("there is no compiler")
    query, calls, modules = BUDGETS[kind, engine]
    spent = typical_push(query, engine)
    assert spent[0] <= calls
    assert spent[1] <= modules


MATCHES: dict[tuple[str, str], tuple[str, int]] = {
    ("stacks", "plain"): (STACKS, 600),
    ("stacks", "compiled"): (STACKS, 490),
    ("runs", "plain"): (RUNS, 500),
    ("runs", "compiled"): (RUNS, 475),
    ("automaton", "plain"): (AUTOMATON, 475),
    ("CESAR", "plain"): (CESAR, 600),
}


@pytest.mark.parametrize(("kind", "engine"), MATCHES)
def test_a_second_match_stays_within_its_budget(kind: str, engine: str) -> None:
    """What was derived for the first match of a thousand events is not derived again; kernels are not counted."""
    if engine == "compiled" and not has_compiler():
        pytest.skip("there is no compiler")
    text, calls = MATCHES[kind, engine]
    query = Query(text)
    events = pa.Table.from_pylist([event(k) for k in range(1000)])
    query.match(events, engine=engine)
    with walked() as walk:
        query.match(events, engine=engine)
    assert walk.calls - walk.kernel_calls <= calls
