"""Work in threads: the newest request of a page ends the older ones of its kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from cepheid.engine.progress import Progress
from cepheid.errors import CepheidError
from cepheid.studio.checking import problem
from cepheid.studio.forms import Written

_LOOK = 0.02


class StoppedError(Exception):
    """Raised in work that nobody waits for any longer."""


@dataclass
class Ticket:
    """A piece of work. tell: hands a line to whoever asked for it."""

    tell: Callable[[dict[str, Any]], None]
    stopped: Event = field(default_factory=Event)

    def check(self) -> None:
        """Raise if the work is not needed any longer."""
        if self.stopped.is_set():
            raise StoppedError

    def progress(self, on: str) -> Callable[[Progress], None]:
        """Tells how far a run on some events is, for `Query.match`."""

        def tell(now: Progress) -> None:
            self.check()
            self.tell({"kind": "progress", "on": on, "events": now.events, "total": now.total})

        return tell


def _fault(error: Exception) -> dict[str, Any]:
    message = f"a fault of Cepheid: {type(error).__name__}: {error}"
    return {"severity": "error", "code": "", "message": message, "remedy": "report it, with the query"}


class Jobs:
    """Which work is under way, by the page that asked for it and its kind."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._newest: dict[tuple[str, str], Ticket] = {}
        self._turns: dict[tuple[str, str], Lock] = {}

    async def lines(
        self, page: str, kind: str, work: Callable[[Ticket], None], written: Written
    ) -> AsyncIterator[bytes]:
        """What a piece of work tells, as lines of JSON; an error is the last line. written: what it is about."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        def tell(line: dict[str, Any] | None) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, line)

        ticket = Ticket(tell)
        turn = self._take((page, kind), ticket)

        def run() -> None:
            try:
                # Work that can't be stopped in the middle is waited for: else it would pile up while somebody types.
                while not turn.acquire(timeout=_LOOK):
                    ticket.check()
                try:
                    ticket.check()
                    work(ticket)
                finally:
                    turn.release()
            except StoppedError:
                ticket.tell({"kind": "stopped"})
            except CepheidError as error:
                ticket.tell({"kind": "error", **problem(error, written)})
            except Exception as error:  # the page says so, and the server prints where
                ticket.tell({"kind": "error", **_fault(error)})
                raise
            finally:
                tell(None)

        done = loop.run_in_executor(None, run)
        try:
            while (line := await queue.get()) is not None:
                yield json.dumps(line, default=str).encode() + b"\n"
            await done
        finally:
            ticket.stopped.set()
            self._drop((page, kind), ticket)

    def _take(self, key: tuple[str, str], ticket: Ticket) -> Lock:
        """Make a piece of work the newest of its kind, and stop the one before; what it must hold while it works."""
        with self._lock:
            older = self._newest.get(key)
            self._newest[key] = ticket
            turn = self._turns.setdefault(key, Lock())
        if older is not None:
            older.stopped.set()
        return turn

    def _drop(self, key: tuple[str, str], ticket: Ticket) -> None:
        with self._lock:
            if self._newest.get(key) is ticket:
                del self._newest[key]

    def stop(self) -> None:
        """End all of it."""
        with self._lock:
            for ticket in self._newest.values():
                ticket.stopped.set()
