"""The ways in which an event finds rules: hash, sorted bounds, cells, choices, computed conditions; low thresholds."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import settings
from many_calls import made, tagged
from many_generator import Drafter, Scene, Template, scene, some_rules, stream
from many_oracle import union
from test_many_queries import check_life, check_match, told

from cepheid.engine.many.routed import sets
from cepheid.engine.many.tables import node_tables, ranges

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
EXAMPLES = range(max(1, settings.default.max_examples // 20))


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few edges are many, columns have few cells, and few sets are many."""
    for module in (node_tables, ranges):
        monkeypatch.setattr(module, "MANY", 3)
    monkeypatch.setattr(ranges, "CELLS", 5)
    monkeypatch.setattr(sets, "FEW_SETS", 1)


def even(value: int | None) -> bool:
    return value is not None and value % 2 == 0


class Asking(Drafter):
    """Conditions on one event that are looked up in different ways, several of them at a time."""

    def static(self, v: str) -> str:
        return self.chance.choice(
            [f"{v}x > <int>", f"{v}x <= <int>", f"{v}y > <float>", f"{v}y < <float>", f"{v}x BETWEEN <int> AND <int>"]
            * 2
            + [
                f"{v}x IN (<int>, <int>)",
                f"{v}s IN (<word>, 'a', <word>)",
                f"{v}x IN <ints>",
                f"{v}s IN <words>",
                f"({v}x = <int> OR {v}y > <float> OR {v}s = <word>)",
                f"({v}k = <key> AND {v}x > <int> OR {v}x = <int> AND {v}s IN ('b', <word>))",
                f"{v}x != <int>",
                f"{v}k = <key>",
                f"{v}s LIKE <like>",
                f"{v}s IS NULL",
                f"{v}s IS NOT NULL",
                f"{v}s > 'a'",
                f"even({v}x)",
                f"({v}s LIKE 'a%' OR even({v}x))",
            ]
        )

    def chain(self) -> Template:
        count = self.chance.choice([1, 1, 2, 2, 3])
        steps = [f"{self.chance.choice('AB')} {v}" for v in "abc"[:count]]
        asked = [self.static(f"{v}.") for v in "abc"[:count] for _ in range(self.chance.choice([1, 2, 2, 3]))]
        asked += ["[k]"] if self.maybe(0.2) else []
        how = self.chance.choice(["skip_till_any_match", "skip_till_next_match"])
        ending = self.chance.choice(["", "", "", "HAVING a.x >= 0", "OUTPUT NON_OVERLAP"])
        return self.made(f"PATTERN SEQ({', '.join(steps)}) WHERE {how} {{ {' AND '.join(asked)} }} WITHIN 5 {ending}")


def asking(seed: int) -> Scene:
    chance = Random(seed)
    templates = {f"t{k}": Asking(chance, typed=True, shared=False).chain() for k in range(chance.choice([1, 2, 3]))}
    events, schema = stream(chance, typed=True, lasting=False, most=24, numbered=False)
    rules = tuple(some_rules(chance, templates, chance.choice([20, 30, 40])))
    return Scene(templates, rules, tuple(events), schema, {"functions": {"even": even}})


@pytest.mark.parametrize("seed", EXAMPLES)
def test_conditions_that_are_looked_up(seed: int) -> None:
    for own in range(4 * seed, 4 * seed + 4):
        one = asking(own)
        assert tagged(made(one).match(one.table())) == union(one), f"seed {own}\n{told(one)}"


@pytest.mark.parametrize("seed", EXAMPLES)
def test_all_kinds_of_queries(seed: int) -> None:
    chance = Random(seed)
    one = scene(600_000 + seed, most_rules=2)
    check_match(replace(one, rules=tuple(some_rules(chance, one.templates, 30))), seed)


@pytest.mark.parametrize("seed", EXAMPLES)
def test_rules_come_and_go(seed: int) -> None:
    check_life(700_000 + seed)
