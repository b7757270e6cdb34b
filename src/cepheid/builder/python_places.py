"""Places in Python code: where a part of it stands, and the nodes of a tree that it has made."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from cepheid.builder.columns import Column
from cepheid.builder.drafts import Draft
from cepheid.errors import CepheidError, Span
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree import nodes as tree

_LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")  # those of Python, which knows no others
_NUMBER = re.compile(r"\s*([0-9.]+)")
_LISTS = ("streams", "strategies", "where", "partition_by", "returns")
_WINDOWS = ("within", "cooldown")


class Places:
    """A code, and the spans of its parts. The parser counts bytes of UTF-8 in a line, a span counts characters."""

    def __init__(self, code: str) -> None:
        self.code = code
        lines = _LINE_ENDS.split(code)
        self._lines = [line.encode(errors="surrogatepass") for line in lines]
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: ast.AST) -> Span:
        """The place of a part; of a call of a method, from its name on."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            value = node.func.value
            if isinstance(value, ast.Call):
                # The parser writes names in their normal form, so that the code may have other characters.
                start = self.code.find(node.func.attr, self._end(value), self._end(node))
                return Span(self.code, start if start >= 0 else self._end(value), self._end(node))
        return Span(self.code, self._start(node), self._end(node))

    def at(self, line: int | None, column: int | None) -> Span:
        """The place that an error of the parser names: both are counted from 1, and in characters."""
        line = min(max(1, line or 1), len(self._lines))
        start = min(self._starts[line - 1] + max(0, (column or 1) - 1), len(self.code))
        return Span(self.code, start, min(start + 1, len(self.code)))

    def inside(self, node: ast.AST) -> int | None:
        """Where the characters of a string begin, if they are written as they are."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return None
        start = self.code.find(node.value, self._start(node), self._end(node))
        return start if start >= 0 else None

    def error(self, error: CepheidError, node: ast.AST) -> CepheidError:
        """An error of the builder, at the part that caused it, or within a string of that part."""
        span = self.of(node)
        if error.span is not None:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and part.value == error.span.text:
                    span, start = self.of(part), self.inside(part)
                    if start is not None:
                        span = Span(self.code, start + error.span.start, start + error.span.end)
        return type(error)(error.code, error.message, error.remedy, span)

    def _start(self, node: Any) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: Any) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, byte: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1][:byte].decode())


def with_place(value: object, span: Span) -> object:
    """A value of the builder whose node knows its place."""
    if isinstance(value, Column):
        return type(value)(replace(value.expression, span=span))
    if isinstance(value, Draft) and value.query.pattern.span is None:
        return type(value)(replace(value.query, pattern=replace(value.query.pattern, span=span)))
    return value


def with_clause_places(before: object, after: object, node: ast.Call, places: Places) -> object:
    """A draft after the call of a method, in which the new clause knows its place."""
    if not isinstance(before, Draft) or not isinstance(after, Draft):
        return after
    arguments = [*node.args, *(item.value for item in node.keywords)]
    changes: dict[str, Any] = {}
    for name in _LISTS:
        old, new = getattr(before.query, name), getattr(after.query, name)
        if new is not old:
            added = new[len(old) :] if name != "streams" else new
            spans = _spans(added, arguments, node, places)
            kept = new[: len(new) - len(added)]
            changes[name] = (*kept, *(_placed(item, span) for item, span in zip(added, spans, strict=True)))
    for name in _WINDOWS:
        new = getattr(after.query, name)
        if new is not None and new is not getattr(before.query, name):
            changes[name] = _window(new, arguments[-1], places)
    pattern = after.query.pattern
    if isinstance(pattern, tree.Negation) and pattern.period is not None and arguments:
        changes["pattern"] = replace(pattern, period=_window(pattern.period, arguments[-1], places))
    return type(after)(replace(after.query, **changes)) if changes else after


def _spans(added: Sequence[object], arguments: list[ast.expr], node: ast.Call, places: Places) -> list[Span]:
    """The place of each new part: that of its argument where there are as many of them."""
    if len(added) == len(arguments):
        return [places.of(argument) for argument in arguments]
    return [places.of(node)] * len(added)


def _placed(node: Any, span: Span) -> Any:
    if not any(field.name == "span" for field in fields(node)) or node.span is not None:
        return node
    return replace(node, span=span)


def _window(window: tree.Window, node: ast.expr, places: Places) -> tree.Window:
    start = places.inside(node)
    digits = _NUMBER.match(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
    if start is None or digits is None or not isinstance(window.amount, ex.Literal):
        return replace(window, span=places.of(node))
    amount = replace(window.amount, span=Span(places.code, start + digits.start(1), start + digits.end(1)))
    return replace(window, amount=amount, span=Span(places.code, start, places.of(node).end - 1))
