"""The explanation as a value and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from cepheid.errors import UsageError
from cepheid.explain.algebra import algebra_graph, algebra_lines
from cepheid.explain.automata import automaton_lines
from cepheid.explain.automaton_graph import automaton_graph
from cepheid.explain.execution import explain_execution
from cepheid.explain.nondeterminism import bound as bound_of
from cepheid.explain.nondeterminism import splits
from cepheid.explain.pattern_graph import pattern_graph
from cepheid.explain.table import table
from cepheid.front.analysed import Analysed
from cepheid.front.automata.check import VALID_UNTIL
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Runnable
from cepheid.language import print_expression, print_query, print_window
from cepheid.pattern.binding.placement import TestedAt, place
from cepheid.pattern.binding.schema import END, START
from cepheid.pattern.expressions.nodes import Nth
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.flow import EVENTS, StreamSource
from cepheid.pattern.tree.layout import always_bound
from cepheid.pattern.tree.nodes import Language, Output, QueryTree, Selection, Strategy, Ties
from cepheid.pattern.tree.walk import automaton_of
from cepheid.pictures import Graph, can_draw, drawn, preformatted, to_mermaid, to_svg
from cepheid.plan.spec import AUTO, PlanSpec

_WHEN = {TestedAt.FIRST: "begin {}[1]", TestedAt.LATER: "take {}[i]", TestedAt.ALWAYS: "begin and take {}[]"}


@dataclass(frozen=True, slots=True)
class Sitting:
    """A predicate and where it is tested."""

    where: str
    predicate: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `Query.explain()` returns; it prints as text.

    sources: what was generated for each query. graphs: the automaton of each query; with events, then the plan of each;
    with a Spark DataFrame, then what Spark does.
    """

    text: str
    sources: tuple[str, ...] = ()
    graphs: tuple[Graph, ...] = ()

    @property
    def pictures(self) -> tuple[str, ...]:
        """The graphs as text that Mermaid draws."""
        return tuple(map(to_mermaid, self.graphs))

    @property
    def mermaid(self) -> str:
        """The pictures, one after the other."""
        return "\n\n".join(self.pictures)

    @property
    def svg(self) -> str:
        """The first graph, the automaton, as SVG; needs the extra `pictures`."""
        return "".join(map(_drawn, self.graphs[:1]))

    @property
    def svgs(self) -> tuple[str, ...]:
        """The graphs as SVG, each laid out by Graphviz; needs the extra `pictures`."""
        return tuple(map(_drawn, self.graphs))

    def _repr_html_(self) -> str:
        pictures = "".join(map(drawn, self.graphs))
        return f"{pictures}<details><summary>Explanation</summary>{preformatted(self.text)}</details>"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def explain_program(
    queries: Sequence[Analysed],
    sources: Sequence[StreamSource],
    bound: Sequence[Runnable] | None = None,
    events: pa.Table | None = None,
    forced: PlanSpec = AUTO,
) -> Explanation:
    """Explain each query of a program; how it runs is known once it is bound to a schema, and why, by its events."""
    parts = []
    executions = [
        explain_execution(query, events if source == EVENTS else None, forced)
        for query, source in zip(bound or (), sources, strict=False)
    ]
    for number, (query, source) in enumerate(zip(queries, sources, strict=True)):
        title = f"Query {number + 1} of {len(queries)}" if len(queries) > 1 else "Query"
        reads = _reads(source)
        lines = list(_lines(query, title + reads, bound[number] if bound is not None else None))
        if executions:
            lines += ["Plan", *(f"  {line}" for line in executions[number].plan)]
            lines += ["Execution", *(f"  {line}" for line in executions[number].lines)]
        parts.append("\n".join(lines))
    graphs = [_automaton(query, bound[k] if bound is not None else None) for k, query in enumerate(queries)]
    names = [_named(query, number, len(queries)) for number, query in enumerate(queries)]
    plans = [execution.graph for execution in executions]
    return Explanation(
        "\n\n".join(parts),
        tuple(execution.source for execution in executions),
        tuple(
            _titled(graph, name) for some in (graphs, plans) for graph, name in zip(some, names, strict=False) if graph
        ),
    )


def _named(query: Analysed, number: int, count: int) -> str:
    """The name of a query of a program, or what comes closest to one."""
    if count == 1:
        return ""
    into = f" INTO {query.query.into}" if query.query.into is not None else ""
    return f"Query {number + 1} of {count}{into}"


def _titled(graph: Graph, name: str) -> Graph:
    return replace(graph, title=(name, *graph.title)) if name else graph


def _drawn(graph: Graph) -> str:
    if not can_draw():
        raise UsageError("CEP602", "pygraphviz is not installed", "pip install 'cepheid[pictures]', or use .mermaid")
    return to_svg(graph)


def _automaton(query: Analysed, bound: Runnable | None) -> Graph | None:
    """The automaton of a query; that of a CESAR expression is known with the columns of the events."""
    return _LANGUAGES[query.query.language].graph(query, bound)


def _reads(source: StreamSource) -> str:
    if source == EVENTS:
        return ""
    return f", reads {' and '.join('the events' if name is None else name for name in source)}"


def _lines(query: Analysed, title: str, bound: Runnable | None) -> Iterator[str]:
    yield title
    yield from ("  " + line for line in normal_form(query).splitlines())
    language = _LANGUAGES[query.query.language]
    yield from language.lines(query, bound)
    columns = language.columns(query, bound)
    if columns is not None:
        yield "Output"
        yield f"  {', '.join(columns)}"


def _match_columns(query: Analysed, bound: Runnable | None) -> list[str]:
    columns = [r.name for r in query.query.returns] or [c.variable for c in query.positive]
    return [START, END, *columns]


def _pattern_lines(query: Analysed, bound: Runnable | None) -> Iterator[str]:
    yield "Components"
    yield from table([_component(query, c) for c in query.components.values()])
    yield "Predicates"
    yield from table([(s.where, s.predicate) for s in sittings(query)]) or ["  none"]
    yield "Nondeterminism"
    yield from table([(s.state, s.kind, f"{s.bound} in W") for s in splits(query)]) or ["  none"]
    yield f"  runs in a window of W events: {bound_of(query)}"


def normal_form(query: Analysed) -> str:
    """The query with every default written out."""
    return _LANGUAGES[query.query.language].normal_form(query)


def _normal_automaton(query: Analysed) -> str:
    written = tuple(item for item in query.query.returns if item.name != VALID_UNTIL)
    return _with_defaults(query, replace(query.query, returns=written))


def _normal_pattern(query: Analysed) -> str:
    groups: dict[Strategy, list[str]] = {}
    for variable, strategy in query.strategies.items():
        groups.setdefault(strategy, []).append(variable)
    selections = tuple(Selection(strategy, tuple(names)) for strategy, names in groups.items())
    return _with_defaults(query, replace(query.query, strategies=selections))


def _with_defaults(query: Analysed, full: QueryTree) -> str:
    text = print_query(full)
    if full.output is Output.ALL:
        text += f"\nOUTPUT {Output.ALL.value}"
    if full.ties is Ties.ORDERED:
        text += f"\nTIES {Ties.ORDERED.value}"
    if full.within is not None and full.within.unit is None:
        text += f"\n-- the window counts in {query.roles.unit}, the unit of the time column"
    return text


def _component(query: Analysed, component: Component) -> tuple[str, str, str, str]:
    types = " or ".join(component.types) or "any type"
    if component.negated:
        periods = (absent.period for absent in query.layout.negations if absent.variable == component.variable)
        period = next(periods, None)
        return component.variable, types, f"absent for {print_window(period)}" if period is not None else "absent", ""
    binds = "one event"
    if component.array:
        binds = "zero or more events" if component.can_be_empty else "one or more events"
    elif component.variable not in always_bound(query.layout):
        binds = "one event or none"
    return component.variable, types, binds, query.strategies[component.variable].value


def sittings(query: Analysed) -> tuple[Sitting, ...]:
    """Where each conjunct of WHERE sits (S5)."""
    placement = place(query.conditions, query.layout, query.components)
    places = [Sitting("before any run", print_expression(c)) for c in placement.constant]
    every = "every event, absent ones too" if query.layout.negations else "every event"
    places += [Sitting(every, print_expression(test)) for test in query.same]
    for number, spot in enumerate(query.layout.places):
        array = query.components[spot.variable].array
        for when, condition in placement.at_place.get(number, ()):
            how = f"take {{}}{when.value}" if isinstance(when, Nth) else _WHEN[when]
            where = how.format(spot.variable) if array else f"begin {spot.variable}"
            places.append(Sitting(where, print_expression(condition)))
    for number, loop in enumerate(query.layout.loops):
        names = ", ".join(v for v in query.components if v in loop.variables)
        places += [Sitting(f"proceed {names}", print_expression(c)) for c in placement.at_exit.get(number, ())]
    for number, event in enumerate(query.layout.negations):
        witness = placement.of_witness.get(number, ())
        places += [Sitting(f"witness {event.variable}", print_expression(c)) for c in witness]
    if query.query.within is not None:
        places.append(Sitting("every begin and take", f"WITHIN {print_window(query.query.within)}"))
    if query.query.having is not None:
        places.append(Sitting("complete match", print_expression(query.query.having)))
    return tuple(dict.fromkeys(places))


@dataclass(frozen=True, slots=True)
class _Explained:
    """How queries of one language are explained.

    lines: the sections between the normal form and the output. columns: those of a match; None: not known without a
    schema.
    """

    normal_form: Callable[[Analysed], str]
    lines: Callable[[Analysed, Runnable | None], Iterator[str]]
    graph: Callable[[Analysed, Runnable | None], Graph | None]
    columns: Callable[[Analysed, Runnable | None], Sequence[str] | None] = _match_columns


_LANGUAGES: Mapping[Language, _Explained] = {
    Language.PATTERN: _Explained(_normal_pattern, _pattern_lines, lambda query, _: pattern_graph(query)),
    Language.AUTOMATON: _Explained(
        _normal_automaton,
        lambda query, _: automaton_lines(query, automaton_of(query.query)),
        lambda query, _: automaton_graph(query, automaton_of(query.query)),
    ),
    Language.CESAR: _Explained(
        lambda query: print_query(query.query),
        algebra_lines,
        lambda _, bound: None if bound is None else algebra_graph(algebra_in(bound)),
        lambda _, bound: None if bound is None else bound.match_schema().names,
    ),
}
