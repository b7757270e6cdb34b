"""Tables of many rules that are made anew beside the input: nothing depends on when that is (S17, S23)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.engine.many.tables import shared
from cepheid.engine.many.tables.renewal import Renewal

TEMPLATES = {
    "pair": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [k = key] AND a.x > low } WITHIN span",
    "any": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.k = key AND b.x >= low AND c.x > b.x } "
    "WITHIN span",
    "partition": "PATTERN SEQ(A a, B b, A c) WHERE [k] AND b.x > a.x AND c.x >= low WITHIN span",
    "two": "PATTERN SEQ(A a, B b) WHERE a.x > low AND b.k = key AND b.x = low WITHIN span",
    "ties": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { [k = key] AND c.x > low } "
    "WITHIN span TIES SIMULTANEOUS",
    "strict": "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x >= low AND b.k = key } WITHIN span",
    "cesar": "CESAR LET S1 := A LET S2 := B THEN[S2.k = S1.k AND S2.x > S1.x](SELECT[S1.x > low](S1), S2)",
    "long": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { a.k = key AND b.x > a.x }",
}


def rule(random: Random, id: int) -> dict[str, Any]:
    return {
        "id": id,
        "template": random.choice(list(TEMPLATES)),
        "key": random.randrange(4),
        "low": random.randrange(4),
        "span": random.choice([3, 8, 50]),
    }


class Beside:
    """Which rounds of which tables are over is decided by chance, and not by the clock."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.finished = 0

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        finish, random = Renewal.finish, self.random

        def ready(own: Renewal) -> bool:
            if random.random() < 0.5:
                return False
            own.wait()
            return True

        def counted(own: Renewal, *given: Any) -> Any:
            self.finished += 1
            return finish(own, *given)

        patch.setattr(Renewal, "ready", property(ready))
        patch.setattr(Renewal, "lost", False)
        patch.setattr(Renewal, "finish", counted)
        patch.setattr(shared, "FEW_RULES", random.choice([1, 4, 9, 30]))
        patch.setattr(shared, "SOME_RULES", random.choice([0, 3, 20]))
        patch.setattr(shared, "MOST_LEVELS", random.choice([2, 5, 100]))


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
@settings(max_examples=settings.default.max_examples // 3)  # each is many runs
@given(seed=st.integers(0, 2**32))
def test_rules_that_come_and_go(seed: int) -> None:
    run(seed)


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
def test_tables_are_made_anew() -> None:
    assert run(1001) > 0


def run(seed: int) -> int:
    random = Random(seed)
    beside = Beside(random)
    with pytest.MonkeyPatch.context() as patch:
        beside.patch(patch)
        check(random)
    return beside.finished


def check(random: Random) -> None:
    first = [rule(random, id) for id in range(random.randrange(1, 12))]
    queries = cep.Queries(TEMPLATES, first)
    session = queries.session(lateness=0)
    lives: list[tuple[dict[str, Any], int | None, int | None]] = [(one, None, None) for one in first]
    events: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    ts, places = 0, {one["id"]: place for place, one in enumerate(first)}
    for _ in range(random.randrange(8, 40)):
        batch = []
        for _ in range(random.randrange(1, 5)):
            ts += random.choice([0, 0, 1, 2])
            batch.append({"ts": ts, "type": random.choice("ABC"), "k": random.randrange(4), "x": random.randrange(5)})
        events += batch
        found += session.push(batch).to_pylist()
        for _ in range(random.choice([0, 0, 1, 3])):
            again = random.choice(lives)[0]
            one = rule(random, len(lives)) if random.random() < 0.6 else {**again, "id": len(lives)}
            session.add([one], at=ts)
            places[one["id"]] = len(lives)
            lives.append((one, ts, None))
        alive = [place for place, (_, _, until) in enumerate(lives) if until is None]
        if alive and random.random() < 0.4:
            place = random.choice(alive)
            session.remove([lives[place][0]["id"]], at=ts)
            lives[place] = (*lives[place][:2], ts)
        if random.random() < 0.1:
            session = queries.restore(session.snapshot())
    found += session.close().to_pylist()
    for place, (one, since, until) in enumerate(lives):
        own = [e for e in events if (since is None or e["ts"] > since) and (until is None or e["ts"] <= until)]
        if not own:
            continue
        expected = cep.Queries(TEMPLATES, [one]).match(own).to_pylist()
        assert [row for row in found if row["query"] == place] == expected, (place, one, since, until)
