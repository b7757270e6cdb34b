"""A time line as SVG: nothing is needed for it but text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite

from cepheid.pictures.axis import Axis, axis
from cepheid.pictures.colours import BANDS, GREY, RED, THEME
from cepheid.pictures.picture import Picture
from cepheid.pictures.printable import cells, printable
from cepheid.pictures.timeline import Band, Lane, Point, Stretch, Timeline

WIDTH = 860
_LEFT_LEAST, _LEFT_MOST, _RIGHT = 24, 170, 46
_TITLE, _ROW, _BASE, _CHART, _GAP = 30, 34, 24, 112, 14
_BAR, _ASIDE = 12, 10  # of a lane with a line: a row of bars, the types of events that are not on the line
_LETTER = 6.6  # the width of a letter, about

Height = Callable[[float | None], float]
"""Where a value is drawn; below all others if there is none."""


@dataclass(frozen=True)
class _TimeAxis:
    """Places of times on the axis: from `start`, at `left`, to `end`, at the right edge."""

    start: int
    end: int
    left: float

    def x(self, at: int) -> float:
        left, wide = self.left + 14, WIDTH - _RIGHT - 14 - self.left
        return left + (at - self.start) * wide / (self.end - self.start) if self.end > self.start else left + wide / 2


def draw_timeline(timeline: Timeline) -> Picture:
    """The picture of a time line; of one without lanes, only its title and notes."""
    widest = max((cells(_cut(lane.label, 24)) for lane in timeline.lanes), default=0)
    time_axis = axis(*timeline.bounds, timeline.scale)
    before = max(14.0, *(_half(tick.text, 11) for tick in time_axis.ticks[:1])) if time_axis.ticks else 14.0
    titled = len(time_axis.title) * _LETTER + 20 + before if time_axis.title else 0
    beside = titled <= _LEFT_MOST  # a longer title of the axis is below it
    room = max(_LEFT_LEAST, widest * _LETTER + 22, titled if beside else 0)
    place = _TimeAxis(*timeline.bounds, left=min(room, _LEFT_MOST))
    body: list[str] = [_text(14, 20, timeline.title, weight="600")]
    y: float = _TITLE
    for lane in timeline.lanes:
        drawn, height = (_charted if timeline.value else _banded)(lane, place, y)
        body += [*drawn]
        y += height + _GAP
    if timeline.lanes:
        body += _axis(time_axis, place, y)
        if time_axis.title:
            body.append(_text(14, y + (18 if beside else 34), time_axis.title, fill=GREY, size=11))
        y += 30 if beside else 46
    if timeline.value and timeline.lanes:
        body.append(_text(WIDTH - _RIGHT, 20, timeline.value, anchor="end", fill=GREY))
    for note in timeline.notes:
        body.append(_text(14, y + 10, note, fill=GREY, size=11))
        y += 16
    return Picture(_page(body, y + 6))


def _page(body: Sequence[str], height: float) -> str:
    head = (
        f'<svg class="cepheid" xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" style="max-width:100%;height:auto" '
        'font-family="system-ui, sans-serif" font-size="12">'
    )
    return "\n".join([head, f"<style>{THEME}</style>", *body, "</svg>\n"])


# A lane whose matches are bands in rows, so that none hides another.


def _banded(lane: Lane, place: _TimeAxis, y: float) -> tuple[list[str], float]:
    rows = _packed(lane.bands, place)
    height = len(rows) * _ROW + _BASE
    base = y + height - 14
    body = [_rule(place, base), _lane_label(lane.label, base + 4)]
    for number, row in enumerate(rows):
        for band in row:
            body += _band(band, place, y + number * _ROW + 24)
    body += _others(lane.events, place, base)
    return body, height


def _packed(bands: Sequence[Band], place: _TimeAxis) -> list[list[Band]]:
    """Bands in rows in which they do not touch."""
    rows: list[list[Band]] = []
    for band in bands:
        begins = place.x(_extent(band)[0])
        free = (row for row in rows if place.x(_extent(row[-1])[1]) + 30 < begins)
        row = next(free, None)
        if row is None:
            rows.append(row := [])
        row.append(band)
    return rows


def _extent(band: Band) -> tuple[int, int]:
    times = [band.start, band.end, *(time for gap in band.absences for time in (gap.start, gap.end))]
    return min(times), max(times)


def _band(band: Band, place: _TimeAxis, y: float) -> Iterator[str]:
    colour, left, right = _colour(band), place.x(band.start), place.x(band.end)
    for gap in band.absences:
        yield from _hatched(gap, place, y - 8, 16)
    yield (
        f'<rect x="{left - 8:.1f}" y="{y - 8:.1f}" width="{right - left + 16:.1f}" height="16" rx="8" '
        f'fill="{colour}" fill-opacity=".22" stroke="{colour}">{_tooltip(band.tooltip)}</rect>'
    )
    for point in band.points:
        yield _dot(place.x(point.at), y, point, colour)
    yield from _labels([(place.x(p.at), p.label) for p in band.points], y - 12)
    for gap in band.absences:
        yield from _absence_label(gap, place, y + 4)


def _others(events: Sequence[Point], place: _TimeAxis, y: float) -> Iterator[str]:
    """The other events of a lane: ticks on its line, with their types as long as there is room."""
    for point in events:
        x = place.x(point.at)
        yield f'<path d="M{x:.1f} {y - 5:.1f}v10" stroke="{GREY}" stroke-width="1.5">{_tooltip(point.tooltip)}</path>'
    yield from _labels([(place.x(p.at), p.label) for p in events], y + 15, fill=GREY, size=10)


# A lane with a number as a line.


def _charted(lane: Lane, place: _TimeAxis, y: float) -> tuple[list[str], float]:
    rows = _packed(lane.bands, place)
    below = len(rows) * _BAR if len(rows) > 1 else 0  # matches that overlap have bars of their own, below the line
    known = sorted([p for p in (*lane.events, *_matched(lane)) if not p.aside], key=lambda point: point.at)
    values = [value for point in known if (value := _value(point)) is not None]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    top, bottom = y + 22, y + _CHART - 8

    def height(value: float | None) -> float:
        if value is None:
            return bottom
        return bottom - (value - low) * (bottom - top) / (high - low) if high > low else (top + bottom) / 2

    base = y + _CHART + below
    body = [_rule(place, base), _lane_label(lane.label, y + _CHART / 2 + 4)]
    for band in lane.bands if not below else ():
        left, right = place.x(band.start), place.x(band.end)
        for gap in band.absences:
            body += _hatched(gap, place, y + 2, _CHART - 4)
        body.append(
            f'<rect x="{left - 4:.1f}" y="{y + 2:.1f}" width="{right - left + 8:.1f}" height="{_CHART - 4}" rx="4" '
            f'fill="{_colour(band)}" fill-opacity=".14">{_tooltip(band.tooltip)}</rect>'
        )
    for number, row in enumerate(rows if below else ()):
        for band in row:
            body += _bar(band, place, y + _CHART + number * _BAR)
    body += _line(known, place, height)
    body += [_extreme(value, height(value)) for value in dict.fromkeys((high, low)) if values]
    for band in lane.bands:
        for point in band.points:  # one without a value is hollow, so that nobody takes it for the lowest
            value = _value(point)
            body.append(_dot(place.x(point.at), height(value), point, _colour(band), hollow=value is None))
        for gap in band.absences if not below else ():
            body += _absence_label(gap, place, y + _CHART - 6)
    body += _point_labels(lane, place, height)
    aside = [point for point in lane.events if point.aside]
    body += _others(aside, place, base)
    return body, _CHART + below + (_ASIDE if aside else 0)


def _bar(band: Band, place: _TimeAxis, y: float) -> Iterator[str]:
    """A match from its start to its end, its events on it."""
    colour, left, right = _colour(band), place.x(band.start), place.x(band.end)
    for gap in band.absences:
        yield from _hatched(gap, place, y, 8)
    yield (
        f'<rect x="{left - 4:.1f}" y="{y:.1f}" width="{right - left + 8:.1f}" height="8" rx="4" '
        f'fill="{colour}" fill-opacity=".3">{_tooltip(band.tooltip)}</rect>'
    )
    for point in band.points:
        yield f'<circle cx="{place.x(point.at):.1f}" cy="{y + 4:.1f}" r="2.5" fill="{colour}"/>'


def _matched(lane: Lane) -> tuple[Point, ...]:
    """The events of matches; one that is in several is drawn once."""
    return tuple({(p.at, p.value): p for band in lane.bands for p in band.points}.values())


def _point_labels(lane: Lane, place: _TimeAxis, height: Height) -> Iterator[str]:
    """The names of matched events, above them; of matches that share events each once."""
    seen: list[tuple[float, float]] = []
    for band in lane.bands:
        for point in band.points:
            x, y = place.x(point.at), height(_value(point))
            wide = len(point.label) * _LETTER / 2 + 4
            if point.label and all(abs(x - other) > wide + 6 or abs(y - at) > 14 for other, at in seen):
                seen.append((x, y))
                yield _text(x, y - 9, point.label, anchor="middle", size=11)


def _line(points: Sequence[Point], place: _TimeAxis, height: Height) -> Iterator[str]:
    """The line through the values, broken where there is none."""
    path, dots, pen = [], [], "M"
    for point in points:
        value = _value(point)
        if value is None:
            pen = "M"
            continue
        x, y = place.x(point.at), height(value)
        path.append(f"{pen}{x:.1f} {y:.1f}")
        dots.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.8" fill="{GREY}">{_tooltip(point.tooltip)}</circle>')
        pen = "L"
    if path:
        yield f'<path d="{"".join(path)}" fill="none" stroke="{GREY}" stroke-width="1.5"/>'
    yield from dots


def _extreme(value: float, y: float) -> str:
    """The greatest or the least value, at the right of the line."""
    return _text(WIDTH - 2, y + 4, f"{value:.4g}", anchor="end", fill=GREY, size=10)


# Parts of both.


def _dot(x: float, y: float, point: Point, colour: str, *, hollow: bool = False) -> str:
    size = 3.5 if point.each else 5.5
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{"none" if hollow else colour}" stroke="{colour}">'
        f"{_tooltip(point.tooltip or point.label)}</circle>"
    )


def _hatched(gap: Stretch, place: _TimeAxis, y: float, height: float) -> Iterator[str]:
    """Slanted lines in a frame. A pattern would need a name, and a page may have several pictures."""
    left, right = place.x(gap.start), place.x(gap.end)
    path = []
    x = left - height
    while x < right:
        # From (x, bottom) up to the right, by as much as is in the frame.
        begin, end = max(x, left), min(x + height, right)
        if begin < end:
            path.append(f"M{begin:.1f} {y + height - (begin - x):.1f}L{end:.1f} {y + height - (end - x):.1f}")
        x += 6
    frame = f"M{left:.1f} {y:.1f}H{right:.1f}" + ("m0 0" if gap.clipped else f"V{y + height:.1f}")
    frame += f"{'M' if gap.clipped else 'L'}{right:.1f} {y + height:.1f}H{left:.1f}V{y:.1f}"
    yield f'<path d="{"".join(path)}" stroke="{RED}" stroke-opacity=".38" fill="none">{_tooltip(gap.label)}</path>'
    yield f'<path d="{frame}" stroke="{RED}" stroke-opacity=".5" stroke-dasharray="3 2" fill="none"/>'


def _absence_label(gap: Stretch, place: _TimeAxis, y: float) -> Iterator[str]:
    left, right = place.x(gap.start), place.x(gap.end)
    if gap.label and right - left > len(gap.label) * _LETTER + 16:
        yield _text((left + right) / 2, y, gap.label, anchor="middle", fill=RED, weight="600", size=11)


def _labels(places: Sequence[tuple[float, str]], y: float, fill: str = "currentColor", size: int = 11) -> Iterator[str]:
    """Labels on a line, those of one place together, without those that would touch the one before."""
    together: dict[float, list[str]] = {}
    for x, label in places:
        if label and label not in together.setdefault(round(x, 1), []):
            together[round(x, 1)].append(label)
    free = float("-inf")
    for x, labels in sorted(together.items()):
        label = _cut(", ".join(labels), 24)
        half = _half(label, size)
        x = min(max(x, half), WIDTH - half)  # all of it on the page
        if x - half >= free:
            free = x + half
            yield _text(x, y, label, anchor="middle", fill=fill, size=size)


def _half(label: str, size: int) -> float:
    """Half of the room that a label takes, about."""
    return cells(label) * size * 0.31 + 3


def _axis(time_axis: Axis, place: _TimeAxis, y: float) -> Iterator[str]:
    yield f'<path d="M{place.left:.1f} {y:.1f}H{WIDTH - _RIGHT + 10}" stroke="{GREY}" fill="none"/>'
    for tick in time_axis.ticks:
        x = place.x(tick.at)
        yield f'<path d="M{x:.1f} {y:.1f}v5" stroke="{GREY}"/>'
    yield from _labels([(place.x(tick.at), tick.text) for tick in time_axis.ticks], y + 18, fill=GREY)


def _rule(place: _TimeAxis, y: float) -> str:
    return (
        f'<path d="M{place.left:.1f} {y:.1f}H{WIDTH - _RIGHT + 10}" stroke="{GREY}" stroke-opacity=".35" fill="none"/>'
    )


def _lane_label(label: str, y: float) -> str:
    return _text(14, y, _cut(label, 24))


def _colour(band: Band) -> str:
    return BANDS[band.number % len(BANDS)]


def _value(point: Point) -> float | None:
    return point.value if point.value is not None and isfinite(point.value) else None


def _cut(text: str, most: int) -> str:
    """The beginning of a text that takes more room than that; wide characters take two cells."""
    if cells(text) <= most:
        return text
    while cells(text) >= most:
        text = text[: -max(1, (cells(text) - most) // 2)]
    return f"{text}…"


def _tooltip(text: str) -> str:
    return f"<title>{escape(printable(text))}</title>" if text else ""


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    fill: str = "currentColor",
    size: int = 12,
    weight: str = "",
) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"{bold}>'
        f"{escape(printable(text), quote=False)}</text>"
    )
