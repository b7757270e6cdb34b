# ruff: noqa: E501  as long as the lines of the paper
"""CESAR expressions as papers print them."""

import pytest

from cepheid import ParseError
from cepheid.language import parse
from cepheid.language.algebra.printed import without_latex

STOCK = "LET S_1, S_2, S_3 := Stock\n"


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"\sigma_{\theta_3}(S)", "SELECT[θ3](S)"),
        (r"\sigma_{\theta_{3}}(S)", "SELECT[θ3](S)"),
        (r"\sigma_\theta(S)", "SELECT[θ](S)"),
        ("σ_θ_3(S)", "SELECT[θ3](S)"),
        ("σ_θ3(S)", "SELECT[θ3](S)"),
        (r"$\sigma_{\mathfrak{F}}(S_{1})$", "SELECT[F](S_1)"),
        (r"\left( S_1 \cup S_2 \right)", "S_1 UNION S_2"),
        (r"S_1 ;_{\theta}(S_2 ; S_3)", "S_1 ;[θ] (S_2 ; S_3)"),
        (r"S_1 \, ;_\theta \, S_2", "S_1 ;[θ] S_2"),
        (r"\pi_{\text{name, price}}(S)", "PROJECT[name, price](S)"),
        (r"\rho_{\text{price} \mapsto \text{oldprice}}(S)", "RENAME[price -> oldprice](S)"),
        (r"\alpha_{x \mapsto \frac{a + \frac{b}{2}}{2}}(S)", "ADD[x := (a + (b / 2)) / 2](S)"),
        (r"\alpha_{x \mapsto a \times \frac{b}{c}}(S)", "ADD[x := a * (b / c)](S)"),
        (
            r"\sigma_{a \neq 1 \wedge b \leq 10{,}000 \lor \neg c \geq 2}(S)",
            "σ[a != 1 AND b <= 10000 OR NOT c >= 2](S)",
        ),
        (r"\mu_{\text{ID}, \theta}(\mathcal{E}_1, \mathcal{E}_{2})", "ITERATE[ID, θ](E_1, E_2)"),
        ("µ_{ID, c}(A, B)", "ITERATE[ID, c](A, B)"),  # the micro sign
        (r"\sigma_{\text{S\_1}.x = 'S\_1'}(S)", r"SELECT[S_1.x = 'S\_1'](S)"),
        # The five templates of the benchmark; 2.4; Lemma 2 and Theorem 3.
        (
            r"\sigma_{\theta_3}(\sigma_{\theta_2}(\sigma_{\theta_1}(S_1); S_2); S_3)",
            "σ[θ3](σ[θ2](σ[θ1](S_1) ; S_2) ; S_3)",
        ),
        (
            r"\sigma_{\theta_3}(\sigma_{\theta_2}(\sigma_{\theta_1}(S_1) ;_{\theta_4} S_2) ;_{\theta_5} S_3)",
            "SELECT[θ3](SELECT[θ2](SELECT[θ1](S_1) ;[θ4] S_2) ;[θ5] S_3)",
        ),
        (
            r"\sigma_{\theta_3} \circ \mu_{\text{ID}, \theta_5}(\sigma_{\theta_2} \circ \mu_{\text{ID}, \theta_4}"
            r"(\sigma_{\theta_1}(S_1), S_2), S_3)",
            "SELECT[θ3](ITERATE[ID, θ5](SELECT[θ2](ITERATE[ID, θ4](SELECT[θ1](S_1), S_2)), S_3))",
        ),
        (
            r"LET g_1, g_2, g_3 := n \mapsto 1 "
            r"\alpha_{g_3}(\mu_{\alpha_{g_2} \circ \mathcal{F}, \theta}(\alpha_{g_1}(\mathcal{E}_1), \mathcal{E}_2))",
            "LET g_1, g_2, g_3 := n := 1 ADD[n := 1](ITERATE[ADD[n := 1] . SELECT[F], θ](ADD[n := 1](E_1), E_2))",
        ),
        (
            r"LET X := (a, b) \to (b, a) \rho_X \circ \sigma_{\theta_4}(\mu_{\rho_{X} \circ \sigma_{\theta_3}, \theta_2}(A, B))",
            "LET X := a -> b, b -> a RENAME[X](SELECT[θ4](ITERATE[RENAME[X] . SELECT[θ3], θ2](A, B)))",
        ),
        # Query 5.
        (
            STOCK + r"LET \theta_1 \equiv S_1.\text{name} = S_2.\text{name}" + "\n"
            r"LET $\theta_2$ \equiv $S_2.\text{price} > S_2.\text{price.last}$ LET \theta_3 := \text{DUR} \geq 30 \text{ min}"
            r" \sigma_{\theta_3} (\mu_{\sigma_{\theta_2}, \theta_1}(S_1, S_2))",
            STOCK + "LET θ1 := S_1.name = S_2.name LET θ2 := S_2.price > S_2.price.last LET θ3 := DUR >= 30 minutes "
            "SELECT[θ3](ITERATE[SELECT[θ2], θ1](S_1, S_2))",
        ),
        # Query 6.
        (
            STOCK
            + r"""LET \theta := name = 'IBM' LET g_1 := AVG $\mapsto$ price, COUNT $\mapsto$ 1
            LET g_2 := AVG $\mapsto$ $\frac{\text{COUNT.last} \times \text{AVG.last} + \text{price}}{\text{COUNT.last} + 1}$,
                COUNT $\mapsto$ COUNT.last + 1
            LET \mathcal{E} := \sigma_{\text{DUR}=52 \text{ weeks}}(\mu_{\alpha_{g_2}, \text{TRUE}}
                (\alpha_{g_1} \circ \sigma_{\theta}(S_1), \sigma_{\theta}(S_2)))
            LET \theta_1 := S_3.name = 'IBM' LET \theta_2 := S_3.price > AVG
            \sigma_{\theta_2}(\mathcal{E} \ ;_{\theta_1} S_3)""",
            STOCK
            + """LET θ := name = 'IBM' LET g_1 := AVG := price, COUNT := 1
            LET g_2 := AVG := (COUNT.last * AVG.last + price) / (COUNT.last + 1), COUNT := COUNT.last + 1
            LET E := SELECT[DUR = 52 weeks](ITERATE[ADD[g_2], TRUE](ADD[g_1](SELECT[θ](S_1)), SELECT[θ](S_2)))
            LET θ1 := S_3.name = 'IBM' LET θ2 := S_3.price > AVG
            SELECT[θ2](E ;[θ1] S_3)""",
        ),
        # Query 7.
        (
            r"""\begin{aligned}
            LET S_1 &\equiv \rho_{f_1} \circ \pi_{\text{name, price}} \circ \sigma_{\theta_1}(S) \\
            LET S_2 &\equiv \rho_{f_2} \circ \pi_{\text{name, price}}(S) \\
            LET S_3 &\equiv \rho_{f_3} \circ \pi_{\text{name, price}}(S)
            \end{aligned}
            LET \theta_1 &\equiv \text{vol} > 10,000 \\
            LET \theta_2 &\equiv \text{company} = \text{company.last} \\
            LET \theta_3 &\equiv \theta_2 \wedge \text{minP} < \text{minP.last} \\
            LET \theta_4 &\equiv \theta_3 \wedge \text{DUR} \geq 10 \text{ min} \\
            LET \theta_5 &\equiv \theta_2 \wedge \text{price} > 1.05 \text{ minP} \\
            LET f_1 &\equiv (\text{name, price}) \mapsto (\text{company, maxP}) \\
            LET f_2 &\equiv (\text{name, price}) \mapsto (\text{company, minP}) \\
            LET f_3 &\equiv (\text{name, price}) \mapsto (\text{company, finalP}) \\
            \sigma_{\theta_5}(\sigma_{\theta_4}(\mu_{\sigma_{\theta_3}, \theta_2}(S_1, S_2)) \ ;_{\theta_2} S_3)""",
            """LET S_1 := RENAME[f_1](PROJECT[name, price](SELECT[θ1](S)))
            LET S_2 := RENAME[f_2](PROJECT[name, price](S))
            LET S_3 := RENAME[f_3](PROJECT[name, price](S))
            LET θ1 := vol > 10000
            LET θ2 := company = company.last
            LET θ3 := θ2 AND minP < minP.last
            LET θ4 := θ3 AND DUR >= 10 minutes
            LET θ5 := θ2 AND price > 1.05 * minP
            LET f_1 := name -> company, price -> maxP
            LET f_2 := name -> company, price -> minP
            LET f_3 := name -> company, price -> finalP
            SELECT[θ5](SELECT[θ4](ITERATE[SELECT[θ3], θ2](S_1, S_2)) ;[θ2] S_3)""",
        ),
        # Extrema, and Double-Top by resubscription.
        (
            STOCK
            + r"""LET \mathcal{E} := \sigma_{\theta_1}(\sigma_{\theta_2}(S_1 ;_{\theta_3} S_2) ;_{\theta_4} S_3)
            LET E_1, E_2, E_3, E_4, E_5 := \mathcal{E}
            LET \vartheta_2 &\equiv (0.9E_2.\text{price} \leq E_4.\text{price} \leq 1.1E_2.\text{price}) \\
            LET \phi_4 &\equiv (E_2.\text{price} \geq 1.2 * E_1.\text{price}) \\
            \sigma_{\theta_1}(\sigma_{\theta_2}(\sigma_{\theta_3}(\sigma_{\theta_4}(E_1 ;_{\theta_5} E_2) ;_{\theta_6} E_3)
                ;_{\theta_7} E_4) ;_{\theta_8} E_5)""",
            STOCK
            + """LET E := SELECT[θ1](SELECT[θ2](S_1 ;[θ3] S_2) ;[θ4] S_3)
            LET E_1, E_2, E_3, E_4, E_5 := E
            LET θ2 := 0.9 * E_2.price <= E_4.price AND E_4.price <= 1.1 * E_2.price
            LET φ4 := E_2.price >= 1.2 * E_1.price
            σ[θ1](σ[θ2](σ[θ3](σ[θ4](E_1 ;[θ5] E_2) ;[θ6] E_3) ;[θ7] E_4) ;[θ8] E_5)""",
        ),
    ],
)
def test_that_what_papers_print_is_read(latex: str, words: str) -> None:
    assert parse(f"CESAR {latex}") == parse(f"CESAR {words}")
    assert len(without_latex(latex)) == len(latex)


@pytest.mark.parametrize("text", [r"CESAR \foo(S)", r"CESAR \sigma_{\foo > 1}(S)", r"CESAR LET x := 1 < \foo S"])
def test_that_an_unknown_command_is_named(text: str) -> None:
    with pytest.raises(ParseError, match=r"this command of LaTeX is unknown") as caught:
        parse(text)
    assert caught.value.span is not None
    assert caught.value.span.excerpt == r"\foo"
