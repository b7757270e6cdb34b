"""Texts as rules for the shared tables: every text has the chain that it has alone."""

from typing import Any

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.engine.many.tables.chain import Bounds, Chain, Constant, Fence, RuleConstant
from cepheid.engine.many.tables.chain_reader import chain_of
from cepheid.engine.many.tables.level import ChainRules
from cepheid.engine.many.texts.framed import shared_rules
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.language import parse
from cepheid.language.texts.frames import read_frames
from cepheid.pattern.binding.schema import make_schema
from cepheid.pattern.expressions.nodes import Literal
from cepheid.pattern.tree.nodes import Program

_COLUMNS = {"ts": pa.int64(), "type": pa.string(), "k": pa.int64(), "x": pa.int64(), "y": pa.float64()}
SCHEMA = pa.schema(list({**_COLUMNS, "s": pa.string(), "t": pa.timestamp("us")}.items()))
STEPS = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match {{ {} }} WITHIN {} ms"


@pytest.fixture(autouse=True)
def quiet(recwarn: pytest.WarningsRecorder) -> None:
    """A frame without conditions matches every event, of which the query warns."""


def compiling(program: Program) -> CompiledQuery:
    compiled = Query(program).compiled
    return CompiledQuery(compiled.bind(make_schema(SCHEMA, compiled.roles))[0])


def shown(chain: Chain, rule: int = 0, part: ChainRules | None = None) -> Any:
    """What a rule asks at each step, and how long it waits."""

    def value(constant: Constant, table: pa.Table | None, row: int) -> object:
        if isinstance(constant, Literal):
            return constant.value
        assert isinstance(constant, RuleConstant)
        assert table is not None
        return table[constant.column][row].as_py()

    def asked(fence: Fence, step: int, *, ending: bool) -> Any:
        table = None if part is None else part.constants
        found: set[tuple[Any, str, object]] = {
            (b.key, b.operator, value(b.constant, table, rule)) for b in fence.bounds
        }
        for extra in () if part is None else part.extras:
            if (extra.step, extra.ending) == (step, ending):
                bounds: Bounds = extra.bounds
                for row in (extra.rows == rule).nonzero()[0].tolist():
                    found.add((bounds.key, bounds.operator, value(bounds.constant, extra.constants, row)))
        return found, sorted(map(repr, fence.tests))

    steps = []
    for number, step in enumerate(chain.steps):
        wait = step.wait
        lasts = None if wait is None or wait.lasts is None else value(wait.lasts, part and part.constants, rule)
        ending = None if wait is None or wait.ending is None else asked(wait.ending, number, ending=True)
        steps.append((asked(step.fence, number, ending=False), step.transfer, lasts, ending, wait and wait.ends))
    return steps, chain.partition, chain.slots, chain.results, chain.simultaneous


def check(texts: list[str]) -> tuple[int, list[int]]:
    """Whether all rules are those of the texts; how many chains there are, and which texts have none."""
    found = shared_rules(read_frames(texts), compiling)
    for part in found.rules:
        for row, text in enumerate(part.numbers.tolist()):
            assert shown(part.chain, row, part) == shown(chain_of(compiling(parse(texts[text]))))
    numbers = sorted([*(n for part in found.rules for n in part.numbers.tolist()), *found.left.tolist()])
    assert numbers == list(range(len(texts)))
    return len(found.rules), found.left.tolist()


def test_that_texts_with_other_conditions_have_one_chain() -> None:
    conditions = [
        "a.k = 1 AND b.y < 0.5",
        "a.k = 2 AND a.x > 3 AND 7 <= b.x",
        "b.s = 'z'",
        "a.y >= 1 AND a.y < 2.5 AND a.y < 2.5",
        "a.x BETWEEN 3 AND 9 AND a.k = 1",
        "a.x = -4 AND b.k = 0",
    ]
    assert check([STEPS.format(text, 10 + n) for n, text in enumerate(conditions)]) == (1, [])


def test_that_what_compares_two_events_is_part_of_the_chain() -> None:
    conditions = ["a.k = 1 AND b.x > a.x", "a.k = 2", "a.k = 3 AND b.x > a.x", "b.y > 1.01 * a.y", "b.y > 1.02 * a.y"]
    assert check([STEPS.format(text, 10) for text in conditions]) == (4, [])


def test_that_partitions_and_constants_that_are_read_otherwise_are_part_of_the_chain() -> None:
    conditions = ["[k] AND a.x > 1", "[k] AND b.x > 2", "[k = 3]", "a.t > '2024-01-01' AND a.x = 5"]
    assert check([STEPS.format(text, 10) for text in conditions]) == (3, [])


def test_that_a_choice_is_read_with_its_text() -> None:
    assert check([STEPS.format(text, 10) for text in ("a.x = 1", "a.x IN (1, 2)", "a.x = 1 OR a.k = 2")]) == (1, [1, 2])


def test_that_other_queries_are_left() -> None:
    texts = [STEPS.format("a.k = 1", 5), "PATTERN A+ a[] WHERE a[1].x > 3 AND a[i].x > 1 WITHIN 5 ms", "PATTERN A a"]
    assert check(texts) == (2, [1])


def test_that_texts_of_cesar_have_one_chain() -> None:
    text = "CESAR LET S, T := A SELECT[{}](SELECT[{}](S) ;[{}] T)"
    parts = [
        ("T.x > 3", "k = 1 AND y < 0.5", "T.k = 1"),
        ("T.y > 0.25 AND T.k = 7", "k = 2", "T.k = 2 AND T.x < 9"),
    ]
    assert check([text.format(*part) for part in parts]) == (1, [])
