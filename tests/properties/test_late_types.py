"""A column of a session may have no value, and so no type, at first: that changes no match."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import NESTED, PLAIN, GeneratedQuery, merges, programs, scenarios, streams
from cepheid.testing.strategies.schemas import TIME, TYPE

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def without(table: pa.Table, names: list[str]) -> pa.Table:
    for name in names:
        table = table.set_column(table.column_names.index(name), name, pa.nulls(table.num_rows))
    return table


def attributes(schema: pa.Schema) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(sorted({*schema.names} - {TIME, TYPE})), min_size=1, max_size=4, unique=True)


PLAIN_SCENARIOS = scenarios(schema=PLAIN) | st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=6))


@given(
    given_=st.tuples(PLAIN_SCENARIOS, attributes(PLAIN)) | st.tuples(scenarios(schema=NESTED), attributes(NESTED)),
    share=st.floats(0, 1),
    restored=st.booleans(),
)
def test_that_a_type_may_come_late(
    given_: tuple[tuple[GeneratedQuery, pa.Table], list[str]], share: float, restored: bool
) -> None:
    (generated, events), names = given_
    events = events.sort_by(TIME)
    cut = round(share * events.num_rows)
    early, rest = without(events.slice(0, cut), names), events.slice(cut)
    query = generated.make()
    whole = pa.concat_tables([early.cast(events.schema), rest])
    expected = sorted(map(to_json, query.match(whole, engine="reference").to_pylist()))
    session = query.session()
    found = session.push(early).to_pylist()
    if cut:
        found += session.advance(early[TIME][-1].as_py()).to_pylist()
    session = query.restore(session.snapshot()) if restored else session
    found += session.push(rest).to_pylist()
    found += session.close().to_pylist()
    assert sorted(map(to_json, found)) == expected
