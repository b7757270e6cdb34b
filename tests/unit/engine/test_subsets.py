"""A closure under skip_till_any_match has a match for every subset of the events: what is chosen or counted of them."""

from typing import Any

import pytest

from cepheid import CepheidWarning, EvaluationError, Query
from cepheid.engine.machines.forms import events as event_form
from cepheid.engine.machines.scan_machine import ScanMachine
from cepheid.engine.matches import graph_matches, having

ENGINES = ["plain", "compiled"]


def charges(count: int) -> list[dict[str, Any]]:
    return [{"ts": t, "type": "c", "x": t} for t in range(count)]


def query(count: int, clause: str, output: str) -> Query:
    return Query(f"""
        PATTERN SEQ(c{{3,}} s[], c b)
        WHERE   b.x = {count - 1}
        WITHIN  10 minutes
        {clause}
        RETURN  s.LEN AS n, s[1].x AS first, s[s.LEN].x AS last
        OUTPUT  {output}
    """)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("output", ["NON_OVERLAP", "LONGEST", "LONGEST COOLDOWN 1 hour", "NON_OVERLAP COOLDOWN 1"])
@pytest.mark.parametrize("count", [21, 201])
def test_that_one_of_very_many_matches_is_chosen(engine: str, output: str, count: int) -> None:
    found = query(count, "", output).match(charges(count), engine=engine).to_pylist()
    assert [(m["n"], m["first"], m["last"]) for m in found] == [(count - 1, 0, count - 2)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("condition", "expected", "all_of_them"),
    [
        ("count(s[]) > 4", (40, 0), 1_099_511_525_685),
        ("s.LEN <= 3", (3, 0), 9_880),
        ("min(s[].x) = 2", (38, 2), 137_438_953_434),
        ("max(s[].x) < 5 AND s[1].x > 0", (4, 1), 5),
        ("first(s[].x) + last(s[].x) = 20", (21, 0), 699_040),
    ],
)
def test_that_having_is_tested_before_matches_are_made(
    engine: str, condition: str, expected: tuple[int, int], all_of_them: int
) -> None:
    events = charges(41)
    for output in ("NON_OVERLAP", "LONGEST"):
        (match,) = query(41, f"HAVING {condition}", output).match(events, engine=engine).to_pylist()
        assert (match["n"], match["first"]) == expected
    assert query(41, f"HAVING {condition}", "ALL").match(events, engine=engine).count() == all_of_them


@pytest.mark.parametrize("engine", ENGINES)
def test_that_a_session_chooses_and_forgets(engine: str) -> None:
    """What waits is in the match store, and as much of it as there are events."""
    text = "PATTERN SEQ(A a, B+ b[], C c) WITHIN 100 OUTPUT LONGEST RETURN b.LEN AS n"
    session = Query(text).session(engine=engine, lateness=0)
    found: list[int] = []
    for t in range(1_000):
        kind = "A" if t % 200 == 0 else "C" if t % 50 == 49 else "B"
        found += [m["n"] for m in session.push([{"ts": t, "type": kind}])]
        if t % 100 == 99:
            session = Query(text).restore(session.snapshot())
    assert found + [m["n"] for m in session.close()] == [97] * 5
    assert session.stats.events == 1_000


@pytest.mark.filterwarnings("ignore:CEP011")
@pytest.mark.parametrize("engine", ["auto", "compiled"])
@pytest.mark.parametrize(
    ("condition", "counted"),
    [("sum(s[].x) > 5000", 0), ("avg(s[].x) > 100", 0), ("sum(s[].x) = 20", 117), ("avg(s[].x) = 2.5", 6)],
)
def test_that_runs_test_sums_of_few_values(
    monkeypatch: pytest.MonkeyPatch, engine: str, condition: str, counted: int
) -> None:
    monkeypatch.setattr(having, "MOST_TESTED", 0)
    for output, expected in (("LONGEST", min(counted, 1)), ("ALL", counted)):
        found = query(21, f"HAVING {condition}", output).match(charges(21), engine=engine)
        assert found.count() == expected


@pytest.mark.filterwarnings("ignore:CEP011")
@pytest.mark.parametrize("engine", ["auto", *ENGINES])
@pytest.mark.parametrize("output", ["NON_OVERLAP", "LONGEST", "ALL"])
@pytest.mark.parametrize("condition", ["sum(s[].y) > 10", "sum(s[].y) = 9 AND s.LEN > 1", "avg(s[].y) IS NULL"])
def test_that_runs_that_are_too_many_are_given_up(
    monkeypatch: pytest.MonkeyPatch, engine: str, output: str, condition: str
) -> None:
    """Large integers wrap, NULLs are ignored; the answer is that of matches which are tested one by one."""
    given_up: list[str] = []
    begin = ScanMachine.begin

    def told(machine: ScanMachine, compiled: Any, events: int, **how: bool) -> None:
        given_up.append("tries" if compiled.tries else "tests")
        begin(machine, compiled, events, **how)

    monkeypatch.setattr(ScanMachine, "begin", told)
    monkeypatch.setattr(event_form, "MOST_TRIED", 2_048)
    monkeypatch.setattr(event_form, "MOST_TRIED_PLAIN", 128)
    events = [{**event, "y": None if event["x"] % 4 == 3 else 3 ** (event["x"] * 4 % 40)} for event in charges(10)]
    made = query(10, f"HAVING {condition}", output)
    found = made.match(events, engine=engine).to_pylist()
    assert given_up == (["tries", "tries", "tests"] if engine == "auto" else ["tries", "tests"])
    assert found == made.match(events, engine="reference").to_pylist()


@pytest.mark.filterwarnings("ignore:CEP011")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("output", ["NON_OVERLAP", "LONGEST"])
def test_that_partitions_and_progress_begin_again(monkeypatch: pytest.MonkeyPatch, engine: str, output: str) -> None:
    for most in ("MOST_TRIED", "MOST_TRIED_PLAIN"):
        monkeypatch.setattr(event_form, most, 0)
    text = "PATTERN SEQ(c+ s[], c b) WHERE [k] WITHIN 15 HAVING sum(s[].y) % 5 = 1 RETURN collect(s[].x) AS x OUTPUT "
    events = [{**event, "k": "uvw"[event["x"] * 7 % 3], "y": 3 ** (event["x"] % 39)} for event in charges(300)]
    steps: list[int] = []
    found = Query(text + output).match(events, engine=engine, progress=lambda done: steps.append(done.events))
    assert found.to_pylist() == Query(text + output).match(events, engine="reference").to_pylist()
    assert steps[-1] == 300


@pytest.mark.filterwarnings("ignore:CEP011")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("output", ["NON_OVERLAP", "LONGEST"])
def test_that_matches_are_tested_one_by_one_until_one_passes(
    monkeypatch: pytest.MonkeyPatch, engine: str, output: str
) -> None:
    (match,) = query(41, "HAVING sum(s[].x) > 100", output).match(charges(41), engine=engine).to_pylist()
    assert (match["n"], match["first"], match["last"]) == (40, 0, 39)
    monkeypatch.setattr(event_form, "FEW", -(10**9))
    for condition in ("sum(s[].x) = 20", "avg(s[].x) = 8.5", "sum(s[].x) < 0", "stddev(s[].x) < 1.5 AND s[1].x > 2"):
        made = query(13, f"HAVING {condition}", output)
        assert (
            made.match(charges(13), engine=engine).to_pylist()
            == made.match(charges(13), engine="reference").to_pylist()
        )


def test_what_is_said_of_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(having, "MOST_TESTED", 1_000)
    with pytest.warns(CepheidWarning, match="s: HAVING may have to be tested on each match, and under"):
        made = query(41, "HAVING count(DISTINCT s[].x) = 5", "LONGEST")
    with pytest.raises(EvaluationError, match="HAVING fails for more than 1,000 matches") as raised:
        made.match(charges(41), engine="plain")
    assert raised.value.code == "CEP505"
    assert (raised.value.remedy or "").startswith("use skip_till_next_match for s")
    assert "limit" not in (raised.value.remedy or "")  # which would not end either
    monkeypatch.setattr(graph_matches, "SOME_WORDS", 10_000)
    monkeypatch.setattr(graph_matches, "MOST", 1_000)
    with pytest.raises(EvaluationError, match="matches are too many to enumerate") as raised:
        query(41, "", "ALL").match(charges(41), engine="plain").to_arrow()
    assert "use skip_till_next_match for s" in (raised.value.remedy or "")


def test_that_the_choice_is_the_same_however_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "PATTERN SEQ(ANY(A, B)+ a[], ANY(B, C)+ b[], C c) WHERE [k] WITHIN 9 OUTPUT "
    events = [{"ts": t, "type": "ABBCABCC"[t * 5 % 8], "k": t * 7 % 3} for t in range(60)]
    for output in ("NON_OVERLAP", "LONGEST", "LONGEST COOLDOWN 4"):
        expected = Query(text + output).match(events, engine="reference").to_pylist()
        assert expected
        for few in (10**9, -(10**9)):
            monkeypatch.setattr(event_form, "FEW", few)
            for engine in ENGINES:
                assert Query(text + output).match(events, engine=engine).to_pylist() == expected
