"""A tree printed as Python code is the tree again when the code is run, and when it is read without being run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.builder.printed import print_python
from cepheid.builder.read_python import read_python
from cepheid.language import parse, print_program
from cepheid.pattern.tree.nodes import Program
from cepheid.testing.strategies import any_programs, programs, queries, schemas


def _run(code: str) -> Program:
    """The tree that the code makes: what it passes to Query."""
    made: list[Program] = []

    class Catching:
        def __getattr__(self, name: str) -> object:
            return getattr(cep, name)

        @staticmethod
        def Query(query: object) -> None:  # noqa: N802
            made.append(parse(query) if isinstance(query, str) else getattr(query, "program", query))

    exec(code.replace("import cepheid as cep\n", ""), {"cep": Catching()})
    return made[0]


@given(any_programs())
def test_any_program_is_built_again(program: Program) -> None:
    read = parse(print_program(program))
    assert _run(print_python(read)) == read_python(print_python(read)) == read


@given(st.data())
def test_valid_queries_are_built_again(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    query = data.draw(st.one_of(queries(schema), programs(schema)))
    read = parse(query.text)
    assert _run(print_python(read)) == read_python(print_python(read)) == read


def test_most_clauses_are_written_with_the_builder() -> None:
    text = (
        "PATTERN SEQ(Shelf a, !(Register b), Exit+ c[]) "
        "WHERE skip_till_next_match(a, b, c) { [tag_id] AND [site = 'north'] AND c[i].price >= 0.8 * c[i-1].price "
        "AND (a.kind NOT IN ('x', 'y') OR a.kind IS NULL) AND 5 < a.n } "
        "PARTITION BY shop WITHIN 12 hours HAVING count(c[]) > 2 RETURN a.tag_id AS tag, c[] AS exits INTO Seen "
        "OUTPUT LONGEST COOLDOWN 5 minutes"
    )
    assert print_python(parse(text)) == (
        "import cepheid as cep\n"
        "\n"
        'a, b, c = cep.var("a"), cep.var("b"), cep.var("c")\n'
        "query = cep.Query(\n"
        "    cep.seq(\n"
        '        cep.event("Shelf", a),\n'
        '        ~cep.event("Register", b),\n'
        '        cep.event("Exit", c).one_or_more(),\n'
        "    )\n"
        '    .strategy("skip_till_next_match", a, b, c)\n'
        '    .same("tag_id")\n'
        '    .same(site="north")\n'
        "    .where(\n"
        "        c.current.price >= 0.8 * c.previous.price,\n"
        '        ~a.kind.is_in(["x", "y"]) | a.kind.is_null(),\n'
        "        cep.lit(5) < a.n,\n"
        "    )\n"
        '    .partition_by("shop")\n'
        '    .within("12 hours")\n'
        "    .having(cep.count(c.each) > 2)\n"
        "    .returns(tag=a.tag_id, exits=c.each)\n"
        '    .into("Seen")\n'
        '    .longest(cooldown="5 minutes")\n'
        ")"
    )
