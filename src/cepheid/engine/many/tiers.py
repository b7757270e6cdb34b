"""Which tier runs which rules: the shared tables if they can, a joined stream if not, and else each rule on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.automaton.model import NotNative
from cepheid.engine.many.alone import Alone
from cepheid.engine.many.protocol import WINDOW, Tier, constant_column
from cepheid.engine.many.routed.routed import RoutedTier
from cepheid.engine.many.routed.variants import Variant, VariedTemplate
from cepheid.engine.many.rules import Rules, Template
from cepheid.engine.many.tables.chain import Chain, NotChained
from cepheid.engine.many.tables.chain_reader import chain_of
from cepheid.engine.many.tables.code import check_code
from cepheid.engine.many.tables.keys import fits
from cepheid.engine.many.tables.level import ChainRules
from cepheid.engine.many.tables.shared import ChainKind, SharedTier, TextRules
from cepheid.engine.many.texts.framed import fitting, shared_rules
from cepheid.engine.many.texts.known_chains import KnownChains
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.pipeline import PlansFactory
from cepheid.front.templates.rule_columns import NotJoinedError
from cepheid.front.templates.template import Joined, join
from cepheid.kernel.compile import has_compiler
from cepheid.language.texts.template import read_texts
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.tree.nodes import Program

Planned = tuple[str, Tier, Rules, object]


@dataclass(frozen=True)
class _Label:
    """A template by its number, or one of those that texts of a template have."""

    template: int
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.template}{self.mark}"


class Tiers:
    """Makes the tiers of a stream as rules need them, and finds the one of each.

    share: whether templates that are chains go into shared tables.
    """

    def __init__(
        self, stream: InputStream, roles: Roles, factory: PlansFactory, *, once: bool, share: bool = True
    ) -> None:
        self._stream = stream
        self._roles = roles
        self._factory = factory
        self._once = once
        self._share = share and has_compiler()
        self._alone: dict[_Label, Alone] = {}
        self._templates: dict[_Label, VariedTemplate] = {}
        self._text_kinds: dict[object, ChainKind] = {}
        self._known_chains: dict[int, KnownChains] = {}  # of the texts of a template
        self._kinds: dict[int, tuple[Variant, ChainKind | RoutedTier, str]] = {}
        self._streams: dict[int, tuple[tuple[_Label, object], tuple[str, RoutedTier]]] = {}
        self._shared: dict[bool, SharedTier] = {}
        self.reasons: dict[str, str] = {}  # why the rules of a tier are not in the shared tables

    def anew(self, stream: InputStream, factory: PlansFactory, *, once: bool) -> tuple[Tiers, dict[int, Tier]] | None:
        """The same for another stream, with its tiers by the `id` of these; None: where rules are on their own."""
        if self._alone:
            return None
        stream.codes.derive(self._stream.codes.derived, self._stream.codes.pieces)
        found = Tiers(stream, self._roles, factory, once=once, share=self._share)
        found._shared = {
            simultaneous: tier.anew(stream.codes, own=not once) for simultaneous, tier in self._shared.items()
        }
        routed = {id(tier): tier.anew(factory) for _, (_, tier) in self._streams.values()}
        found._streams = {own: (key, (name, routed[id(tier)])) for own, (key, (name, tier)) in self._streams.items()}
        found._kinds = {
            own: (variant, routed[id(kind)] if isinstance(kind, RoutedTier) else kind, name)
            for own, (variant, kind, name) in self._kinds.items()
        }
        found._templates, found._text_kinds = dict(self._templates), dict(self._text_kinds)
        found._known_chains = dict(self._known_chains)
        found.reasons = dict(self.reasons)
        shared = {id(tier): found._shared[simultaneous] for simultaneous, tier in self._shared.items()}
        return found, {**shared, **routed}

    def split(self, template: Template, rules: Rules) -> Iterator[Planned]:
        """The rules of a template by the tier that runs them, by its name, and what it must know of them."""
        if template.texts:
            yield from self._split_texts(template, rules)
        else:
            yield from self._split(template, rules, _Label(rules.template))

    def _split_texts(self, template: Template, rules: Rules) -> Iterator[Planned]:
        """Rules that are texts: by their conditions into the shared tables; others are read one by one."""
        framed = rules.read_texts()
        left = np.arange(len(rules))
        if self._share:
            known = self._known_chains.setdefault(rules.template, KnownChains())
            shared = shared_rules(framed, lambda program: self._compiled(template, program), known)
            left = shared.left
            for part, program in zip(shared.rules, shared.programs, strict=True):
                try:
                    check_code(part.chain)
                except NotNative:
                    left = np.append(left, part.numbers)
                    continue
                sound = fitting(part)
                left = np.append(left, np.delete(part.numbers, sound))
                if len(sound):
                    yield self._of_texts(template, rules, part.take(sound), program)
        if len(left):
            yield from self._split_others(template, rules.take(np.sort(left)))

    def _of_texts(self, template: Template, rules: Rules, part: ChainRules, program: Program) -> Planned:
        key = rules.template, part.chain.valued, repr(program)
        if key not in self._text_kinds:
            joined = self._joined(template, program)
            self._text_kinds[key] = self._chain_kind(rules.template, joined, part.chain)
        kind = self._text_kinds[key]
        # The chain may differ in what its tests are compared with: it is that of these rules.
        numbered = replace(part, numbers=rules.numbers[part.numbers])
        own = Rules(rules.template, numbered.numbers, numbered.constants)
        name = "shared instants" if part.chain.simultaneous else "shared"
        return name, self._tables(kind), own, TextRules(kind, numbered)

    def _split_others(self, template: Template, rules: Rules) -> Iterator[Planned]:
        """Texts by what is left without their constants."""
        reading = read_texts(rules.texts())
        for wrong in reading.wrong:
            raise wrong.error  # which the reader of the rules has told already
        for found in reading.templates:
            own = replace(template, program=found.program, parameters=tuple(found.columns), texts=False)
            columns = {constant_column(name): column for name, column in found.columns.items()}
            some = Rules(rules.template, rules.numbers[found.texts], pa.table(columns))
            mark = sha256(repr(own.key[:3]).encode()).hexdigest()[:16]
            yield from self._split(own, some, _Label(rules.template, f".{mark}"))

    def _joined(self, template: Template, program: Program) -> Joined:
        params = template.params or {}
        varied = VariedTemplate(program, self._roles, template.functions or {}, self._stream.schema, params)
        try:
            return join(varied.bind(params))
        except NotJoinedError as why:
            raise NotChained(str(why)) from None

    def _compiled(self, template: Template, program: Program) -> CompiledQuery:
        compiled = CompiledQuery(self._joined(template, program).bound)
        self._stream.codes.derive(compiled.derived, compiled.pieces)
        return compiled

    def _split(self, template: Template, rules: Rules, label: _Label) -> Iterator[Planned]:
        if label not in self._templates:
            self._templates[label] = VariedTemplate(
                template.program, self._roles, template.functions or {}, self._stream.schema, template.params
            )
        try:
            columns = {name[1:]: rules.constants.column(name) for name in rules.constants.column_names}
            given = pa.table(columns) if columns else pa.table({"": pa.nulls(len(rules))})
            shares, wrong = self._templates[label].split(given)
        except NotJoinedError as why:
            yield self._on_its_own(template, rules, label, str(why))
            return
        for share in shares:
            name, kind = self._kind(label, share.variant)
            if isinstance(kind, ChainKind) and not fits(kind.chain, share.constants):
                name, kind = self._routed(label, share.variant, "constants at the end of the integers")
            tier = kind if isinstance(kind, RoutedTier) else self._tables(kind)
            constants = share.constants
            if isinstance(kind, ChainKind) and share.variant.joined.windowed:
                constants = _in_ticks(constants, self._stream.schema.tick)
            numbers = rules.numbers if len(share.rows) == len(rules) else rules.numbers[share.rows]
            own = replace(rules, numbers=numbers, constants=constants, within=None)
            yield name, tier, own, kind
        for one in wrong:
            raise one.error

    def _on_its_own(self, template: Template, rules: Rules, label: _Label, why: str) -> Planned:
        if label not in self._alone:
            self._alone[label] = Alone(
                label.template, template, self._roles, self._stream.schema, self._factory, once=self._once
            )
            self.reasons[f"alone {label}"] = why
        return f"alone {label}", self._alone[label], rules, None

    def _kind(self, label: _Label, variant: Variant) -> tuple[str, ChainKind | RoutedTier]:
        if id(variant) not in self._kinds:
            kind: ChainKind | RoutedTier
            try:
                kind = self._chain(label.template, variant)
                name = "shared instants" if kind.chain.simultaneous else "shared"
            except (NotChained, NotNative) as why:
                name, kind = self._routed(label, variant, str(why))
            self._kinds[id(variant)] = variant, kind, name
        _, kind, name = self._kinds[id(variant)]
        return name, kind

    def _routed(self, label: _Label, variant: Variant, why: str) -> tuple[str, RoutedTier]:
        if id(variant) not in self._streams:
            alike = sum(own == (label, variant.key) for own, _ in self._streams.values())
            tier = RoutedTier(label.template, variant.joined, self._factory)
            self._streams[id(variant)] = (label, variant.key), (f"routed {label} {variant.key} {alike}", tier)
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
        return self._chain_kind(template, joined, chain)

    @staticmethod
    def _chain_kind(template: int, joined: Joined, chain: Chain) -> ChainKind:
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
