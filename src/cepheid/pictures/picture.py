"""A picture that a notebook shows and that can be saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG; a notebook shows it, `save` writes it."""

    svg: str

    def _repr_html_(self) -> str:
        """As a part of the page: what `_repr_svg_` returns, Jupyter draws as an image, which can't see a dark theme."""
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: SVG of {len(self.svg):,} characters; .save(path) writes it>"

    def save(self, path: str | Path) -> None:
        """Write it as a file."""
        Path(path).write_text(self.svg, encoding="utf-8")
