"""What a scan is: its program, step by step, and its text, which a person has read."""

from pathlib import Path

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.engine.planning.compiled_query import CompiledQuery

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = pa.schema(
    {
        "ts": pa.int64(),
        "type": pa.string(),
        "id": pa.int64(),
        "price": pa.float64(),
        "volume": pa.int64(),
        "s": pa.string(),
    }
)
QUERIES = {
    "sequence": "PATTERN SEQ(A a, B b, C c) WHERE [id] WITHIN 9",
    "compared": "PATTERN SEQ(A a, B b) WHERE [id] AND b.price > a.price WITHIN 9",
    "negation": "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [id] WITHIN 12 hours",
    "trend": """PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) {
        [id] AND a[1].volume > 1000 AND a[i].price > a[i-1].price AND b.volume < 80 } WITHIN 1 hour""",
    "contiguous": "PATTERN SEQ(A+ a[], B b) WHERE strict_contiguity { a[i].price < a[i-1].price } WITHIN 20 events",
    "legs": """PATTERN SEQ(A+ a[], B+ b[]) WHERE strict_contiguity { a.LEN = b.LEN } WITHIN 20 events""",
    "instants": """PATTERN SEQ(A a, B b, !(D d), C c) WHERE skip_till_next_match { [id] AND c.price > b.price }
        TIES SIMULTANEOUS""",
    "absence": "PATTERN SEQ(A a, !(B b)) WHERE b.s = a.s WITHIN 5 OUTPUT NON_OVERLAP",
}


def compiled(name: str) -> CompiledQuery:
    program = Query(QUERIES[name]).compiled
    return CompiledQuery(program.bind(program.schema(SCHEMA))[0])


@pytest.mark.parametrize("name", QUERIES)
def test_that_a_kernel_reads_as_it_did(name: str) -> None:
    """To write them anew: delete the files and run this. Then read them."""
    file = GOLDEN / f"{name}.txt"
    text = compiled(name).scan(frozenset()).code.text
    if not file.exists():
        file.write_text(text)
        pytest.fail(f"{file.name} was written: read it")
    assert text == file.read_text()


def test_that_null_checks_are_there_only_for_columns_that_have_nulls() -> None:
    query = compiled("compared")
    assert "null_price" not in query.scan(frozenset()).code.text
    assert "null_price[i]" in query.scan(frozenset({"price"})).code.text


def test_that_constants_are_no_part_of_a_kernel() -> None:
    text = compiled("trend").scan(frozenset()).code.text
    assert "1000" not in text
    assert "event_volume[i] > constant_2" in text


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "sequence",
            [
                "after_a: slot, holds nothing, ends by nothing",
                "after_b: slot, holds nothing, ends by nothing",
                "decide after_a: b to after_b",
                "decide after_b: c to a match",
                "follow after_a",
                "follow after_b",
                "begin a to after_a",
                "leave after_a",
                "leave after_b",
            ],
        ),
        (
            "compared",
            [
                "after_a: bundles, holds a_price, ends by nothing",
                "walk after_a: b with 1 tests, 1 of the run to a match",
                "begin a to after_a",
                "leave after_a",
                "merge after_a",
            ],
        ),
        (
            "contiguous",
            [
                "after_a: slot, holds a_price, ends by anything",
                "meet after_a: a with 1 tests, 1 of the run to after_a, b to a match",
                "begin a to after_a",
                "leave after_a",
            ],
        ),
        (
            "absence",
            [
                "pending_0: matches that wait for an absence",
                "refute pending_0",
                "begin a to a match",
            ],
        ),
    ],
)
def test_what_a_program_does(name: str, lines: list[str]) -> None:
    assert list(compiled(name).program.lines()) == lines
