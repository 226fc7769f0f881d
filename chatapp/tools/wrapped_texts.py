"""Words that a text file wraps in others: the cells of a notebook, the parts of an e-mail.

Pictures in them are thousands of tokens of base64, which no model can see, and so are words.
"""

import email
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from email.header import decode_header, make_header
from typing import Any

_MAIL = re.compile(r"(?:[A-Za-z][\w-]*:[^\n]*\n(?:[ \t][^\n]*\n)*)+\r?\n")
_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def unwrapped(text: str, data: bytes) -> str:
    """Return the words of a notebook or an e-mail, "" for other text; ``data`` are its bytes."""
    with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        if text.lstrip().startswith("{") and '"nbformat"' in text:
            return "\n\n".join(_cells(json.loads(text)))
        head = _MAIL.match(text)
        if head and re.search("^MIME-Version:", head[0], re.IGNORECASE | re.MULTILINE):
            return "\n".join(_mail(data))
    return ""


def _cells(notebook: Any) -> Iterator[str]:
    """Yield the cells of a notebook, and their output as text."""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        is_code = cell["cell_type"] == "code"
        yield f"```\n{source}\n```" if is_code else source
        for one in cell.get("outputs", ()):
            data = one.get("data", {})
            said = one.get("text") or data.get("text/plain") or one.get("traceback") or ()
            yield f"[Output]\n{''.join(said)}"


def _mail(data: bytes) -> Iterator[str]:
    """Yield the main headers of an e-mail, its body, and the names of its attachments."""
    # The newer policy takes minutes for a hostile header.
    mail = email.message_from_bytes(data)
    parts = [one for one in mail.walk() if not one.is_multipart()]
    for name in _HEADERS:
        yield from (f"{name}: {make_header(decode_header(one))}" for one in mail.get_all(name, ()))
    texts = [
        one for one in parts if not one.get_filename() and one.get_content_maintype() == "text"
    ]
    for one in sorted(texts, key=lambda one: one.get_content_type() != "text/plain")[:1]:
        said: Any = one.get_payload(decode=True)
        yield "\n" + said.decode(one.get_content_charset("utf-8"), errors="replace")
    yield from (f"[Attached: {one.get_filename()}]" for one in parts if one.get_filename())
