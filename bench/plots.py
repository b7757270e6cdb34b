"""Figures as SVG files, where matplotlib is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Labels(NamedTuple):
    """What a plot says about itself."""

    title: str
    x: str
    y: str
    log: bool = False
    log_x: bool = False
    beside: bool = False  # the names of the series are beside what they name


def lines(
    name: str, labels: Labels, series: Mapping[str, tuple[Sequence[float], Sequence[float]]], directory: Path | None
) -> None:
    """A curve for each series."""
    if directory is not None:
        figure, axes = _axes(labels)
        for label, (xs, ys) in series.items():
            axes.plot(xs, ys, marker="o", markersize=3, label=label)
        _save(figure, axes, directory / f"{name}.svg", beside=labels.beside)


def bars(
    name: str, labels: Labels, cases: Sequence[str], series: Mapping[str, Sequence[float]], directory: Path | None
) -> None:
    """A group of bars for each case."""
    if directory is not None:
        figure, axes = _axes(labels)
        width = 0.8 / len(series)
        for k, (label, values) in enumerate(series.items()):
            axes.bar([at + k * width for at in range(len(cases))], values, width, label=label)
        axes.set_xticks([at + 0.4 - width / 2 for at in range(len(cases))], cases)
        _save(figure, axes, directory / f"{name}.svg", beside=labels.beside)


def _axes(labels: Labels) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # only for plots, and not a dependency of the bench

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(labels.title, fontsize=10, loc="left")
    axes.set_xlabel(labels.x)
    axes.set_ylabel(labels.y)
    if labels.log:
        axes.set_yscale("log")
    if labels.log_x:
        axes.set_xscale("log")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _save(figure: Any, axes: Any, path: Path, *, beside: bool) -> None:
    many = len(axes.get_legend_handles_labels()[0]) > 6  # would cover what they name
    place = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if many or beside else {}
    axes.legend(frameon=False, fontsize=8, **place)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a date and with one salt the same figures give the same file.
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None})
