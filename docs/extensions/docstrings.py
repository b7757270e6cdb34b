"""Docstrings as they are written here: an argument is a line that begins with its name and a colon."""

import inspect
import re

from sphinx.application import Sphinx

# Users get these from a call and never make one, so that how they are made is not for them.
GIVEN = {
    f"cepheid.{name}"
    for name in (
        "Automaton",
        "ChangeSession",
        "Changes",
        "Column",
        "Draft",
        "ManyMatches",
        "Matches",
        "Pattern",
        "Progress",
        "Session",
        "Stats",
        "Stream",
        "Variable",
    )
}
ARGUMENT = re.compile(r"([a-z]\w*(?:, [a-z]\w*)*): (.+)")


def with_arguments(lines: list[str], names: set[str] | None) -> list[str]:
    """Lines that tell of arguments, as a list. names: those that there are; None: any, as with `**options`.

    >>> with_arguments(["Cut.", "", "at: where, a", "    number.", "by: how."], {"at", "by"})
    ['Cut.', '', '- **at**: where, a', '  number.', '- **by**: how.', '']
    """
    made: list[str] = []
    inside = False
    for line in lines:
        found = ARGUMENT.fullmatch(line)
        if found and (names is None or set(found[1].split(", ")) <= names):
            if not inside and made and made[-1]:
                made.append("")
            made.append(f"- **{found[1]}**: {found[2]}")
            inside = True
        elif inside and line.strip():
            made.append("  " + line.strip())
        else:
            inside = False
            made.append(line)
    return made if not inside else [*made, ""]


def names_of(thing: object) -> set[str] | None:
    """The names of the arguments of a function or a class, and of the fields and methods of the latter."""
    fields = set(getattr(thing, "__annotations__", ()))
    if inspect.isclass(thing):
        fields |= set(dir(thing))
    if not callable(thing):
        return fields
    arguments = inspect.signature(thing).parameters.values()
    if any(argument.kind is argument.VAR_KEYWORD for argument in arguments):
        return None
    return fields | {argument.name for argument in arguments}


def process(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Change a docstring in its place."""
    lines[:] = with_arguments(lines, names_of(thing))


def signature(
    app: Sphinx, what: str, name: str, thing: object, options: object, given: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """The signature of a thing, unless it is one that is only given."""
    return ("", "") if name in GIVEN else (given, returned)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True}
