"""Many queries (S23): whatever runs them gives the tagged union of what each gives alone."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from many_calls import batches, form_of, made, tagged, texts
from many_generator import Row, Rule, Scene, scene, some_rules
from many_oracle import Life, Tagged, alone, by_definition, by_id, chain_scene, expressions, numbers, union
from test_algebra_oracle import expected, given, table

import cepheid as cep
from cepheid.testing.outcomes import to_json

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
SEEDS = settings.default.max_examples
STEP = 5  # scenes in one test
FIRST = range(0, SEEDS, STEP * 8)  # every test has scenes of its own


def seeds(first: int, test: int) -> list[int]:
    return [100_000 * test + first // 8 + k for k in range(STEP)]


# The generator and the oracles.


def test_a_fair_share_of_rules_match() -> None:
    scenes = [scene(seed, most_rules=6) for seed in range(25)]
    found = [union(one) for one in scenes]
    assert sum(map(bool, found)) > 16
    counts = [len(by_id(rows)) / len(one.rules) for one, rows in zip(scenes, found, strict=True)]
    assert sum(counts) / len(counts) > 0.35


def test_a_parameter_is_a_constant() -> None:
    for seed in range(20):
        one = scene(seed, most_rules=3)
        for rule in one.rules:
            if [] not in rule.values.values():
                text = one.templates[rule.template].literal(rule.values)
                written = cep.Query(text, **one.options).match(one.table(), engine="reference")
                assert list(map(to_json, written.to_pylist())) == list(map(to_json, alone(one, rule, one.events)))


def test_the_oracle_of_chains_agrees_with_single_queries() -> None:
    hits = 0
    for seed in range(25):
        chain, one = chain_scene(seed, rules=4)
        found = {rule.id: numbers(alone(one, rule, one.events)) for rule in one.rules}
        expected = by_definition(chain, one)
        assert {name: rows for name, rows in found.items() if rows} == expected, f"seed {seed}\n{chain.template.text}"
        hits += bool(expected)
    assert hits > 12


# All at once.


@pytest.mark.parametrize("first", FIRST)
def test_chains_by_definition(first: int) -> None:
    for seed in seeds(first, 1):
        chain, one = chain_scene(seed)
        found = made(one).match(one.table())
        rules = {rule.id: numbers(found.of(rule.id).to_pylist()) for rule in one.rules}
        expected = by_definition(chain, one)
        assert {name: rows for name, rows in rules.items() if rows} == expected, f"seed {seed}\n{chain.template.text}"


@pytest.mark.parametrize("first", FIRST)
def test_expressions_by_set_comprehensions(first: int) -> None:
    for seed in seeds(first, 10):
        check_expressions(seed)


def check_expressions(seed: int) -> None:
    template, rules, world = expressions(seed)
    options = {"type": "type" if world.typed else None, "unit": world.unit}
    ids = list(rules)
    columns = {name: [values[name] for values, _ in rules.values()] for name in template.kinds}
    queries = cep.Queries(
        template.text, pa.table({"id": ids, **columns}), start="began" if world.durations else None, **options
    )
    found = queries.match(table(world.rows, world))
    for name, (_, tree) in rules.items():
        assert given(world, found.of(name)) == expected(tree, world), f"seed {seed} {name}\n{template.text}"


def check_match(one: Scene, seed: int, **options: Any) -> None:
    form = form_of(one, Random(seed))
    found = made(one, form).match(one.table(), **options)
    assert tagged(found) == union(one), f"seed {seed} {form}\n{told(one)}"


def told(one: Scene) -> str:
    return "\n".join(f"{name}: {text}" for name, text in texts(one).items())


@pytest.mark.parametrize("first", FIRST)
def test_a_match_is_the_union_of_single_ones(first: int) -> None:
    for seed in seeds(first, 2):
        check_match(scene(seed, most_rules=20), seed)


@pytest.mark.parametrize("language", ["sase", "cesar", "automaton", "algebra"])
@pytest.mark.parametrize("first", FIRST)
def test_each_language_alone(first: int, language: str) -> None:
    for seed in seeds(first, 3)[:2]:
        check_match(scene(seed, most_rules=10, language=language), seed)


@pytest.mark.parametrize("first", FIRST)
def test_the_reference(first: int) -> None:
    for seed in seeds(first, 4)[:2]:
        check_match(scene(seed, most_rules=8), seed, engine="reference")


@pytest.mark.parametrize("seed", range(max(SEEDS // 80, 1)))
def test_hundreds_of_rules(seed: int) -> None:
    chance = Random(seed)
    one = scene(200_000 + seed, most_rules=2)
    one = replace(one, rules=tuple(some_rules(chance, one.templates, chance.choice([100, 200, 500]))))
    found = made(one, form_of(one, chance)).match(one.table())
    expected = union(one, engine="auto")
    assert tagged(found) == expected, f"seed {seed}\n{told(one)}"


@pytest.mark.parametrize("first", FIRST)
def test_the_order_of_rules_changes_no_rule(first: int) -> None:
    for seed in seeds(first, 5)[:2]:
        chance = Random(seed)
        one = scene(seed, most_rules=25)
        other = one.of(*chance.sample(one.rules, len(one.rules)))
        found = tagged(made(one).match(one.table()))
        again = tagged(made(other).match(one.table()))
        assert by_id(again) == by_id(found), f"seed {seed}\n{told(one)}"


# Sessions.


class Run:
    """A session of many queries beside what it has given; `lives` are the rules that came and went."""

    def __init__(self, one: Scene, chance: Random, form: str = "table") -> None:
        self.scene, self.chance, self.form = one, chance, form
        self.lateness = chance.choice([0, 2, 5])
        self.session = made(one, form).session(lateness=self.lateness)
        self.found: list[Tagged] = []
        self.lives: dict[Any, Life] = {}
        self.now: int | None = None
        self.take(self.session.push(one.table([])))

    @property
    def ids(self) -> list[Any]:
        return [rule.id for rule in self.scene.rules]

    def take(self, given: Any) -> None:
        self.found += tagged(given)

    def push(self, events: list[Row]) -> None:
        self.take(self.session.push(self.scene.table(events)))
        self.now = max([row["ts"] for row in events] + ([] if self.now is None else [self.now]), default=None)

    def restart(self) -> None:
        """As another process would."""
        self.session = made(self.scene, self.form).restore(self.session.snapshot())

    def add(self, rules: list[Rule], at: int) -> None:
        more = replace(self.scene, rules=tuple(rules))
        self.session.add(more.rule_table(named=len(self.scene.templates) > 1), at=at)
        self.scene = replace(self.scene, rules=(*self.scene.rules, *rules))
        self.lives |= {rule.id: (at, None) for rule in rules}

    def remove(self, names: list[Any], at: int) -> None:
        self.session.remove(names, at=at)
        self.lives |= {name: (self.lives.get(name, (None, None))[0], at) for name in names}

    def close(self) -> None:
        self.take(self.session.close())

    def check(self, seed: int) -> None:
        expected = union(self.scene, lives=self.lives)
        assert Counter(self.found) == Counter(expected), f"seed {seed}\n{told(self.scene)}\n{self.lives}"


@pytest.mark.parametrize("first", FIRST)
def test_sessions_give_the_same(first: int) -> None:
    for seed in seeds(first, 6):
        check_session(seed)


def check_session(seed: int) -> None:
    chance = Random(seed)
    one = scene(seed, most_rules=12)
    run = Run(one, chance, form_of(one, chance))
    for events in batches(one.events, chance, run.lateness):
        run.push(events)
        if chance.random() < 0.25:
            run.restart()
    run.close()
    run.check(seed)


@pytest.mark.parametrize("first", FIRST)
def test_a_session_gives_what_single_sessions_give_at_once(first: int) -> None:
    """Call by call, so that nothing is held back that is certain."""
    for seed in seeds(first, 7)[:2]:
        check_calls(seed)


def check_calls(seed: int) -> None:
    chance = Random(seed)
    one = scene(seed, most_rules=6)
    run = Run(one, chance)
    single = {
        rule.id: cep.Query(one.templates[rule.template].text, params=rule.values, **one.options).session(
            lateness=run.lateness
        )
        for rule in one.rules
    }
    for events in [[], *batches(one.events, chance, run.lateness), None]:
        run.found = []
        if events is None:
            run.close()
        else:
            run.push(events)
        expected = []
        for name, session in single.items():
            given = session.close() if events is None else session.push(one.table(events))
            expected += [(name, to_json(row)) for row in given.to_pylist()]
        assert Counter(run.found) == Counter(expected), f"seed {seed}\n{told(one)}"


@pytest.mark.parametrize("first", FIRST)
def test_rules_that_come_and_go(first: int) -> None:
    """S17, S23: a rule added at t and removed at u sees what lies in (t, u]."""
    for seed in seeds(first, 8):
        check_life(seed)


def check_life(seed: int) -> None:
    chance = Random(seed)
    one = scene(seed, most_rules=8)
    run = Run(one, chance)
    for events in batches(one.events, chance, run.lateness):
        run.push(events)
        if run.now is None:
            continue
        at = run.now + chance.choice([0, 0, 0, 1, 4])
        if chance.random() < 0.3:
            run.add(some_rules(chance, one.templates, chance.randint(1, 5), first=len(run.scene.rules)), at)
        running = [name for name in run.ids if run.lives.get(name, (None, None))[1] is None]
        running = [name for name in running if (run.lives.get(name, (None, None))[0] or -1) <= at]
        if running and chance.random() < 0.25:
            run.remove(chance.sample(running, min(len(running), chance.randint(1, 3))), at)
        if chance.random() < 0.2:
            run.restart()
    run.close()
    run.check(seed)


@pytest.mark.parametrize("first", FIRST)
def test_rules_that_are_removed_at_once_change_nothing(first: int) -> None:
    for seed in seeds(first, 9)[:3]:
        check_once(seed)


def check_once(seed: int) -> None:
    chance = Random(seed)
    one = scene(seed, most_rules=10)
    plain, run = Run(one, Random(seed)), Run(one, Random(seed))
    for events in batches(one.events, chance, run.lateness):
        plain.push(events)
        run.push(events)
        if run.now is not None and chance.random() < 0.5:
            more = some_rules(chance, one.templates, 4, first=len(run.scene.rules))
            more += [replace(chance.choice(one.rules), id=f"again {len(run.scene.rules)}")]  # shares all there is
            run.add(more, run.now)
            run.remove([rule.id for rule in more], run.now)
    plain.close()
    run.close()
    assert run.found == plain.found, f"seed {seed}\n{told(one)}"
    plain.check(seed)
