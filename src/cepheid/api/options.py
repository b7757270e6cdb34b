"""Checks the arguments of a query: an error names the wrong argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from cepheid.api.spark_bridge import spark_options
from cepheid.errors import BindError, UsageError, did_you_mean, nearest
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions.aggregates import Aggregate
from cepheid.pattern.expressions.durations import UNITS
from cepheid.pattern.expressions.nodes import AGGREGATES


def read_roles(time: object, type_: object, order_by: object, types: object, unit: object, start: object) -> Roles:
    """The roles of the columns."""
    names = [order_by] if isinstance(order_by, str) else _items("order_by", order_by)
    if not isinstance(unit, str) or unit not in UNITS:
        raise UsageError("CEP601", f"unknown unit {unit!r}", did_you_mean(str(unit), UNITS, "units"))
    return Roles(
        time=_name("time", time),
        type=None if type_ is None else _name("type", type_),
        order_by=tuple(_name("order_by", name) for name in names),
        types=None if types is None else _types(types),
        unit=UNITS[unit],
        start=None if start is None else _name("start", start),
    )


def _name(what: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError("CEP603", f"{what} is {value!r}, which is not a column name", "name a column of the events")
    return value


def read_column(what: str, value: object, roles: Roles, *, alone: bool = True) -> str | None:
    """A column; None if it was not given. alone: it is none of those with a role already."""
    if value is None:
        return None
    name = _name(what, value)
    if alone and name in (roles.time, roles.type, roles.start, *roles.order_by):
        raise UsageError("CEP603", f"{what} is '{name}', which has another role", "name a column of its own")
    return name


def _items(what: str, value: object) -> list[object]:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise UsageError("CEP603", f"{what} is {value!r}, not a list", f"pass a list of column names as {what}")
    return list(value)


def _types(types: object) -> dict[str, tuple[str, ...]]:
    remedy = "pass types={'Shelf': ['tag_id', 'reader'], …}"
    if not isinstance(types, Mapping):
        raise UsageError("CEP603", f"types is {types!r}, not a dict", remedy)
    declared: dict[str, tuple[str, ...]] = {}
    for name, attributes in types.items():
        if not isinstance(name, str) or not name or isinstance(attributes, str):
            raise UsageError("CEP603", f"types can't have the entry {name!r}: {attributes!r}", remedy)
        named = [_name(f"an attribute of {name}", a) for a in _items(f"types[{name!r}]", attributes)]
        # Sorted: a set has another order in every process, and a snapshot identifies its query by this.
        declared[name] = tuple(sorted(named) if isinstance(attributes, set | frozenset) else named)
    return declared


def read_params(params: object) -> dict[str, object]:
    if params is None:
        return {}
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        raise UsageError("CEP603", f"params is {params!r}, not a dict of names", "pass params={'T': '12 hours', …}")
    return dict(params)


def read_functions(functions: object) -> dict[str, Callable[..., object]]:
    """The user's functions by name."""
    if functions is None:
        return {}
    remedy = "pass functions={'Corr': a_python_function}"
    if not isinstance(functions, Mapping) or not all(isinstance(name, str) for name in functions):
        raise UsageError("CEP603", f"functions is {functions!r}, not a dict of names", remedy)
    for name, function in functions.items():
        if not callable(function):
            raise BindError("CEP312", f"the function '{name}' is {function!r}, which can't be called", remedy)
        if name.lower() in AGGREGATES:
            raise BindError("CEP312", f"'{name}' is the name of an aggregate", "give your function another name")
        for part in ("step", "finish") if isinstance(function, Aggregate) else ():
            method = getattr(function, part)
            if not callable(method) and (part == "step" or method is not None):
                remedy = f"pass a function: cep.Aggregate(start=…, {part}=…)"
                raise BindError("CEP312", f"{part} of the aggregate '{name}' is {method!r}, not a function", remedy)
    return dict(functions)


def stable(value: object) -> object:
    """A value whose `repr` is complete and the same in every process, unlike that of sets and large arrays.

    >>> stable({"y", "x"})
    ('set', ["'x'", "'y'"])
    """
    if isinstance(value, set | frozenset):
        return "set", sorted(repr(stable(item)) for item in value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return value
    parts = [stable(item) for item in value]
    return tuple(parts) if isinstance(value, tuple) else parts


def check_limit(limit: object) -> None:
    """A maximum number of rows, or none."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise UsageError("CEP603", f"limit can't be {limit!r}", "pass a whole number, 0 or more, or None")


def check_options(options: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse arguments that do not exist, and those that only Spark has. known: the others."""
    for name in options:
        only_spark = [option for option in spark_options() if option not in known]
        if name in ("lateness", "late", "speculate"):
            remedy = f"write q.session({name}=…), or leave it out: match() has all events and sorts them itself"
            raise UsageError("CEP603", f"'{name}' is an option of a session", remedy)
        if name in only_spark:
            message = f"'{name}' is not an option for events in memory"
            raise UsageError("CEP603", message, "use it with Spark DataFrames only")
        if nearest(name, [*known, *only_spark]) in only_spark:
            remedy = f"{did_you_mean(name, only_spark, 'options')} It is for Spark DataFrames only"
        else:
            remedy = did_you_mean(name, known, "arguments")
        raise UsageError("CEP603", f"unknown argument '{name}'", remedy)


def check_open(open: object) -> None:
    """Whether an absence counts that the input ends."""
    if not isinstance(open, bool):
        raise UsageError("CEP603", f"open can't be {open!r}", "pass True or False")
