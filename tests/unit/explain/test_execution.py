"""How a query runs on events of a schema, as `explain(schema)` tells it."""

import pyarrow as pa
import pytest

import cepheid as cep

SCHEMA = pa.schema(
    [("ts", pa.int64()), ("type", pa.string()), ("id", pa.int64()), ("x", pa.float64()), ("name", pa.string())]
)


def execution(text: str, **settings: object) -> list[str]:
    """The lines of the section, without their indent."""
    shown = str(cep.Query(text, **settings).explain(SCHEMA))
    return [line.strip() for line in shown.split("\nExecution\n")[1].splitlines()]


def test_a_generated_kernel() -> None:
    query = "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].x > a.x AND c.x > avg(b[].x) WITHIN 1 hour"
    assert execution(query) == [
        "on a generated kernel: 2 states, 3 registers",
        "state 0, after a: holds a_x; runs that agree on these are merged",
        "state 1, after b: holds a_x, b_count_x, b_total_x; runs that agree on these are merged",
    ]


def test_a_state_whose_runs_are_all_alike() -> None:
    found = execution("PATTERN SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 1 hour")
    assert found[0] == "on a generated kernel: 2 states, 0 registers"
    assert found[1:] == [f"state {k}, after {v}: holds nothing; one run for each partition" for k, v in enumerate("ab")]


@pytest.mark.parametrize(
    ("text", "settings", "reason"),
    [
        ("PATTERN SEQ(A a, B b) WHERE a.name < b.name", {}, "strings compared by their order"),
        (
            "PATTERN SEQ(A+ a[], !(N n), B b) WHERE n.x > b.x WITHIN 1 hour",
            {},
            "an absent event, compared with a later one",
        ),
        (
            "PATTERN SEQ(A a, B b) WHERE [id]",
            {"types": {"A": ["id"], "B": ["id"]}},
            "[attr] with declared types",
        ),
    ],
)
def test_interpreted_with_the_reason(text: str, settings: dict[str, object], reason: str) -> None:
    assert execution(text, **settings) == [f"interpreted, one event after the other: {reason}"]
    assert cep.Query(text, **settings).explain(SCHEMA).sources == ("",)


def test_stacks_where_runs_would_be_interpreted() -> None:
    text = "PATTERN SEQ(A a, !(N n), B b) WHERE n.x > b.x AND a.id = 3 WITHIN 1 hour"
    assert execution(text) == [
        "on a generated kernel: 3 stacks",
        "stack a: A with a.id = 3; stored; holds nothing",
        "stack b: B; used at once if a came before it in the window; holds x",
        "stack n: N; stored if a came before it in the window; holds x",
    ]
    shown = str(cep.Query(text).explain(SCHEMA))
    assert "stacks: runs would be interpreted: an absent event, compared with a later one" in shown


class TestUserFunctions:
    def test_of_one_event(self) -> None:
        found = execution("PATTERN SEQ(A a, B b) WHERE Odd(a.id)", functions={"Odd": lambda n: n % 2 == 1})
        assert found[0].startswith("on a generated kernel: ")
        assert found[-2:] == [
            "computed once for each batch: Odd(a.id)",
            "user function Odd: called once for each event of its type, before the kernel runs",
        ]

    def test_of_several(self) -> None:
        near = {"Near": lambda x, y: abs(x - y) < 1}
        assert execution("PATTERN SEQ(A a, B b) WHERE Near(a.x, b.x)", functions=near) == [
            "interpreted, one event after the other: Near over several events",
            "user function Near: called for each run and event",
        ]

    def test_are_called_as_it_says(self) -> None:
        called: list[int] = []

        def odd(n: int) -> bool:
            called.append(n)
            return n % 2 == 1

        rows = [{"ts": t, "type": k, "id": t, "x": 0.0, "name": ""} for t, k in enumerate("AABBB")]
        found = cep.Query("PATTERN SEQ(A a, B b) WHERE Odd(b.id)", functions={"Odd": odd}).match(rows)
        assert (found.count(), called) == (2, [2, 3, 4])


def test_conditions_that_no_kernel_has() -> None:
    assert "computed once for each batch: a.name LIKE 'x%'" in execution("PATTERN A a WHERE a.name LIKE 'x%'")


def test_the_sources() -> None:
    made = cep.Query("PATTERN SEQ(A a, B b) RETURN a.id AS id INTO P; FROM P PATTERN SEQ(P p, P q)").explain(SCHEMA)
    assert made.sources[0].startswith("def scan(")
    compile(made.sources[0], "scan", "exec")
    assert "starts" in made.sources[1]
    assert str(made).count("\nExecution\n") == 2
    assert str(made).endswith("state 0, after p: holds end; runs that agree on these are merged")


def test_without_a_schema() -> None:
    plain = cep.Query("PATTERN SEQ(A a, B b)").explain()
    assert plain.sources == ()
    assert "Execution" not in str(plain)
    assert str(cep.Query("PATTERN SEQ(A a, B b)").explain(SCHEMA)).startswith(str(plain))


def test_what_are_no_events() -> None:
    with pytest.raises(cep.InputError):
        cep.Query("PATTERN A a").explain(3)
