"""What a sample says of a join: how many events pass, and how often a condition holds."""

from typing import Any

import pytest
from joins import Machine, bound

from cepheid.automaton.model import NotNative
from cepheid.kernel.join.trial import check_join, make_trial
from cepheid.plan.join import make_join

TEXT = "SEQ(A a, !(X n), B b) WHERE [k] AND a.x > 1 AND a.x < b.x AND n.x = a.x + b.x WITHIN 9"


def test_that_events_pass_whatever_came_before() -> None:
    query = bound(TEXT)
    trial = make_trial(make_join(query), frozenset({"x"}), query.window)
    machine = Machine(query, None)
    rows: dict[str, list[Any]] = {"type": [*"BBAAX"], "x": [5, None, 1, 4, 9], "k": [0] * 5, "ts": [0] * 5}
    given = {
        "type_codes": ["ABX".index(name) for name in rows["type"]],
        "type_numbers": [1 + trial.types.index(name) for name in "ABX"],
        "times": rows["ts"],
        "partitions": [0] * 5,
        "event_x": [x or 0 for x in rows["x"]],
        "null_x": [int(x is None) for x in rows["x"]],
    }
    arrays = [given[one.array.name] for one in trial.select.events]
    stored, held = trial.run(arrays, 5, 100, machine.constants)
    assert stored == [1, 2, 1]  # an a of two, both b, the n
    assert held == [(1, 2), (1, 2)]  # 4 < 5 and not NULL; 9 = 4 + 5


@pytest.mark.parametrize(
    ("condition", "reason"), [("a.s < b.s", "strings compared by their order"), ("upper(a.s) = b.s", "upper")]
)
def test_why_no_kernel_can_compute_a_join(condition: str, reason: str) -> None:
    check_join(make_join(bound("SEQ(A a, B b) WHERE a.s = b.s AND upper(a.s) = 'U'")))
    with pytest.raises(NotNative, match=reason):
        check_join(make_join(bound(f"SEQ(A a, B b) WHERE {condition}")))
