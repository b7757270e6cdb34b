"""Colours that read on a light and on a dark page: each has a contrast of 3.6 or more to white and to black."""

LINE = "currentColor"
FOREGROUND = "#24292f"
DARK = "#e6edf3"
BLUE, RED, GREEN, ORANGE, VIOLET, TEAL = "#3b82f6", "#e5534b", "#289549", "#c4721f", "#8b5cf6", "#0d9488"
GREY = "#768390"
BANDS = (BLUE, ORANGE, GREEN, VIOLET, TEAL, RED)

_DARK = ("[data-theme=dark]", "[data-jp-theme-light=false]", ".vscode-dark")
_LIGHT = ("[data-theme=light]", "[data-jp-theme-light=true]", ".vscode-light")
_OWN = "svg.cepheid{color:%s}"

THEME = (
    _OWN % FOREGROUND
    + f"@media (prefers-color-scheme:dark){{{_OWN % DARK}}}"
    + "".join(f"{around} {_OWN % DARK}" for around in _DARK)
    + "".join(f"{around} {_OWN % FOREGROUND}" for around in _LIGHT)
)
"""What text and lines are drawn in: the reader's setting, or that of the notebook around."""
