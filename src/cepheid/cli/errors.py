"""Errors and warnings on stderr, and the exit code of each."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, Self, TextIO

import click
from rich.console import Console
from rich.text import Text

from cepheid.errors import CepheidError, CepheidWarning, UsageError

EXIT_WRONG = 1
EXIT_USAGE = 2
EXIT_FILE = 3
EXIT_INTERRUPTED = 130

EXIT_CODES = """\b
Exit codes:
  0    success, also when nothing matches or the reader of a pipe has seen enough
  1    the query or the events are wrong; or `fmt --check` would change the query
  2    the command line is wrong
  3    a file can't be read or written
  130  interrupted
"""

# The remedies of the library name arguments of Python; these are the same arguments here.
_OPTIONS = (
    (r"params=\{'([^']*)': …\}", r"--param \1=…"),
    (r"\btype=None\b", "--no-type"),
    (r"\btypes=\{[^}]*\}", "--declare TYPE=a,b"),
    (r"\blimit=…, count them with count\(\)", "--limit N"),
    (r"\b(time|type|unit)=", r"--\1"),
)


class FileError(CepheidError):
    """A file cannot be read or written (codes CEP8xx)."""

    @classmethod
    def of(cls, action: str, what: str, error: OSError) -> Self:
        """The failure of the operating system, with what to do about it."""
        reason = error.strerror or str(error)
        remedies = {
            FileNotFoundError: "check the spelling and the directory",
            PermissionError: f"ask for the right to {action} it, or choose another file",
            IsADirectoryError: "name a file",
        }
        remedy = remedies.get(type(error), "choose another file, or mend the device it is on")
        return cls("CEP801", f"can't {action} {what}: {reason}", remedy)


def refuse_to_write(path: str, checkpoint: str | None = None) -> NoReturn:
    """Say that there is something where matches should go. checkpoint: the one that has no stream to go on with."""
    if checkpoint is None:
        message, remedy = f"can't write '{path}': there is something in it", "choose another path, or pass --overwrite"
    else:
        message = f"can't write '{path}': there is something in it, and no stream to go on with in '{checkpoint}'"
        remedy = "choose another path, or the checkpoint that those matches are from"
    raise FileError("CEP801", message, remedy)


def exit_code(error: CepheidError) -> int:
    """The exit code that `--help` documents."""
    if isinstance(error, FileError):
        return EXIT_FILE
    return EXIT_USAGE if isinstance(error, UsageError) else EXIT_WRONG


def printable(text: str) -> str:
    """A text whose control characters, the ends of lines apart, can't drive a terminal.

    >>> printable("bell\\x07")
    'bell\\\\x07'
    """
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", text)


def report(error: CepheidError) -> None:
    """Print an error in its own form; on a terminal its code and place in colour."""
    remedy = error.remedy
    for argument, option in _OPTIONS:
        remedy = re.sub(argument, option, remedy)
    text = Text(printable(str(type(error)(error.code, error.message, remedy, error.span))))
    text.highlight_regex(r"(?m)^error( \w+)?:", "bold red")
    text.highlight_regex(r"(?m)^ *\| *\^+$", "red")
    text.highlight_regex(r"(?m)^help:", "bold cyan")
    _stderr().print(text, soft_wrap=True)


def warn(message: str) -> None:
    """Print a warning in one line."""
    text = Text(printable(f"warning: {' '.join(message.split())}"))
    text.highlight_regex(r"^warning:", "bold yellow")
    _stderr().print(text, soft_wrap=True)


def note(message: str) -> None:
    """Print what is worth knowing and belongs to no output."""
    click.echo(printable(message), err=True)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print the library's warnings as lines, without the place in its code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CepheidWarning)
        show = warnings.showwarning

        def showwarning(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, CepheidWarning):
                warn(str(message))
            else:
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = showwarning
        yield


def _stderr() -> Console:
    return Console(stderr=True, highlight=False)
