"""`cepheid fmt`: a query in canonical spelling."""

from __future__ import annotations

import click

from cepheid.cli.errors import EXIT_CODES, EXIT_WRONG, note, warn
from cepheid.cli.query import read_query
from cepheid.cli.streams import write_stdout
from cepheid.errors import FileError, Span, UsageError
from cepheid.language import parse, print_program
from cepheid.language.lexis import OPAQUE, is_comment


@click.command(epilog=EXIT_CODES)
@click.argument("query")
@click.option("--write", is_flag=True, help="Write the result back to the file.")
@click.option("--check", is_flag=True, help="Print nothing; exit with 1 if the query would change.")
def fmt(query: str, write: bool, check: bool) -> None:
    """Print QUERY in canonical spelling.

    The meaning stays the same. Comments are not kept, so --write refuses a file that has any.

    \b
    Examples:
      cepheid fmt thefts.sase
      cepheid fmt --write thefts.sase
      cepheid fmt --check thefts.sase
      cepheid fmt "event seq(Shelf a, ~(Register b), Exit c) where a.tag_id == c.tag_id"
    """
    if write and check:
        raise click.UsageError("--write and --check can't be combined")
    source = read_query(query)
    if write and source.path is None:
        raise click.UsageError("--write needs a file")
    result = print_program(parse(source.text)) + "\n"
    changes = result != source.text
    comment = first_comment(source.text)
    if check:
        if changes:
            note(f"{source.name} would change")
            click.get_current_context().exit(EXIT_WRONG)
    elif not write:
        if comment is not None:
            warn("comments are not kept")
        write_stdout([result])
    elif comment is not None:
        remedy = "print the result without --write, and put the comments back by hand"
        raise UsageError("CEP605", f"{source.name} has comments, which would be lost", remedy, comment)
    elif changes:
        assert source.path is not None
        try:
            source.path.write_text(result, encoding="utf-8", newline="\n")
        except OSError as error:
            raise FileError.of("write", f"'{source.path}'", error) from None


def first_comment(text: str) -> Span | None:
    """The first comment of a query.

    >>> first_comment("EVENT A a WHERE a.x = '--' -- why").excerpt
    '-- why'
    """
    spans = (opaque.span() for opaque in OPAQUE.finditer(text) if is_comment(opaque[0]))
    return next((Span(text, *span) for span in spans), None)
