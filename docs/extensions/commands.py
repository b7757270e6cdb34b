"""The directive `commands`: each command of `cepheid` and its options, from the command line itself."""

import re
from collections.abc import Iterator

import click
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from cepheid.cli import main


def paragraphs(text: str) -> Iterator[str]:
    """Yield the help of a command as Markdown: paragraphs, and text after \\b as it is."""
    for part in re.split(r"\n\s*\n", text.strip(" \n")):
        if "\b" in part:
            first, *rest = part.replace("\b", "").strip(" \n").splitlines()
            yield f"{first.strip()}\n"
            yield "```text\n" + "\n".join(line.strip() for line in rest) + "\n```\n"
        else:
            yield " ".join(part.split()) + "\n"


def table(rows: list[tuple[str, str]]) -> Iterator[str]:
    """Yield a table of options."""
    yield "| option | |\n|---|---|"
    for name, text in rows:
        yield f"| `{name}` | {text} |"
    yield ""


def described(name: str, command: click.Command) -> Iterator[str]:
    """Yield the usage of a command, its help and its options."""
    context = click.Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {name}\n"
    yield f"```text\n{name} {usage}\n```\n"
    yield from paragraphs(command.help or "")
    options = [option for option in command.params if isinstance(option, click.Option)]
    records = [record for option in options if (record := option.get_help_record(context))]
    yield from table([(flags.replace("|", "\\|"), text.replace("|", "\\|")) for flags, text in records])


class Commands(SphinxDirective):
    """All commands, in the order of `cepheid --help`."""

    def run(self) -> list[nodes.Node]:
        """Write them as Markdown, and read that."""
        assert isinstance(main, click.Group)
        lines: list[str] = []
        for name, command in sorted(main.commands.items()):
            lines += described(f"cepheid {name}", command)
        text = "\n".join(lines).splitlines()
        section = nodes.section()
        section.document = self.state.document
        self.state.nested_parse(StringList(text, source="cepheid --help"), 0, section, match_titles=True)
        return section.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
