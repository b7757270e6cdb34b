"""The server's addresses: the page, and what it asks as JSON."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from importlib.resources import files

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from cepheid.builder.printed import print_python
from cepheid.errors import CepheidError
from cepheid.studio import running
from cepheid.studio.access import Guard
from cepheid.studio.checking import check, fault, listening, problem
from cepheid.studio.checkpoint import watched
from cepheid.studio.completing import complete as complete_text
from cepheid.studio.completing_python import complete as complete_python
from cepheid.studio.constants import constants
from cepheid.studio.describing import Facts, describe
from cepheid.studio.forms import FORMS, Written
from cepheid.studio.jobs import Jobs, Ticket
from cepheid.studio.source import EventSource, SourceReading
from cepheid.values.json import Json

LONGEST = 200_000
"""Characters of a request: a query is a text that somebody types."""

_KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a request asks. at: the cursor. page: which window it is.

    sample: whether some events are tried first. timeline: whether matches are drawn on one.
    """

    written: Written
    at: int
    page: str
    sample: bool
    timeline: bool


def make_app(source: EventSource, token: str, port: int, jobs: Jobs | None = None) -> Starlette:
    """The server of a source, for those who have the token. jobs: where its work is kept, for whoever ends it."""
    jobs = Jobs() if jobs is None else jobs
    studio = _Studio(source, jobs)
    asked: dict[str, Callable[[PageRequest], object]] = {
        "check": studio.check,
        "complete": studio.complete,
        "constants": studio.constants,
        "python": studio.python,
        "text": studio.text,
    }
    worked = {"run": studio.run, "explain": studio.explain, "diagnose": studio.diagnose}
    return Starlette(
        routes=[
            Route("/", _page),
            Route("/assets/{name}", _asset),
            Route("/api/state", _later(studio.state)),
            Route("/api/watch", _later(studio.watch)),
            *(Route(f"/api/{name}", studio.answering(answer), methods=["POST"]) for name, answer in asked.items()),
            *(Route(f"/api/{name}", studio.streaming(name, work), methods=["POST"]) for name, work in worked.items()),
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
        lifespan=studio.lifespan,
    )


class _Studio:
    """What the requests of all pages share: the events, and the list of what is under way."""

    def __init__(self, source: EventSource, jobs: Jobs) -> None:
        self._source = source
        self._reading = SourceReading(source)
        self._jobs = jobs
        self._facts: Facts | None = None

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._reading.start()
        with listening():
            yield
            self._jobs.stop()

    def facts(self) -> Facts | None:
        """What is in the events, once they are there."""
        table = self._reading.table
        if self._facts is None and table is not None:
            self._facts = describe(table, self._source.columns)
        return self._facts

    def state(self) -> Json:
        facts, error = self.facts(), self._reading.error
        status = "failed" if error else "ready" if self._reading.over.is_set() else "reading"
        return {
            "name": self._source.name,
            "text": self._source.text,
            "watches": self._source.checkpoint is not None,
            "status": status,
            "share": self._reading.share,
            "problem": None if error is None else self._problem(error),
            "events": None if facts is None else asdict(facts),
        }

    def _problem(self, error: Exception, written: Written | None = None) -> Json:
        return problem(error, self._source, written) if isinstance(error, CepheidError) else fault(error)

    def watch(self) -> Json:
        if self._source.checkpoint is None:
            return {"status": "none"}
        return watched(self._source.checkpoint, self._source.matches)

    def check(self, asked: PageRequest) -> dict[str, list[Json]]:
        return check(self._source, asked.written, self._reading.table)

    def complete(self, asked: PageRequest) -> Json:
        complete = complete_python if asked.written.form == "python" else complete_text
        return asdict(complete(asked.written.text, asked.at, self.facts()))

    def constants(self, asked: PageRequest) -> dict[str, list[Json]]:
        return {"constants": [asdict(number) for number in constants(asked.written.program, self.facts())]}

    def python(self, asked: PageRequest) -> dict[str, str]:
        return {"python": print_python(asked.written.program)}

    def text(self, asked: PageRequest) -> dict[str, str]:
        return {"text": asked.written.as_text}

    def run(self, asked: PageRequest, ticket: Ticket) -> None:
        running.run(self._reading, asked.written, ticket, sample=asked.sample, timeline=asked.timeline)

    def explain(self, asked: PageRequest, ticket: Ticket) -> None:
        running.explain(self._reading, asked.written, ticket)

    def diagnose(self, asked: PageRequest, ticket: Ticket) -> None:
        running.diagnose(self._reading, asked.written, ticket)

    def streaming(
        self, kind: str, work: Callable[[PageRequest, Ticket], None]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def stream(request: Request) -> Response:
            asked = await _asked(request)
            if isinstance(asked, Response):
                return asked
            lines = self._jobs.lines(
                asked.page, kind, lambda ticket: work(asked, ticket), lambda error: self._problem(error, asked.written)
            )
            return StreamingResponse(lines, media_type="application/x-ndjson")

        return stream

    def answering(self, answer: Callable[[PageRequest], object]) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            asked = await _asked(request)
            if isinstance(asked, Response):
                return asked
            try:
                return _json(await run_in_threadpool(answer, asked))
            except CepheidError as error:
                return _json({"problem": self._problem(error, asked.written)})  # an answer: the request itself is right

        return respond


def _later(answer: Callable[[], Json]) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        return _json(await run_in_threadpool(answer))

    return respond


def _json(value: object) -> Response:
    return Response(json.dumps(value, default=str), media_type="application/json")


async def _asked(request: Request) -> PageRequest | Response:
    """What a request asks."""
    if request.headers.get("content-type") != "application/json":
        return PlainTextResponse("pass JSON\n", status_code=415)
    if not request.headers.get("content-length", "").isdigit() or int(request.headers["content-length"]) > LONGEST:
        return PlainTextResponse(f"pass at most {LONGEST} bytes\n", status_code=413)
    try:
        return _read_asked(json.loads(await request.body()))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return PlainTextResponse('pass {"text": …}\n', status_code=400)


def _read_asked(request: Json) -> PageRequest:
    text, form, at = request["text"], request.get("form", "text"), request.get("at", 0)
    page, sample, timeline = request.get("page", ""), request.get("sample", True), request.get("timeline", True)
    right = isinstance(text, str) and form in FORMS and isinstance(at, int) and at >= 0
    if not right or not isinstance(page, str) or not isinstance(sample, bool) or not isinstance(timeline, bool):
        raise ValueError
    text.encode()  # JSON can hold halves of characters, which no query can
    return PageRequest(Written(text, form), at, page, sample, timeline)


async def _page(request: Request) -> Response:
    return _file("index.html")


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    shipped = {file.name for file in (files("cepheid.studio") / "page" / "assets").iterdir()}
    if name not in shipped:
        return PlainTextResponse("there is no such file\n", status_code=404)
    return _file(f"assets/{name}")


def _file(path: str) -> Response:
    data = (files("cepheid.studio") / "page" / path).read_bytes()
    return Response(data, media_type=_KINDS[path.rpartition(".")[2]])
