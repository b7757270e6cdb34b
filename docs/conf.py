"""The site of the documentation: `make docs` builds it into build/docs, without the network."""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER / "extensions"), str(FOLDER.parent / "src")]

project = "Cepheid"
author = "The authors of Cepheid"
project_copyright = "The authors of Cepheid"
language = "en"
smartquotes = False  # what looks like code is code

extensions = ["myst_parser", "sphinx.ext.autodoc", "pages", "inline_pictures", "docstrings", "commands"]
exclude_patterns = ["extensions"]

# Headings have the anchors that GitHub gives them, so that a link works there and here.
myst_heading_anchors = 4

html_theme = "furo"
html_title = "Cepheid"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_search_scorer = str(FOLDER / "static" / "search_order.js")
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}

pygments_style = "friendly"
pygments_dark_style = "github-dark"
highlight_language = "none"

default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 90
# What the signatures name and this site does not describe: other packages, and what the rooms pass to each other.
nitpick_ignore_regex = [
    ("py:class", r"(collections|datetime|pandas|polars|pyarrow|pyspark)\..+"),
    ("py:class", r"cepheid\.[a-z]\w*\..+"),
    ("py:class", r"[A-Z]\w+"),
]
