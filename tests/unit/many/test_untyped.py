"""Columns that have only NULL at first: they get their types when these are known."""

import pyarrow as pa
import pytest
from rule_sets import heads, quotes

import cepheid as cep
from cepheid.api.many import untyped

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
TEMPLATES = {
    "later": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { b.price > low }",
    "never": "PATTERN SEQ(Stock a, !(Stock b), Stock c) WHERE skip_till_next_match { b.price > low } WITHIN 9",
    "none": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { [symbol] AND a.price IS NULL } WITHIN 3",
    "text": "PATTERN Stock a WHERE a.symbol = 'X' AND a.price > low",
}
RULES = [{"id": f"{name} {low}", "template": name, "low": low} for name in TEMPLATES for low in (0, 2)]
NULLS = quotes((1, "X", None), (2, "Y", None), (3, "X", None), (4, "X", None))
TYPED = quotes((5, "X", 1), (6, "Y", None), (7, "X", 3), (8, None, 3), (20, "X", 1))


@pytest.mark.parametrize("lateness", [None, 0, 3])
@pytest.mark.parametrize("restored", [False, True])
def test_it_gets_its_type(lateness: int | None, restored: bool) -> None:
    queries = cep.Queries(TEMPLATES, RULES)
    session, found = queries.session(lateness=lateness), []
    for event in [*NULLS, *TYPED]:
        found += heads(session.push([event]))
        session = queries.restore(session.snapshot()) if restored else session
    found += heads(session.close())
    assert sorted(found) == sorted(heads(queries.match([*NULLS, *TYPED], engine="reference")))
    assert {name.split()[0] for name, _, _ in found} == set(TEMPLATES)


def test_rules_that_came_and_went_before() -> None:
    session = cep.Queries(TEMPLATES, RULES).session(lateness=0)
    session.push(NULLS[:2])
    session.add([{"id": "new", "template": "later", "low": 0}])
    session.push(NULLS[2:])
    session.remove(["later 0"])
    found = heads(session.push(TYPED)) + heads(session.close())
    assert [head for head in found if head[0] == "new"] == [("new", start, 5) for start in (3, 4)] + [
        ("new", start, 7) for start in (5, 6)
    ] + [("new", 7, 8), ("new", 8, 20)]
    assert not [head for head in found if head[0] == "later 0"]


def test_a_type_that_does_not_fit_a_rule() -> None:
    session = cep.Queries(TEMPLATES, RULES).session(lateness=0)
    session.push(NULLS)
    with pytest.raises(cep.CepheidError, match="rule 'later 0'"):
        session.push(quotes((5, "X", "high")))
    assert heads(session.push(quotes((5, "X", 7)))) + heads(session.close())


def test_after_very_many_events_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untyped, "MOST_EVENTS", 3)
    session = cep.Queries(TEMPLATES, RULES).session(lateness=0)
    session.push(NULLS)
    with pytest.raises(cep.CepheidError, match="CEP409"):
        session.push(TYPED)
    assert len(session.push(pa.Table.from_pylist(NULLS).slice(0, 0))) == 0
