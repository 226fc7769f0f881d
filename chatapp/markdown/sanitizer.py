"""The allow-list every piece of rendered HTML passes, whatever the renderer did.

The renderer lets no raw HTML through, so this is a second wall. It keeps no image: a page that
loads a remote image tells its server what the model wrote into the address.
"""

import functools
import re

import nh3
from pygments.token import STANDARD_TYPES

ALIGNMENTS = frozenset({"align-left", "align-center", "align-right"})

_BLOCKS = {"blockquote", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "p", "pre"}
_LISTS_AND_TABLES = {"li", "ol", "table", "tbody", "td", "th", "thead", "tr", "ul"}
_INLINE = {"a", "br", "code", "em", "s", "span", "strong"}
_ATTRIBUTES = {
    "*": {"dir"},
    "a": {"href", "title", "data-place"},
    "div": {"data-language"},
    "ol": {"start"},
}

# What formulas are drawn with: no link, no style, no colour, which a theme could make unreadable,
# no foreign content, and no size but of spaces, so that nothing is drawn in another place.
_FORMULAS: dict[str, set[str]] = {
    "math": {"display"},
    "menclose": {"notation"},
    "mfrac": {"linethickness"},
    "mi": {"mathvariant"},
    "mn": set(),
    "mo": {
        "fence", "form", "largeop", "lspace", "maxsize", "minsize", "movablelimits", "rspace",
        "stretchy",
    },
    "mover": {"accent"},
    "mpadded": set(),
    "mphantom": set(),
    "mroot": set(),
    "mrow": set(),
    "mspace": {"width"},
    "msqrt": set(),
    "mstyle": {"displaystyle", "scriptlevel"},
    "msub": set(),
    "msubsup": set(),
    "msup": set(),
    "mtable": {"displaystyle"},
    "mtd": {"columnalign"},
    "mtext": {"mathvariant"},
    "mtr": set(),
    "munder": {"accentunder"},
    "munderover": set(),
}  # fmt: skip

# An address without a scheme would lead into this application, with the reader's session.
_SAFE_ADDRESS = re.compile(r"(?:https?://[^/\\]|mailto:.)", re.IGNORECASE)

# Controls, single surrogates, and the marks that reverse the order in which text is shown.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def is_safe_address(url: str) -> bool:
    """Whether a link may lead there: http, https and mailto, nothing relative."""
    return _SAFE_ADDRESS.match(url) is not None


def replace_unsafe_characters(text: str) -> str:
    """Return the text with controls and bidi overrides made visible as U+FFFD."""
    return _UNSAFE.sub("\ufffd", text)


def sanitize(html: str) -> str:
    """Return the HTML with nothing in it but what the renderer is meant to write."""
    return _cleaner().clean(html)


@functools.cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=_BLOCKS | _LISTS_AND_TABLES | _INLINE | _FORMULAS.keys(),
        attributes=_ATTRIBUTES | _FORMULAS,
        allowed_classes={
            "a": {"elsewhere"},
            "div": {"code-block", "formula", "table-box"},
            "li": {"task"},
            "mtd": {"ruled"},
            "span": {"formula"} | set(STANDARD_TYPES.values()) - {""},
            "td": {"long", *ALIGNMENTS},
            "th": {"long", *ALIGNMENTS},
        },
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
