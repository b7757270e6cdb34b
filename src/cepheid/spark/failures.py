"""What Spark raises, as an error of ours: one of ours that was raised in a worker, or Spark's own without the JVM's."""

from __future__ import annotations

import re

from cepheid import errors
from cepheid.errors import CepheidError, InputError

# The last of a traceback in a worker: class, code, message with the place in the query, remedy.
_OURS = re.compile(r"cepheid\.[\w.]*?(\w+): error (CEP\d{3}): (.*?)\n\s*help: ([^\n]*)", re.DOTALL)
_WRAPPING = re.compile(r"^\[STREAM_FAILED\].*?terminated with exception: ", re.DOTALL)
_CONDITION = re.compile(r"\[([A-Z_0-9.]+)\] *")
_ENDING = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)

_REMEDIES = {
    "TABLE_OR_VIEW_NOT_FOUND": "check the spelling; a catalog of tables is set with spark.sql.catalog.…",
    "PATH_NOT_FOUND": "check the spelling and the directory",
    "PATH_ALREADY_EXISTS": "choose another path",
    "UNABLE_TO_INFER_SCHEMA": "give a directory with at least one file that has columns",
    "DATA_SOURCE_NOT_FOUND": "check the spelling, or add its package with spark.jars.packages",
    "MALFORMED_RECORD_IN_PARSING": "mend that line: every record must have the columns of the others",
    "FAILED_READ_FILE": "mend that file, or take it away",
}
_SHOWN = 400


class SparkError(CepheidError):
    """Spark failed, and not by an error of the query or its events (codes CEP9xx)."""


def explain_failure(error: BaseException, remedy: str = "look at Spark's log") -> CepheidError:
    """An error of ours for whatever Spark raised."""
    if isinstance(error, CepheidError):
        return error
    text = str(error)
    return _ours(text) or _theirs(text, type(error).__name__, remedy)


def _ours(text: str) -> CepheidError | None:
    """The error that a worker raised. Its place is text by then, and stays with the message.

    >>> print(_ours("Traceback …\\ncepheid.errors.BindError: error CEP301: unknown column 'x'\\nhelp: it is y\\n"))
    error CEP301: unknown column 'x'
    help: it is y
    """
    found = _OURS.search(text)
    if found is None:
        return None
    name, code, message, remedy = found.groups()
    made = getattr(errors, name, None)
    kind = made if isinstance(made, type) and issubclass(made, CepheidError) else SparkError
    return kind(code, message, remedy)


def _theirs(text: str, kind: str, remedy: str) -> CepheidError:
    said = _WRAPPING.sub("", text)
    conditions = _CONDITION.findall(said)
    plain = _CONDITION.sub("", _ENDING.sub("", said))
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    # Of a traceback in a worker the last line tells, else the first.
    told = (lines[-1] if "Traceback (most recent call last)" in plain else lines[0]) if lines else kind
    message = told if len(told) <= _SHOWN else f"{told[:_SHOWN]}…"
    known = next((name for c in conditions for name in _REMEDIES if c.startswith(name)), None)
    if known is not None:
        return InputError("CEP406", message, _REMEDIES[known])
    return SparkError("CEP931", f"Spark failed: {message}", remedy)
