"""No query and no file, however malformed, gives a traceback: an exit code, a message and a remedy."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cepheid.cli import main

QUERY = (
    "PATTERN SEQ(Shelf a, !(Register b), Exit+ c[]) WHERE skip_till_next_match { [tag_id] AND c[i].x > 1 } WITHIN 12 h"
)
ROWS = [
    {"ts": 1, "type": "Shelf", "tag_id": "é", "x": 1.5},
    {"ts": 2, "type": "Exit", "tag_id": "é", "x": None},
    {"ts": 3, "type": "Register", "tag_id": "ü", "x": 2.5},
]
CSV = "ts,type,tag_id,x\n1,Shelf,é,1.5\n2,Exit,é,\n3,Register,ü,2.5\n".encode()
JSON = "\n".join(json.dumps(row) for row in ROWS).encode()
ARRAY = json.dumps(ROWS).encode()


def _parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


PARQUET = _parquet()
WORDS = st.sampled_from(
    [
        "SEQ(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "a",
        "a[i]",
        "c[..i-1].x",
        "'",
        '"',
        "`",
        "--",
        "/*",
        ";",
        "WITHIN",
        "∧",
        "%",
        "\0",
    ]
)


def check(arguments: list[str], stdin: bytes) -> None:
    result = CliRunner().invoke(main, arguments, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1)
    if result.exit_code == 1:
        assert result.stderr.splitlines()[-1].startswith("help: ") or "\nhelp: " in result.stderr
        assert "error CEP" in result.stderr


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with some of its bytes lost, changed or repeated."""
    start = draw(st.integers(0, len(whole)))
    end = draw(st.integers(start, min(len(whole), start + 20)))
    middle = draw(st.binary(max_size=6) | st.just(whole[start:end] * 2))
    return whole[:start] + middle + whole[end:]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(QUERY)), st.integers(0, 12), st.lists(WORDS, max_size=4))
def test_damaged_queries(at: int, lost: int, words: list[str]) -> None:
    text = QUERY[:at] + " ".join(words) + QUERY[at + lost :]
    for command in (["check", "-"], ["fmt", "-"], ["explain", "-"]):
        check(command, text.encode())


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"")
@example(b"\xff")
def test_any_bytes_as_a_query(text: bytes) -> None:
    check(["check", "-"], text)


@settings(max_examples=150, deadline=None)
@given(damaged(CSV) | st.binary(max_size=60))
def test_damaged_csv(data: bytes) -> None:
    check(["match", QUERY, "-", "--format", "csv"], data)


@settings(max_examples=150, deadline=None)
@given(damaged(JSON) | damaged(ARRAY))
@example(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
@example(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
@example(b"[" * 100_000)
@example(b'{"ts": ' + b"9" * 5000 + b"}")
def test_damaged_json(data: bytes) -> None:
    check(["match", QUERY, "-", "--format", "table"], data)


@settings(max_examples=100, deadline=None)
@given(damaged(PARQUET))
@example(PARQUET[:4])
@example(PARQUET[:-4])
def test_damaged_parquet(data: bytes) -> None:
    check(["match", QUERY, "-"], data)
