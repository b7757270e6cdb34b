"""Docstrings as they are written here: an argument is a line that begins with its name and a colon."""

import inspect
import re

from sphinx.application import Sphinx

# Users get these from a call and never make one, so their constructors are not shown.
RETURNED = {
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
    """Make a list of the lines that describe arguments. names: the arguments; None: any name, as with `**options`.

    >>> with_arguments(["Cut.", "", "at: where, a", "    number.", "by: how."], {"at", "by"})
    ['Cut.', '', '- **at**: where, a', '  number.', '- **by**: how.', '']
    """
    listed: list[str] = []
    inside = False
    for line in lines:
        argument = ARGUMENT.fullmatch(line)
        if argument and (names is None or set(argument[1].split(", ")) <= names):
            if not inside and listed and listed[-1]:
                listed.append("")
            listed.append(f"- **{argument[1]}**: {argument[2]}")
            inside = True
        elif inside and line.strip():
            listed.append("  " + line.strip())
        else:
            inside = False
            listed.append(line)
    return listed if not inside else [*listed, ""]


def names_of(thing: object) -> set[str] | None:
    """Return the arguments of a function or a class, and the fields and methods of the latter."""
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
    """Change a docstring in place."""
    lines[:] = with_arguments(lines, names_of(thing))


def signature(
    app: Sphinx, what: str, name: str, thing: object, options: object, arguments: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Return the signature, without that of classes that users never call."""
    return ("", "") if name in RETURNED else (arguments, returns)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True}
