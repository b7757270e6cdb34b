"""Functions that there are not: what to write instead."""

import pytest

import cepheid as cep


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        ("product(a[].x)", "pass your own: functions={'product': cep.Aggregate(start=…, step=…)}"),
        ("avrg(a[].x)", "did you mean 'avg'? Or pass your own: functions={'avrg': cep.Aggregate(start=…, step=…)}"),
        ("uper(b.s)", "did you mean 'upper'? Or pass your own: functions={'uper': …}"),
        ("score(b.s)", "pass your own: functions={'score': …}"),
        ("mean(a[].x)", "write avg(a[].x)"),
        ("NVL(b.x, 0)", "write coalesce(a.x, 0), or a.x IS NULL"),
        ("len(a)", "write a.LEN for the number of events, length(a.s) for that of characters"),
    ],
)
@pytest.mark.parametrize("clause", ["HAVING {} = 1", "RETURN {} AS y"])
def test_what_to_write_instead(call: str, remedy: str, clause: str) -> None:
    with pytest.raises(cep.BindError) as caught:
        cep.Query(f"PATTERN SEQ(A+ a[], B b) WITHIN 1 hour {clause.format(call)}")
    assert (caught.value.code, caught.value.column, caught.value.remedy) == ("CEP303", 47, remedy)
    assert caught.value.span is not None
    assert caught.value.span.excerpt == call
