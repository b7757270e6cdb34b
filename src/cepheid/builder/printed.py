"""A pattern tree as Python code that builds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from keyword import iskeyword

from cepheid.builder.printed_expressions import Names, NoSpellingError, print_condition, print_value, quote
from cepheid.builder.read_python import read_python
from cepheid.errors import CepheidError
from cepheid.language import print_program
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.walk import arcs_in, expressions, walk

_WIDTH = 80
_REPEATS: dict[tuple[int, int | None], str] = {(1, None): "one_or_more()", (0, None): "zero_or_more()"}


def print_python(program: tree.Program) -> str:
    """Code that makes a `Query` of the same tree; as text what the builder has no words for, as CESAR.

    >>> from cepheid.language import parse
    >>> print(print_python(parse("PATTERN SEQ(Shelf a, Exit+ b[]) WHERE [tag] AND b[i].x > 2 * a.x WITHIN 12 hours")))
    import cepheid as cep
    <BLANKLINE>
    a, b = cep.var("a"), cep.var("b")
    query = cep.Query(
        cep.seq(cep.event("Shelf", a), cep.event("Exit", b).one_or_more())
        .same("tag")
        .where(b.current.x > 2 * a.x)
        .within("12 hours")
    )
    """
    try:
        code = _code(program)
        if read_python(code) == program:
            return code
    except (NoSpellingError, CepheidError):  # rare ones, such as names that Python can't have
        pass
    return f"import cepheid as cep\n\nquery = cep.Query({_text(print_program(program))})"


def _code(program: tree.Program) -> str:
    names = Names(_variables(program))
    drafts = [_draft(query, names) for query in program.queries]
    lines = ["import cepheid as cep", *names.imports(), "", *names.declarations()]
    if len(drafts) == 1:
        return "\n".join([*lines, "query = cep.Query(", *_indented(drafts[0]), ")"])
    parts = [line for draft in drafts for line in _indented([*draft[:-1], f"{draft[-1]},"])]
    return "\n".join([*lines, "query = cep.Query(", *_indented(["cep.program(", *parts, ")"]), ")"])


def _text(text: str) -> str:
    """A text of several lines as a string."""
    if "\\" in text or '"""' in text or text.endswith('"') or not text.replace("\n", "").isprintable():
        return repr(text)
    return f'"""{text}"""'


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _variables(program: tree.Program) -> list[str]:
    """All variables that are bound or read, in the order of the text."""
    names: dict[str, None] = {}
    for query in program.queries:
        if arcs_in(query):  # which read e and r
            continue
        for node in walk(query.pattern):
            if isinstance(node, tree.EventPattern) and node.variable is not None:
                names.setdefault(node.variable)
        for expression in expressions(query):
            for part in walk(expression):
                if isinstance(part, ex.Attribute | ex.Rows | ex.Length):
                    names.setdefault(part.variable)
    return list(names)


def _draft(query: tree.QueryTree, names: Names) -> list[str]:
    """The pattern, and a line for each clause."""
    single = isinstance(query.pattern, tree.EventPattern)
    bound = {node.variable for node in walk(name_events(query.pattern)) if isinstance(node, tree.EventPattern)}
    words = names.of_query(single=single, bound={name for name in bound if name is not None})
    return [*_pattern_lines(query.pattern, words), *(line for clause in _clauses(query, words) for line in clause)]


def _pattern_lines(node: tree.PatternTree, names: Names) -> list[str]:
    if isinstance(node, tree.Seq):
        return _call("cep.seq", [_pattern(part, names) for part in node.parts])
    return [_postfix(node, names)]


def _call(function: str, arguments: list[str]) -> list[str]:
    """A call in one line, or with a line for each argument if that is long."""
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _WIDTH or len(arguments) < 2:
        return [line]
    return [f"{function}(", *_indented(f"{argument}," for argument in arguments), ")"]


def _pattern(node: tree.PatternTree, names: Names) -> str:
    match node:
        case tree.EventPattern(types, variable):
            kinds = '"*"' if not types else quote(types[0]) if len(types) == 1 else _list(map(quote, types))
            if types == ("*",):
                raise NoSpellingError
            return f"cep.event({kinds}{'' if variable is None else ', ' + names.variable(variable)})"
        case tree.Negation(event, None):
            return f"~{_pattern(event, names)}"
        case tree.Negation(event, tree.Window() as period):
            return f"(~{_pattern(event, names)}).for_({_window(period)})"
        case tree.Repeat(body, low, high):
            times = f"times({low})" if high == low else f"at_least({low})" if high is None else f"times({low}, {high})"
            return f"{_postfix(body, names)}.{_REPEATS.get((low, high), times)}"
        case tree.Maybe(body):
            return f"{_postfix(body, names)}.optional()"
        case tree.Seq(parts):
            return f"cep.seq({_patterns(parts, names)})"
        case tree.Either(parts):
            return f"cep.either({_patterns(parts, names)})"
        case tree.AnyOrder(parts):
            return f"cep.any_order({_patterns(parts, names)})"
    raise NoSpellingError


def _patterns(parts: Iterable[tree.PatternTree], names: Names) -> str:
    return ", ".join(_pattern(part, names) for part in parts)


def _postfix(node: tree.PatternTree, names: Names) -> str:
    text = _pattern(node, names)
    return f"({text})" if text.startswith("~") else text


def _clauses(query: tree.QueryTree, names: Names) -> Iterator[list[str]]:
    if query.streams:
        yield [f".from_({_streams(query, names)})"]
    for chosen in query.strategies:
        yield _call(".strategy", [quote(chosen.strategy.value), *map(names.variable, chosen.variables)])
    yield from _conditions(query.where, names)
    if query.partition_by:
        yield _call(".partition_by", [quote(_key(column.path)) for column in query.partition_by])
    if query.within is not None:
        yield [f".within({_window(query.within)})"]
    if query.having is not None:
        several = query.having.operands if isinstance(query.having, ex.And) else (query.having,)
        yield _call(".having", [print_condition(item, names) for item in several])
    if query.returns:
        yield _call(".returns", _named((item.name, _result(item.expression, names)) for item in query.returns))
    if query.into is not None:
        yield [f".into({quote(query.into)})"]
    if query.output is not tree.Output.ALL:
        cooldown = "" if query.cooldown is None else f"cooldown={_window(query.cooldown)}"
        yield [f".{'longest' if query.output is tree.Output.LONGEST else 'non_overlapping'}({cooldown})"]
    if query.ties is tree.Ties.SIMULTANEOUS:
        yield [".simultaneous()"]


def _conditions(where: Iterable[ex.Expression], names: Names) -> Iterator[list[str]]:
    """Neighbours of one kind in one call, so that the order stays."""
    for kind, some in groupby(where, _kind):
        conditions = list(some)
        if kind == "where":
            yield _call(".where", [print_condition(condition, names) for condition in conditions])
        elif kind == "same":
            yield _call(
                ".same",
                [quote(_key(condition.path)) for condition in conditions if isinstance(condition, ex.SameValue)],
            )
        else:
            for condition in conditions:
                assert isinstance(condition, ex.SameValue)
                assert condition.value is not None
                yield _call(".same", _named([(_key(condition.path), print_value(condition.value, names))]))


def _kind(condition: ex.Expression) -> str:
    if not isinstance(condition, ex.SameValue):
        return "where"
    return "same" if condition.value is None else "same value"


def _key(path: tuple[str, ...]) -> str:
    """A column or a field of it, as `read_key` reads it."""
    return ".".join(f"`{part.replace('`', '``')}`" if "." in part or "`" in part else part for part in path)


def _named(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Keyword arguments; as a dict where a name is no identifier."""
    arguments = dict(pairs)
    if "self" in arguments:
        raise NoSpellingError
    if all(name.isidentifier() and not iskeyword(name) for name in arguments):
        return [f"{name}={value}" for name, value in arguments.items()]
    return ["**{" + ", ".join(f"{quote(name)}: {value}" for name, value in arguments.items()) + "}"]


def _result(expression: ex.Expression, names: Names) -> str:
    if isinstance(expression, ex.Name) and expression.name in names.bound:
        return names.variable(expression.name)
    return print_value(expression, names)


def _streams(query: tree.QueryTree, names: Names) -> str:
    where = (
        [] if query.sees is None else [f"where={print_condition(query.sees, names.of_query(single=True, bound=set()))}"]
    )
    if len(query.streams) == 1:
        only = query.streams[0]
        return ", ".join([quote(only.name), *map(quote, only.types), *where])
    listed = (f"{quote(stream.name)}: {_list(map(quote, stream.types))}" for stream in query.streams)
    return ", ".join(["{" + ", ".join(listed) + "}", *where])


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _window(window: tree.Window) -> str:
    if isinstance(window.amount, ex.Name):
        if window.unit is not None:
            raise NoSpellingError
        return f"cep.param({quote(window.amount.name)})"
    if window.unit is None:
        raise NoSpellingError
    return quote(f"{window.amount.value} {window.unit[:-1] if window.amount.value == 1 else window.unit}")
