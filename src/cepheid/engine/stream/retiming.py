"""Arcs that come and go in a running stream where the code stays: only columns say something else from a time on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cepheid.engine.machines.scan_machine import ScanMachine
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.lifetimes import Member, TrackedAutomaton
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.front.automata.one_arc import BindArc
from cepheid.front.automata.timeline import AddArc, Change, RemoveArc, lasting
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Fires


def retimed(pipeline: Pipeline, changes: Sequence[Change], since: int | None, bind: BindArc) -> CompiledQuery | None:
    """What runs the automaton of a pipeline after some changes, on events from a time on.

    None where that needs other code, or where the changes are to be refused.
    """
    machine = _machine(pipeline)
    if machine is None:
        return None
    compiled = pipeline.cache.query(0, pipeline.schema)
    settled = compiled.lasting.settled
    automaton = None if settled is None else _after(settled, changes, compiled.query, bind)
    if settled is None or automaton is None:
        return None
    again = settled.retimed(_lasting(automaton, since), pipeline.schema, since)
    return None if again is None else compiled.retimed(again)


def retime(pipeline: Pipeline) -> None:
    """Go on with what the cache of a pipeline has now."""
    compiled = pipeline.cache.query(0, pipeline.schema)
    machine = _machine(pipeline)
    assert machine is not None
    machine.retime(compiled.lasting)


def _machine(pipeline: Pipeline) -> ScanMachine | None:
    machine = pipeline.queries[0].machine
    return machine if isinstance(machine, ScanMachine) and machine.scan.compiled.lasts else None


def _after(settled: TrackedAutomaton, changes: Sequence[Change], query: Runnable, bind: BindArc) -> list[Member] | None:
    """The arcs after some changes, by the rules of `with_changes`; None where one is refused or has a new shape."""
    members = list(settled.members)
    for change in changes:
        at = int(str(change.at))
        if isinstance(change, RemoveArc):
            place = next((k for k in reversed(range(len(members))) if members[k].name == change.name), None)
            if place is None:
                return None
            member = members[place]
            if member.until is not None and member.until <= at:
                return None
            members[place] = replace(member, until=at)
            continue
        added = _added(settled, change, at, query, bind)
        if added is None or any(_at_once(member, added) for member in members):
            return None
        members.append(added)
    return members


def _added(settled: TrackedAutomaton, change: AddArc, at: int, query: Runnable, bind: BindArc) -> Member | None:
    until = None if change.until is None else int(str(change.until))
    if (until is not None and until <= at) or change.arc.fires is not Fires.EVENT:
        return None
    return settled.member(replace(bind(change.arc, query), since=at, until=until))


def _at_once(member: Member, added: Member) -> bool:
    """Whether two arcs have one name, and are there at one time."""
    if added.name is None or member.name != added.name or added.since is None:
        return False
    goes_on = member.until is None or member.until > added.since
    return goes_on and (added.until is None or member.since is None or member.since < added.until)


def _lasting(members: Sequence[Member], since: int | None) -> list[Member]:
    """Without arcs whose lifetime is over, but for the first of each shape."""
    if since is None:
        return list(members)
    kept = lasting([(member.shape, member) for member in members], since)
    return [members[place] for place in kept]
