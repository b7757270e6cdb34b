"""The command as a process of its own: pipes, terminals, signals and exit codes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from cepheid.cli import main; main(prog_name='cepheid')"]
EVENTS = "ts,type\n1,A\n2,B\n"


def cepheid(*arguments: object, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
        timeout=120,
    )


def test_json_lines_and_nothing_else_in_a_pipe(thefts: Path, readings: Path) -> None:
    result = cepheid("match", thefts, readings, FORCE_COLOR="1")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line[:16] for line in result.stdout.splitlines()] == ['{"match_start": '] * 3


@pytest.mark.parametrize(
    ("arguments", "code", "first"),
    [
        (["match", "EVENT C c", "-"], 0, ""),
        (["match", "EVENT A a", "no-such.csv"], 3, "error CEP801: can't read the events 'no-such.csv'"),
        (["match", "EVENT A a WHERE", "-"], 1, "error CEP102: unexpected end of the query"),
        (["match", "EVENT A a WHERE a.x = 1", "-"], 1, "error CEP301: unknown column 'x'"),
        (["match", "EVENT A a"], 2, "Usage: cepheid match [OPTIONS] QUERY EVENTS"),
        (["mtach"], 2, "Usage: cepheid [OPTIONS] COMMAND [ARGS]..."),
    ],
)
def test_exit_codes(arguments: list[str], code: int, first: str) -> None:
    result = cepheid(*arguments, stdin=EVENTS)
    assert result.returncode == code
    assert result.stderr.startswith(first)
    assert bool(result.stderr) == (code != 0)


def test_a_locale_that_lacks_the_characters() -> None:
    stdin = "ts,type,s\n1,A,é\n"
    table = cepheid("match", "EVENT A a", "-", "--format", "table", stdin=stdin, PYTHONIOENCODING="ascii")
    assert (table.returncode, "\\xe9" in table.stdout) == (0, True)
    # Data is UTF-8 wherever it goes.
    lines = cepheid("match", "EVENT A a", "-", stdin=stdin, PYTHONIOENCODING="ascii")
    assert '"s": "é"' in lines.stdout
    assert "'é'" in cepheid("fmt", "EVENT A a WHERE a.s = 'é'", PYTHONIOENCODING="ascii").stdout


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    events.write_text("ts,type\n" + "".join(f"{k},A\n" for k in range(20_000)))  # more than a pipe holds
    with subprocess.Popen(
        [*COMMAND, "match", "EVENT A a", str(events)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"match_start": 0')
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("form", ["jsonl", "table"])
def test_an_output_that_is_full(thefts: Path, readings: Path, form: str) -> None:
    with Path("/dev/full").open("w") as full:
        arguments = ["match", str(thefts), str(readings), "--format", form]
        result = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 3
    assert result.stderr.startswith("error CEP801: can't write to stdout: No space left on device\nhelp: ")
    assert "Traceback" not in result.stderr


def test_a_closed_stdin() -> None:
    result = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "match", "EVENT A a", "-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 3
    assert result.stderr == ("error CEP801: can't read stdin: it is closed\nhelp: pipe data into it, or pass a file\n")


def test_interrupted() -> None:
    # The warning says that the command is past its start; then it waits for events that never come.
    arguments = ["match", "PATTERN A+ a[]", "-"]
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("warning CEP001: ")
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "interrupted\n"
    assert process.returncode == 130


def on_a_terminal(*arguments: object) -> tuple[int, str]:
    """The exit code, and what the process shows on a terminal of 80 columns."""
    pty = pytest.importorskip("pty")
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "50"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdin=end, stdout=end, stderr=end, env=environment
    ) as process:
        os.close(end)
        shown = b""
        try:
            while chunk := os.read(terminal, 4096):
                shown += chunk
        except OSError:  # Linux: the other end is closed
            pass
    os.close(terminal)
    return process.returncode, shown.decode()


def test_a_table_and_a_spinner_on_a_terminal(thefts: Path, readings: Path) -> None:
    code, shown = on_a_terminal("match", thefts, readings)
    assert code == 0
    assert "matching 59 events" in shown
    assert "aisle 7 perfume" in shown
    assert shown.endswith("3 matches\r\n")


def test_no_matches_on_a_terminal(tmp_path: Path) -> None:
    events = tmp_path / "two words.csv"
    events.write_text("at,type\n1,A\n2,B\n")
    arguments = ["EVENT C c WHERE c.at > T", events, "--time", "at", "--param", "T=5"]
    code, shown = on_a_terminal("match", *arguments)
    assert code == 0
    told = f"cepheid diagnose 'EVENT C c WHERE c.at > T' '{events}' --time at --param T=5 says why"
    assert shown.replace("\r\n", "\n").endswith(f"no matches\n{told}\n")
    told = told.removesuffix(" says why").removeprefix("cepheid ")
    assert cepheid(*shlex.split(told)).stdout.startswith("no match in 2 events\n")


def test_of_a_cesar_expression_too(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    events.write_text(EVENTS)
    code, shown = on_a_terminal("match", "CESAR SELECT[DUR > 5](A)", events)
    assert (code, "says why" in shown) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["EVENT A a"],
        ["EVENT C c", "--speculate", "all"],
        ["EVENT C c", "--format", "jsonl"],
    ],
)
def test_no_hint_where_it_would_not_help(tmp_path: Path, arguments: list[str]) -> None:
    events = tmp_path / "events.csv"
    events.write_text(EVENTS)
    code, shown = on_a_terminal("match", arguments[0], events, *arguments[1:])
    assert (code, "says why" in shown) == (0, False)


def test_a_note_is_not_written_into_the_progress_bar(tmp_path: Path) -> None:
    events = tmp_path / "late.csv"
    events.write_text("ts,type\n9,A\n1,A\n")
    code, shown = on_a_terminal("match", "EVENT A a RETURN a.ts AS x", events, "--speculate", "all", "--lateness", "1")
    assert code == 0
    before, _ = shown.split("1 late row was dropped")
    assert re.split(r"\r|\n|\x1b\[2K", before)[-1] == ""  # it begins a line


def test_colours_on_a_terminal() -> None:
    code, shown = on_a_terminal("check", "EVENT SEQ(A a, C c) WHERE b.x = 1")
    assert code == 1
    assert shown.splitlines()[0] == "\x1b[1;31merror CEP202:\x1b[0m unknown variable 'b'"
    assert shown.splitlines()[3] == "\x1b[31m  |                           ^^^\x1b[0m"


def test_the_library_needs_neither_click_nor_rich() -> None:
    code = "import sys, cepheid; sys.exit(bool({'click', 'rich', 'cepheid.cli'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
