"""The rules on their way to the workers: a file that each maps into its memory, or with the task if small."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark import SparkContext, SparkFiles

from cepheid.api.hosting import SharedOptions, read_rule_set, write_rule_set
from cepheid.engine.many.rules import RuleSet, Template
from cepheid.engine.stream.parts import FlatSink
from cepheid.engine.stream.snapshot import from_bytes, to_bytes
from cepheid.spark.many.split import RuleSplit

SMALL = 1 << 18
"""Bytes up to which rules go with the task."""


@dataclass(frozen=True)
class Shipped:
    """Rules and their buckets. blob: as bytes, or the name of a file that Spark has taken along."""

    blob: bytes | str
    digest: str
    templates: tuple[Template, ...]
    options: SharedOptions

    def load(self) -> tuple[RuleSet, list[RuleSplit]]:
        """The rules; a worker reads them once."""
        if self.functions:  # others may have the same names
            return self._read()
        loaded = _LOADED.get(self.digest)
        if loaded is None:
            if len(_LOADED) > 1:  # a stream that goes on with other rules has those before too
                _LOADED.clear()  # those of earlier jobs
            loaded = _LOADED[self.digest] = self._read()
        return loaded

    @property
    def functions(self) -> bool:
        """Whether some rules call functions of the user."""
        return any(template.functions for template in self.templates)

    def body(self) -> bytes | memoryview:
        """The rules as bytes, as they are on this machine."""
        if isinstance(self.blob, str):
            return memoryview(pa.memory_map(SparkFiles.get(self.blob)).read_buffer())
        return self.blob

    def _read(self) -> tuple[RuleSet, list[RuleSplit]]:
        header, source = from_bytes(self.body())
        known = RuleSet(self.templates, (), pa.array([], pa.string()), self.options.roles)
        rules = read_rule_set(header["rules"], source, known, self.options)
        ways = [
            RuleSplit(
                source.array(way["numbers"]),
                way["buckets"],
                way["first"],
                key=tuple(map(tuple, way["key"])),
                column=way["column"],
                places=None if way["places"] is None else source.array(way["places"]),
            )
            for way in header["ways"]
        ]
        return rules, ways


_LOADED: dict[str, tuple[RuleSet, list[RuleSplit]]] = {}


def ship(rules: RuleSet, ways: list[RuleSplit], options: SharedOptions, context: SparkContext | None) -> Shipped:
    """Rules, ready to be sent. context: of Spark; None if there is none, as on Spark Connect."""
    flat = FlatSink()
    header = {
        "rules": write_rule_set(rules, flat),
        "ways": [
            {
                "numbers": flat.array(f"way.{k}", way.numbers),
                "buckets": way.buckets,
                "first": way.first,
                "key": [list(path) for path in way.key],
                "column": way.column,
                "places": None if way.places is None else flat.array(f"places.{k}", way.places),
            }
            for k, way in enumerate(ways)
        ],
    }
    blob = to_bytes(header, flat)
    digest = sha256(blob).hexdigest()
    if context is None or len(blob) <= SMALL:
        return Shipped(blob, digest, rules.templates, options)
    name = f"cepheid-{digest[:32]}.rules"
    if not any(str(path).endswith(name) for path in context.listFiles):
        path = Path(_folder(), name)
        path.write_bytes(blob)
        context.addFile(str(path))
    return Shipped(name, digest, rules.templates, options)


_FOLDERS: list[TemporaryDirectory[str]] = []


def _folder() -> str:
    """A folder for as long as this process runs: workers may ask for the files until then."""
    if not _FOLDERS:
        _FOLDERS.append(TemporaryDirectory(prefix="cepheid-"))
    return _FOLDERS[0].name
