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
    """The help of a command as Markdown: paragraphs, and what stands after \\b as it is."""
    for part in re.split(r"\n\s*\n", text.strip(" \n")):
        if "\b" in part:
            first, *rest = part.replace("\b", "").strip(" \n").splitlines()
            yield f"{first.strip()}\n"
            yield "```text\n" + "\n".join(line.strip() for line in rest) + "\n```\n"
        else:
            yield " ".join(part.split()) + "\n"


def table(rows: list[tuple[str, str]]) -> Iterator[str]:
    """Options and what they do."""
    yield "| option | |\n|---|---|"
    for name, said in rows:
        yield f"| `{name}` | {said} |"
    yield ""


def described(name: str, command: click.Command) -> Iterator[str]:
    """A command: how it is called, its help, its options."""
    context = click.Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {name}\n"
    yield f"```text\n{name} {usage}\n```\n"
    yield from paragraphs(command.help or "")
    options = [option for option in command.params if isinstance(option, click.Option)]
    records = [found for option in options if (found := option.get_help_record(context))]
    yield from table([(flags.replace("|", "\\|"), said.replace("|", "\\|")) for flags, said in records])


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
