"""A CESAR expression as a paper prints it, without LaTeX."""

from __future__ import annotations


def without_latex(text: str) -> str:
    """The text in plain characters, of the same length: every place stays where it is."""
    return text.replace("µ", "μ")
