"""Programs: what a query makes is a stream like any other, of events that last (S13)."""

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given

from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.nodes import EventPattern, FromStream, Output, Program
from cepheid.pattern.tree.walk import walk
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, merges, programs, streams

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

# Sequences of single events that skip anything: there the rule of S13 is a filter on the matches.
SIMPLE = Features(
    negation=False,
    repetition=False,
    composition=False,
    strategies=(None,),
    outputs=(Output.ALL,),
    returns=False,
    declared_types=False,
    order_by=False,
)


@given(programs(PLAIN, then=SIMPLE) | merges(PLAIN, then=SIMPLE), streams(PLAIN, max_size=6))
def test_that_a_composite_event_starts_after_the_one_before_it_ends(query: GeneratedQuery, events: pa.Table) -> None:
    """S13, S25: the time of an event is its end; it starts after the end before it. All streams of FROM are one."""
    *makers, last = query.program.queries
    tables = {"readings": events.append_column("match_start", events["ts"])}
    for maker in makers:
        made = replace(query, program=Program((maker,))).make().match(events).to_arrow()
        columns = {
            "ts": made["match_end"],
            "type": pa.array([maker.into] * made.num_rows, pa.string()),
            "match_start": made["match_start"],
            **{item.name: made[item.name] for item in maker.returns},
        }
        tables[str(maker.into)] = pa.table(columns)
    merged = pa.concat_tables((tables[stream.name] for stream in last.streams), promote_options="default")
    seen = next((stream.types for stream in last.streams if stream.types), ())
    source = FromStream("merged", (*seen, *(str(maker.into) for maker in makers)) if seen else ())
    alone = replace(query, program=Program((replace(last, streams=(source,)),)))
    variables = [str(node.variable) for node in walk(name_events(last.pattern)) if isinstance(node, EventPattern)]
    expected = []
    for match in alone.make().match(merged).to_pylist():
        bound = [match[variable] for variable in variables]
        if all(one["ts"] < other["match_start"] for one, other in pairwise(bound)):
            expected.append({**match, "match_start": bound[0]["match_start"]})
    found = query.make().match(events).to_pylist()
    assert sorted(map(to_json, found)) == sorted(map(to_json, expected))
