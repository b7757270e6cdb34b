"""What queries with one filter in FROM see (S25): a stream of its own, so that nothing that runs them knows of it."""

from __future__ import annotations

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.scope_filter import ScopeFilter
from cepheid.engine.stream.input_stream import InputStream
from cepheid.front.runnable import Runnable


class View:
    """The events of a stream that queries see."""

    def __init__(self, query: Runnable, *, once: bool) -> None:
        self.filter = ScopeFilter(query)
        self.stream = InputStream(query.schema, once=once)

    def see(self, batch: Batch) -> Batch | None:
        """Those of the next events that are seen, as the next ones of the view; None if there are none."""
        places = self.filter.places(batch)
        if places is None:
            return self.stream.append(batch.events, batch.times)
        return self.stream.append(batch.only(places), batch.times[places]) if len(places) else None
