"""The server of one page, on this machine only, until it is interrupted."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn

from cepheid.errors import UsageError
from cepheid.studio.app import make_app
from cepheid.studio.jobs import Jobs
from cepheid.studio.source import EventSource

ADDRESS = "127.0.0.1"


def serve(source: EventSource, port: int, *, browser: bool, report: Callable[[str], None]) -> None:
    """Serve a source. port: 0 for any that is free. report: is called with the address once the server listens."""
    token = secrets.token_urlsafe(24)
    listening = _listen(port)
    port = listening.getsockname()[1]
    address = f"http://{ADDRESS}:{port}/?token={token}"
    jobs = Jobs()
    app = make_app(source, token, port, jobs)
    server = _Server(uvicorn.Config(app, log_level="warning", server_header=False, ws="none"), jobs)
    report(address)  # the socket listens already: whoever comes now is answered when the server runs
    if browser:
        webbrowser.open(address)
    with suppress(KeyboardInterrupt):  # which is how it is ended
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends at once: without this it would wait for the answers that are under way."""

    def __init__(self, config: uvicorn.Config, jobs: Jobs) -> None:
        super().__init__(config)
        self._jobs = jobs

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._jobs.stop()
        super().handle_exit(sig, frame)


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
    except OSError as error:
        listener.close()
        message = f"can't listen on port {port}: {error.strerror}"
        raise UsageError("CEP603", message, "pass another --port, or leave it out for one that is free") from None
    listener.listen()
    return listener
