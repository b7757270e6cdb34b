"""`Queries`: what is read, what is wrong with it, and what comes out (S23)."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.api.bar import measured

TEMPLATE = """
PATTERN SEQ(Stock a, Stock b)
WHERE skip_till_next_match(a, b) { [symbol = name] AND a.price > high AND b.price < low }
WITHIN span
"""
RULES: list[dict[str, Any]] = [
    {"id": "u1", "name": "X", "high": 10, "low": 5, "span": "5 minutes"},
    {"id": "u2", "name": "X", "high": 11, "low": 9, "span": "1 ms"},
    {"id": "u3", "name": "Y", "high": 1, "low": 9, "span": "1 minute"},
]
TICKS = [
    {"ts": t, "type": "Stock", "symbol": s, "price": p}
    for t, s, p in [(1, "X", 12), (2, "X", 8), (3, "Y", 5), (4, "X", 4), (4, "Y", 2)]
]


def ends(matches: cep.ManyMatches) -> list[tuple[object, int, int]]:
    return [(m["query"], m["match_start"], m["match_end"]) for m in matches]


def refused(source: object, rules: object = None, **options: Any) -> cep.CepheidError:
    with pytest.raises(cep.CepheidError) as caught:
        cep.Queries(source, rules, **options)
    return caught.value


@pytest.mark.parametrize("engine", ["auto", "plain", "interpreted", "reference"])
def test_each_rule_is_a_query(engine: str) -> None:
    found = cep.Queries(TEMPLATE, RULES).match(TICKS, engine=engine)
    assert ends(found) == [("u1", 1, 4), ("u3", 3, 4)]
    assert repr(found) == "<2 matches: query, match_start, match_end, a, b>"
    for rule in RULES:
        params = {name: value for name, value in rule.items() if name != "id"}
        alone = cep.Query(TEMPLATE, params=params).match(TICKS)
        assert found.of(rule["id"]).to_pylist() == alone.to_pylist()
        assert repr(found.of(rule["id"])) == repr(alone)


def test_forms_of_rules() -> None:
    table = pa.Table.from_pylist(RULES)
    dictionary = table.set_column(0, "id", table["id"].dictionary_encode())
    forms = [RULES, table, dictionary, pd.DataFrame(RULES), pl.DataFrame(RULES), pl.DataFrame(RULES).lazy()]
    assert [ends(cep.Queries(TEMPLATE, form).match(TICKS)) for form in forms] == [[("u1", 1, 4), ("u3", 3, 4)]] * 6


def test_forms_of_windows() -> None:
    """Text, durations and numbers; the reader of one query reads them."""
    forms: list[list[Any]] = [
        ["4 ms", "3 ms", "4 events"],
        [timedelta(milliseconds=4), timedelta(milliseconds=3), timedelta(minutes=1)],
        [4, 3, 10],
        [4.0, 3.0, 10.5],
        [Decimal("4"), Decimal("3"), Decimal("0.5")],
    ]
    for spans in forms:
        rules = [{**RULES[0], "id": k, "span": span} for k, span in enumerate(spans)]
        queries = cep.Queries(TEMPLATE, rules)
        assert ends(queries.match(TICKS)) == ends(queries.match(TICKS, engine="reference"))
        assert ends(queries.match(TICKS))[0] == (0, 1, 4)


def test_windows_in_nanoseconds() -> None:
    rules = [{**RULES[0], "id": k, "span": span} for k, span in enumerate(["4 ms", "500 events", "1.5 s"])]
    (own,) = cep.Queries(TEMPLATE, rules).rules.rules
    assert own.within is not None
    assert own.within.to_pylist() == [4_000_000, None, 1_500_000_000]
    numbers = [{**RULES[0], "id": k, "span": span} for k, span in enumerate([4, 5])]
    (own,) = cep.Queries(TEMPLATE, numbers, unit="s").rules.rules
    assert own.within is not None
    assert own.within.to_pylist() == [4_000_000_000, 5_000_000_000]


def test_several_templates() -> None:
    queries = cep.Queries(
        {"pair": TEMPLATE, "one": "PATTERN Stock s WHERE s.price < low AND s.symbol = name"},
        [{**RULES[0], "template": "pair"}, {**RULES[0], "id": "u9", "template": "one"}],
    )
    found = queries.match(TICKS)
    assert ends(found) == [("u1", 1, 4), ("u9", 4, 4)]
    assert repr(found) == "<2 matches: query, match_start, match_end, …>"
    assert repr(found.outputs) == (
        "{'pair': <1 match: query, match_start, match_end, a, b>, 'one': <1 match: query, match_start, match_end, s>}"
    )
    assert found.outputs["one"].to_arrow().column_names == ["query", "match_start", "match_end", "s"]
    with pytest.raises(cep.UsageError, match="CEP612"):
        found.to_arrow()


def test_a_list_of_all_languages() -> None:
    queries = cep.Queries(
        [
            "CESAR SELECT[price > 10](Stock) ;[price < 5](Stock)",
            "AUTOMATON q -> r ARC q -> r WHEN e.price < 3",
            cep.Query("PATTERN Stock s WHERE s.price > p", params={"p": 10}),
            cep.event("Stock", "s"),
            "PATTERN Stock s WHERE s.price > 10",
        ],
        ids=[4, 3, 2, 1, 0],
    )
    found = queries.match(TICKS)
    reference = queries.match(TICKS, engine="reference")
    assert found.to_pylist() == reference.to_pylist()
    assert [found.of(k).count() for k in range(5)] == [1, 5, 1, 1, 2]


def test_the_order_is_that_of_ends_then_of_ids() -> None:
    """The id comes before the start, and S9 only after it."""
    queries = cep.Queries(["PATTERN SEQ(A a, B b)", "PATTERN B b", "PATTERN SEQ(A a, B b)"], ids=["z", "a", "m"])
    events = [{"ts": t, "type": k} for t, k in [(1, "A"), (2, "A"), (3, "B"), (3, "B"), (4, "B")]]
    expected = [("z", 1, 3), ("z", 1, 3), ("z", 2, 3), ("z", 2, 3), ("a", 3, 3), ("a", 3, 3)]
    for engine in ("auto", "reference"):
        found = ends(queries.match(events, engine=engine))
        assert sorted(found[:4]) == expected[:4]
        assert found[4:6] == expected[4:]
        assert [one[0] for one in found] == ["z"] * 4 + ["a"] * 2 + ["m"] * 4 + ["z"] * 2 + ["a"] + ["m"] * 2


def test_small_values_tell_sets_of_columns_apart() -> None:
    """An edge found by {type} is not found by {type, k} again, whatever the number of the set and k are."""
    events = [{"ts": t, "type": kind, "k": k} for k in range(4) for t, kind in enumerate("AB")]
    for k in range(4):
        queries = cep.Queries([f"PATTERN A b WHERE b.k = {k}", "PATTERN B b", f"PATTERN B b WHERE b.j = {k}"])
        table = pa.Table.from_pylist([{**one, "j": one["k"]} for one in events])
        assert queries.match(table).to_pylist() == queries.match(table, engine="reference").to_pylist()


def test_equal_queries_both_give() -> None:
    queries = cep.Queries(["PATTERN A a"] * 3)
    assert len(queries.rules.templates) == 1
    assert ends(queries.match([{"ts": 1, "type": "A"}])) == [(0, 1, 1), (1, 1, 1), (2, 1, 1)]


def test_sets_and_patterns() -> None:
    template = "PATTERN A a WHERE a.x IN some AND a.s RLIKE form"
    rules = [{"id": 1, "some": [1, 2], "form": "b.*"}, {"id": 2, "some": [3], "form": "^a"}]
    events = [{"ts": t, "type": "A", "x": t, "s": s} for t, s in [(1, "abc"), (2, "cde"), (3, "abc")]]
    assert ends(cep.Queries(template, rules).match(events)) == [(1, 1, 1), (2, 3, 3)]


def test_a_null_constant_is_never_equal() -> None:
    rules = [{**RULES[0], "high": None}, RULES[2]]
    assert ends(cep.Queries(TEMPLATE, rules).match(TICKS)) == [("u3", 3, 4)]


def test_parameters_for_all_rules() -> None:
    rules = [{"id": rule["id"], "high": rule["high"]} for rule in RULES]
    found = cep.Queries(TEMPLATE, rules, params={"name": "X", "low": 5, "span": "1 minute"})
    assert ends(found.match(TICKS)) == [("u1", 1, 4), ("u2", 1, 4), ("u3", 1, 4), ("u3", 2, 4)]
    error = refused(TEMPLATE, RULES, params={"high": 3})
    assert (error.code, error.message) == ("CEP603", "the parameter 'high' is in params= and is a column of the rules")


def test_no_rules_and_no_events() -> None:
    assert repr(cep.Queries(TEMPLATE, []).match(TICKS)) == "<0 matches: query>"
    found = cep.Queries(TEMPLATE, RULES).match([])
    assert repr(found) == "<0 matches: query, match_start, match_end, a, b>"
    assert found.to_arrow().num_rows == 0
    assert repr(found.of("u2")) == "<0 matches: match_start, match_end, a, b>"


def test_a_wrong_window_is_told_by_its_rule() -> None:
    error = refused(TEMPLATE, [RULES[0], {**RULES[1], "span": "5 minuts"}])
    assert (error.code, error.line) == ("CEP307", 4)
    assert error.message == ("rule 'u2': column 'span': the parameter 'span' is '5 minuts', which is not a window")
    zero = [{**rule, "span": span} for rule, span in zip(RULES, [4, 0, -1], strict=True)]
    assert refused(TEMPLATE, zero).message == "rule 'u2': column 'span': a window can't be 0 long"
    none = [{**rule, "span": span} for rule, span in zip(RULES, [4, 5, None], strict=True)]
    assert refused(TEMPLATE, none).message == "rule 'u3': column 'span': a window can't be NULL"


def test_ids_are_there_once() -> None:
    error = refused(TEMPLATE, [*RULES, RULES[1]])
    assert (error.code, error.message) == ("CEP616", "rule 'u2': its id is there already")
    error = refused(TEMPLATE, [RULES[0], {**RULES[1], "id": None}])
    assert error.message == "the rule in row 1: its id is NULL"
    assert refused(TEMPLATE, [{**RULES[0], "id": 1.5}]).code == "CEP616"
    assert refused(TEMPLATE, RULES, id="user").message == "the rules have no column 'user'"
    assert refused(["PATTERN A a", "PATTERN B b"], ids=["x"]).message == "there are 1 ids for 2 queries"
    assert refused(["PATTERN A a", "PATTERN B b"], ids=["x", 1]).code == "CEP616"
    assert refused(["PATTERN A a", "PATTERN B b"], ids=["x", "x"]).message == "query 'x': its id is there already"


def test_unknown_names() -> None:
    error = refused(TEMPLATE.replace("high", "hihg"), RULES)
    assert (error.code, error.remedy) == ("CEP304", "did you mean 'high'?")
    assert error.message == "rule 'u1' and 2 others: the rules have no column 'hihg' for the parameter"
    error = refused({"pair": TEMPLATE}, [{**RULES[0], "template": "pairs"}])
    assert (error.message, error.remedy) == ("rule 'u1': there is no template 'pairs'", "did you mean 'pair'?")
    assert refused({"pair": TEMPLATE}, RULES).message == "the rules have no column 'template'"


def test_wrong_templates_are_raised_at_once() -> None:
    assert refused("PATTERN SEQ(A a", [], errors="collect").code == "CEP102"
    error = refused({"x": "PATTERN SEQ(A a"}, [], errors="collect")
    assert error.message.startswith("the template 'x': ")
    assert refused("PATTERN A a WHERE f(a.x) > low", [{"id": 1, "low": 2}], errors="collect").code == "CEP303"


def test_wrong_texts_are_told_by_their_ids() -> None:
    texts = ["PATTERN A a", "PATTERN A a WHERE a.x >", "PATTERN A a WHERE a.x > 1"]
    error = refused(texts, ids=["p", "q", "r"])
    assert (error.code, error.message) == ("CEP102", "query 'q': unexpected end of the query")
    assert error.column == 24
    queries = cep.Queries(texts, ids=["p", "q", "r"], errors="collect")
    assert repr(queries) == "<2 queries of 2 templates, 1 wrong>"
    assert queries.errors.select(["id", "code"]).to_pylist() == [{"id": "q", "code": "CEP102"}]
    assert ends(queries.match([{"ts": 1, "type": "A", "x": 2}])) == [("p", 1, 1), ("r", 1, 1)]
    assert ends(queries.match([{"ts": 1, "type": "A"}])) == [("p", 1, 1)]
    assert queries.errors.select(["id", "code"]).to_pylist() == [
        {"id": "q", "code": "CEP102"},
        {"id": "r", "code": "CEP301"},
    ]


def test_collected_errors_stop_no_other_rule() -> None:
    wrong = [{**RULES[1], "id": None}, {**RULES[1], "span": "long"}, RULES[0]]
    queries = cep.Queries(TEMPLATE, [*RULES[:1], *wrong, RULES[2]], errors="collect")
    assert queries.errors.select(["id", "code"]).to_pylist() == [
        {"id": None, "code": "CEP616"},
        {"id": "u2", "code": "CEP307"},
        {"id": "u1", "code": "CEP616"},
    ]
    for engine in ("auto", "reference"):
        assert ends(queries.match(TICKS, engine=engine)) == [("u1", 1, 4), ("u3", 3, 4)]


def test_a_wrong_pattern_is_found_with_the_events() -> None:
    template = "PATTERN A a WHERE a.s RLIKE form"
    rules = [{"id": 1, "form": "a"}, {"id": 2, "form": "(?P<x>a)"}]
    events = [{"ts": 1, "type": "A", "s": "a"}]
    with pytest.raises(cep.BindError, match="rule 2: the regular expression"):
        cep.Queries(template, rules).match(events)
    queries = cep.Queries(template, rules, errors="collect")
    assert ends(queries.match(events)) == [(1, 1, 1)]


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2]])
def test_a_text_that_is_no_time_is_found_with_the_events(engine: str, order: list[int]) -> None:
    moments = ["2024-01-02", "soon", "2024-01-03"]
    rules = [{"id": k, "moment": moments[k]} for k in order]
    events = [{"ts": datetime(2024, 1, day), "type": "A"} for day in (1, 2, 3)]
    template = "PATTERN A a WHERE a.ts >= moment"
    with pytest.raises(cep.BindError, match="rule 1: column 'moment': timestamp"):
        cep.Queries(template, rules).match(events, engine=engine)
    queries = cep.Queries(template, rules, errors="collect")
    assert [(m["query"], m["match_end"].day) for m in queries.match(events, engine=engine)] == [(0, 2), (0, 3), (2, 3)]
    assert queries.errors["id"].to_pylist() == [1]
    wrong = cep.Queries("PATTERN A a WHERE a.x >= moment", rules, errors="collect")
    assert len(wrong.match(events, engine=engine)) == 0
    assert sorted(wrong.errors["id"].to_pylist()) == [0, 1, 2]


def test_roles_come_from_queries() -> None:
    own = cep.Query("PATTERN A a", time="at", type="kind")
    assert ends(cep.Queries([own, "PATTERN B b"]).match([{"at": 3, "kind": "B"}])) == [(1, 3, 3)]
    error = refused([own, cep.Query("PATTERN A a")])
    assert error.message == "query 1: the roles of its columns differ from those of the others"


def test_unknown_options() -> None:
    assert refused(TEMPLATE, RULES, errors="ignore").code == "CEP603"
    assert refused(TEMPLATE, RULES, ids=[1]).code == "CEP603"
    assert refused(["PATTERN A a"], RULES).code == "CEP603"
    queries = cep.Queries(TEMPLATE, RULES)
    with pytest.raises(cep.UsageError, match="CEP601"):
        queries.match(TICKS, engine="fast")
    with pytest.raises(cep.UsageError, match="there is no query 'u7'"):
        queries.match(TICKS).of("u7")
    with pytest.raises(cep.UsageError, match="there is no query True"):
        queries.match(TICKS).of(True)


def test_progress_counts_queries() -> None:
    seen: list[cep.Progress] = []
    cep.Queries(["PATTERN A a", "PATTERN B b"], progress=seen.append)
    assert (seen[-1].events, seen[-1].total) == (2, 2)
    with measured(3, lambda at: None, "queries") as meter:
        assert meter is not None
        assert meter.what == "queries"


def test_the_result_in_a_notebook() -> None:
    found = cep.Queries(TEMPLATE, RULES).match(TICKS)
    assert '<td style="text-align:left">u3</td>' in found._repr_html_()
    assert cep.Queries(TEMPLATE, RULES[1:2]).match(TICKS)._repr_html_() == (
        "<p>&lt;0 matches: query, match_start, match_end, a, b&gt;</p>"
    )
    assert list(found.to_pandas()["query"]) == ["u1", "u3"]
    assert found.to_polars()["query"].to_list() == ["u1", "u3"]
    assert found.head(1)["query"].to_pylist() == ["u1"]
