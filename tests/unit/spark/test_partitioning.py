"""How a program's events may be split, without Spark."""

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.spark.partitioning import SparkPartitioning, choose_partitioning

EVENTS = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("id", pa.int64()),
        ("shop", pa.string()),
        ("p", pa.struct([("user", pa.string()), ("at", pa.struct([("shop", pa.string())]))])),
    ]
)


def of(text, **options):
    program = cep.Query(text, **options).compiled
    return choose_partitioning(program.bind(program.schema(EVENTS)), program.sources)


def key_of(text, **options):
    return tuple(".".join(path) for path in of(text, **options).key)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5", ("id",)),
        ("PATTERN SEQ(A a, B b) PARTITION BY shop, id WITHIN 5", ("shop", "id")),
        ("PATTERN SEQ(A a, B b) WHERE [id] PARTITION BY shop WITHIN 5", ("shop", "id")),
        ("PATTERN SEQ(A a, B b, C c) WHERE a.id = b.id AND b.id = c.id WITHIN 5", ("id",)),
        ("PATTERN SEQ(A a, B b, C c) WHERE a.id = b.id WITHIN 5", ()),
        ("PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { [id] } WITHIN 5", ()),
        ("PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { [id] } PARTITION BY shop WITHIN 5", ("shop",)),
        ("PATTERN SEQ(A a, B b) WITHIN 5", ()),
        ("PATTERN SEQ(A a, B b) WHERE [p.user] PARTITION BY p.at.shop, id WITHIN 5", ("p.at.shop", "id", "p.user")),
        # Equations split the events, but NON_OVERLAP and windows of events go over all of them.
        ("PATTERN SEQ(A a, B b) WHERE a.id = b.id WITHIN 5", ("id",)),
        ("PATTERN SEQ(A a, B b) WHERE a.id = b.id WITHIN 5 OUTPUT NON_OVERLAP", ()),
        ("PATTERN SEQ(A a, B b) WHERE a.id = b.id WITHIN 5 events", ()),
    ],
)
def test_what_all_events_of_a_match_agree_on_is_the_key(text, key):
    assert key_of(text) == key


def test_attributes_that_a_declared_type_may_lack_are_no_key():
    types = {"A": ["id"], "B": []}
    assert key_of("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5", types=types) == ()


FIRST = "PATTERN SEQ(A a, B b) WHERE [id, shop] WITHIN 5 RETURN {} INTO P; "


@pytest.mark.parametrize(
    ("returned", "second", "key"),
    [
        ("a.id AS id, b.shop AS shop", "WHERE [id, shop]", ("id", "shop")),
        ("a.id AS id, b.shop AS shop", "WHERE [id]", ("id",)),
        ("a.id AS who", "WHERE [who]", ("id",)),
        ("a.id + 1 AS id", "WHERE [id]", ()),
        ("a.id AS id", "", ()),
        ("a.id AS shop, a.shop AS id", "PARTITION BY id", ("shop",)),
    ],
)
def test_a_program_is_split_by_what_its_stages_hand_on(returned, second, key):
    assert key_of(FIRST.format(returned) + f"FROM P PATTERN SEQ(P p, P q) {second} WITHIN 9") == key


@pytest.mark.parametrize(
    ("returned", "second", "key"),
    [
        ("a.p.user AS user", "[user]", ("p.user",)),
        ("a.p AS p", "[p.user, p.at.shop]", ("p.user", "p.at.shop")),
        ("b.p.at AS place", "[place.shop]", ("p.at.shop",)),
        ("a.p AS q, a.p.at AS p", "[q.user]", ("p.user",)),
        ("upper(a.p.user) AS user", "[user]", ()),
        ("b.p.at AS p", "[p.shop]", ("p.at.shop",)),
    ],
)
def test_composite_events_hand_fields_on(returned, second, key):
    first = f"PATTERN SEQ(A a, B b) WHERE [p.user, p.at.shop] WITHIN 5 RETURN {returned} INTO P; "
    assert key_of(f"{first}FROM P PATTERN SEQ(P x, P y) WHERE {second} WITHIN 9") == key


@pytest.mark.parametrize(
    "pattern", ["SEQ(A a, B? b, C c)", "OR(SEQ(A a, C c), SEQ(B b, D d))", "SEQ(A a, B* b[], C c)"]
)
def test_an_event_that_may_be_absent_hands_no_key_on(pattern):
    attribute = "b[1].id" if "[]" in pattern else "b.id"
    program = f"PATTERN {pattern} WHERE [id] WITHIN 9 RETURN {attribute} AS id INTO X; FROM X PATTERN SEQ(X x, X y) "
    assert key_of(program + "PARTITION BY id WITHIN 99") == ()


@pytest.mark.parametrize(
    ("text", "window", "back", "reason"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN 5 seconds", 5000, 0, ""),
        ("PATTERN SEQ(A a, B b, !(C c)) WITHIN 5", 5, 0, ""),
        ("PATTERN SEQ(!(C c), A a, B b) WITHIN 5", 5, 5, ""),
        ("PATTERN SEQ(A a, B b)", None, 0, "without WITHIN"),
        ("PATTERN SEQ(A a, B b) WITHIN 5 events", None, 0, "counts events"),
        ("PATTERN SEQ(A a, B b) WITHIN 5 OUTPUT NON_OVERLAP", None, 0, "NON_OVERLAP"),
        (FIRST.format("a.id AS id") + "FROM P PATTERN SEQ(P p, P q) WITHIN 9", None, 0, "several queries"),
    ],
)
def test_a_window_of_time_can_be_searched_in_slices(text, window, back, reason):
    found = of(text)
    assert (found.window, found.lookback) == (window, back)
    assert reason in found.not_by_time
    assert isinstance(found, SparkPartitioning)
    assert bool(found.not_by_time) is (window is None)


@pytest.mark.parametrize(
    ("returned", "second", "key"),
    [
        ("a.id AS id, b.shop AS shop", "FROM stream, P PATTERN SEQ(P p, A q) WHERE [id, shop]", ("id", "shop")),
        ("a.id AS id", "FROM stream, P PATTERN SEQ(P p, A q) WHERE [id]", ("id",)),
        ("a.id AS who", "FROM P, stream PATTERN SEQ(P p, A q) WHERE [who]", ()),
        ("a.id + 1 AS id", "FROM stream, P PATTERN SEQ(P p, A q) WHERE [id]", ()),
        ("a.id AS id", "FROM stream, P PATTERN SEQ(P p, A q) WHERE p.id = q.id", ()),
    ],
)
def test_several_streams_are_split_by_what_all_of_them_have(returned, second, key):
    assert key_of(FIRST.format(returned) + second) == key


def test_two_streams_of_composite_events_are_split_by_what_both_have():
    both = "PATTERN C c WHERE [id, shop] RETURN c.id AS id, c.shop AS shop INTO Q; FROM P, Q PATTERN SEQ(P p, Q q) "
    assert key_of(FIRST.format("a.id AS id") + both + "WHERE [id, shop]") == ("id",)
    crossed = both.replace("c.id AS id, c.shop AS shop", "c.id AS other")
    assert key_of(FIRST.format("a.id AS id") + crossed + "WHERE [id]") == ()
