"""CESAR expressions as papers print them, in LaTeX: the same text in plain characters."""

from __future__ import annotations

import re
from collections.abc import Callable

from cepheid.language.lexis import OPAQUE

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "vartheta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π",
    "rho": "ρ", "varrho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "varphi": "φ", "chi": "χ",
    "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π",
    "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
_SIGNS = {
    "circ": "∘", "cup": "∪", "bigcup": "∪", "mapsto": "↦", "longmapsto": "↦", "to": "→", "rightarrow": "→",
    "equiv": "≡", "coloneqq": ":=", "times": "*", "cdot": "*", "ast": "*", "div": "/", "wedge": "∧", "land": "∧",
    "vee": "∨", "lor": "∨", "neg": "¬", "lnot": "¬", "in": "∈", "leq": "<=", "leqslant": "<=", "le": "<=",
    "geq": ">=", "geqslant": ">=", "ge": ">=", "neq": "!=", "ne": "!=", "lt": "<", "gt": ">",
    "left": "", "right": "", "big": "", "Big": "", "bigl": "", "bigr": "", "Bigl": "", "Bigr": "",
    "quad": "", "qquad": "", "displaystyle": "",
}  # fmt: skip
_HINT = re.compile(r"[\\$µ]|_\s*\{|\{,\}|[α-ωΑ-Ω]_")
# Styles of letters: their braces go too.
_STYLE = re.compile(r"\\(?:text\w*|math\w+|mbox|operatorname|boldsymbol)\s*\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{((?:[^{}]|_\{\w+\})*)\}\s*\{((?:[^{}]|_\{\w+\})*)\}")
_AROUND = re.compile(r"\\(?:begin|end)\s*\{[a-z*]+\}(?:\{[lcr]+\})?|\\[\\,;:!()\[\] ]|\$|(?<!&)&(?!&)")
_THOUSANDS = re.compile(r"(\d+)\{,\}(\d{3})")
_UNDERSCORE = re.compile(r"(\w+)\\_(\w+)")
_PERCENT = re.compile(r"\\%")
_LETTER = re.compile(rf"\\({'|'.join(sorted(_GREEK, key=len, reverse=True))})(?![a-zA-Z])")
_SIGN = re.compile(r"\\([a-zA-Z]+)(?![a-zA-Z])")
_OPERATOR = "σπραμ"
_MICRO = re.compile(r"(?<![\w.])µ(?=\s*[\[_])")
# A Greek letter with an index is one name, with or without an underscore; other names keep theirs.
_GREEK_INDEX = re.compile(
    rf"(?:(?<![\w.])|(?<=[;{_OPERATOR}]_))"
    rf"((?![{_OPERATOR}])[α-ωΑ-Ω])[ \t]*_\s*(?:\{{\s*(\w+)\s*\}}|(\w+))"
)
_INDEX = re.compile(r"(?<![\w])((?!(?i:select|project|rename|add|then|iterate)_)[^\W\d_]\w*)_\{\s*(\w+)\s*\}")
_LONE = re.compile(rf"[{_OPERATOR}]\Z")


def without_latex(text: str) -> str:
    """The text in plain characters, of the same length: blanks fill it up, so that every place stays where it is."""
    if not _HINT.search(text):
        return text
    parts: list[str] = []
    end = 0
    for opaque in OPAQUE.finditer(text):
        parts += [_plain(text[end : opaque.start()]), opaque[0]]
        end = opaque.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    text = _MICRO.sub("μ", text)
    text = _THOUSANDS.sub(lambda part: f"{part[1]},{part[2]}".rjust(len(part[0])), text)
    text = _UNDERSCORE.sub(lambda part: f"{part[1]}_{part[2]}".rjust(len(part[0])), text)
    text = _PERCENT.sub(" %", text)
    text = _AROUND.sub(lambda part: " " * len(part[0]), text)
    text = _repeated(_STYLE, lambda part: part[1].rjust(len(part[0])), text)
    text = _LETTER.sub(_letter, text)
    text = _GREEK_INDEX.sub(lambda part: f"{part[1]}{part[2] or part[3]}".ljust(len(part[0])), text)
    text = _INDEX.sub(_index, text)
    text = _repeated(_FRACTION, lambda part: f"(({part[1]})/({part[2]}))".rjust(len(part[0])), text)
    return _SIGN.sub(_sign, text)


def _repeated(pattern: re.Pattern[str], change: Callable[[re.Match[str]], str], text: str) -> str:
    """From the inside out."""
    while (changed := pattern.sub(change, text)) != text:
        text = changed
    return text


def _letter(command: re.Match[str]) -> str:
    letter = _GREEK[command[1]]
    # An operator stands before its index, a name after what it belongs to: `;_\theta`.
    return letter.rjust(len(command[0])) if letter in _OPERATOR else letter.ljust(len(command[0]))


def _index(indexed: re.Match[str]) -> str:
    return indexed[0] if _LONE.match(indexed[1]) else f"{indexed[1]}_{indexed[2]}".ljust(len(indexed[0]))


def _sign(command: re.Match[str]) -> str:
    return _SIGNS[command[1]].rjust(len(command[0])) if command[1] in _SIGNS else command[0]
