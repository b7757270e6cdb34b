"""A server of the demo in this process, and what asks it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from threading import Thread
from typing import Any

import httpx
import uvicorn

from cepheid import Query
from cepheid.api.files.read_files import read_bytes
from cepheid.studio.app import make_app
from cepheid.studio.source import ColumnRoles, EventSource

TOKEN = "a-token"
DEMO = files("cepheid") / "demo"
THEFTS = (DEMO / "shoplifting.sase").read_text(encoding="utf-8")


def demo(**changes: object) -> EventSource:
    given = {
        "name": "demo",
        "text": THEFTS,
        "columns": ColumnRoles("ts", "type", None, "ms"),
        "prepare": Query,
        "read": lambda told: read_bytes((DEMO / "readings.csv").read_bytes(), None, "readings.csv", "type"),
    }
    return EventSource(**{**given, **changes})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Served:
    """A server that runs. client: has the token, as the page has."""

    port: int
    client: httpx.Client

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={TOKEN}"

    def ask(self, kind: str, text: str, **more: object) -> Any:
        return self.client.post(f"/api/{kind}", json={"text": text, **more}).json()

    def tell(self, kind: str, text: str, **more: object) -> list[dict[str, Any]]:
        told = self.client.post(f"/api/{kind}", json={"text": text, "page": "1", **more}).text
        return [json.loads(line) for line in told.splitlines()]

    def ready(self) -> dict[str, Any]:
        while (state := self.client.get("/api/state").json())["status"] == "reading":
            time.sleep(0.02)
        return state


@contextmanager
def serving(source: EventSource) -> Iterator[Served]:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = make_app(source, TOKEN, port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        cookies = {f"cepheid_studio_{port}": TOKEN}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", cookies=cookies, timeout=60, trust_env=False) as client:
            yield Served(port, client)
    finally:
        server.should_exit = True
        thread.join()
