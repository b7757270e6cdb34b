"""Names: readable ones, and all that the language allows."""

from __future__ import annotations

from hypothesis import strategies as st

# Keywords, also those that are keywords only in some places, and letters with unusual case folding.
_WORDS = """
    a b x price LEN len i T all ANY any seq SEQ and or not in is like between null true false case when then else end
    event pattern from where partition by within having return into as output ties ordered simultaneous non_overlap
    longest cooldown automaton register arc epsilon ignore set on at
    cesar let union select project rename add iterate id dur DUR θ θ_3 θ3 σ σ_1 μ µ_1 ſelect _x
    date timestamp hours events s d skip_till_any_match strict_contiguity count sum first last ſum tieſ wıthin liKe
    """.split()  # noqa: SIM905  a list of words is read more easily


def words() -> st.SearchStrategy[str]:
    """Names that need no quotes, and words that a grammar could stumble over."""
    letters = st.text("abcxyzABZ_éΩ字ſıK0", min_size=1, max_size=4).filter(lambda s: not s[0].isdigit())
    return st.sampled_from(_WORDS) | letters


def names() -> st.SearchStrategy[str]:
    """All names: any text that is not empty can be one, in back quotes."""
    odd = st.sampled_from(["a b", "`", "a`b", "``", "1", "a-b", "and-x", "not-a", "a.b", "", "--", "/*", "'", "\n"])
    return words() | (odd | st.text(max_size=4)).filter(bool)


def type_names() -> st.SearchStrategy[str]:
    """Names of event types and sets, hyphens included."""
    hyphenated = st.lists(words(), min_size=2, max_size=3).map("-".join)
    return names() | hyphenated
