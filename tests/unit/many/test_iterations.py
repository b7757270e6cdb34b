"""ITERATE[ID, …] of CESAR: every later event in time, which is a wait that nothing ends."""

from random import Random

import pytest
from rule_sets import check, quotes

import cepheid as cep
from cepheid.api.many import framed_texts

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
TEMPLATES = {
    "any": "CESAR LET S1, S2 := Stock ITERATE[ID, DUR <= 6](SELECT[S1.price = p](S1), S2)",
    "two": "CESAR LET S1, S2, S3 := Stock SELECT[S3.price <= p](ITERATE[ID, S3.symbol = 'u' AND DUR <= 9]("
    "SELECT[S2.price >= p](ITERATE[ID, S2.symbol = 'u' AND DUR <= 9](SELECT[S1.price = p](S1), S2)), S3))",
    "agreeing": "CESAR LET S1, S2 := Stock SELECT[S2.price > p](ITERATE[ID, S1.symbol = S2.symbol AND DUR <= 6]("
    "SELECT[S1.price = p](S1), S2))",
    "no end": "CESAR LET S1, S2 := Stock SELECT[S2.price = p](ITERATE[ID, TRUE](SELECT[S1.price = p](S1), S2))",
}


def stream(seed: int) -> list[dict[str, object]]:
    chance = Random(seed)
    return quotes(*((ts // (1 + seed), chance.choice(["u", "u", "v", None]), chance.randrange(4)) for ts in range(30)))


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("seed", range(3))
def test_each_rule_gives_what_it_gives_alone(name: str, seed: int) -> None:
    rules = [{"id": k, "p": k % 4} for k in range(6)]
    assert check(TEMPLATES[name], rules, stream(seed))
    told = str(cep.Queries(TEMPLATES[name], rules).explain(stream(seed)))
    assert ("Shared tables" in told) is (name != "agreeing")


def test_texts_are_read_by_their_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed_texts, "MANY_SKELETONS", 2)
    chance = Random(5)
    conditions = ["{0}.price = {1}", "{0}.price < {1}", "{0}.symbol = 'u' AND {0}.price >= {1}"]
    texts = []
    for _ in range(40):
        first, second = (chance.choice(conditions).format(name, chance.randrange(1, 4)) for name in ("S1", "S2"))
        texts.append(
            f"CESAR LET S1, S2 := Stock SELECT[{second}](ITERATE[ID, S2.symbol = '{chance.choice('uv')}' "
            f"AND DUR <= {chance.randrange(3, 5)}](SELECT[{first}](S1), S2))"
        )
    queries = cep.Queries(texts)
    assert len(queries.rules.templates) == 1
    found = queries.match(stream(1))
    assert len(found) > 100
    assert found.to_pylist() == queries.match(stream(1), engine="reference").to_pylist()
