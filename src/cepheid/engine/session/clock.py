"""The time that a session has reached."""

from __future__ import annotations

from cepheid.pattern.binding.schema import Schema


class Clock:
    """The watermark, and how it follows the events. Times are ticks.

    A session calls `open` once its columns are known, `see` for events that it has accepted, and sets `watermark` when
    it moves: never back.

    lateness: by how many nanoseconds the watermark trails the events; None: it is moved by calls only.
    latest: the greatest time of an event that was accepted. trail: the lateness in ticks.
    """

    __slots__ = ("lateness", "latest", "trail", "watermark")

    def __init__(self, lateness: int | None) -> None:
        self.lateness = lateness
        self.watermark: int | None = None
        self.latest: int | None = None
        self.trail = 0

    def open(self, schema: Schema) -> None:
        """Count the lateness in ticks of the time column."""
        if self.lateness is not None:
            self.trail = -(-self.lateness // schema.tick)

    def see(self, high: int) -> None:
        """Note the greatest time of events that were accepted."""
        if self.latest is None or high > self.latest:
            self.latest = high

    def following(self, high: int) -> int:
        """The watermark after events up to a time, where it follows them."""
        trailing = high - self.trail
        return trailing if self.watermark is None or trailing > self.watermark else self.watermark

    def present(self, promised: int | None) -> int | None:
        """The greatest time that was accepted, or the watermark or what is promised if that is later."""
        times = self.latest, self.watermark, promised
        return max((time for time in times if time is not None), default=None)
