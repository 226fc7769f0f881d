"""Rewrites: requests as they go out, with what is on record of their folds and recalled passages."""

from collections.abc import Sequence
from typing import Any

import condense
from chatapp.accounts.accounts import preferences_of
from chatapp.context import sizes
from chatapp.gateway.bodies import decoded
from chatapp.gateway.naming import Entry
from chatapp.gateway.requests import Request
from chatapp.gateway.splices import Place, Spliced, Splicer
from chatapp.models import Conversation, HistoryLink, Message, message_store
from chatapp.models.errors import IndexDamaged
from chatapp.toolbox.history_search import StoredRecall

Links = Sequence[HistoryLink | None]


def rewrite(
    request: Request, conversation: Conversation, *, is_folded: bool = True
) -> Spliced | None:
    """Return a request as it goes out, None if that is as it came; raise ValueError.

    A provider that refuses the results of tools without the thinking before them gets its request
    folded with the next words of the user.
    """
    entries = request.history.entries
    known = HistoryLink.objects.filter(message__conversation=conversation)
    known = known.filter(message__rewind_parent=None, digest__in=[one.digest for one in entries])
    by = {bytes(one.digest): one for one in known.select_related("message")}
    links = [None if one.is_told else by.get(one.digest) for one in entries]
    summaries = _summaries(conversation, links) if is_folded else []
    places = [_place(one, is_folded=bool(summaries)) for one in links]
    if request.told.is_part or not any(one != Place() for one in places):
        return None
    splicer = Splicer(request.dialect, entries, places, summaries)
    made = splicer.splice(request.body, request.history.places)
    if summaries and request.told.keeps_thinking and _lacks_thinking(entries, made):
        return rewrite(request, conversation, is_folded=False)
    return made


def _summaries(conversation: Conversation, links: Links) -> list[tuple[int, str]]:
    """Return the summaries in force by the last message that each hides.

    None of them is, if the request does not go on behind one of them.
    """
    numbers = {one.message_id: number for number, one in enumerate(links) if one}
    shown = Message.objects.filter(conversation=conversation, hidden=False)
    linked = Message.objects.filter(conversation=conversation, rewind_parent=None)
    linked = linked.filter(hidden=True, history_link__isnull=False).order_by("-seq")
    found = []
    for row in shown.exclude(condense_id=None).in_reading_order():
        last = linked.filter(seq__lte=row.position).values_list("pk", flat=True).first()
        found.append((numbers.get(last, len(links)), message_store.to_engine(row).text))
    ends = [last for last, _text in found]
    goes_on = any(not (one and one.message.hidden) for one in links[max(ends, default=0) + 1 :])
    return found if goes_on else []


def _place(link: HistoryLink | None, *, is_folded: bool) -> Place:
    if link is None:
        return Place()
    is_hidden = is_folded and link.message.hidden
    return Place(is_hidden, recalled_in(link.message.content), bytes(link.view or b""))


def recalled_in(content: Any) -> str:
    """Return the recalled passages in a stored message, "" without any."""
    found = [one for one in content if one.get(condense.BESIDE, {}).get("kind") == condense.RECALLED]
    return str(found[0]["text"]) if found else ""


def _lacks_thinking(entries: Sequence[Entry], made: Spliced) -> bool:
    """Return True if the last results of tools stand behind an answer without its thinking."""
    answers = [number for number, one in enumerate(entries) if one.role == "assistant"]
    last = [one.get("type") for one in entries[-1].content]
    return "tool_result" in last and answers[-1:] == made.unbound[-1:]


def rewritten(request: Request, made: Spliced | None) -> bytes:
    """Return the bytes to send: the client's, if nothing is ``made`` of them."""
    if made is None:
        return request.raw
    parts = b",".join([part for part, _number in made.parts])
    return request.body.head + parts + request.body.tail


def recall(conversation: Conversation, entry: Entry, shown: str) -> list[dict[str, Any]]:
    """Return a block of hidden passages that fit a new message, or nothing.

    What is ``shown`` by the request already is not recalled. The conversation is locked.
    """
    words = condense.Message.from_api({"role": entry.role, "content": entry.content}).words
    profile = conversation.answering
    if conversation.auto_recall is False or profile is None or not words.strip():
        return []
    try:
        found = StoredRecall(conversation.pk)(words, condense.MOST_PASSAGES)
    except IndexDamaged:
        return []
    found = [one for one in found if one.text.strip() not in shown]
    preferences = preferences_of(conversation.owner, conversation.preferences)
    limit = condense.token_limit(profile.context_window, preferences.recall_tokens)
    block = condense.recalled_block(found, counter=sizes.COUNTER, limit=limit, is_behind=True)
    return [block.to_api()] if block else []
