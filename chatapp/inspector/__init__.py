"""The inspector: what the model sees and saw, the parts of a request with what each takes.

``parts``         pieces of messages, and cards of pieces, measured against the window
``next_request``  the next request, and the records that hide something from it
``requests``      requests as they were sent, from their stored bytes
``sent_call``     what the model saw in a call
``comparison``    a call's request beside that of the call before
``request_chart`` what the latest requests were made of
``size_history``  how large the context was over the turns
"""

from chatapp.inspector.next_request import NextRequest, read_next_request
from chatapp.inspector.request_chart import Chart, draw_chart
from chatapp.inspector.requests import StoredRequest, read_body
from chatapp.inspector.sent_call import SentCall, read_call
from chatapp.inspector.size_history import SizeHistory, draw_size_history

__all__ = [
    "Chart",
    "NextRequest",
    "SentCall",
    "SizeHistory",
    "StoredRequest",
    "draw_chart",
    "draw_size_history",
    "read_body",
    "read_call",
    "read_next_request",
]
