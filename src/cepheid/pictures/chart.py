"""A time line as an Altair chart, with tooltips and zoom."""

from __future__ import annotations

import re
from itertools import pairwise
from math import isfinite
from typing import Any

from cepheid.pictures.colours import BANDS, GREY, RED
from cepheid.pictures.printable import printable
from cepheid.pictures.timeline import Lane, Point, Scale, Timeline


def to_chart(timeline: Timeline) -> Any:
    """A chart with the lanes below each other; it needs the extra `plot`."""
    try:
        import altair
    except ImportError:
        raise ImportError("altair is not installed: pip install 'cepheid[plot]'") from None
    alt: Any = altair  # parts of it are untyped
    if not timeline.lanes:
        heading = _safe(" ".join((timeline.title, *timeline.notes)))
        return alt.Chart(alt.Data(values=[{"heading": heading}])).mark_text(fontSize=13).encode(text="heading:N")
    kind = "temporal" if timeline.scale.tick is not None else "quantitative"
    parts = [_lane(alt, lane, timeline, kind) for lane in timeline.lanes]
    chart = alt.vconcat(*parts).resolve_scale(x="shared", color="independent")
    return chart.properties(title={"text": _safe(timeline.title), "subtitle": [*map(_safe, timeline.notes)]})


def _lane(alt: Any, lane: Lane, timeline: Timeline, kind: str) -> Any:
    """The bands of a lane behind its events."""
    scale = alt.Scale(type="utc") if kind == "temporal" else alt.Scale(zero=False)
    whole = {} if kind == "temporal" else {"axis": alt.Axis(tickMinStep=1)}
    x = alt.X("start", type=kind, title=None, scale=scale, **whole)
    chosen = alt.Y("y", type="quantitative", title=_safe(timeline.value or ""), scale=alt.Scale(zero=False))
    order = ["events", *(f"match {band.number + 1}" for band in lane.bands)]
    rows = alt.Y("row", type="nominal", title=None, axis=None, sort=order)
    y = chosen if timeline.value else rows
    apart = timeline.value is not None and _overlap(lane)  # matches behind a line, each in a row of its own
    height = {"y": rows} if apart or not timeline.value else {}
    bands, gaps, points = _rows(lane, timeline)
    colour = alt.Color("colour", type="nominal", scale=None)
    layers = []
    if bands:
        shape = alt.Chart(alt.Data(values=bands)).mark_rect(opacity=0.25, cornerRadius=4)
        layers.append(
            shape.encode(x=x, x2="end", color=colour, tooltip=alt.Tooltip("tooltip", type="nominal"), **height)
        )
    if gaps:
        shape = alt.Chart(alt.Data(values=gaps)).mark_rect(opacity=0.15, color=RED, stroke=RED, strokeDash=[4, 3])
        layers.append(shape.encode(x=x, x2="end", tooltip=alt.Tooltip("tooltip", type="nominal"), **height))
    events = alt.Chart(alt.Data(values=points))
    if timeline.value:
        line = alt.Chart(alt.Data(values=[point for point in points if not point["aside"]]))
        layers.append(line.mark_line(color=GREY).encode(x=x, y=y))
    size = alt.Size("size", type="quantitative", scale=None)
    tooltip = alt.Tooltip("tooltip", type="nominal")
    layers.append(events.mark_circle(opacity=1).encode(x=x, y=y, color=colour, size=size, tooltip=tooltip))
    tall = 110 if timeline.value else 30 * max(1, len(lane.bands) + bool(lane.events))
    if apart:
        behind = len(layers) - 2
        parts = alt.layer(*layers[:behind]), alt.layer(*layers[behind:])
        chart = alt.layer(*parts).resolve_scale(y="independent")
    else:
        chart = alt.layer(*layers)
    return chart.properties(width=640, height=tall, title=_safe(lane.label))


def _overlap(lane: Lane) -> bool:
    bands = sorted(lane.bands, key=lambda band: band.start)
    return any(second.start < first.end for first, second in pairwise(bands))


def _rows(lane: Lane, timeline: Timeline) -> tuple[list[dict[str, Any]], ...]:
    """The values that Altair is given: bands, absences and events."""
    bands, gaps, points = [], [], []
    for event in lane.events:
        points.append(_point(event, "events", GREY, 12, timeline.scale))
    for band in lane.bands:
        row, colour = f"match {band.number + 1}", BANDS[band.number % len(BANDS)]
        bands.append(
            {
                **_span(band.start, band.end, timeline.scale),
                "row": row,
                "colour": colour,
                "tooltip": _safe(band.tooltip),
            }
        )
        for gap in band.absences:
            gaps.append({**_span(gap.start, gap.end, timeline.scale), "row": row, "tooltip": _safe(gap.label)})
        for point in band.points:
            size = 30 if point.each else 70
            points.append(_point(point, row, colour, size, timeline.scale))
    return bands, gaps, points


def _point(event: Point, row: str, colour: str, size: int, scale: Scale) -> dict[str, Any]:
    y = event.value if event.value is not None and isfinite(event.value) else None  # JSON has neither NaN nor infinity
    look = {"row": row, "colour": colour, "size": size, "aside": event.aside}
    return {"start": _time(event.at, scale), "y": y, **look, "tooltip": _safe(event.tooltip)}


def _span(start: int, end: int, scale: Scale) -> dict[str, Any]:
    return {"start": _time(start, scale), "end": _time(end, scale)}


def _time(at: int, scale: Scale) -> float:
    """A number, or milliseconds since 1970, as Vega counts time."""
    return at if scale.tick is None else at * scale.tick / 1_000_000


_TAG = re.compile(r"<(?=[/!?a-zA-Z])")


def _safe(text: str) -> str:
    """Text that is no tag: Altair puts it between <script> and </script>, where a tag would end the script.

    >>> _safe("</script>") == "<\\u200b/script>"
    True
    """
    return _TAG.sub("<\u200b", printable(text))
