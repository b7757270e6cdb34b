"""Which tier runs which rules: the shared tables if they can, a joined stream if not, and else each rule on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.automaton.model import NotNative
from cepheid.engine.many.alone import Alone
from cepheid.engine.many.chain import NotChained, chain_of
from cepheid.engine.many.code import check_code
from cepheid.engine.many.keys import fits
from cepheid.engine.many.protocol import WINDOW, Tier
from cepheid.engine.many.routed import RoutedTier
from cepheid.engine.many.rules import Rules, Template
from cepheid.engine.many.shared import ChainKind, SharedTier
from cepheid.engine.many.variants import Template as VariedTemplate
from cepheid.engine.many.variants import Variant
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.pipeline import MachineFactory
from cepheid.kernel.compile import has_compiler
from cepheid.pattern.schema import Roles
from cepheid.pattern.templates import NotJoinedError

Planned = tuple[str, Tier, Rules, object]


class Tiers:
    """Makes the tiers of a stream as rules need them, and finds the one of each.

    share: whether templates that are chains go into shared tables.
    """

    def __init__(
        self, stream: InputStream, roles: Roles, factory: MachineFactory, *, once: bool, share: bool = True
    ) -> None:
        self._stream = stream
        self._roles = roles
        self._factory = factory
        self._once = once
        self._share = share and has_compiler()
        self._alone: dict[int, Alone] = {}
        self._templates: dict[int, VariedTemplate] = {}
        self._kinds: dict[int, tuple[Variant, ChainKind | RoutedTier, str]] = {}
        self._streams: dict[int, tuple[tuple[int, object], tuple[str, RoutedTier]]] = {}
        self._shared: dict[bool, SharedTier] = {}
        self.reasons: dict[str, str] = {}  # why the rules of a tier are not in the shared tables

    def split(self, template: Template, rules: Rules) -> Iterator[Planned]:
        """The rules of a template by the tier that runs them, by its name, and what it must know of them."""
        number = rules.template
        if number not in self._templates:
            self._templates[number] = VariedTemplate(
                template.program, self._roles, template.functions or {}, self._stream.schema, template.params
            )
        try:
            columns = {name[1:]: rules.constants.column(name) for name in rules.constants.column_names}
            given = pa.table(columns) if columns else pa.table({"": pa.nulls(len(rules))})
            shares, wrong = self._templates[number].split(given)
        except NotJoinedError as why:
            yield self._on_its_own(template, rules, str(why))
            return
        for share in shares:
            name, kind = self._kind(number, share.variant)
            if isinstance(kind, ChainKind) and not fits(kind.chain, share.constants):
                name, kind = self._routed(number, share.variant, "constants at the end of the integers")
            tier = kind if isinstance(kind, RoutedTier) else self._tables(kind)
            constants = share.constants
            if isinstance(kind, ChainKind) and share.variant.joined.windowed:
                constants = _in_ticks(constants, self._stream.schema.tick)
            own = replace(rules, numbers=rules.numbers[share.rows], constants=constants, within=None)
            yield name, tier, own, kind
        for one in wrong:
            raise one.error

    def _on_its_own(self, template: Template, rules: Rules, why: str) -> Planned:
        number = rules.template
        if number not in self._alone:
            self._alone[number] = Alone(
                number, template, self._roles, self._stream.schema, self._factory, once=self._once
            )
            self.reasons[f"alone {number}"] = why
        return f"alone {number}", self._alone[number], rules, None

    def _kind(self, template: int, variant: Variant) -> tuple[str, ChainKind | RoutedTier]:
        if id(variant) not in self._kinds:
            kind: ChainKind | RoutedTier
            try:
                kind = self._chain(template, variant)
                name = "shared instants" if kind.chain.simultaneous else "shared"
            except (NotChained, NotNative) as why:
                name, kind = self._routed(template, variant, str(why))
            self._kinds[id(variant)] = variant, kind, name
        _, kind, name = self._kinds[id(variant)]
        return name, kind

    def _routed(self, template: int, variant: Variant, why: str) -> tuple[str, RoutedTier]:
        if id(variant) not in self._streams:
            alike = sum(own == (template, variant.key) for own, _ in self._streams.values())
            tier = RoutedTier(template, variant.joined, self._factory)
            self._streams[id(variant)] = (template, variant.key), (f"routed {template} {variant.key} {alike}", tier)
            self.reasons[self._streams[id(variant)][1][0]] = why
        return self._streams[id(variant)][1]

    def _chain(self, template: int, variant: Variant) -> ChainKind:
        if not self._share:
            raise NotChained("there is no compiler")
        joined = variant.joined
        if joined.returns_constants:
            raise NotChained("RETURN has constants of the rule")
        compiled = CompiledQuery(joined.bound)
        chain = chain_of(compiled, WINDOW if joined.windowed else None)
        check_code(chain)
        self._stream.codes.derive(compiled.derived, compiled.pieces)
        variables = {component.variable: place for place, component in enumerate(joined.bound.positive)}
        labels = [] if chain.valued else chain.labels
        return ChainKind(template, joined, chain, tuple(variables[label] for label in labels))

    def _tables(self, kind: ChainKind) -> SharedTier:
        simultaneous = kind.chain.simultaneous
        if simultaneous not in self._shared:
            self._shared[simultaneous] = SharedTier(self._stream.codes, simultaneous=simultaneous)
        return self._shared[simultaneous]


def _in_ticks(constants: pa.Table, tick: int) -> pa.Table:
    """The windows of rules as whole numbers of ticks."""
    place = constants.column_names.index(WINDOW)
    window = constants.column(place)
    if pa.types.is_duration(window.type):
        window = pc.divide(window.cast(pa.duration("ns")).cast(pa.int64()), tick)
    return constants.set_column(place, WINDOW, window)
