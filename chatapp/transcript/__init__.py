"""The transcript as the page shows it: rows made from messages, attempts and rewinds.

``rows``    what a row consists of
``cards``   what a message consists of
``parts``   its blocks, made into that
``attached`` files and images in a message
``pinned``  what is pinned, one line each
``facts``   a receipt, ready to show
``labels``  triggers, reasons and outcomes in words
``attempts`` an attempt as one line of the history
``record``  an attempt with all that is known of it
``proposals`` a summary that waits for a person
``reviews`` what people said to earlier ones
``audits``  the entries of an audit chain
``originals`` what a condensation hid, beside it
``net``     what condensing saved, against its cost
``tables``  attempts for other programs
``events``  what happened between messages, as rows
``folding`` what a rewind took along, as one row
``builder`` rows of some consecutive messages
``queries`` what rows ask of the database each time
``whole``   what a row shows in part
``todo``    the list that the agent keeps
``page``    one page of rows, in a number of queries that does not depend on its length
``hits``    messages that were found by searching
"""

from chatapp.transcript.attached import FilePart, ImagePart
from chatapp.transcript.attempts import AttemptLine, attempt_lines
from chatapp.transcript.audits import audit_lines
from chatapp.transcript.cards import Asked, HiddenBy, NotePart, Part, TextPart, ToolCard
from chatapp.transcript.facts import Fact, FactGroup, facts_kept
from chatapp.transcript.hits import BEST, Found, Hit, find_hits
from chatapp.transcript.labels import cleared_words, outcome_name, seen_words, strategy_name
from chatapp.transcript.net import Net, net_of
from chatapp.transcript.originals import Compared, Descent, compare, read_descent, with_row_ids
from chatapp.transcript.page import (
    live_row,
    page,
    page_after,
    page_around,
    page_between,
    revision,
)
from chatapp.transcript.parts import input_text, kind_of_line, main_argument, result_text
from chatapp.transcript.pinned import PinLine, claimed_rules, pin_lines
from chatapp.transcript.proposals import read_figures, read_review
from chatapp.transcript.record import Record, read_record
from chatapp.transcript.reviews import ReviewLine, review_lines
from chatapp.transcript.rows import (
    CallCost,
    CondensationRow,
    ContinuedRow,
    FailureRow,
    MessageRow,
    Page,
    RewindRow,
    Row,
    TurnCost,
    TurnRow,
    VersionChoice,
)
from chatapp.transcript.tables import TABLE_COLUMNS, attempts_as_csv, attempts_as_json
from chatapp.transcript.todo import read_todo
from chatapp.transcript.whole import call_text, message_block, message_text

__all__ = [
    "BEST",
    "TABLE_COLUMNS",
    "Asked",
    "AttemptLine",
    "CallCost",
    "Compared",
    "CondensationRow",
    "ContinuedRow",
    "Descent",
    "Fact",
    "FactGroup",
    "FailureRow",
    "FilePart",
    "Found",
    "HiddenBy",
    "Hit",
    "ImagePart",
    "MessageRow",
    "Net",
    "NotePart",
    "Page",
    "Part",
    "PinLine",
    "Record",
    "ReviewLine",
    "RewindRow",
    "Row",
    "TextPart",
    "ToolCard",
    "TurnCost",
    "TurnRow",
    "VersionChoice",
    "attempt_lines",
    "attempts_as_csv",
    "attempts_as_json",
    "audit_lines",
    "call_text",
    "claimed_rules",
    "cleared_words",
    "compare",
    "facts_kept",
    "find_hits",
    "input_text",
    "kind_of_line",
    "live_row",
    "main_argument",
    "message_block",
    "message_text",
    "net_of",
    "outcome_name",
    "page",
    "page_after",
    "page_around",
    "page_between",
    "pin_lines",
    "read_descent",
    "read_figures",
    "read_record",
    "read_review",
    "read_todo",
    "result_text",
    "review_lines",
    "revision",
    "seen_words",
    "strategy_name",
    "with_row_ids",
]
