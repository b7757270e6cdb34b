"""Pictures that the code draws, put into the page itself.

An SVG in an `<img>` sees the colours of the system and not those that the reader chose on the site, and its tooltips
do not show. Inside of the page it has both.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

FOLDER = Path(__file__).parents[1] / "pictures"


def inlined(svg: str, description: str) -> str:
    """Wrap a picture for a page. The box scrolls where a phone is narrower than the picture.

    >>> inlined("<svg/>", 'two "tags"')
    '<div class="picture" role="img" aria-label="two &quot;tags&quot;"><svg/></div>'
    """
    return f'<div class="picture" role="img" aria-label="{escape(description)}">{svg}</div>'


class InlinePictures(SphinxTransform):
    """Replace the images of docs/pictures/, before Sphinx collects images to copy them."""

    default_priority = 500

    def apply(self, **options: object) -> None:
        """Replace the pictures of one page."""
        for image in list(self.document.findall(nodes.image)):
            path = (Path(self.env.doc2path(self.env.docname)).parent / image["uri"]).resolve()
            if path.parent == FOLDER and path.suffix == ".svg":
                self.env.note_dependency(str(path))
                text = inlined(path.read_text(encoding="utf-8"), image.get("alt", ""))
                image.replace_self(nodes.raw("", text, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_transform(InlinePictures)
    return {"parallel_read_safe": True}
