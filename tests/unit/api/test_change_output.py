"""What a user of changes sees first: how they are shown, and what is refused with which words."""

from __future__ import annotations

import pytest

import cepheid as cep

PAIR = "PATTERN SEQ(A a, B b) RETURN b.ts AS b"


def rows(types: str) -> list[dict[str, object]]:
    return [{"ts": ts, "type": name} for ts, name in enumerate(types)]


class TestShown:
    def test_the_first_five_with_those_that_are_taken_back_first(self) -> None:
        query = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { } OUTPUT NON_OVERLAP RETURN b.ts AS b"
        s = cep.Query(query).session(speculate="all")
        s.push([{"ts": 1, "type": "A"}, {"ts": 5, "type": "B"}])
        assert repr(s.push([{"ts": 3, "type": "B"}])) == (
            "<2 changes>\nop  match_start  match_end  b\n-   1            5          5\n+   1            3          3"
        )

    def test_there_is_more(self) -> None:
        changes = cep.Query("EVENT A a RETURN a.ts AS t").session(speculate="all").push(rows("A" * 12))
        assert repr(changes).splitlines()[0] == "<12 changes>"
        assert len(repr(changes).splitlines()) == 8
        assert repr(changes).endswith("…")
        assert changes._repr_html_().count("<tr>") == 11
        assert "</table><p>…</p><svg " in changes._repr_html_()  # a time line follows

    def test_none(self) -> None:
        changes = cep.Query(PAIR).session(speculate="all").push([])
        assert repr(changes) == "<no changes: op, match_start, match_end, b>"
        assert changes._repr_html_() == "<p>&lt;no changes: op, match_start, match_end, b&gt;</p>"

    def test_more_than_can_be_enumerated(self) -> None:
        s = cep.Query("PATTERN SEQ(A a, B+ b[], C c) WITHIN 1 hour").session(lateness=0, speculate=0)
        changes = s.push(rows("A" + 80 * "B" + "CD"))
        assert repr(changes).startswith("<1208925819614629174706175 changes>\nop  match_start")


class TestColumns:
    @pytest.mark.parametrize(
        "query",
        [
            "EVENT A a RETURN a.ts AS op",
            "PATTERN SEQ(A op, B b)",
            "EVENT A a RETURN a.ts AS op INTO X; FROM X EVENT X x RETURN x.op AS t",
        ],
    )
    def test_op_is_the_column_of_changes(self, query: str) -> None:
        q = cep.Query(query)
        with pytest.raises(cep.PatternError, match="CEP212: every change already has a column 'op'"):
            q.session(speculate=0)
        q.session()
        q.session(op="kind")  # which returns matches

    def test_a_negated_variable_is_no_column(self) -> None:
        changes = cep.Query("PATTERN SEQ(A a, !(N op), B b)").session(speculate="all").push(rows("AB"))
        assert [change["op"] for change in changes] == ["+"]

    def test_match_id_of_a_change_is_its_own(self) -> None:
        changes = cep.Query("EVENT A a RETURN match_id").session(speculate="all").push(rows("A"))
        assert changes.to_arrow().column_names == ["op", "match_start", "match_end", "match_id"]
        with pytest.raises(cep.PatternError, match="CEP212: every change already has a column 'match_id'"):
            changes.to_arrow(ids=True)


class TestWords:
    def test_speculate(self) -> None:
        with pytest.raises(cep.UsageError, match="speculate can't be 'al'\nhelp: pass \"all\", a duration"):
            cep.Query(PAIR).session(speculate="al")

    @pytest.mark.parametrize(
        ("retracted", "message"),
        [
            ("B", "CEP408: a retraction is of an event that has not come, and can't come any more, at 0"),
            ("BB", "CEP408: 2 retractions are of events that have not come, and can't come any more, the first at "),
        ],
    )
    def test_debts(self, retracted: str, message: str) -> None:
        s = cep.Query(PAIR).session(speculate="all")
        s.push(rows("A"))
        s.retract(rows(retracted))
        with pytest.raises(cep.InputError, match=message) as caught:
            s.close()
        assert caught.value.message.endswith(": {ts: 0, type: B}")
        assert caught.value.remedy.startswith("push what is retracted, which cancels both")
        s.push(rows(retracted))
        assert len(s.close()) == 0

    def test_rows_of_a_retraction_say_nothing_of_their_own(self) -> None:
        s = cep.Query(PAIR).session(speculate="all", op="op")
        s.push([{"op": "+", **row} for row in rows("AB")])
        message = "CEP409: the rows that retract is given have the column 'op'\nhelp: leave it out, or pass the"
        with pytest.raises(cep.InputError, match=message):
            s.retract([{"op": "-", **row} for row in rows("A")])
        with pytest.raises(cep.InputError, match="the rows that revise is given have the column 'op'"):
            s.revise(rows("A"), [{"op": "+", **row} for row in rows("A")])
        assert [change["op"] for change in s.retract(rows("A"))] == ["-"]

    @pytest.mark.parametrize(
        ("retracted", "message"),
        [
            ("B", "CEP012: a retraction is ignored: its event was never inserted"),
            ("BB", "CEP012: 2 retractions are ignored: their events were never inserted"),
        ],
    )
    def test_retractions_of_a_table(self, retracted: str, message: str) -> None:
        table = [{"op": "+", **row} for row in rows("A")] + [{"op": "-", **row} for row in rows(retracted)]
        with pytest.warns(cep.CepheidWarning, match=message):
            cep.Query(PAIR).match(table, op="op")
