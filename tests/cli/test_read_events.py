"""EVENTS in every format, with the types that a query needs; broken files say where and what to do."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.cli.events import read_events
from cepheid.errors import CepheidError, FileError, InputError


def read(argument: object, type_column: str | None = "type") -> pa.Table:
    return read_events(str(argument), type_column)


def types(table: pa.Table) -> dict[str, str]:
    return {field.name: str(field.type) for field in table.schema}


def saved(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(argument: object, kind: type[CepheidError] = InputError) -> tuple[str, str, str]:
    with pytest.raises(kind) as caught:
        read(argument)
    return caught.value.code, caught.value.message, caught.value.remedy


class TestCsv:
    def test_types_are_inferred_and_empty_is_null(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "a.CSV", 'ts,type,n,x,b,s\n1,A,7,1.5,true,u\n2,B,,,,""\n')
        assert read(path).to_pylist() == [
            {"ts": 1, "type": "A", "n": 7, "x": 1.5, "b": True, "s": "u"},
            {"ts": 2, "type": "B", "n": None, "x": None, "b": None, "s": None},
        ]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2026-03-14", "date32[day]"),
            ("2026-03-14T06:12:05", "timestamp[s]"),
            ("2026-03-14 06:12:05", "timestamp[s]"),
            ("2026-03-14T06:12:05Z", "timestamp[s, tz=UTC]"),
            ("2026-03-14T06:12:05.250", "timestamp[ns]"),
            ("2026-03-14T06:12:05.250+01:00", "timestamp[ns, tz=UTC]"),
            ("06:12:05", "string"),
            ("yesterday", "string"),
        ],
    )
    def test_iso_times_have_the_same_type_in_csv_and_json(self, tmp_path: Path, text: str, expected: str) -> None:
        assert types(read(saved(tmp_path, "a.csv", f"ts\n{text}\n"))) == {"ts": expected}
        assert types(read(saved(tmp_path, "a.jsonl", f'{{"ts": "{text}"}}\n'))) == {"ts": expected}

    def test_types_are_inferred_from_all_rows(self, tmp_path: Path) -> None:
        rows = "".join(f"{k},A,{k}\n" for k in range(200_000))  # more than the first block of Arrow's reader
        table = read(saved(tmp_path, "a.csv", f"ts,type,n\n{rows}200000,A,many\n"))
        assert types(table) == {"ts": "int64", "type": "string", "n": "string"}
        assert table.num_rows == 200_001

    def test_the_type_column_is_text(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "a.csv", "ts,kind\n1,7\n")
        assert types(read(path, type_column="kind")) == {"ts": "int64", "kind": "string"}

    @pytest.mark.parametrize("separator", [",", "\t", ";"])
    def test_separators(self, tmp_path: Path, separator: str) -> None:
        content = f"ts{separator}type\n1{separator}A\n"
        assert read(saved(tmp_path, "a.csv", content)).to_pylist() == [{"ts": 1, "type": "A"}]

    def test_a_byte_order_mark_is_no_part_of_a_name(self, tmp_path: Path) -> None:
        assert read(saved(tmp_path, "a.csv", "\ufeffts,type\n1,A\n")).column_names == ["ts", "type"]

    def test_a_header_alone_is_a_stream_without_events(self, tmp_path: Path) -> None:
        table = read(saved(tmp_path, "a.csv", "ts,type,n\n"))
        assert types(table) == {"ts": "null", "type": "string", "n": "null"}

    def test_ragged(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "a.csv", 'ts,type\n1,"A\nB"\n\n2,A,x\n')
        assert refused(path) == (
            "CEP406",
            f"line 5 of '{path}' has 3 fields, the header has 2: 2,A,x",
            "give every line 2 fields; quote one that contains ',', and close each quote",
        )

    def test_duplicate_headers(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "a.csv", "ts,type,n,n\n1,A,2,3\n")
        expected = ("CEP404", f"two columns of '{path}' are named 'n'", "rename one of them in the header")
        assert refused(path) == expected

    def test_a_column_without_a_name(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "a.csv", ",ts,type\n0,1,A\n")
        code, message, remedy = refused(path)
        assert (code, message) == ("CEP404", f"column 1 of '{path}' has no name")
        assert "index=False" in remedy

    def test_not_utf_8(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "a.csv", b"ts,type\n1,A\n2,\xfc\n")
        assert refused(path)[:2] == ("CEP406", f"'{path}' is not UTF-8 text: byte 0xfc in line 3")


class TestJson:
    @pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ndjson"])
    def test_lines(self, tmp_path: Path, name: str) -> None:
        path = saved(tmp_path, name, '{"ts": 1, "type": "A"}\n\n{"ts": 2, "x": {"y": [1]}}\n')
        assert read(path).to_pylist() == [
            {"ts": 1, "type": "A", "x": None},
            {"ts": 2, "type": None, "x": {"y": [1]}},
        ]

    def test_an_array(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "a.json", '[{"ts": 1, "type": "é"},\n {"ts": 2}]')
        assert read(path).to_pylist() == [{"ts": 1, "type": "é"}, {"ts": 2, "type": None}]

    def test_mixed_fractions_of_seconds(self, tmp_path: Path) -> None:
        lines = '{"ts": "2026-03-14T06:12:05Z"}\n{"ts": "2026-03-14T06:12:05.5Z"}\n{"ts": null}\n'
        column = read(saved(tmp_path, "a.jsonl", lines)).column("ts")
        assert column.cast(pa.timestamp("ms", "UTC")).to_pylist() == [
            dt.datetime(2026, 3, 14, 6, 12, 5, tzinfo=dt.UTC),
            dt.datetime(2026, 3, 14, 6, 12, 5, 500_000, tzinfo=dt.UTC),
            None,
        ]

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ('{"a": 1}\n{"a": }\n', "line 2 of {} is not JSON: Expecting value at column 7"),
            ('{"a": 1}\n{"a":\n', "line 2 of {} is not a JSON object: Expecting value at column 6"),
            ('{"a": 1}\n3\n', "line 2 of {} is not a JSON object: it is a value, not an object"),
            ('{"a": 1}\n\n{"a": "x"}\n', "'a' is a string in line 3 of {}, and a number in line 1"),
            ('{"a": {}}\n{"a": []}\n', "'a' is a list in line 2 of {}, and an object in line 1"),
            ('{"a": 1, "a": 2}\n', "line 1 of {} has 'a' twice"),
            (
                '{"a": {"b": 1}}\n{"a": {"b": "x"}}\n',
                "{} can't be read as JSON lines: Column(/a/b) changed from number",
            ),
            ("[1,\n2", "line 2 of {} is not JSON: Expecting ',' delimiter at column 2"),
            ("[1]", "element 1 of {} is not a JSON object: it is a value, not an object"),
            ('[{"a": 1}, {"a": "x"}]', "'a' is a string in element 2 of {}, and a number in element 1"),
            ("{" + '"a": {' * 80 + "}" * 81, "line 1 of {} is nested more than 64 levels deep"),
        ],
    )
    def test_broken(self, tmp_path: Path, lines: str, message: str) -> None:
        path = saved(tmp_path, "a.jsonl", lines)
        code, found, _ = refused(path)
        assert code == "CEP406"
        assert found.startswith(message.replace("{}", f"'{path}'"))

    def test_many_siblings_are_not_deep(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "a.jsonl", '{"a": [' + ", ".join(['{"b": "[["}'] * 100) + "]}")
        assert read(path).to_pylist() == [{"a": [{"b": "[["}] * 100}]


class TestParquet:
    def test_a_file(self, tmp_path: Path) -> None:
        table = pa.table({"ts": pa.array([1], pa.int32()), "type": pa.array(["A"]).dictionary_encode()})
        pq.write_table(table, tmp_path / "a.parquet")
        assert read(tmp_path / "a.parquet").equals(table)

    def test_a_directory(self, tmp_path: Path) -> None:
        events = tmp_path / "events"
        for name in ("day=2/place=a%2Fb", "day=__HIVE_DEFAULT_PARTITION__/place=c"):
            (events / name).mkdir(parents=True)
        pq.write_table(pa.table({"ts": [1], "type": ["A"]}), events / "1.parquet")
        pq.write_table(pa.table({"ts": [2], "x": [1.5]}), events / "day=2/place=a%2Fb/2.parquet")
        pq.write_table(pa.table({"ts": [3], "x": [2]}), events / "day=__HIVE_DEFAULT_PARTITION__/place=c/3.parquet")
        for name in ("_SUCCESS", ".2.parquet", "README.md"):
            saved(events, name, "no Parquet")
        assert sorted(read(events).to_pylist(), key=lambda row: row["ts"]) == [
            {"ts": 1, "type": "A", "x": None, "day": None, "place": None},
            {"ts": 2, "type": None, "x": 1.5, "day": 2, "place": "a/b"},
            {"ts": 3, "type": None, "x": 2.0, "day": None, "place": "c"},
        ]

    def test_a_directory_without_parquet(self, tmp_path: Path) -> None:
        saved(tmp_path, "a.csv", "ts,type\n")
        assert refused(tmp_path, FileError) == (
            "CEP801",
            f"the directory '{tmp_path}' has no Parquet files",
            "name a directory with .parquet files, or a file of Parquet, CSV or JSON lines",
        )

    @pytest.mark.parametrize("content", [b"ts,type\n1,A\n", b"PAR1PAR1"])
    def test_broken(self, tmp_path: Path, content: bytes) -> None:
        path = saved(tmp_path, "a.parquet", content)
        code, message, remedy = refused(path)
        assert (code, remedy) == ("CEP406", "write or copy the file again")
        assert message.startswith(f"'{path}' can't be read as Parquet: ")
        assert refused(tmp_path) == (code, message, remedy)  # of a directory the file is named

    def test_files_of_different_types(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"ts": [1], "x": [1]}), tmp_path / "1.parquet")
        pq.write_table(pa.table({"ts": [2], "x": ["one"]}), tmp_path / "2.parquet")
        code, message, remedy = refused(tmp_path)
        assert (code, remedy) == ("CEP406", "give each column one type in all files")
        assert message.startswith(f"the files of '{tmp_path}' have different schemas: ")


def test_the_first_bytes_tell_the_format_of_stdin(run) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"ts": [1], "type": ["A"]}), sink)
    expected = '{"match_start": 1, "match_end": 1, "a": {"ts": 1, "type": "A"}}\n'
    for content in (b"ts,type\n1,A\n", b' {"ts": 1, "type": "A"}', b'[{"ts": 1, "type": "A"}]', sink.getvalue()):
        assert run("match", "EVENT A a", "-", stdin=content).stdout == expected


def test_an_unknown_ending(tmp_path: Path) -> None:
    assert read(saved(tmp_path, "events.log", '{"ts": 1}\n')).to_pylist() == [{"ts": 1}]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a"])
@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_empty_input(tmp_path: Path, name: str, content: bytes) -> None:
    path = saved(tmp_path, name, content)
    assert refused(path)[:2] == ("CEP407", f"'{path}' is empty")


def test_a_missing_file(run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    result = run("match", "EVENT A a", path, code=3)
    assert result.stdout == ""
    assert result.stderr == (
        f"error CEP801: can't read the events '{path}': No such file or directory\n"
        "help: check the spelling and the directory\n"
    )


def test_a_name_that_no_file_can_have(run) -> None:
    result = run("match", "EVENT A a", "x" * 5000, code=3)
    assert result.stderr.startswith("error CEP801: can't read the events 'xxx")
    assert "File name too long" in result.stderr


def test_an_unreadable_file(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = saved(tmp_path, "a.csv", "ts,type\n1,A\n")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert run("match", "EVENT A a", path, code=3).stderr == (
        f"error CEP801: can't read the events '{path}': Permission denied\n"
        "help: get permission to read it, or choose another file\n"
    )
