"""Figures as a table on the terminal and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.harness import Figure

_MARKS = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}
_WORDS = {None: "", True: "yes", False: "**no**"}


def show(figures: Iterable[Figure], console: Console) -> None:
    """One table of all figures, and then what there is to say about them."""
    figures = list(figures)
    table = Table(title="Ratios above 1 are in our favour", title_justify="left")
    for name in ("row", "case", "clock"):
        table.add_column(name, no_wrap=True)
    for name in ("ours", "rival", "ratio", "target"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("met")
    last = ""
    for figure in figures:
        if last and figure.row != last:
            table.add_section()
        last = figure.row
        table.add_row(*_cells(figure))
    console.print(table)
    for figure in figures:
        if figure.note:
            console.print(f"{figure.row} {figure.case}: {figure.note}", highlight=False, markup=False)


def _cells(figure: Figure) -> Sequence[str]:
    rival = "" if figure.other is None else f"{figure.rival} {_number(figure.other)}"
    return (
        figure.row,
        figure.case,
        figure.clock,
        f"{_number(figure.value)} {figure.unit}",
        rival,
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        "" if figure.target is None else str(figure.target),
        _MARKS[figure.met],
    )


def write_markdown(figures: Iterable[Figure], path: Path, command: str) -> None:
    """The table and the notes as a page, with the command that they are from."""
    lines = ["# Figures", "", f"    {command}", "", "Ratios above 1 are in our favour.", ""]
    lines += ["| row | case | clock | ours | rival | ratio | target | met |", "|---|---|---|--:|--:|--:|--:|---|"]
    noted = []
    for figure in figures:
        *cells, _ = _cells(figure)
        lines.append(f"| {' | '.join([*cells, _WORDS[figure.met]])} |".replace("  ", " "))
        if figure.note:
            noted.append(f"- {figure.row} {figure.case}: {figure.note}")
    path.write_text("\n".join([*lines, "", *noted]) + "\n")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def write(figures: Iterable[Figure], path: Path) -> None:
    """All figures, and the machine that they are from."""
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    rows = [asdict(figure) | {"target": str(figure.target or ""), "met": figure.met} for figure in figures]
    path.write_text(json.dumps({"machine": machine, "figures": rows}, indent=1, ensure_ascii=False) + "\n")
