"""Say what had to be hidden before the model could read it."""

from collections.abc import Sequence

from condense.messages import Message, TextBlock
from condense.situation import Addition, Gauge

UNREAD = (
    "The newest {messages} messages (about {tokens} tokens, {results} tool results among them) do "
    "not fit into the context and are hidden before they were read. Run a tool again in a way "
    "that answers less, or search the history."
)


def tell_unread(unread: Sequence[Message], gauge: Gauge) -> Addition:
    """Tell the model, and people, of messages that are hidden unread; nothing where none are."""
    if not unread:
        return Addition()
    results = [result for message in unread for result in message.tool_results]
    tokens = gauge.size(unread)
    text = UNREAD.format(messages=len(unread), tokens=tokens, results=len(results))
    reminder = TextBlock(f"<system-reminder>\n{text}\n</system-reminder>")
    return Addition(blocks=(reminder,), notes=(text,))
