"""QUERY is a file, a text or stdin, and what looks like a file but is none is said to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.cli.query import read_query


def test_a_path_that_exists_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "EVENT A a"
    path.write_bytes(b"\xef\xbb\xbfEVENT B b\n")
    query = read_query(str(path))
    assert (query.text, query.name, query.path) == ("EVENT B b\n", str(path), path)


@pytest.mark.parametrize("text", ["EVENT A a", "EVENT(A)", "EVENT\nA", "", "x" * 5000 + " y", "EVENT A\0 a"])
def test_anything_else_is_text(text: str) -> None:
    assert read_query(text).text == text


@pytest.mark.parametrize("name", ["thefts.sase", "no such.sql", "queries/thefts", "thefts"])
def test_a_missing_file_is_no_syntax_error(run, name: str) -> None:
    result = run("check", name, code=3)
    assert result.stderr == (
        f"error CEP801: can't read the query '{name}': there is no such file\n"
        "help: check the spelling and the directory, or write a query: PATTERN SEQ(Shelf a, Exit b)\n"
    )


def test_a_directory_is_no_query(run, tmp_path: Path) -> None:
    result = run("check", tmp_path, code=3)
    assert result.stderr == f"error CEP801: can't read the query '{tmp_path}': Is a directory\nhelp: name a file\n"


def test_a_query_that_is_not_text(run, tmp_path: Path) -> None:
    path = tmp_path / "query.sase"
    path.write_bytes(b"EVENT A a\nWHERE a.name = '\xfc'")
    result = run("check", path, code=1)
    assert result.stderr == (
        f"error CEP112: '{path}' is not UTF-8 text: byte 0xfc in line 2\nhelp: save the query as UTF-8\n"
    )


def test_a_text_that_is_not_unicode(run) -> None:
    assert "the query is not UTF-8 text: byte 0xff in line 1" in run("check", "EVENT A\udcff a", code=1).stderr


def test_from_stdin(run) -> None:
    assert run("fmt", "-", stdin="event A a").stdout == "PATTERN A a\n"


def test_query_and_events_in_the_wrong_order(run, thefts: Path, readings: Path) -> None:
    result = run("match", readings, thefts, code=2)
    assert f"'{readings}' is a file of events: write QUERY first, then EVENTS" in result.stderr


@pytest.mark.parametrize("arguments", [("match", "-", "-"), ("check", "-", "--schema", "-")])
def test_stdin_can_be_read_once(run, arguments: tuple[str, ...]) -> None:
    assert "QUERY and EVENTS can't both be read from stdin" in run(*arguments, code=2).stderr
