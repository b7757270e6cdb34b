"""The text of some kernels, as a reader sees it: `pytest --complete` writes it anew."""

from pathlib import Path

import pytest
from joins import bound

from cepheid.kernel.join.generate import generate_join
from cepheid.plan.join import make_join

GOLDEN = Path(__file__).parent / "golden"
KERNELS = {
    "sequence": ("SEQ(A a, B b, C c) WHERE [k] AND a.x > 3 WITHIN 10", (2, 1, 0)),
    "lookup": ("SEQ(A a, B b) WHERE a.f < b.f WITHIN 10", (1, 0)),
    "absent": ("SEQ(A a, !(X n), AND(B b, C c)) WHERE n.x = a.x WITHIN 10", (0, 1, 2)),
    "tree": ("SEQ(A a, B b, C c) WHERE a.x != c.x", None),
}


@pytest.mark.parametrize("name", KERNELS)
def test_that_a_kernel_reads_as_if_somebody_had_written_it(name: str, request: pytest.FixtureRequest) -> None:
    text, order = KERNELS[name]
    query = bound(text)
    kernel = generate_join(make_join(query), frozenset(), query.window, order)
    found = f"# {text}\n\n" + "\n\n".join(code.text for code in kernel.functions)
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--complete"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_that_no_constant_is_in_the_text() -> None:
    """Another number, string or window needs no other kernel."""
    texts = []
    for number, string, window in ((3, "u", 10), (4, "v", 2000)):
        query = bound(
            f"SEQ(A a, B b) WHERE a.x > {number} AND b.s = '{string}' AND a.x < b.x + {number} WITHIN {window}"
        )
        kernel = generate_join(make_join(query), frozenset(), query.window, (1, 0))
        texts.append([code.text for code in kernel.functions])
        values = [constant.value for function in (kernel.select, kernel.construct) for constant in function.constants]
        assert values == [window, string, number, window, number]
    assert texts[0] == texts[1]
