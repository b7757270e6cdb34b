"""The command `cepheid`: its subcommands, and the handling of errors."""

from __future__ import annotations

import sys
from typing import Any

import click

import cepheid
from cepheid.cli.check import check
from cepheid.cli.demo import demo
from cepheid.cli.diagnose import diagnose
from cepheid.cli.errors import EXIT_CODES, EXIT_FILE, EXIT_INTERRUPTED, exit_code, report, warnings_as_lines
from cepheid.cli.explain import explain
from cepheid.cli.fmt import fmt
from cepheid.cli.look_up import look_up
from cepheid.cli.match import match
from cepheid.cli.run import run
from cepheid.cli.streams import silence_stdout, tolerate_narrow_encoding
from cepheid.cli.studio import studio
from cepheid.cli.trace import trace
from cepheid.errors import CepheidError, FileError


class Commands(click.Group):
    """A group whose commands end with a documented exit code, never with a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors become messages on stderr."""
        tolerate_narrow_encoding()
        try:
            with warnings_as_lines():
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except CepheidError as error:
            report(error)
            ctx.exit(exit_code(error))
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:  # the reader of the pipe has stopped, such as `| head`
            silence_stdout()
            ctx.exit(0)
        except OSError as error:  # file errors are handled where files are opened; this is a standard stream
            silence_stdout()
            report(FileError.of("write", "to stdout", error))
            ctx.exit(EXIT_FILE)


@click.group(
    cls=Commands,
    commands=[match, check, explain, diagnose, trace, fmt, run, demo, studio, look_up],
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(cepheid.__version__, prog_name="cepheid", message="%(prog)s %(version)s")
def main() -> None:
    """Find patterns in streams of events with SASE and SASE+ queries.

    QUERY is a file or the text itself; `-` reads it from stdin. EVENTS is a file of Parquet, CSV or JSON lines, a
    directory of Parquet files, or `-` for stdin.

    \b
    Examples:
      cepheid match thefts.sase readings.csv
      cepheid match "PATTERN SEQ(Shelf a, Exit b) WHERE [tag_id] WITHIN 1 hour" readings.parquet
      cepheid match thefts.sase readings.csv | jq .a.tag_id
      cepheid check thefts.sase --schema readings.csv
      cepheid explain thefts.sase
      cepheid diagnose thefts.sase readings.csv
      cepheid fmt --write thefts.sase
      cepheid errors CEP301
    """
