"""An automaton as a picture: text that Mermaid draws, as notebooks and many wikis do."""

from __future__ import annotations

import re

from cepheid.language import print_expression
from cepheid.pattern.automata import states_of
from cepheid.pattern.tree import Arc, Automaton, Fires


def draw(automaton: Automaton) -> str:
    """A flowchart: final states have two rings, arcs that take no event are dotted.

    >>> print(draw(Automaton("up", ("down",), (), (Arc("up", "down", name="fall"),))))
    flowchart LR
      begin(( )) --> s0
      s0(["up"])
      s1((("down")))
      s0 -->|"fall"| s1
    """
    numbers = {state: f"s{number}" for number, state in enumerate(states_of(automaton))}
    lines = [f"begin(( )) --> {numbers[automaton.start]}"]
    for state, number in numbers.items():
        left, right = ("(((", ")))") if state in automaton.finals else ("([", "])")
        lines.append(f'{number}{left}"{escaped(state)}"{right}')
    for arc in automaton.arcs:
        line = "-->" if arc.fires in (Fires.EVENT, Fires.INSTANT) else "-.->"
        label = "<br>".join(map(escaped, _label(arc)))
        lines.append(f'{numbers[arc.source]} {line}|"{label}"| {numbers[arc.target]}')
    return "\n  ".join(["flowchart LR", *lines])


def _label(arc: Arc) -> list[str]:
    """What an arc is called, what it is taken on, what it asks and what it assigns: a line each."""
    words = {Fires.INSTANT: "ON ALL", Fires.END: "AT END", Fires.NOTHING: "ε"}
    lines = [arc.name] if arc.name else []
    lines += ["ignored"] if arc.ignores else []
    lines += [words[arc.fires]] if arc.fires in words else []
    lines += [f"ON {', '.join(arc.types)}"] if arc.types else []
    lines += [print_expression(arc.condition)] if arc.condition is not None else []
    lines += [f"{assign.name} := {print_expression(assign.value)}" for assign in arc.assigns]
    return lines or ["any event"]


_SIGN = re.compile(r"""["#`;&]|<(?=[\w/!?])""")


def escaped(text: str) -> str:
    """Text in the quotes of Mermaid, which would read some signs as its own or as those of HTML."""
    return _SIGN.sub(lambda sign: f"#{ord(sign[0])};", " ".join(text.split()))
