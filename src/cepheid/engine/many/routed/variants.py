"""The variants of a template: rules whose constants differ in value only, each a query on a joined stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.many.routed.sets import Lengths, by_length, set_parameters, values_of, with_values
from cepheid.errors import CepheidError
from cepheid.front.fronts import analyse, bind
from cepheid.front.runnable import Runnable, Within
from cepheid.front.templates.parameters import parameters, shapes, window_parameter
from cepheid.front.templates.rule_columns import WINDOW, ConstantColumn, NotJoinedError, power_above
from cepheid.front.templates.template import Joined, join, window_type
from cepheid.pattern.algebra.flow import expand
from cepheid.pattern.binding.schema import Roles, Schema
from cepheid.pattern.expressions.aggregates import with_aggregates
from cepheid.pattern.expressions.nodes import Literal
from cepheid.pattern.expressions.parameters import literal, resolve_window, window_nanoseconds
from cepheid.pattern.expressions.sampled import SampledValue
from cepheid.pattern.expressions.types import NULL, Kind, Type
from cepheid.pattern.tree.flow import EVENTS, check_flow, roles_in
from cepheid.pattern.tree.nodes import Program

FEW_WINDOWS = 4
"""Windows of rules that are variants of their own; where there are more, each rule has its own."""

_LONGEST = 2**63 - 1


@dataclass(frozen=True)
class Variant:
    """Rules that are one query on a joined stream. key: what all of them have in common."""

    key: tuple[object, ...]
    joined: Joined
    fits: tuple[Type, ...]  # the types of its constants


@dataclass(frozen=True)
class Share:
    """Some rules of a table, by their places, that are of one variant, and the columns that these have there."""

    variant: Variant
    rows: np.ndarray
    constants: pa.Table


@dataclass(frozen=True)
class WrongRules:
    """Rules, by their places, that can't be run, and why."""

    rows: np.ndarray
    error: CepheidError


class VariedTemplate:
    """A query with parameters, on events of a schema."""

    def __init__(
        self,
        program: Program,
        roles: Roles,
        functions: Mapping[str, Callable[..., object]],
        schema: Schema,
        params: Mapping[str, object] | None = None,
        lengths: Lengths = (),
    ) -> None:
        self.program = program
        self.lengths = lengths  # of sets that became parameters for their values
        self.roles = roles
        self.functions = functions
        self.schema = schema
        self.params = dict(params or {})  # that all rules have
        self.variants: dict[tuple[object, ...], list[Variant]] = {}
        self.few_windows = FEW_WINDOWS
        self.why_not = ""  # why it can't be one query on a joined stream, where that is so
        self._shapes: set[str] = set()  # parameters that turned out to be such
        self._windows: bool | None = None  # whether rules that come have each its own window, once that is known
        self._lengths_seen: set[int] = set()
        self._of_sets: dict[Lengths, VariedTemplate] = {}

    def split(self, rules: pa.Table) -> tuple[list[Share], list[WrongRules]]:
        """The rules of a table by variant. Raises NotJoinedError where the template is not one query."""
        sets = set_parameters(self.program, rules)
        if not sets:
            return self._split_values(rules)
        shares: list[Share] = []
        wrong: list[WrongRules] = []
        for lengths, rows in by_length(rules, sets):
            members = rules.take(from_numpy(rows))
            shared, failed = self._with_values(members, lengths) or self._split_values(members)
            shares += [replace(share, rows=rows[share.rows]) for share in shared]
            wrong += [replace(problem, rows=rows[problem.rows]) for problem in failed]
        return shares, wrong

    def _with_values(self, rules: pa.Table, lengths: Lengths | None) -> tuple[list[Share], list[WrongRules]] | None:
        """The same for rules with sets of some lengths; None if they are to be seen as sets, to tell what is wrong."""
        if lengths is None:
            return None
        try:
            shared, wrong = self._sized(lengths).split(values_of(rules, dict(lengths)))
        except NotJoinedError:
            return None
        return None if wrong else (shared, wrong)

    def _sized(self, lengths: Lengths) -> VariedTemplate:
        if lengths not in self._of_sets:
            program = with_values(self.program, lengths)
            self._of_sets[lengths] = VariedTemplate(
                program, self.roles, self.functions, self.schema, self.params, lengths
            )
        return self._of_sets[lengths]

    def _split_values(self, rules: pa.Table) -> tuple[list[Share], list[WrongRules]]:
        names = parameters(self.program, rules.column_names)
        window = window_parameter(self.program, rules.column_names)
        while True:
            shaping = {*shapes(self.program, names), *self._shapes}
            shaping |= {name for name in names if pa.types.is_nested(rules.column(name).type)}
            if window is not None and (self._windows is False or window in shaping):
                shaping.add(window)
            shaping.intersection_update(names)
            try:
                return self._split(rules, names, sorted(shaping), None if window in shaping else window)
            except NotJoinedError as why:
                more = set(why.parameters) & set(names)
                if more - shaping:
                    self._shapes |= more
                elif window is not None and self._windows is not False and window not in shaping:
                    self._windows = False
                else:
                    self.why_not = str(why)
                    raise

    def _split(
        self, rules: pa.Table, names: Sequence[str], shaping: Sequence[str], window: str | None
    ) -> tuple[list[Share], list[WrongRules]]:
        shares: list[Share] = []
        wrong: list[WrongRules] = []
        if window is not None:
            lengths, rows, failed = self._lasting(rules, window)
            wrong += failed
            if self._windows is None:
                self._lengths_seen |= set(lengths[rows].tolist())
                self._windows = len(self._lengths_seen) > self.few_windows or None
            if not self._windows:
                shaping, window = [*shaping, window], None
        else:
            rows = np.arange(rules.num_rows)
        free = [name for name in names if name not in shaping and name != window]
        for values, members in _groups(rules, shaping, rows):
            if window is None:
                self._share(rules, values, free, members, (), None, shares, wrong)
                continue
            ticks = lengths[members]
            lasting, codes = np.unique(ticks, return_inverse=True)
            powers = np.array([power_above(int(tick)) for tick in lasting])[codes]
            for power in np.unique(powers).tolist():
                mine = powers == power
                upper = (window, max(power, int(ticks[mine].max())))
                self._share(rules, values, free, members[mine], upper, ticks[mine], shares, wrong)
        return shares, wrong

    def _lasting(self, rules: pa.Table, window: str) -> tuple[np.ndarray, np.ndarray, list[WrongRules]]:
        """The window of each rule in ticks, those that have one, and those that have none that can be.

        One that is longer than the ticks there are is as long as these.
        """
        window_clause = self.program.queries[0].within
        assert window_clause is not None
        coded = rules.column(window).combine_chunks().dictionary_encode()
        codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
        lengths: list[int] = []
        wrong: list[WrongRules] = []
        for code, value in enumerate([*coded.dictionary.to_pylist(), None]):
            coded_rows = np.flatnonzero(codes == code) if code == len(coded.dictionary) else None
            length = 0
            try:
                if coded_rows is None or len(coded_rows):
                    length_ = resolve_window(window_clause, {window: value}, "WITHIN")
                    if length_.unit == "events":
                        raise NotJoinedError("a window of events", [window])
                    length = min(-(-window_nanoseconds(length_, self.roles.unit) // self.schema.tick), _LONGEST)
            except CepheidError as error:
                wrong.append(WrongRules(np.flatnonzero(codes == code), error))
            lengths.append(length)
        every = np.array(lengths, object)[codes]
        rows = np.flatnonzero(every != 0)
        return every.astype(np.int64), rows, wrong

    def _share(
        self,
        rules: pa.Table,
        values: Mapping[str, object],
        free: Sequence[str],
        rows: Any,
        upper: tuple[str, int] | tuple[()],
        ticks: Any,
        shares: list[Share],
        wrong: list[WrongRules],
    ) -> None:
        """Share rules out that have the same shapes: by the types of their constants."""
        all_rows = rows  # ascending
        key = (*self.lengths, *((name, repr(value)) for name, value in sorted(values.items())), upper)
        tried: list[Variant] = list(self.variants.get(key, ()))
        while len(rows):
            variant = tried.pop(0) if tried else None
            made = variant is None
            if variant is None:
                sample = _sample(rules, free, rows)
                try:
                    variant = self._variant(key, values, sample, upper, _first(rules, rows, upper))
                except CepheidError as error:
                    # Only a text may be read as a value in one rule, and not in the other.
                    texts = any(isinstance(value, str) for value in sample.values())
                    count = 1 if texts else len(rows)
                    wrong.append(WrongRules(rows[:count], error))
                    rows = rows[count:]
                    continue
                self.variants.setdefault(key, []).append(variant)
            columns, fits = _constants(variant, rules, rows)
            fitting = rows[fits]
            if len(fitting):
                constants = columns
                if len(fitting) < len(rows):
                    constants = {name: column.filter(from_numpy(fits)) for name, column in columns.items()}
                if upper:
                    constants[WINDOW] = self._window_column(ticks[np.searchsorted(all_rows, fitting)])
                table = pa.table(constants)
                shares.append(Share(variant, fitting, table))
            if made and not len(fitting):
                raise AssertionError("a rule does not fit the variant that was made for it")
            rows = rows[~fits]

    def _window_column(self, ticks: np.ndarray) -> pa.Array:
        """Windows as the differences of two times."""
        type_ = window_type(self.schema)
        scale = self.schema.tick if type_.kind is Kind.DURATION else 1
        lasting = np.minimum(ticks.astype(np.int64), _LONGEST // scale) * scale
        return pa.array(lasting, pa.int64()).cast(type_.arrow)

    def _variant(
        self,
        key: tuple[object, ...],
        values: Mapping[str, object],
        sample: Mapping[str, object],
        upper: tuple[str, int] | tuple[()],
        length: Mapping[str, object],
    ) -> Variant:
        params = {**self.params, **values, **{name: SampledValue(value) for name, value in sample.items()}, **length}
        bound = self.bind(params)
        if upper:
            bound = bound.with_parts(within=Within(nanoseconds=upper[1] * self.schema.tick))
        joined = join(bound, windowed=bool(upper))
        return Variant(key, joined, tuple(column.type for column in joined.columns))

    def bind(self, params: Mapping[str, object]) -> Runnable:
        """The query with values of its parameters, on the events."""
        program = expand(self.program, params)
        sources = check_flow(program)
        if len(program.queries) != 1 or sources[0] != EVENTS:
            raise NotJoinedError("a program of several queries")
        query = with_aggregates(program.queries[0], self.functions)
        analysed = analyse(query, params, roles_in(sources[0], self.roles, query), sources[0])
        return bind(analysed, self.schema, self.functions)


def _groups(
    rules: pa.Table, shaping: Sequence[str], rows: np.ndarray
) -> Iterator[tuple[dict[str, object], np.ndarray]]:
    """Rows with the same values of some columns."""
    if not shaping:
        yield {}, rows
        return
    codes = np.zeros(len(rows), np.int64)
    for name in shaping:
        values = rules.column(name).take(from_numpy(rows)).to_pylist()
        known: dict[str, int] = {}
        value_codes = np.array([known.setdefault(repr(value), len(known)) for value in values], np.int64)
        codes = np.unique(codes * max(1, len(known)) + value_codes, return_inverse=True)[1]
    first = np.unique(codes, return_index=True)[1]
    for code in np.argsort(first):
        row = rows[first[code]]
        yield {name: rules.column(name)[int(row)].as_py() for name in shaping}, rows[codes == code]


def _sample(rules: pa.Table, free: Sequence[str], rows: np.ndarray) -> dict[str, object]:
    """The values of the first rule; where it has none, those of the first that has one."""
    sample: dict[str, object] = {}
    for name in free:
        column = rules.column(name)
        value = column[int(rows[0])].as_py()
        if value is None and column.null_count < len(column):
            chosen = column.take(from_numpy(rows)).drop_null()
            value = chosen[0].as_py() if len(chosen) else None
        sample[name] = value
    return sample


def _first(rules: pa.Table, rows: np.ndarray, upper: tuple[str, int] | tuple[()]) -> dict[str, object]:
    """The window of the first rule."""
    return {upper[0]: rules.column(upper[0])[int(rows[0])].as_py()} if upper else {}


def _constants(variant: Variant, rules: pa.Table, rows: np.ndarray) -> tuple[dict[str, pa.ChunkedArray], np.ndarray]:
    """The columns of a variant for some rules, and which of them have constants of its types."""
    columns: dict[str, pa.ChunkedArray] = {}
    fits = np.ones(len(rows), bool)
    index = None if len(rows) == rules.num_rows else from_numpy(rows)  # all are not copied
    for column in variant.joined.columns:
        parameter_values = rules.column(column.parameter)
        parameter_values = parameter_values if index is None else parameter_values.take(index)
        if column.readings or (
            parameter_values.type != column.type.arrow and not _is_natural(parameter_values.type, column.type)
        ):
            columns[column.name], fits_column = _read(column, parameter_values)
            fits &= fits_column
        else:
            columns[column.name] = parameter_values.cast(column.type.arrow)
    return columns, fits


def _is_natural(arrow: pa.DataType, type_: Type) -> bool:
    """Whether all values of a column are constants of one type, so that it need not be asked for each."""
    kinds = {
        Kind.INT: pa.types.is_integer,
        Kind.FLOAT: pa.types.is_floating,
        Kind.BOOL: pa.types.is_boolean,
        Kind.STRING: lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
        Kind.DATE: pa.types.is_date32,
    }
    return type_.kind in kinds and bool(kinds[type_.kind](arrow))


def _read(column: ConstantColumn, parameter_values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, np.ndarray]:
    """The values of a column one by one, and which are of its type."""
    values: list[Any] = []
    fits = []
    for value in parameter_values.to_pylist():
        value_literal: Literal | None = literal(value)
        for reading in column.readings:
            value_literal = None if value_literal is None else reading(value_literal)
        same = value_literal is not None and (value_literal.type == column.type or value_literal.type == NULL)
        if same and column.most is not None and value_literal is not None and isinstance(value_literal.value, int):
            same = power_above(value_literal.value) == column.most
        fits.append(same)
        values.append(value_literal.value if value_literal is not None and same else None)
    if column.type.kind in (Kind.TIMESTAMP, Kind.DURATION):
        raw = pa.array(values, pa.int64())
        unit = pa.timestamp("ns", column.type.arrow.tz) if column.type.kind is Kind.TIMESTAMP else pa.duration("ns")
        made = raw.cast(unit).cast(column.type.arrow)
    elif column.type.kind is Kind.DATE:
        made = pa.array(values, pa.int32()).cast(pa.date32())
    else:
        made = pa.array(values, column.type.arrow)
    return pa.chunked_array([made]), np.array(fits, bool)
