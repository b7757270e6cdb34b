"""A table for a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape


def html_table(rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """HTML of rows of text, the first of which is the head. numbers: the columns that are set to the right.

    Jupyter sets all columns to the right, which is hard to read of text.

    >>> html_table([["n", "s"], ["1", "<"]], [0]).partition("<tbody>")[2]
    '<tr><td>1</td><td style="text-align:left">&lt;</td></tr></tbody></table>'
    """
    head, *body = [_row(row, "td" if number else "th", numbers) for number, row in enumerate(rows)]
    return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"


def _row(cells: Sequence[str], name: str, numbers: Collection[int]) -> str:
    made = (f"<{name}{'' if number in numbers else _LEFT}>{escape(cell)}</{name}>" for number, cell in enumerate(cells))
    return f"<tr>{''.join(made)}</tr>"


_LEFT = ' style="text-align:left"'
