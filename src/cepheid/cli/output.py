"""The options -o and -f: where the rows of a command are written, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import pyarrow as pa

from cepheid.cli.errors import note
from cepheid.cli.progress import working
from cepheid.cli.streams import write_stdout
from cepheid.cli.write import check_output, csv_lines, json_lines, write_file

Option = Callable[[Callable[..., object]], Callable[..., object]]


def output_option(what: str) -> Option:
    """The option -o of a command that can write its rows to a file."""
    return click.option(
        "-o", "--output", metavar="FILE", help=f"Write {what} to a .parquet, .csv, .json or .jsonl file."
    )


def format_option(forms: Sequence[str], help: str, *, default: str | None = None) -> Option:
    """The option -f of a command. default: None where that depends on what it writes to."""
    choice = click.Choice(forms)
    return click.option("-f", "--format", "form", type=choice, default=default, show_default=True, help=help)


def rows_format_option(on_a_terminal: str) -> Option:
    """The option -f of a command that writes rows to stdout."""
    help_text = f"The format on stdout.  [default: {on_a_terminal} on a terminal, else jsonl]"
    return format_option([on_a_terminal, "jsonl", "csv"], help_text)


def read_output(output: str | None, form: str | None, events: str, what: str) -> str | None:
    """The file for the rows, checked before the query runs; None: stdout."""
    if output is None or output == "-":
        return None
    if form is not None:
        raise click.UsageError("--format is for stdout; the ending of --output sets the format of a file")
    check_output(output, events, what)
    return output


def write_rows(rows: pa.Table, count: str, output: str | None, form: str | None) -> None:
    """Write rows to a file, and say how many they are; or to stdout."""
    if output is None:
        write_stdout(csv_lines(rows) if form == "csv" else json_lines(rows))
        return
    with working(f"writing '{output}'"):
        write_file(rows, Path(output))
    note(f"{count} written to '{output}'")
