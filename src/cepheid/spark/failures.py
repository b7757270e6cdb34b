"""Exceptions of Spark turned into errors of Cepheid: those raised in a worker, and Spark's own without JVM traces."""

from __future__ import annotations

import re

from cepheid import errors
from cepheid.errors import CepheidError, InputError

# The end of a traceback in a worker: class, code, message with the place in the query, remedy.
_OURS = re.compile(r"cepheid\.[\w.]*?(\w+): error (CEP\d{3}): (.*?)\n\s*help: ([^\n]*)", re.DOTALL)
_WRAPPING = re.compile(r"^\[STREAM_FAILED\].*?terminated with exception: ", re.DOTALL)
_CONDITION = re.compile(r"\[([A-Z_0-9.]+)\] *")
_ENDING = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)

_REMEDIES = {
    "TABLE_OR_VIEW_NOT_FOUND": "check the spelling; a catalog of tables is set with spark.sql.catalog.…",
    "PATH_NOT_FOUND": "check the spelling and the directory",
    "PATH_ALREADY_EXISTS": "choose another path",
    "UNABLE_TO_INFER_SCHEMA": "name a directory with at least one file that has columns",
    "DATA_SOURCE_NOT_FOUND": "check the spelling, or add its package with spark.jars.packages",
    "MALFORMED_RECORD_IN_PARSING": "fix that line: all records must have the same columns",
    "FAILED_READ_FILE": "fix that file, or remove it",
}
_LONGEST = 400  # characters of a message


class SparkError(CepheidError):
    """Spark itself failed: neither the query nor its events are wrong (codes CEP9xx)."""


def explain_failure(error: BaseException, remedy: str = "look at Spark's log") -> CepheidError:
    """Return the error of Cepheid that fits an exception of Spark.

    remedy: the one for errors that have none of their own.
    """
    if isinstance(error, CepheidError):
        return error
    text = str(error)
    return _raised_in_worker(text) or _raised_by_spark(text, type(error).__name__, remedy)


def _raised_in_worker(text: str) -> CepheidError | None:
    """Return the error of Cepheid that a traceback ends with. Its place in the query stays a part of the message.

    >>> print(
    ...     _raised_in_worker(
    ...         "Traceback …\\ncepheid.errors.BindError: error CEP301: unknown column 'x'\\nhelp: it is y\\n"
    ...     )
    ... )
    error CEP301: unknown column 'x'
    help: it is y
    """
    ending = _OURS.search(text)
    if ending is None:
        return None
    name, code, message, remedy = ending.groups()
    named = getattr(errors, name, None)
    kind = named if isinstance(named, type) and issubclass(named, CepheidError) else SparkError
    return kind(code, message, remedy)


def _raised_by_spark(text: str, kind: str, remedy: str) -> CepheidError:
    unwrapped = _WRAPPING.sub("", text)
    conditions = _CONDITION.findall(unwrapped)
    plain = _CONDITION.sub("", _ENDING.sub("", unwrapped))
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    # The last line of a traceback says what happened, and the first line of any other text.
    line = (lines[-1] if "Traceback (most recent call last)" in plain else lines[0]) if lines else kind
    message = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    known = next((name for c in conditions for name in _REMEDIES if c.startswith(name)), None)
    if known is not None:
        return InputError("CEP406", message, _REMEDIES[known])
    return SparkError("CEP931", f"Spark failed: {message}", remedy)
