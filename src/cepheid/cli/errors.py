"""Errors and warnings on stderr, and the exit code of each."""

from __future__ import annotations

import re
import sys
from contextlib import AbstractContextManager
from typing import NoReturn

from rich.text import Text

from cepheid.cli.progress import stderr
from cepheid.errors import CepheidError, CepheidWarning, FileError, UsageError, handing_warnings

EXIT_WRONG = 1
EXIT_USAGE = 2
EXIT_FILE = 3
EXIT_INTERRUPTED = 130
_OF_CHECKPOINTS = ("CEP905", "CEP906")

EXIT_CODES = """\b
Exit codes:
  0    success, also if nothing matches or the reader of a pipe closes it
  1    the query, the events or the checkpoint are wrong; or `fmt --check` would change the query
  2    the command line is wrong
  3    a file can't be read or written
  130  interrupted
"""

# Remedies of the library name Python arguments; these are the options of the command line for them.
_OPTIONS = (
    (r"params=\{'([^']*)': …\}", r"--param \1=…"),
    (r"\btype=None\b", "--no-type"),
    (r"\btypes=\{[^}]*\}", "--declare TYPE=a,b"),
    (r"\blimit=…, count them with count\(\)", "--limit N"),
    (r'\badvance later, or open the session with late="drop".*', "pass a longer --lateness, or --late drop"),
    (r'\bopen the session with late="drop".*', "pass --late drop"),
    (r"\bleave out speculate=", "leave out --speculate"),
    (r"\b(time|type|unit|id|start)=", r"--\1"),
    (r"\bparams=", "--param"),
    (r"\bmigrate=True \(cepheid run --migrate\)", "--migrate"),
    (r"\bbuckets=(\d+)", r"--buckets \1"),
)


def refuse_to_write(path: str, checkpoint: str | None = None) -> NoReturn:
    """Raise because the output path is not empty. checkpoint: the one without a stream to resume."""
    if checkpoint is None:
        message, remedy = f"can't write '{path}': it is not empty", "choose another path, or pass --overwrite"
    else:
        message = f"can't write '{path}': it is not empty, and '{checkpoint}' has no stream to resume"
        remedy = "choose another path, or the checkpoint of these matches"
    raise FileError("CEP801", message, remedy)


def exit_code(error: CepheidError) -> int:
    """The exit code that `--help` documents."""
    if isinstance(error, FileError):
        return EXIT_FILE
    return EXIT_USAGE if isinstance(error, UsageError) and error.code not in _OF_CHECKPOINTS else EXIT_WRONG


def printable(text: str) -> str:
    """The text with control characters escaped, except line ends, so that it is safe to print on a terminal.

    >>> printable("bell\\x07")
    'bell\\\\x07'
    """
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda character: f"\\x{ord(character[0]):02x}", text)


def with_options(remedy: str) -> str:
    """A remedy that names options, not arguments of Python.

    >>> with_options("name the time column with time=")
    'name the time column with --time'
    """
    for argument, option in _OPTIONS:
        remedy = re.sub(argument, option, remedy)
    return remedy


def report(error: CepheidError) -> None:
    """Print an error in its own form; on a terminal its code and place in colour."""
    text = Text(printable(str(type(error)(error.code, error.message, with_options(error.remedy), error.span))))
    text.highlight_regex(r"(?m)^error( \w+)?:", "bold red")
    text.highlight_regex(r"(?m)^ *\| *\^+$", "red")
    text.highlight_regex(r"(?m)^help:", "bold cyan")
    stderr().print(text, soft_wrap=True)
    if sys.stderr.isatty():  # a script that reads the error has its code
        stderr().print(Text(f"more: cepheid errors {error.code}", "dim"))


def warn(message: str, code: str = "") -> None:
    """Print a warning in one line."""
    text = Text(printable(f"warning{' ' * bool(code)}{code}: {' '.join(message.split())}"))
    text.highlight_regex(r"^warning( \w+)?:", "bold yellow")
    stderr().print(text, soft_wrap=True)


def note(message: str) -> None:
    """Print a note on stderr, above a progress bar if there is one."""
    stderr().print(Text(printable(message)), soft_wrap=True)


def warnings_as_lines() -> AbstractContextManager[None]:
    """Print the library's warnings as single lines, without their place in the code."""

    def take(warning: CepheidWarning) -> bool:
        warn(f"{warning.message}; {warning.remedy}", warning.code)
        return True

    return handing_warnings(take)
