"""Programs: what a query makes is a stream like any other, of events that last (S13)."""

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given

from cepheid.pattern.components import name_events
from cepheid.pattern.tree import Event, Output, Program
from cepheid.pattern.walk import walk
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, programs, streams

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


@given(programs(PLAIN, then=SIMPLE), streams(PLAIN, max_size=6))
def test_that_a_composite_event_starts_after_the_one_before_it_ends(query: GeneratedQuery, events: pa.Table) -> None:
    """S13: a composite event's time is its end, and it carries its start, which must be after the end before it."""
    first, second = query.program.queries
    made = replace(query, program=Program((first,))).make().match(events).to_arrow()
    columns = {
        "ts": made["match_end"],
        "type": pa.array(["Made"] * made.num_rows, pa.string()),
        "match_start": made["match_start"],
        **{item.name: made[item.name] for item in first.returns},
    }
    alone = replace(query, program=Program((replace(second, source=None),)))
    variables = [str(node.variable) for node in walk(name_events(second.pattern)) if isinstance(node, Event)]
    expected = []
    for match in alone.make().match(pa.table(columns)).to_pylist():
        bound = [match[variable] for variable in variables]
        if all(one["ts"] < other["match_start"] for one, other in pairwise(bound)):
            expected.append({**match, "match_start": bound[0]["match_start"]})
    found = query.make().match(events).to_pylist()
    assert sorted(map(to_json, found)) == sorted(map(to_json, expected))
