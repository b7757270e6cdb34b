"""A diagnosis for a notebook: plain tables and bars, whose colours read on light and on dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from cepheid.diagnosis.as_text import SHOWN, coverage, events_line, headline, left_out_events, said_runs, tried
from cepheid.diagnosis.facts import Findings, Miss, Stage

_BAR = "display:inline-block;height:.8em;background:#3b82c4;vertical-align:baseline"
_HINT = "border-left:3px solid #d97706;padding-left:.6em;margin:.4em 0"


def as_html(findings: Findings) -> str:
    """The findings as HTML for a notebook, in the order of `as_text`."""
    parts = [f"<p><b>{escape(headline(findings))}</b><br>{escape(events_line(findings))}</p>"]
    parts += [
        f'<div style="{_HINT}"><b>{hint.code}</b> {escape(hint.message)}<br>→ {escape(hint.remedy)}</div>'
        for hint in findings.hints
    ]
    if findings.changes:
        counted = ([escape(change.text), str(change).rpartition(" ")[0]] for change in findings.changes)
        parts.append(_table(("what if" + tried(findings), "matches"), counted))
    if findings.misses and not findings.matches:
        parts.append(_table(("nearest misses", "why not"), map(_miss, findings.misses)))
    most = max((stage.runs for stage in findings.funnel), default=0)
    rows = (_stage(findings, stage, most) for stage in findings.funnel)
    parts.append(_table(("component", "runs", "conditions", "what ended them"), rows))
    if note := coverage(findings):
        parts.append(f"<p><small>{escape(note)}</small></p>")
    return "".join(parts)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose cells are markup, escaped by the caller."""
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


def _stage(findings: Findings, stage: Stage, most: int) -> list[str]:
    width = 8 * stage.runs / most if most else 0
    tests = "<br>".join(f"<code>{escape(t.text)}</code> {t.passed:,} of {t.tested:,}" for t in stage.tests)
    ended = "<br>".join(f"{count:,} {escape(why)}" for why, count in list(stage.ended.items())[:4])
    name = f"{escape('|'.join(stage.types) or '*')} <b>{escape(stage.component)}</b>"
    return [
        name,
        f'{said_runs(findings, stage).removesuffix(" runs")} <span style="{_BAR};width:{width:.2f}em"></span>',
        tests,
        ended,
    ]
