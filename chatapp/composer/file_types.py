"""What a file is that somebody attaches: told from its bytes, and refused in words."""

import unicodedata

from django.conf import settings
from django.utils.translation import gettext as _

import condense
from chatapp.agent.annotated_blocks import file_block, image_block
from chatapp.agent.errors import ToolError
from chatapp.errors import Refused
from chatapp.formats import number
from chatapp.tools import documents

MEGABYTE = 1024 * 1024
LONGEST_NAME = 120

# What no text holds but line ends, tabs and form feeds.
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\f\r\x1b")
_BYTE_ORDERS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def block_for(name: str, data: bytes) -> condense.Block:
    """Return the block that a file becomes in a message; refused where it can't become one."""
    name = clean_name(name)
    if not data:
        raise Refused(_("“%s” is empty.") % name)
    if documents.image_type(data):
        return _image(name, data)
    facts: dict[str, object] = {"size": len(data)}
    if documents.is_pdf(data):
        pdf = _pdf(name, data)
        text, facts["pages"] = pdf.text, pdf.pages
    else:
        text = _text(name, data)
    if not text.strip():
        raise Refused(_("“%s” is empty.") % name)
    if len(text) > settings.LONGEST_MESSAGE:
        raise Refused(
            _(
                "“%(name)s” is too long: it has %(count)s characters, and a message can have "
                "%(limit)s. Put it into the workspace, where the agent reads it in parts."
            )
            % {
                "name": name,
                "count": number(len(text)),
                "limit": number(settings.LONGEST_MESSAGE),
            }
        )
    return file_block(name, text, **facts)


def clean_name(name: str) -> str:
    """Return a file's name without folders, and without what can't be seen or turns text around."""
    last = name.replace("\\", "/").rpartition("/")[2]
    seen = "".join(" " if unicodedata.category(one)[0] in "CZ" else one for one in last)
    seen = " ".join(unicodedata.normalize("NFC", seen).split())
    stem, dot, ending = seen.rpartition(".")
    if len(seen) > LONGEST_NAME and stem and len(ending) < LONGEST_NAME // 2:
        room = LONGEST_NAME - len(ending) - 2
        seen = f"{stem[:room]}…{dot}{ending}"
    return seen[:LONGEST_NAME] or _("File")


def _image(name: str, data: bytes) -> condense.ImageBlock:
    size = condense.image_size(data)
    if size is None or not documents.is_whole(data):
        raise Refused(_("“%s” is a damaged image.") % name)
    if len(data) > documents.MAX_IMAGE:
        raise Refused(
            _("“%(name)s” is too large: images of up to %(limit)s MB can be sent to a model.")
            % {"name": name, "limit": number(documents.MAX_IMAGE / MEGABYTE, 1)}
        )
    if max(size) > settings.LARGEST_IMAGE_EDGE:
        raise Refused(
            _("“%(name)s” has %(width)s by %(height)s pixels; models take up to %(limit)s a side.")
            % {
                "name": name,
                "width": number(size.width),
                "height": number(size.height),
                "limit": number(settings.LARGEST_IMAGE_EDGE),
            }
        )
    image = documents.as_image(str(documents.image_type(data)), data)
    return image_block(name, image, size=len(data), width=size.width, height=size.height)


def _pdf(name: str, data: bytes) -> documents.Pdf:
    try:
        return documents.read_pdf(data)
    except ToolError as error:
        why = {
            "locked": _(
                "“%s” is locked with a password. Save it without one, and attach it again."
            ),
            "empty": _("“%s” has no text, only pictures of pages. Attach those as images."),
            "slow": _("“%s” takes too long to read. Attach some of its pages."),
        }
        damaged = _("“%s” is a damaged PDF.")
        raise Refused(why.get(getattr(error, "why", ""), damaged) % name) from error


def _text(name: str, data: bytes) -> str:
    """Return what a text file says, in whichever of the usual encodings."""
    encodings = [_BYTE_ORDERS.get(data[:2], "utf-8-sig"), "cp1252"]
    if encodings[0] != "utf-16" and not _CONTROLS.isdisjoint(data):
        encodings = []
    for encoding in encodings:
        try:
            return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError:
            continue
    raise Refused(
        _("“%s” can't be attached: only images (PNG, JPEG, GIF, WebP), PDFs and text can.") % name
    )
