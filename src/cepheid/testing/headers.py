"""The header of a case: lines of `key: value`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.errors import did_you_mean
from cepheid.testing.literals import evaluate
from cepheid.testing.page import Page

OPTIONS = ("time", "start", "type", "unit", "order_by", "params", "types", "functions")  # those of Query
REPEATED = ("source", "note", "not_on")
KEYS = ("rule", *OPTIONS, "op", "warns", *REPEATED)

Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True, slots=True)
class Header:
    """The contents of a header."""

    options: Mapping[str, Any]
    op: str | None
    rule: str
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    warns: str | None
    not_on: Mapping[str, str]


def parse_header(page: Page, section: slice, functions: Functions) -> Header:
    """Read the header; `functions` are those that it may name."""
    entries: dict[str, list[tuple[int, str]]] = {key: [] for key in KEYS}
    for k, line in page.written(section):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            raise page.error(k, f"'{line.strip()}' is not a header line", "write key: value, or a section: --- query")
        if key not in entries:
            raise page.error(k, f"unknown key '{key}'", did_you_mean(key, KEYS, "keys"))
        if not value:
            raise page.error(k, f"'{key}' has no value", "write key: value, or remove the line")
        if entries[key] and key not in REPEATED:
            raise page.error(k, f"there are two lines '{key}'", "keep one of them")
        entries[key].append((k, value))
    values = {key: tuple(value for _, value in lines) for key, lines in entries.items()}
    return Header(
        options={key: _option(page, k, key, value, functions) for key in OPTIONS for k, value in entries[key]},
        op=values["op"][0] if values["op"] else None,
        rule=values["rule"][0] if values["rule"] else "",
        sources=values["source"],
        notes=values["note"],
        warns=values["warns"][0] if values["warns"] else None,
        not_on=dict(_not_on(page, k, value) for k, value in entries["not_on"]),
    )


def _option(page: Page, line: int, key: str, value: str, functions: Functions) -> object:
    match key:
        case "type" if value == "none":
            return None
        case "params" | "types":
            return _dict(page, line, key, value)
        case "order_by":
            return _names(value)
        case "functions":
            for name in _names(value):
                if name not in functions:
                    remedy = did_you_mean(name, functions, "functions")
                    raise page.error(line, f"unknown function '{name}'", remedy)
            return {name: functions[name] for name in _names(value)}
    return value


def _dict(page: Page, line: int, key: str, value: str) -> dict[object, object]:
    remedy = "write a dict: {'T': timedelta(hours=1)}"
    try:
        options = evaluate(value)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise page.error(line, f"{key}: {error}", remedy) from None
    if not isinstance(options, dict):
        raise page.error(line, f"{key} is not a dict", remedy)
    return options


def _not_on(page: Page, line: int, value: str) -> tuple[str, str]:
    path, _, reason = (part.strip() for part in value.partition(":"))
    if not path or not reason:
        raise page.error(line, "not_on needs a reason", "write not_on: path: why it can't run there")
    return path, reason


def _names(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(","))
