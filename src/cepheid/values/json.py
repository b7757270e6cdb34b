"""The type of JSON objects: headers of snapshots, lines for the page, facts that a state keeps."""

from typing import Any

Json = dict[str, Any]
"""A JSON object. Its reader knows what is in it; no type of Python says that."""
