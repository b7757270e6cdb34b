"""A diagnosis for a notebook: plain tables and bars, whose colours read on light and on dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from cepheid.diagnosis.as_text import SHOWN, coverage, events_line, headline, left_out_events, said_runs, tried
from cepheid.diagnosis.facts import Findings, Miss, Stage

_BAR = "display:inline-block;height:.8em;background:#3b82c4;vertical-align:baseline"
_HINT = "border-left:3px solid #d97706;padding-left:.6em;margin:.4em 0"


def as_html(found: Findings) -> str:
    """All of it."""
    parts = [f"<p><b>{escape(headline(found))}</b><br>{escape(events_line(found))}</p>"]
    parts += [
        f'<div style="{_HINT}"><b>{hint.code}</b> {escape(hint.message)}<br>→ {escape(hint.remedy)}</div>'
        for hint in found.hints
    ]
    if found.changes:
        counted = ([escape(change.text), str(change).rpartition(" ")[0]] for change in found.changes)
        parts.append(_table(("what if" + tried(found), "matches"), counted))
    if found.misses and not found.matches:
        parts.append(_table(("nearest misses", "why not"), map(_miss, found.misses)))
    most = max((stage.runs for stage in found.funnel), default=0)
    rows = (_stage(found, stage, most) for stage in found.funnel)
    parts.append(_table(("component", "runs", "conditions", "what ended them"), rows))
    if note := coverage(found):
        parts.append(f"<p><small>{escape(note)}</small></p>")
    return "".join(parts)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells are HTML already."""
    top = "".join(f'<th style="text-align:left">{cell}</th>' for cell in head)
    cell = '<td style="text-align:left;vertical-align:top">{}</td>'
    body = "".join(f"<tr>{''.join(map(cell.format, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _miss(miss: Miss) -> list[str]:
    lines = [f"{escape(name)}: {escape(text)} (row {row})" for name, row, text in miss.events[:SHOWN]]
    lines += [left_out] if (left_out := left_out_events(len(miss.events))) else []
    if miss.refused is not None:
        lines.append(f"{'then ' if miss.events else ''}{escape(miss.refused[2])} (row {miss.refused[1]})")
    return ["<br>".join(lines), f"<code>{escape(miss.reason)}</code>"]


def _stage(found: Findings, stage: Stage, most: int) -> list[str]:
    width = 8 * stage.runs / most if most else 0
    tests = "<br>".join(f"<code>{escape(t.text)}</code> {t.passed:,} of {t.tested:,}" for t in stage.tests)
    ended = "<br>".join(f"{count:,} {escape(why)}" for why, count in list(stage.ended.items())[:4])
    name = f"{escape('|'.join(stage.types) or '*')} <b>{escape(stage.component)}</b>"
    return [
        name,
        f'{said_runs(found, stage).removesuffix(" runs")} <span style="{_BAR};width:{width:.2f}em"></span>',
        tests,
        ended,
    ]
