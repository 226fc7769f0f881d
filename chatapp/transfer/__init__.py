"""Conversations on their way in and out of this server, with all that is on record of them.

``files``       what is opened, packed or not, read item by item and sampled
``blocks``      content blocks made of what others have recorded
``transcripts`` a conversation put together of that
``pieces``      what a file of recorded messages is read as
``tables``      what a conversation's record is made of: docs/export.md
``columns``     the values of a row as JSON, and back
``requests``    what calls have sent
``export``      a conversation as a file
``copies``      a conversation to be read, as Markdown or as a page
``loading``     pieces become a conversation, whole or not at all
``rows``        pieces become rows that fit each other
``profiles``    which profile answers what was imported
``jobs``        imports that run beside everything else
"""

from chatapp.transfer.export import write_record
from chatapp.transfer.pieces import Beside, Piece, Problem, Unusable
from chatapp.transfer.record_import import Imported, load_conversation
from chatapp.transfer.record_tables import FORMAT

__all__ = [
    "FORMAT",
    "Beside",
    "Imported",
    "Piece",
    "Problem",
    "Unusable",
    "load_conversation",
    "write_record",
]
