"""Figures as tables on the terminal, as a page, and as JSON."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from bench.harness import Figure

_MARKS = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}
_WORDS = {None: "", True: "yes", False: "**no**"}


class Sheet(NamedTuple):
    """A table, of the rows that have the same columns."""

    title: str
    columns: Sequence[str]
    left: int  # how many of them are text
    figures: Sequence[Figure]
    cells: Callable[[Figure], Sequence[str]]


def _sheets(figures: Iterable[Figure]) -> Iterator[Sheet]:
    """Those that have columns of their own, and all others together."""
    figures = list(figures)
    plain = [figure for figure in figures if not figure.beside]
    own = [figure for figure in figures if figure.beside]
    for row, some in groupby(own, key=lambda figure: figure.row):
        some = list(some)
        columns = ("case", *some[0].beside, "target", "met")
        yield Sheet(f"{row}, {some[0].clock}", columns, 1, some, _own_cells)
    if plain:
        columns = ("row", "case", "clock", "ours", "rival", "ratio", "target", "met")
        yield Sheet("Ratios above 1 are in our favour", columns, 3, plain, _cells)


def show(figures: Iterable[Figure], console: Console) -> None:
    """The figures as tables, and then what there is to say about them."""
    figures = list(figures)
    for sheet in _sheets(figures):
        table = Table(title=sheet.title, title_justify="left")
        for name in sheet.columns[: sheet.left]:
            table.add_column(name, no_wrap=True)
        for name in sheet.columns[sheet.left : -1]:
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("met")
        last = ""
        for figure in sheet.figures:
            part = figure.case if figure.beside else figure.row
            if last and part != last:
                table.add_section()
            last = part
            table.add_row(*sheet.cells(figure), _MARKS[figure.met])
        console.print(table)
    for figure in figures:
        if figure.note:
            console.print(f"{figure.row} {figure.case}: {figure.note}", highlight=False, markup=False)


def line(figure: Figure) -> str:
    """A figure in one line."""
    cells = [f"{name} {cell}" for name, cell in figure.beside.items()] or _cells(figure)[2:6]
    judged = "" if figure.met is None else ", met" if figure.met else ", not met"
    return f"{figure.row} {figure.case}: {', '.join(filter(None, cells))}{judged}"


def _cells(figure: Figure) -> Sequence[str]:
    rival = "" if figure.other is None else f"{figure.rival} {_number(figure.other)}"
    return (
        figure.row,
        figure.case,
        figure.clock,
        f"{_number(figure.value)} {figure.unit}",
        rival,
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        _target(figure),
    )


def _own_cells(figure: Figure) -> Sequence[str]:
    return figure.case, *figure.beside.values(), _target(figure)


def _target(figure: Figure) -> str:
    return "" if figure.target is None else str(figure.target)


def write_markdown(figures: Iterable[Figure], path: Path, command: str) -> None:
    """The tables and the notes as a page, with the command that they are from."""
    figures = list(figures)
    lines = ["# Figures", "", f"    {command}", ""]
    for sheet in _sheets(figures):
        lines += [f"{sheet.title}.", "", f"| {' | '.join(sheet.columns)} |"]
        lines.append(f"|{'---|' * sheet.left}{'--:|' * (len(sheet.columns) - sheet.left - 1)}---|")
        for figure in sheet.figures:
            lines.append(f"| {' | '.join([*sheet.cells(figure), _WORDS[figure.met]])} |".replace("  ", " "))
        lines.append("")
    lines += [f"- {figure.row} {figure.case}: {figure.note}" for figure in figures if figure.note]
    path.write_text("\n".join(lines) + "\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def write(figures: Iterable[Figure], path: Path) -> None:
    """All figures, and the machine that they are from."""
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    rows = [asdict(figure) | {"target": str(figure.target or ""), "met": figure.met} for figure in figures]
    path.write_text(json.dumps({"machine": machine, "figures": rows}, indent=1, ensure_ascii=False) + "\n")
