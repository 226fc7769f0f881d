"""Conversations on their way in and out of this server, with all that is on record of them.

``files``   what is opened, packed or not
``streams`` the items of a file, one by one
``samples`` how a file begins
``talks``   a conversation put together from what others have recorded
``copies``  a conversation to be read, as Markdown
``pages``   the same as one HTML page
``jobs``    imports that run beside everything else
``pieces``  what a file of recorded messages is read as
``tables``  what a conversation's record is made of: docs/export.md
``columns`` the values of a row as JSON, and back
``requests`` what calls have sent
``writing`` a conversation as a file
``loading`` pieces become a conversation, whole or not at all
``rows``    pieces become rows that fit each other
``answering`` which profile answers what was imported
"""

from chatapp.exchange.loading import Imported, load_conversation
from chatapp.exchange.pieces import Beside, Piece, Problem, Unusable
from chatapp.exchange.tables import FORMAT
from chatapp.exchange.writing import write_record

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
