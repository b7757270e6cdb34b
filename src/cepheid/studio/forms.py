"""A query in one of its two forms: as text, or as Python code of the builder, which is read and never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from cepheid.builder.read_python import read_python
from cepheid.language import parse, print_program
from cepheid.pattern.tree.nodes import Program

Form = Literal["text", "python"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Written:
    """What stands in the editor."""

    text: str
    form: Form = "text"

    @property
    def program(self) -> Program:
        """Its tree, whose places are those in the editor."""
        return read_python(self.text) if self.form == "python" else parse(self.text)

    @property
    def as_text(self) -> str:
        """The query as text, also where it was written in Python."""
        return self.text if self.form == "text" else print_program(self.program)

    def holds(self, text: str) -> bool:
        """Whether places in a text are places in the editor: a text within code has blanks before it."""
        return text == self.text or text.strip() in self.text
