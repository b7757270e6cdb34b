"""Built queries run: what the builder makes is what `cepheid.Query` takes."""

from cepheid import Query
from cepheid import builder as cep

a, b = cep.var("a"), cep.var("b")
HOUR = 3_600_000


def test_shoplifting() -> None:
    stolen = (
        cep.seq(cep.event("Shelf", "a"), ~cep.event("Register", "b"), cep.event("Exit", "c"))
        .same("tag_id")
        .within("12 hours")
    )
    events = [
        {"ts": 0, "type": "Shelf", "tag_id": 1},
        {"ts": HOUR, "type": "Shelf", "tag_id": 2},
        {"ts": 2 * HOUR, "type": "Register", "tag_id": 1},
        {"ts": 3 * HOUR, "type": "Exit", "tag_id": 1},
        {"ts": 4 * HOUR, "type": "Exit", "tag_id": 2},
    ]
    assert Query(stolen).match(events).to_pylist() == [
        {"match_start": HOUR, "match_end": 4 * HOUR, "a": events[1], "c": events[4]}
    ]


def test_a_rise_with_parameters_and_functions() -> None:
    rise = (
        cep.seq(cep.event("Stock", a).one_or_more(), cep.event("Stock", b))
        .strategy("skip_till_next_match")
        .where(
            a.current.price > a.previous.price,
            b.price < cep.call("half", a.last.price),
            a.len >= cep.param("least"),
        )
        .within(cep.param("T"))
        .returns(prices=cep.call("text", cep.count(a.each)), fall=a.last.price - b.price)
    )
    query = Query(
        rise,
        params={"least": 3, "T": "10 minutes"},
        functions={"half": lambda price: price / 2, "text": str},
    )
    events = [{"ts": n, "type": "Stock", "price": price} for n, price in enumerate([10, 12, 15, 4])]
    assert query.match(events).to_pylist() == [{"match_start": 0, "match_end": 3, "prices": "3", "fall": 11}]


def test_a_program_of_two_queries() -> None:
    pair = cep.program(
        cep.seq(cep.event("A", a), cep.event("B", b)).returns(x=a.x).into("Pair"),
        cep.seq(cep.event("Pair", a), cep.event("Pair", b))
        .from_("Pair")
        .where(a.x < b.x)
        .returns(first=a.x, second=b.x),
    )
    events = [{"ts": n, "type": kind, "x": n} for n, kind in enumerate("ABAB")]
    assert Query(pair).match(events).to_pylist() == [{"match_start": 0, "match_end": 3, "first": 0, "second": 2}]
