"""`cepheid studio`: what it is called with, and a process of its own."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from cepheid.cli import studio


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "pass EVENTS, --demo or --checkpoint, one of them"),
        (["--demo", "--checkpoint", "state"], "pass EVENTS, --demo or --checkpoint, one of them"),
        (["--demo", "--matches", "found"], "--matches is for --checkpoint"),
    ],
)
def test_one_thing_is_looked_at(run, arguments: list[str], told: str) -> None:
    assert told in run("studio", *arguments, code=2).stderr


def test_without_the_extra_it_says_what_to_install(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "find_spec", lambda name: None)
    stderr = run("studio", "--demo", code=2).stderr
    assert stderr == "error CEP602: the page needs starlette and uvicorn\nhelp: pip install 'cepheid[studio]'\n"


def test_a_file_that_is_not_there_is_told_before_there_is_a_page(run, readings: Path) -> None:
    stderr = run("studio", str(readings.with_name("reading.csv")), "--no-browser", code=3).stderr
    assert stderr.startswith("error CEP801: can't read the events ")
    assert f"did you mean '{readings}'?" in stderr


def test_it_serves_until_it_is_interrupted(readings: Path) -> None:
    command = [sys.executable, "-m", "cepheid", "studio", str(readings), "--query", "EVENT Exit a", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", address)
        with httpx.Client(trust_env=False, timeout=60) as client:
            assert client.get(address).status_code == 200
            state = client.get(address.partition("?")[0] + "api/state").json()
        assert (state["name"], state["text"]) == ("readings.csv", "EVENT Exit a")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")


def test_a_port_that_is_taken(run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        stderr = run("studio", "--demo", "--no-browser", "--port", port, code=2).stderr
    assert stderr.startswith(f"error CEP603: can't listen on port {port}: Address already in use\n")
