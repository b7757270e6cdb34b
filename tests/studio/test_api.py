"""What the page asks, asked without a page."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import httpx
import pyarrow as pa
import pytest
from serving import THEFTS, TOKEN, Served, demo, serving

from cepheid.cli.errors import with_options
from cepheid.errors import FileError
from cepheid.studio.checking import fault
from cepheid.studio.checkpoint import watched
from cepheid.studio.jobs import Jobs, Ticket
from cepheid.studio.serve import _listen


def test_state_says_what_is_in_the_events(served: Served) -> None:
    state = served.ready()
    assert (state["status"], state["text"], state["events"]["rows"]) == ("ready", THEFTS, 59)
    assert state["events"]["types"][:3] == [["Shelf", 21], ["Exit", 11], ["Dock", 9]]
    assert [(one["name"], one["type"], one["role"]) for one in state["events"]["columns"]] == [
        ("ts", "timestamp[s]", "time"),
        ("type", "string", "type"),
        ("tag_id", "string", None),
        ("reader", "string", None),
    ]
    assert state["events"]["columns"][2]["samples"][:3] == ["T1001", "T1002", "T1003"]


def test_an_error_has_its_place_and_a_remedy(served: Served) -> None:
    assert served.ask("check", "PATTERN SEQ(Shelf a, Exit c)\nWHERE a.tag = c.tag_id")["problems"] == [
        {
            "severity": "error",
            "code": "CEP301",
            "message": "unknown column 'tag'",
            "remedy": "did you mean 'tag_id'?",
            "line": 2,
            "column": 7,
            "start": 35,
            "end": 40,
        }
    ]


def test_a_misspelt_type_is_a_warning(served: Served) -> None:
    (told,) = served.ask("check", "PATTERN SEQ(Shelf a, Exti c) WHERE [tag_id]")["problems"]
    assert (told["severity"], told["code"], told["remedy"]) == ("warning", "CEP005", "did you mean 'Exit'?")


def test_matches_of_the_demo(served: Served) -> None:
    (found,) = [line for line in served.tell("run", THEFTS) if line["kind"] == "matches"]
    assert (found["on"], found["events"], found["count"]) == ("all", 59, 3)
    assert [row["a"]["tag_id"] for row in found["rows"]] == ["T1006", "T1002", "T1004"]


def test_a_wrong_query_ends_with_its_error(served: Served) -> None:
    assert [line["code"] for line in served.tell("run", "PATTERN SEQ(Shelf a")] == ["CEP102"]


def test_any_column_is_shown() -> None:
    """What JSON has no value for, and what a browser would round, is text."""
    events = pa.table(
        {
            "ts": pa.array([1, 2], pa.timestamp("ns")),
            "type": ["A", "B"],
            "took": pa.array([1, 90], pa.duration("s")),
            "x": [float("nan"), float("inf")],
            "y": [float("inf"), 2.5],
            "id": [2**60, 7],
            "code": pa.array([3, 5]).dictionary_encode(),
            "none": pa.nulls(2),
        }
    )
    with serving(demo(read=lambda told: events)) as served:
        facts = served.ready()["events"]
        told = served.tell("run", "PATTERN A a")
    assert [(one["name"], one["samples"], one["low"], one["high"]) for one in facts["columns"]] == [
        ("ts", ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000000002"], None, None),
        ("type", ["A", "B"], None, None),
        ("took", ["PT1S", "PT1M30S"], None, None),
        ("x", ["nan", "inf"], None, None),
        ("y", ["inf", 2.5], 2.5, 2.5),
        ("id", ["1152921504606846976", 7], 7, 2**60),
        ("code", [3, 5], 3, 5),
        ("none", [], None, None),
    ]
    (found,) = [line for line in told if line["kind"] == "matches"]
    assert {name: found["rows"][0]["a"][name] for name in ("ts", "took", "x", "id")} == {
        "ts": "1970-01-01T00:00:00.000000001",
        "took": "PT1S",
        "x": "nan",
        "id": "1152921504606846976",
    }


def test_a_number_that_no_browser_has_is_said() -> None:
    events = pa.table({"ts": range(120), "type": ["A"] * 120})
    with serving(demo(read=lambda told: events)) as served:
        told = served.tell("run", "PATTERN SEQ(A a, A+ b[], A c)", timeline=False)
    (found,) = [line for line in told if line["kind"] == "matches"]
    assert (found["said"], found["count"], len(found["rows"])) == ("about 10^36 matches", str(2**120 - 7261), 50)


def test_the_first_events_are_matched_first() -> None:
    many = pa.table({"ts": range(50_000), "type": ["A", "B"] * 25_000})
    with serving(demo(read=lambda told: many)) as served:
        all_told = served.tell("run", "PATTERN SEQ(A a, B b) WITHIN 2 ms")
        told = [line for line in all_told if line["kind"] == "matches"]
        quick = served.tell("run", "PATTERN SEQ(A a, B b) WITHIN 2 ms", sample=False)
    assert [(one["on"], one["events"], one["count"]) for one in told] == [
        ("sample", 20_000, 10_000),
        ("all", 50_000, 25_000),
    ]
    assert [one["on"] for one in quick if one["kind"] == "matches"] == ["all"]
    assert {(one["on"], one["total"]) for one in all_told if one["kind"] == "progress"} == {
        ("sample", 20_000),
        ("all", 50_000),
    }
    assert [one["events"] for one in all_told if one["kind"] == "progress"][-1] == 50_000


def test_events_that_cannot_be_read_are_told() -> None:
    def fail(told: object) -> pa.Table:
        raise FileError("CEP801", "can't read the events", "check the spelling")

    with serving(demo(read=fail)) as served:
        state = served.ready()
        assert (state["status"], state["problem"]["message"]) == ("failed", "can't read the events")
        assert [line["code"] for line in served.tell("run", THEFTS)] == ["CEP801"]


def test_whatever_stops_the_reading_is_told() -> None:
    def fail(told: object) -> pa.Table:
        raise MemoryError("no room for them")

    with serving(demo(read=fail)) as served:
        assert served.ready()["problem"]["message"] == "a fault of Cepheid: MemoryError: no room for them"


def test_events_without_a_time_are_told_before_a_query_is_written() -> None:
    events = pa.table({"when": [1, 2], "type": ["A", "B"]})
    with serving(demo(read=lambda told: events, spelt=with_options)) as served:
        state = served.ready()
        assert (state["status"], state["problem"]["message"]) == ("failed", "the events have no time column 'ts'")
        assert state["problem"]["remedy"] == "the columns are: type, when; name the time column with --time"
        assert [one["name"] for one in state["events"]["columns"]] == ["when", "type"]


def test_names_that_need_quotes_are_completed_with_them() -> None:
    events = pa.table({"ts": [1], "type": ["it's"], "unit price": [2], "o'brien": ["it's"]})
    with serving(demo(read=lambda told: events)) as served:
        served.ready()

        def written(text: str, form: str = "text") -> list[tuple[str, str | None, int]]:
            found = served.ask("complete", text, at=len(text), form=form)["options"]
            return [(one["label"], one["insert"], one["back"]) for one in found]

        assert written("PATTERN SEQ(it") == [("it's", "`it's`", 0)]
        assert written("PATTERN A a WHERE a.un") == [("unit price", "`unit price`", 0)]
        assert written("PATTERN A a WHERE a.`un") == [("unit price", "`unit price`", 0)]
        assert written("PATTERN A a WHERE a.`o'brien` = 'it") == [("it's", "it''s", 0)]
        head = "import cepheid as cep\na = cep.var('a')\ncep.event('A', a)"
        assert written(f"{head}.where(a.un", "python") == [("unit price", '["unit price"]', 1)]
        assert written(f"{head}.where(a['un", "python") == [("unit price", "unit price", 0)]
        assert written(f"{head}.where(a.x == 'un", "python") == []


def test_completion(served: Served) -> None:
    def labels(text: str) -> list[str]:
        return [one["label"] for one in served.ask("complete", text, at=len(text))["options"]]

    assert labels("PATTERN SEQ(Sh") == ["Shelf"]
    assert labels("PATTERN SEQ(Shelf abc, Exit c) WHERE abc.t") == ["ts", "type", "tag_id"]
    assert labels("PATTERN SEQ(Shelf abc, Exit+ c[]) WHERE ab") == ["abc", "abs"]
    assert labels("PATTERN Shelf a WHERE [ta") == ["tag_id"]
    assert labels("PATTERN Shelf a WITHIN 12 h") == ["hours"]
    assert "aisle 2 razors" in labels("PATTERN Shelf a WHERE a.reader = 'ais")
    assert labels("PATTERN Shelf a WHERE [reader, ta") == ["tag_id"]
    assert labels("PATTERN Shelf a -- wh") == []
    assert labels("PATTERN Shelf a WHERE a.reader LIKE 'wh") == []
    assert labels("AUTOMATON s -> t\nARC s -> t ON Sh") == ["Shelf"]
    assert labels("CESAR SEL") == ["SELECT"]


def test_constants_have_ranges_from_the_data() -> None:
    events = pa.table({"ts": range(100), "type": ["A"] * 100, "price": [float(n) for n in range(100)]})
    text = "PATTERN SEQ(A a, A+ b[]) WHERE a.price > 12.5 AND b[i].price < 0.8 * a.price WITHIN 7 ms"
    with serving(demo(read=lambda told: events)) as served:
        served.ready()
        found = served.ask("constants", text)["constants"]
    assert [(text[one["start"] : one["end"]], one["label"], one["low"], one["high"], one["step"]) for one in found] == [
        ("12.5", "a.price >", 0.0, 99.0, 0.2),
        ("0.8", "* a.price", 0.0, 1.6, 0.005),
        ("7", "WITHIN", 1.0, 28.0, 1.0),
    ]
    assert found[2]["unit"] == "milliseconds"


def test_a_short_window_is_not_moved_by_whole_hours(served: Served) -> None:
    def moved(window: str) -> list[tuple[float, float, float]]:
        found = served.ask("constants", f"PATTERN SEQ(Shelf a, Exit b) WITHIN {window}")["constants"]
        return [(one["low"], one["high"], one["step"]) for one in found]

    assert moved("2 hours") == [(0.02, 8.0, 0.02)]
    assert moved("5 events") == [(1.0, 20.0, 1.0)]
    assert moved("600 minutes") == [(5.0, 1200.0, 5.0)]


def test_the_same_query_in_python(served: Served) -> None:
    assert '    .same("tag_id")\n' in served.ask("python", "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id]")["python"]


def test_python_code_is_checked_at_its_places(served: Served) -> None:
    code = "import cepheid as cep\na = cep.var('a')\ncep.Query(cep.event('Shelf', a).where(a.tag == 'T1'))"
    (found,) = served.ask("check", code, form="python")["problems"]
    assert (found["code"], code[found["start"] : found["end"]], found["line"]) == ("CEP301", "a.tag", 3)
    right = code.replace("a.tag", "a.tag_id")
    assert served.ask("check", right, form="python") == {"problems": []}
    assert served.ask("text", right, form="python") == {"text": "PATTERN Shelf a\nWHERE a.tag_id = 'T1'"}
    assert [line["kind"] for line in served.tell("run", right, form="python")][-2:] == ["matches", "timeline"]


def test_python_code_has_sliders_at_its_numbers(served: Served) -> None:
    code = (
        "import cepheid as cep\na, b = cep.var('a'), cep.var('b')\ncep.Query(cep.seq(cep.event('Shelf', a), "
        "cep.event('Exit', b)).where(cep.call('length', a.reader) > 3, b.n.between(1, 2.5)).within('12 hours'))"
    )
    found = served.ask("constants", code, form="python")["constants"]
    assert [(code[one["start"] : one["end"]], one["unit"]) for one in found] == [
        ("3", None),
        ("1", None),
        ("2.5", None),
        ("12", "hours"),
    ]


@pytest.mark.parametrize("code", ["x = " + "-" * 100_000 + "1", "x = 1" + "+1" * 60_000, "x = " + "(" * 90_000])
def test_code_that_is_nested_too_deep_is_an_error_in_a_thread_too(served: Served, code: str) -> None:
    (found,) = served.ask("check", code, form="python")["problems"]
    assert found["code"] == "CEP114"


def test_completion_of_python_code(served: Served) -> None:
    head = "import cepheid as cep\na, b = cep.var('a'), cep.var('b')\n"

    def labels(line: str) -> list[str]:
        code = head + line
        return [one["label"] for one in served.ask("complete", code, form="python", at=len(code))["options"]]

    assert labels("query = cep.any_") == ["any_order"]
    assert labels("cep.event('Sh") == ["Shelf"]
    assert labels("cep.event('Shelf', a).par") == ["partition_by"]
    assert labels("cep.event('Shelf', a).same('ta") == ["tag_id"]
    assert labels("cep.event('Shelf', a).where(a.t") == ["ts", "type", "tag_id"]
    assert labels("cep.event('Shelf', a).where(a.cur") == ["current"]
    assert labels("cep.event('Shelf', a).where(a.reader == 'aisle 2") == ["aisle 2 razors"]
    assert labels("cep.event('Shelf', a).within('12 h") == ["12 hours"]
    assert labels("cep.event('Shelf', a).where(a.reader.li") == ["like"]
    assert labels("cep.event('Shelf', a).where(cep.call('upp") == ["upper"]


def test_newer_work_of_a_page_ends_the_older() -> None:
    """Work that does not look whether it is stopped is waited for; what came between is not begun."""
    jobs, begun, go_on = Jobs(), list[str](), Event()

    def work(name: str) -> Callable[[Ticket], None]:
        def run(ticket: Ticket) -> None:
            begun.append(name)
            go_on.wait(10)
            ticket.check()

        return run

    async def told(name: str) -> list[str]:
        lines = jobs.lines("page", "diagnose", work(name), fault)
        return [json.loads(line)["kind"] async for line in lines]

    async def three() -> list[list[str]]:
        tasks = []
        for name in ("first", "second", "third"):
            tasks.append(asyncio.create_task(told(name)))
            await asyncio.sleep(0.2)
        go_on.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(three()) == [["stopped"], ["stopped"], []]
    assert begun == ["first", "third"]


def test_a_server_that_ends_waits_for_no_work() -> None:
    jobs, begun, go_on = Jobs(), Event(), Event()

    def work(ticket: Ticket) -> None:
        begun.set()
        go_on.wait(30)

    async def ended() -> list[bytes]:
        async def lines() -> list[bytes]:
            return [line async for line in jobs.lines("page", "run", work, fault)]

        told = asyncio.create_task(lines())
        await asyncio.to_thread(begun.wait)
        jobs.stop()
        return await told

    assert asyncio.run(ended()) == []
    go_on.set()


def test_a_drag_draws_nothing(served: Served) -> None:
    kinds = [line["kind"] for line in served.tell("run", THEFTS, sample=False, timeline=False)]
    assert "matches" in kinds
    assert "timeline" not in kinds


def test_explain(served: Served) -> None:
    (found,) = served.tell("explain", THEFTS)
    assert [svg.count("<svg") for svg in found["svgs"]] == [1, 1]  # the automaton and the plan
    assert found["text"].startswith("Query\n  PATTERN SEQ(Shelf a, !(Register b), Exit c)")


def test_each_query_of_a_program_is_drawn(served: Served) -> None:
    text = "PATTERN Shelf a RETURN a.tag_id INTO Seen; FROM Seen PATTERN SEQ(Seen s, Seen t) WHERE [tag_id]"
    (found,) = served.tell("explain", text)
    assert len(found["svgs"]) == 4  # the automata, then the plans
    (told,) = served.tell("diagnose", text)
    assert list(dict.fromkeys(step["query"] for step in told["diagnosis"]["funnel"])) == ["Seen", "query 2"]


def test_the_source_of_a_picture_is_not_shown_below_it(served: Served) -> None:
    (found,) = served.tell("explain", "AUTOMATON s -> t\nARC s -> t ON Shelf")
    assert "Mermaid" not in found["text"]
    assert "\nMatches\n  neighbouring events, from any event on\n" in found["text"]


def test_what_one_change_would_give(served: Served) -> None:
    (told,) = served.tell("diagnose", "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id] AND a.reader = 'x' WITHIN 12 hours")
    found = told["diagnosis"]
    assert (found["said"], found["coverage"]) == ("0 matches", "")
    assert {"text": "without a.reader = 'x'", "said": "18 matches"} in [
        {"text": one["text"], "said": one["said"]} for one in found["changes"]
    ]


def test_diagnose_tells_the_funnel_and_the_misses(served: Served) -> None:
    (told,) = served.tell("diagnose", THEFTS)
    found = told["diagnosis"]
    assert (found["seen"]["events"], found["matches"]) == (59, 3)
    assert [(step["component"], step["runs"]) for step in found["funnel"]] == [
        ("a", 21),
        ("c", 16),
        ("complete", 16),
    ]
    assert "must be absent" in found["misses"][0]["reason"]


def test_matches_have_a_time_line(served: Served) -> None:
    def drawn(text: str) -> list[bool]:
        lines = [line for line in served.tell("run", text) if line["kind"] == "timeline"]
        return [line["svg"] is not None for line in lines]

    assert drawn(THEFTS) == [True]
    assert drawn("PATTERN SEQ(Exit a, Dock b) WHERE [tag_id]") == [False]


class TestAccess:
    @pytest.fixture
    def stranger(self, served: Served) -> Iterator[httpx.Client]:
        with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", trust_env=False) as client:
            yield client

    def test_the_address_gives_a_cookie(self, served: Served, stranger: httpx.Client) -> None:
        assert stranger.get("/api/state").status_code == 403
        page = stranger.get(f"/?token={TOKEN}")
        assert page.status_code == 200
        assert "HttpOnly; SameSite=Strict" in page.headers["set-cookie"]
        assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert stranger.get("/api/state").status_code == 200

    @pytest.mark.parametrize("address", ["/", "/?token=", "/?token=another", f"/api/state?token={TOKEN}", "/assets/x"])
    def test_without_the_token_nothing_is_told(self, stranger: httpx.Client, address: str) -> None:
        assert stranger.get(address).status_code == 403

    def test_cookies_of_other_programs_do_no_harm(self, served: Served, stranger: httpx.Client) -> None:
        for other in ('a={"b": 1}', "=", "broken", "cepheid_studio_1=another"):
            cookies = f"{other}; cepheid_studio_{served.port}={TOKEN}"
            assert stranger.get("/api/state", headers={"cookie": cookies}).status_code == 200
            assert stranger.get("/api/state", headers={"cookie": other}).status_code == 403

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
    def test_another_name_of_this_machine_is_refused(self, served: Served, host: str) -> None:
        found = served.client.get("/api/state", headers={"host": host.format(port=served.port)})
        assert found.status_code in (400, 403)

    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "http://evil.example"},
            {"origin": "null"},
            {"origin": "https://127.0.0.1:{port}"},
            {"origin": "http://127.0.0.1:1"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},  # another program on this machine
        ],
    )
    def test_another_page_is_refused(self, served: Served, headers: dict[str, str]) -> None:
        given = {name: value.format(port=served.port) for name, value in headers.items()}
        assert served.client.get("/api/state", headers=given).status_code == 403

    def test_its_own_page_is_answered(self, served: Served) -> None:
        for name in ("127.0.0.1", "localhost"):
            host = f"{name}:{served.port}"
            headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
            assert served.client.get("/api/state", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "hosts",
        [
            [],
            ["127.0.0.1:{port}", "evil.example"],
            ["evil.example", "127.0.0.1:{port}"],
            ["127.0.0.1:{port}.evil.example"],
        ],
    )
    def test_a_request_has_one_host(self, served: Served, hosts: list[str]) -> None:
        lines = [f"Host: {host.format(port=served.port)}" for host in hosts]
        assert self._sent(served, "/api/state", lines) in (400, 403)
        assert self._sent(served, "/api/state", [f"Host: 127.0.0.1:{served.port}"]) == 200

    @staticmethod
    def _sent(served: Served, path: str, lines: list[str]) -> int:
        """The status of a request that is written by hand, as no client would write it."""
        cookie = f"Cookie: cepheid_studio_{served.port}={TOKEN}"
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as link:
            link.sendall("\r\n".join([f"GET {path} HTTP/1.1", *lines, cookie, "Connection: close", "", ""]).encode())
            return int(link.makefile("rb").readline().split()[1])

    @pytest.mark.parametrize(
        "path",
        [
            "/assets/../index.html",
            "/assets/%2e%2e/index.html",
            "/assets/..%5c..%5capp.py",
            "/assets/studio.js%00.css",
            "/assets//etc/passwd",
            "/../../../../../etc/passwd",
            "//etc/passwd",
            "/page/index.html",
            "/static/../../app.py",
        ],
    )
    def test_no_path_leads_out(self, served: Served, path: str) -> None:
        assert self._sent(served, path, [f"Host: 127.0.0.1:{served.port}"]) == 404

    def test_a_query_can_name_no_file(self, served: Served, tmp_path: Path) -> None:
        secret = tmp_path / "secret.csv"
        secret.write_text("ts,type\n1,A\n")
        for text in (str(secret), f"PATTERN A a WHERE a.x = read_files('{secret}')"):
            assert [line["kind"] for line in served.tell("run", text)] == ["error"]
        # A name in FROM is a name for the events that there are, whatever it looks like.
        (found,) = [line for line in served.tell("run", f"FROM `{secret}` PATTERN A a") if line["kind"] == "matches"]
        assert (found["events"], found["count"]) == (59, 0)

    def test_the_socket_is_of_this_machine_only(self) -> None:
        with _listen(0) as found:
            assert found.getsockname()[0] == "127.0.0.1"

    @pytest.mark.parametrize("path", ["..%2f..%2fapp.py", "..%2findex.html", "%2fetc%2fpasswd", "nothing.js"])
    def test_only_shipped_files_are_there(self, served: Served, path: str) -> None:
        assert served.client.get(f"/assets/{path}").status_code == 404

    def test_what_is_not_asked_as_the_page_does_is_refused(self, served: Served) -> None:
        ask = served.client.post
        assert ask("/api/check", content=b'{"text": ""}').status_code == 415
        assert ask("/api/check", json={"text": "x" * 300_000}).status_code == 413
        assert ask("/api/check", json={"text": 5}).status_code == 400
        assert ask("/api/complete", json={"text": "x", "at": -1}).status_code == 400
        for wrong in ({"form": "perl"}, {"page": 5}, {"sample": "no"}, {"timeline": 1}, {"at": "1"}):
            assert ask("/api/check", json={"text": "x", **wrong}).status_code == 400
        json_type = {"content-type": "application/json"}
        for body in (b'{"text": "\\ud800"}', b"[", b"[" * 100_000, b"5", b'["text"]', b"\xff"):
            assert ask("/api/check", content=body, headers=json_type).status_code == 400


class TestWatch:
    @staticmethod
    def _checkpoint(folder: Path, *, ended: int, now: float = 1_000_000.0) -> Path:
        for name in ("offsets", "commits", "state/0/0"):
            (folder / name).mkdir(parents=True)
        for number in range(4):
            began = int((now - 40 + 10 * number) * 1000)
            facts = {"batchWatermarkMs": 1000 * number, "batchTimestampMs": began, "conf": {}}
            (folder / "offsets" / str(number)).write_text(f"v1\n{json.dumps(facts)}\n-")
            if number < ended:
                commit = folder / "commits" / str(number)
                commit.write_text('v1\n{"nextBatchWatermarkMs":0}')
                os.utime(commit, (now - 38 + 10 * number,) * 2)
        (folder / "state/0/0/1.delta").write_bytes(b"12345")
        return folder

    def test_a_stream_that_runs(self, tmp_path: Path) -> None:
        found = watched(self._checkpoint(tmp_path, ended=4), None, 1_000_000.0)
        assert (found["status"], found["watermark"], found["state_bytes"]) == ("running", 3000, 5)
        assert found["batches"][0] == {"number": 0, "began": 999_960.0, "ended": 999_962.0, "watermark": None}

    def test_a_stream_that_was_killed(self, tmp_path: Path) -> None:
        found = watched(self._checkpoint(tmp_path, ended=3), None, 1_000_600.0)
        assert found["status"] == "dead"
        assert found["told"].startswith("Micro-batch 3 began 10 minutes ago and has not ended: the stream was killed")

    def test_a_stream_that_is_silent(self, tmp_path: Path) -> None:
        found = watched(self._checkpoint(tmp_path, ended=4), None, 1_003_600.0)
        assert found["status"] == "silent"
        assert found["told"].startswith("No micro-batch for 60 minutes, and before that one ended every 10 seconds.")

    @pytest.mark.parametrize(
        ("status", "at", "found"),
        [
            ("running", 999_990, ("running", "Micro-batch 7 is done.")),
            ("running", 999_000, ("dead", "No sign of life for 17 minutes, and it has not said that it ended")),
            ("ended", 999_000, ("ended", "It ended 17 minutes ago.")),
            ("failed", 999_000, ("dead", "The stream failed 17 minutes ago: no space left")),
        ],
    )
    def test_a_stream_that_tells_of_itself(
        self, tmp_path: Path, status: str, at: float, found: tuple[str, str]
    ) -> None:
        facts = {"number": 7, "seconds": 2, "events": 60, "matches": 3, "late": 1, "runs": 9, "state_bytes": 5}
        batches = [{**facts, "at": at - 10}, {**facts, "at": at}]
        told = {"status": status, "exception": "no space left\n  at …", "at": at, "batches": batches}
        (tmp_path / "_cepheid").mkdir()
        (tmp_path / "_cepheid" / "progress.json").write_text(json.dumps(told))
        seen = watched(tmp_path, None, 1_000_000.0)
        assert (seen["status"], seen["told"][: len(found[1])]) == found
        assert seen["recorded"] == {
            "batches": 2,
            "events_per_second": 10.0,
            "events": 120,
            "matches": 6,
            "late": 2,
            "runs": 9,
            "state_bytes": 5,
        }

    def test_no_stream_yet(self, tmp_path: Path) -> None:
        assert watched(tmp_path / "none", None)["told"].startswith("There is no folder")
        assert watched(tmp_path, None)["told"] == "No stream has begun a micro-batch here yet."

    def test_the_last_matches(self, tmp_path: Path) -> None:
        written = tmp_path / "matches"
        written.mkdir()
        (written / "part-0.json").write_text('{"match_start": 1, "tag": "T1"}\n{"match_start": 2, "tag": "T2"}\n')
        (written / "_SUCCESS").write_text("")
        found = watched(tmp_path, written)["matches"]
        assert found["rows"] == [{"match_start": 1, "tag": "T1"}, {"match_start": 2, "tag": "T2"}]

    def test_the_last_matches_of_a_folder_for_each_micro_batch(self, tmp_path: Path) -> None:
        for number, rows in ((9, ""), (10, '{"match_start": 10}\n'), (11, "")):
            folder = tmp_path / f"batch={number}"
            folder.mkdir()
            (folder / "part-0.json").write_text(rows)
            os.utime(folder, (number, number))
        (tmp_path / "_temporary").mkdir()
        (tmp_path / "_temporary" / "part-0.json").write_text('{"match_start": 12}\n')
        found = watched(tmp_path / "state", tmp_path)["matches"]
        assert found["rows"] == [{"match_start": 10}]
