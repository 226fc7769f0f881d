"""What the model sees, and what it saw: the parts of a request, in order, with what each takes.

``pieces``    messages taken apart, whoever wrote their parts
``cards``     pieces of one kind together, measured against the window
``upcoming``  the next request
``hiding``    the records that hide something from a request
``sent``      a call's request, put together again from its stored bytes
``past``      what the model saw in a call
``comparing`` a call's request beside that of the call before
``chart``     what the latest requests were made of
``course``    how large the context was over the turns
"""

from chatapp.inspector.chart import Chart, draw_chart
from chatapp.inspector.course import Course, draw_course
from chatapp.inspector.past import PastCall, read_call
from chatapp.inspector.sent import SeenCall, read_body
from chatapp.inspector.upcoming import Upcoming, read_upcoming

__all__ = [
    "Chart",
    "Course",
    "PastCall",
    "SeenCall",
    "Upcoming",
    "draw_chart",
    "draw_course",
    "read_body",
    "read_call",
    "read_upcoming",
]
