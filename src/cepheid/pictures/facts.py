"""Facts by name as a small table, for a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def fact_table(title: str, facts: Mapping[str, object]) -> str:
    """HTML with a line for each fact; one that is empty is left out.

    >>> fact_table("S", {"runs": 1200, "plan": ""})
    '<p>S</p><table><tbody><tr><th>runs</th><td>1,200</td></tr></tbody></table>'
    """
    shown = {name: f"{fact:,}" if isinstance(fact, int) else str(fact) for name, fact in facts.items()}
    rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(fact)}</td></tr>" for k, fact in shown.items() if fact)
    return f"<p>{escape(title)}</p><table><tbody>{rows}</tbody></table>"
