"""The matches of many queries, each with the id of its query, in the order of S23."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.many.rules import RuleSet
from cepheid.engine.matches.matches import Matches, require
from cepheid.engine.matches.pandas_frame import to_frame
from cepheid.engine.matches.shown import HTML_ROWS, as_html
from cepheid.errors import UsageError, did_you_mean
from cepheid.pattern.binding.schema import END, START
from cepheid.pictures import Picture, Scale, Timeline, draw_timeline, side_by_side, to_chart

if TYPE_CHECKING:
    import pandas
    import polars

QUERY = "query"
"""The column that has the ids."""
_CHUNK = 1024  # matches that are made into Python objects at a time


class Nothing(Protocol):
    """What makes matches of a rule that has none."""

    def __call__(self, template: int, number: int | None) -> Matches: ...


class ManyMatches:
    """The matches of many queries: by their ends, then by the position of the query's id, then as S9 says.

    found: matches with the numbers of their rules; those of one rule are in one place, in the order of S9.
    nothing: the matches of a rule, or of a template, that has none.
    """

    def __init__(
        self, rules: RuleSet, results: Sequence[RuleMatches], nothing: Nothing, templates: Sequence[int] | None = None
    ) -> None:
        self._rules = rules
        self._templates = sorted({part.template for part in rules.rules}) if templates is None else templates
        self._found = [part for part in results if len(part.numbers)]
        self._nothing = nothing

    def __len__(self) -> int:
        return sum(len(part.numbers) for part in self._found)

    def count(self) -> int:
        """How many matches there are."""
        return len(self)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each match, in order: in which part it is, its place there, and the number of its rule."""
        parts = np.repeat(np.arange(len(self._found)), [len(part.numbers) for part in self._found])
        places = np.concatenate([np.arange(len(part.numbers)) for part in self._found] or [np.zeros(0, np.int64)])
        numbers = np.concatenate([part.numbers for part in self._found] or [np.zeros(0, np.int64)]).astype(np.int64)
        ends = np.concatenate([part.matches.ends() for part in self._found] or [np.zeros(0, np.int64)])
        order = np.lexsort((places, numbers, ends))
        return parts[order], places[order], numbers[order]

    @property
    def queries(self) -> pa.Array:
        """The id of the query of each match."""
        return self._rules.names(self._order[2])

    @cached_property
    def _schemas(self) -> list[pa.Schema]:
        """The columns of each part."""
        return [part.matches.schema for part in self._found]

    @property
    def schema(self) -> pa.Schema:
        """The columns of a match, where all queries have the same ones."""
        columns = self._one_schema()
        return columns.insert(0, pa.field(QUERY, self._rules.ids.type))

    def _one_schema(self) -> pa.Schema:
        schemas = self._schemas or [self._nothing(number, None).schema for number in self._templates]
        if any(not schema.equals(schemas[0]) for schema in schemas[1:]):
            message = "the queries give matches of different columns"
            remedy = "take those of one template, outputs[template], or of one query, of(id); or use to_pylist()"
            raise UsageError("CEP612", message, remedy)
        return schemas[0] if schemas else pa.schema([])

    def to_arrow(self) -> pa.Table:
        """One row a match: `query`, and the columns of the matches of a query."""
        columns = self._one_schema()
        parts, places, _ = self._order
        tables = [part.matches.to_arrow() for part in self._found]
        begins = np.cumsum([0, *(table.num_rows for table in tables)])[:-1]
        if len(tables) == 1:
            table = tables[0].take(from_numpy(places))
        elif tables:
            table = pa.concat_tables(tables).take(from_numpy(begins[parts] + places))
        else:
            table = columns.empty_table()
        return table.add_column(0, QUERY, self.queries)

    def to_pylist(self) -> list[dict[str, Any]]:
        """A dict per match: `query`, `match_start`, `match_end`, and the variables or the RETURN columns."""
        return list(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        parts, places, numbers = self._order
        for begin in range(0, len(parts), _CHUNK):
            some = slice(begin, begin + _CHUNK)
            rows: list[dict[str, object]] = [{}] * len(parts[some])
            for part in np.unique(parts[some]):
                mine = np.flatnonzero(parts[some] == part)
                matches = _taken(self._found[part].matches, places[some][mine])
                for at, row in zip(mine, matches.to_pylist(), strict=True):
                    rows[at] = row
            for name, row in zip(self._rules.names(numbers[some]).to_pylist(), rows, strict=True):
                yield {QUERY: name, **row}

    def of(self, id: object) -> Matches:
        """The matches of one query, as it gives them alone."""
        asked = self._numbers_of(id)
        some = [(part, np.flatnonzero(np.isin(part.numbers, asked))) for part in self._found]
        some = [(part, places) for part, places in some if len(places)]
        if not some:
            number = int(asked[-1])
            return self._nothing(self._template_of(number), number)
        if len(some) > 1:
            message = f"the query {id!r} was removed and added again, and both have matches here"
            raise UsageError("CEP612", message, "take the rows of to_arrow() that have its id")
        part, places = some[0]
        return part.matches if len(places) == len(part.numbers) else _taken(part.matches, places)

    def _numbers_of(self, id: object) -> np.ndarray:
        """The numbers of the rules of an id: one, unless it was removed and added again."""
        try:
            wanted = pa.scalar(id, self._rules.ids.type) if not isinstance(id, bool) else None
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            wanted = None
        numbers: np.ndarray | list[int] = (
            [] if wanted is None else np.flatnonzero(pc.equal(self._rules.ids, wanted).fill_null(False).to_numpy(False))
        )
        if not len(numbers):
            known = self._rules.ids.slice(0, 1000).to_pylist()
            alike = next((name for name in known if str(name) == str(id)), None)
            remedy = did_you_mean(str(id), map(str, known), "ids")
            if alike is not None:
                remedy = f"the ids are {'texts' if isinstance(alike, str) else 'numbers'}: pass {alike!r}"
            raise UsageError("CEP616", f"there is no query {id!r}", remedy)
        return np.asarray(numbers)

    def _template_of(self, number: int) -> int:
        for rules in self._rules.rules:
            if number in rules.numbers:
                return rules.template
        message = f"the query {self._rules.ids[number].as_py()!r} is not among those that run"
        raise UsageError("CEP616", message, "see what is wrong with it in queries.errors")

    @property
    def outputs(self) -> Mapping[str | None, ManyMatches]:
        """The matches of each template by its name, which may have columns of their own."""
        return MatchesByTemplate(self)

    def of_template(self, template: int) -> ManyMatches:
        """The matches of the rules of one template."""
        results = [part for part in self._found if part.template == template]
        return ManyMatches(self._rules, results, self._nothing, (template,))

    @property
    def templates(self) -> Sequence[int]:
        """The templates that they are of."""
        return self._templates

    @property
    def rules(self) -> RuleSet:
        """The rules that they are of."""
        return self._rules

    def __repr__(self) -> str:
        return f"<{self._counted}: {', '.join(self._names)}>"

    @property
    def _counted(self) -> str:
        return f"{len(self)} match{'es' * (len(self) != 1)}"

    @property
    def _names(self) -> list[str]:
        """The names of the columns; "…" where they differ."""
        try:
            return [QUERY, *self._one_schema().names]
        except UsageError:
            return [QUERY, START, END, "…"]

    def _repr_html_(self) -> str:
        try:
            first = self.head(HTML_ROWS)
        except UsageError:
            first = None
        if first is None or not first.num_rows:
            return f"<p>{escape(repr(self))}</p>"
        return as_html(self._counted, first, more=len(self) > HTML_ROWS) + self.timeline().svg

    def timeline(self, n: int = 5, *, value: str | bool = True) -> Picture:
        """The first n matches on a time axis, as `Matches.timeline` draws them; lanes begin with the id of a query."""
        return draw_timeline(self._on_time_axis(n, value))

    def plot(self, n: int = 5, *, value: str | bool = True) -> Any:
        """The same as an Altair chart, with tooltips; needs altair."""
        require("altair", "plot")
        return to_chart(self._on_time_axis(n, value))

    def _on_time_axis(self, n: int, value: str | bool) -> Timeline:
        if not len(self):
            return Timeline("0 matches", Scale())
        parts, places, numbers = (array[: max(n, 1)] for array in self._order)
        made = []
        for part, number in dict.fromkeys(zip(parts.tolist(), numbers.tolist(), strict=True)):
            mine = _taken(self._found[part].matches, places[(parts == part) & (numbers == number)])
            made.append((self._rules.ids[number].as_py(), mine.on_time_axis(n, value)))
        title = self._counted if len(parts) == len(self) else f"{self._counted}, the first {len(parts)}"
        return side_by_side(title, made)

    def head(self, count: int) -> pa.Table:
        """The first matches, as `to_arrow` has them."""
        parts, places, numbers = (array[:count] for array in self._order)
        taken = [(self._found[p], _taken(self._found[p].matches, places[k : k + 1])) for k, p in enumerate(parts)]
        rows = [RuleMatches(rule.template, numbers[k : k + 1], matches) for k, (rule, matches) in enumerate(taken)]
        return ManyMatches(self._rules, rows, self._nothing).to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame; needs pandas."""
        require("pandas")
        return to_frame(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame; needs polars."""
        require("polars")
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame


class MatchesByTemplate(Mapping[str | None, ManyMatches]):
    """The matches of each template, by its name."""

    def __init__(self, matches: ManyMatches) -> None:
        self._matches = matches
        self._places = {matches.rules.templates[number].name: number for number in matches.templates}

    def __getitem__(self, name: object) -> ManyMatches:
        if name not in self._places:
            remedy = did_you_mean(str(name), map(str, self._places), "templates")
            raise KeyError(f"there is no template {name!r}: {remedy}")
        return self._matches.of_template(self._places[name])

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {matches!r}' for name, matches in self.items())}}}"


def _taken(matches: Matches, places: np.ndarray) -> Matches:
    """Some matches, by their places."""
    return matches.with_found(matches.found.take(np.asarray(places, np.int64)))
