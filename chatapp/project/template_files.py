"""Template files: their layout is for maintainers, and is not sent."""

import re

from django.template import Origin
from django.template.loaders import filesystem

_NEEDLESS_BREAKS = re.compile(
    r"(?m)(<(?!input|img|link|meta|br|hr)[a-z](?:{[{%].*?[%}]}|[^<>])*>"
    r"|^{% (?:load|if|elif|else|endif|for|empty|endfor|with|endwith|get_)\w*\b(?:(?!%}).)*%})\n"
)


class Loader(filesystem.Loader):
    """Finds templates as Django does."""

    def get_contents(self, origin: Origin) -> str:
        """Return the template of a page in one line, without its layout."""
        text = super().get_contents(origin)
        if origin.name.endswith(".html"):
            text = re.sub(r"(?m)^[ \t]+", "", text).replace("&#10;\n", "&#10;")
            text = _NEEDLESS_BREAKS.sub(r"\1", text).replace("\n</", "</").replace("\n", " ")
        return text
