"""Pins: messages, passages and rules that the model keeps word for word."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Sum
from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import is_claimed, quote_block, rule_block, stands_for, text_of
from chatapp.conversations.context import sizes
from chatapp.conversations.locks import lock, refuse_while_running
from chatapp.models import Conversation, Message, Pin, message_store
from chatapp.models.errors import Refused
from chatapp.models.pins import digest_of
from chatapp.project.sentences import translate as _
from condense import noop

# Percent of the window: the rest is for the system prompt, the work, and a summary of it.
MOST_PINNED = 25

MESSAGE_TOO_LARGE = noop(
    "This message takes about {tokens:,} tokens, and your pins already take {before:,}. Pins may "
    "take {most:,}: {percent:.0%} of the window of {window:,}."
)
TEXT_TOO_LARGE = noop(
    "This text takes about {tokens:,} tokens, and your pins already take {before:,}. Pins may "
    "take {most:,}: {percent:.0%} of the window of {window:,}."
)

LONGEST_RULE = 20_000  # characters


def find_passage(texts: Iterable[str], selected: str) -> str:
    """Return the selected passage as the text has it, "" if it is not found."""
    # The page shows Markdown without its marks, so only letters and digits have to be the same.
    selected = selected.strip()
    wanted = "".join(filter(str.isalnum, selected))
    for text in texts:
        if selected and selected in text:
            return selected
        places = [place for place, sign in enumerate(text) if sign.isalnum()]
        at = "".join(text[place] for place in places).find(wanted) if wanted else -1
        if at >= 0:
            begin, end = places[at], places[at + len(wanted) - 1] + 1
            # Selected signs after the last letter, such as its accents and a full stop, are kept.
            last = max(place for place, sign in enumerate(selected) if sign.isalnum())
            for sign in selected[last + 1 :]:
                if text[end : end + 1] != sign:
                    break
                end += 1
            return text[begin:end]
    return ""


@dataclass(frozen=True, slots=True)
class PinsTake:
    """The tokens that pins take, and may take in a window; 0 without an answering profile."""

    tokens: int
    most: int
    window: int
    percent: int = MOST_PINNED


def pin_message(*, conversation: Conversation, seq: int) -> None:
    """Have the model keep a message word for word; nothing happens if it does already.

    Refused while something runs, if the model does not see the message, and if it takes too much of
    the window.
    """
    with lock(conversation) as own:
        message = _find_pin(own, seq)
        if message.pinned:
            return
        refuse_while_running(own)
        seen = message_store.read_effective(own.pk)
        if not condense.shows_pin(seen, message_store.to_engine(message)):
            words = noop(
                "This message is hidden from the model. Undo first what hides it, or select its"
                " text and pin that."
            )
            raise Refused(words)
        _refuse_if_too_large(own, message.tokens, MESSAGE_TOO_LARGE)
        mark(message)
        message_store.note_record(own.pk)


def pin_rule(*, conversation: Conversation, text: str) -> None:
    """Have the model keep a rule word for word, from the end of the conversation on.

    Nothing before it changes, so a provider's cache of that holds.
    """
    # The lines of a form end as in Windows.
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise Refused(_("There is no rule yet. Type it first."))
    if len(text) > LONGEST_RULE:
        raise Refused(_("A rule can have up to {count:,} characters.", count=LONGEST_RULE))
    with lock(conversation) as own:
        _append(own, rule_block(text))


def pin_selection(*, conversation: Conversation, seq: int, selected: str) -> None:
    """Have the model keep a selected part of a message word for word, as written there."""
    # It is said again at the end, so it may be a passage that the model does not see any more.
    with lock(conversation) as own:
        message = _find_pin(own, seq)
        blocks = message_store.to_engine(message).lasting.blocks
        texts = (block.text for block in blocks if isinstance(block, condense.TextBlock))
        passage = find_passage(texts, selected)
        if not passage:
            raise Refused(_("This can't be found in the message's text. Select whole words."))
        _append(own, quote_block(passage, message.role, seq))


def pin_whole(own: Conversation, row: Message) -> None:
    """Pin the whole text of a message of a locked conversation."""
    message = message_store.to_engine(row).lasting
    results = [condense.Message("user", one.content or "").text for one in message.tool_results]
    if text := "\n".join(filter(None, [message.text, *results])):
        _append(own, quote_block(text, row.role, row.seq))


def unpin_message(*, conversation: Conversation, seq: int) -> None:
    """Take a pin off: later condensations need not carry the message any more."""
    with lock(conversation, keeps_pins=False) as own:
        message = _find_pin(own, seq)
        if not message.pinned:
            return
        refuse_while_running(own)
        Message.objects.filter(pk=message.pk).update(pinned=None)
        Pin.objects.filter(message=message).change(unpinned_at=timezone.now())
        message_store.note_record(own.pk)


def claimed_rules(conversation: Conversation) -> list[str]:
    """Return the rules that only an imported file says are the user's, none once they are."""
    rows = conversation.messages.filter(claimed=True, rewind_parent=None).in_reading_order()
    blocks = (block for row in rows for block in message_store.to_engine(row).blocks)
    return [text_of(block) for block in blocks if stands_for(block) and is_claimed(block)]


def adopt_rules(*, conversation: Conversation) -> None:
    """Give the model the rules of an imported file as the user's own, pinned by them now."""
    with lock(conversation) as own:
        refuse_while_running(own)
        claimed = own.messages.filter(claimed=True)
        pins = Pin.objects.in_force(own.pk).filter(message__in=list(claimed))
        pins.change(pinned_at=timezone.now())
        if claimed.update(claimed=None):
            message_store.mark_changed(own.pk)


def mark(message: Message) -> None:
    """Pin a message, with an entry in the conversation's chain."""
    Message.objects.filter(pk=message.pk).update(pinned=True)
    columns = {"digest": digest_of(message), "tokens": message.tokens}
    known = Pin.objects.filter(message=message)
    if not known.change(pinned_at=timezone.now(), unpinned_at=None, **columns):
        Pin.objects.create(
            conversation_id=message.conversation_id, message=message, seq=message.seq, **columns
        ).enter()


def what_pins_take(conversation: Conversation) -> PinsTake:
    """Return the tokens that pins take of the window, and may take."""
    pins = Pin.objects.in_force(conversation.pk)
    window = profile.context_window if (profile := conversation.answering) else 0
    taken = pins.aggregate(sum=Sum("tokens", default=0))["sum"]
    return PinsTake(taken, MOST_PINNED * window // 100, window)


def _append(own: Conversation, block: condense.TextBlock) -> None:
    """Put a pinned message at the end, unless the same is pinned already."""
    message = condense.Message("user", (block,))
    row = Message(role=Message.Role.USER, content=condense.content_to_api(message.content))
    if Pin.objects.in_force(own.pk).filter(digest=digest_of(row)).exists():
        return
    refuse_while_running(own)
    tokens = condense.count_message(message, sizes.COUNTER)
    _refuse_if_too_large(own, tokens, TEXT_TOO_LARGE)
    mark(message_store.append_message(own.pk, message, tokens=tokens))


def _find_pin(conversation: Conversation, seq: int) -> Message:
    present = conversation.messages.written().filter(rewind_parent=None)
    message = present.filter(seq=seq).first()
    if message is None:
        raise Refused(noop("This message is no longer part of the conversation. Reload the page."))
    return message


def _refuse_if_too_large(conversation: Conversation, tokens: int, words: str) -> None:
    take = what_pins_take(conversation)
    if not take.window or take.tokens + tokens <= take.most:
        return
    figures = {"before": take.tokens, "most": take.most, "window": take.window}
    raise Refused(words.format(tokens=tokens, percent=MOST_PINNED / 100, **figures))
