"""Work in threads: the newest request of a page ends the older ones of its kind."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from cepheid.engine.progress import Progress
from cepheid.errors import CepheidError
from cepheid.values.json import Json

_LOOK = 0.02


class StoppedError(Exception):
    """Raised in work that nobody waits for any longer."""


@dataclass
class Ticket:
    """A piece of work. tell: hands a line to whoever asked for it. end: says that there are no more."""

    tell: Callable[[Json], None]
    end: Callable[[], None]
    stopped: Event = field(default_factory=Event)

    def check(self) -> None:
        """Raise if the work is not needed any longer."""
        if self.stopped.is_set():
            raise StoppedError

    def progress(self, on: str) -> Callable[[Progress], None]:
        """Tells how far a run on some events is, for `Query.match`."""

        def tell(progress: Progress) -> None:
            self.check()
            self.tell({"kind": "progress", "on": on, "events": progress.events, "total": progress.total})

        return tell


class Jobs:
    """Which work is under way, by the page that asked for it and its kind."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._newest: dict[tuple[str, str], Ticket] = {}
        self._turns: dict[tuple[str, str], Lock] = {}

    async def lines(
        self, page: str, kind: str, work: Callable[[Ticket], None], shown: Callable[[Exception], Json]
    ) -> AsyncIterator[bytes]:
        """What a piece of work tells, as lines of JSON; an error is the last line. shown: an error as JSON."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Json | None] = asyncio.Queue()

        def tell(line: Json | None) -> None:
            with suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(queue.put_nowait, line)

        ticket = Ticket(tell, lambda: tell(None))
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
            except Exception as error:
                ticket.tell({"kind": "error", **shown(error)})
                if not isinstance(error, CepheidError):  # the page says so, and the server prints where
                    traceback.print_exc()
            finally:
                ticket.end()

        # Not of a pool: when the server ends, nobody waits for work that can't be stopped.
        Thread(target=run, daemon=True).start()
        try:
            while (line := await queue.get()) is not None:
                yield json.dumps(line, default=str).encode() + b"\n"
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
        """End all of it. Work that can't be stopped in the middle goes on, but nobody hears of it."""
        with self._lock:
            tickets = list(self._newest.values())
        for ticket in tickets:
            ticket.stopped.set()
            ticket.end()
