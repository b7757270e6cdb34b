"""sequence=: what lies in a stretch without gaps is given at once, and nothing goes over a gap (S15.6)."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from random import Random

import pyarrow as pa
import pytest
from change_calls import CHANCE, ENGINES, Row, plain
from change_oracle import shown
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from cepheid import Matches, PatternError, Query
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import KeyColumn, Output, Selection, Strategy
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, scenarios
from cepheid.testing.strategies.schemas import KEY, TIME

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

NUMBER = "n"
NUMBERED = PLAIN.append(pa.field(NUMBER, pa.int64()))
CONTIGUOUS = Features(
    negation=False,
    composition=False,
    strategies=(Strategy.STRICT,),
    per_component=False,
    partitions=(None,),
    scopes=False,
    outputs=(Output.ALL,),
    declared_types=False,
    order_by=False,
)
"""What can be numbered: no event may be skipped, left out or absent, and no choice is made among the matches."""


def in_partitions(query: GeneratedQuery, partitions: str) -> GeneratedQuery:
    match partitions:
        case "PARTITION BY":
            return query.but(partition_by=(KeyColumn(KEY),))
        case "[attr]":
            return query.but(where=(ex.SameValue(KEY), *query.tree.where), strategies=(Selection(Strategy.PARTITION),))
    return query


def numbered(events: pa.Table, partitions: str) -> list[Row]:
    """Events at distinct times that are counted by 1, in each partition or in all of the stream."""
    counts = Counter[object]()
    found = []
    for time, row in enumerate(events.to_pylist()):
        partition = row[KEY] if partitions else None
        counts[partition] += 1
        found.append({**plain(row), TIME: time, NUMBER: counts[partition]})
    return found


def stretches(rows: list[Row], partitions: str) -> Iterator[list[Row]]:
    """The events between two gaps."""
    partition_of = {id(row): repr(row[KEY]) if partitions else "" for row in rows}
    ordered = sorted(rows, key=lambda row: (partition_of[id(row)], row[NUMBER]))
    ranked = enumerate(ordered)
    for _, some in groupby(ranked, key=lambda pair: (partition_of[id(pair[1])], pair[1][NUMBER] - pair[0])):
        yield [row for _, row in some]


def answer(query: Query, rows: list[Row], partitions: str) -> Counter[str]:
    found = Counter[str]()
    for stretch in stretches(rows, partitions):
        found.update(shown(query.match(pa.Table.from_pylist(stretch, schema=NUMBERED), engine="reference")))
    return found


@settings(max_examples=settings.default.max_examples // 3)
@given(
    scenario=scenarios(CONTIGUOUS, schema=PLAIN),
    partitions=st.sampled_from(["", "PARTITION BY", "[attr]"]),
    engine=ENGINES,
    speculate=st.sampled_from([None, 0, 2, "all"]),
    chance=CHANCE,
)
def test_that_what_has_no_gap_is_given_at_once(
    scenario: tuple[GeneratedQuery, pa.Table], partitions: str, engine: str, speculate: int | str | None, chance: Random
) -> None:
    generated, events = scenario
    query = in_partitions(generated, partitions).make()
    try:
        session = query.session(engine=engine, speculate=speculate, sequence=NUMBER)
    except PatternError:  # a closure that may be empty
        reject()
    session.push(NUMBERED.empty_table())
    coming = numbered(events, partitions)
    chance.shuffle(coming)
    coming = coming[: chance.randint(len(coming) // 2, len(coming))]  # the others never come
    taken: list[Row] = []
    stands = Counter[str]()
    while coming:
        some, coming = coming[:2], coming[2:]
        taken += some
        given = [session.push(pa.Table.from_pylist(some, schema=NUMBERED))]
        if coming and chance.random() > 0.6:
            given.append(session.advance(min(row[TIME] for row in coming)))
        for one in given:
            added = one if isinstance(one, Matches) else one.added
            assert isinstance(one, Matches) or not len(one.removed)
            stands.update(shown(added))
        assert stands == answer(query, taken, partitions), taken
        if chance.random() > 0.8:
            session = query.restore(session.snapshot())
    assert not len(session.close())
    whole = query.match(pa.Table.from_pylist(taken, schema=NUMBERED), sequence=NUMBER, engine=engine)
    assert Counter(shown(whole)) == stands
