"""`cepheid errors`: what a code of an error or a warning means, and what to do."""

from __future__ import annotations

import click

from cepheid.cli.error_entries import entries, first_sentence
from cepheid.cli.errors import EXIT_CODES


@click.command("errors", epilog=EXIT_CODES)
@click.argument("code", required=False)
def look_up(code: str | None) -> None:
    """Tell what the CODE of an error, a warning or a hint means, with an example and what to do.

    Without CODE: list all codes. The text is that of the documentation, and needs no network.

    \b
    Examples:
      cepheid errors CEP301
      cepheid errors | grep -i window
    """
    known = entries()
    if code is None:
        for name, entry in known.items():
            click.echo(f"{name}  {first_sentence(entry)}")
        return
    name = code.upper() if code[:1].isalpha() else f"CEP{code}"
    if name not in known:
        raise click.UsageError(f"there is no code '{code}'; `cepheid errors` lists them")
    click.echo(f"{name}\n\n{known[name]}")
