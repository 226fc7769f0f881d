"""Rewrites: requests as they go out, with their folds and recalled passages."""

import logging
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction

import condense
from chatapp.agent.annotated_blocks import recalled_in
from chatapp.conversations.context import sizes
from chatapp.conversations.toolbox.history_search import StoredRecall, shown_passages
from chatapp.gateway.requests import GatewayRequest
from chatapp.gateway.splices import MessageRecord, Splicer
from chatapp.models import ApiToken, Conversation, HistoryLink, Message, message_store
from chatapp.models.accounts import preferences_of
from chatapp.records.transfer.source_texts import joined
from condense import noop

log = logging.getLogger(__name__)

REWRITE_FAILED = noop("Recall or condensing failed here, so the request went out without it.")

Links = Sequence[HistoryLink | None]


class Rewriter:
    """Recalls for one request and rewrites it, as its token lets it; a ``problem`` is for a row.

    ``folds`` are the summaries that were put into it. Its conversation is locked, unless nothing is
    stored. An error leaves the request as it came.
    """

    def __init__(self, request: GatewayRequest, conversation: Conversation) -> None:
        self.request, self.conversation = request, conversation
        self.entries = request.history.entries
        self.is_wanted = request.token.mode != ApiToken.Mode.RECORD and not request.told.is_part
        self.problem = ""
        self.folds: list[Message] = []

    def recall(self) -> Sequence[dict[str, Any]]:
        """Return a block of hidden passages that fit the user's newest words, or nothing."""
        return self._attempt(self._recall) or ()

    def rewrite(self, *, is_folded: bool = True) -> Splicer | None:
        """Return the request as it goes out, None if that is as it came."""
        return self._attempt(lambda: self._rewrite(is_folded=is_folded))

    def _attempt[T](self, work: Callable[[], T]) -> T | None:
        if not self.is_wanted:
            return None
        try:
            with transaction.atomic():
                return work()
        except Exception:
            log.exception("a request of the gateway goes out without what was recalled or folded")
            self.problem = REWRITE_FAILED
            return None

    def _recall(self) -> Sequence[dict[str, Any]]:
        profile, words = self.conversation.answering, self.request.asked
        # A client's own summary, which begins its new history, asks for nothing.
        is_asked = any(one.role == "assistant" for one in self.entries) and words.strip()
        if self.conversation.auto_recall is False or not (profile and is_asked):
            return ()
        found = StoredRecall(self.conversation.pk)(words, condense.MOST_PASSAGES)
        pairs = zip(self.entries, self._links(), strict=True)
        shown = joined([one.content for one, link in pairs if not (link and link.message.hidden)])
        # Messages of the system are no part of the history: the client sends them anyway.
        told = HistoryLink.objects.filter(message__in=[one.id for one in found])
        linked = {str(pk) for pk in told.values_list("pk", flat=True)}
        found = [one for one in found if one.id in linked and one.text.strip() not in shown]
        limit = preferences_of(self.conversation.owner).recall_tokens
        limit = condense.token_limit(profile.context_window, limit)
        before = shown_passages(self.conversation) if found else ()
        block = condense.recalled_block(
            found, counter=sizes.COUNTER, limit=limit, shown=before, is_behind=True
        )
        return [block.to_api()] if block else ()

    def _links(self) -> Links:
        known = HistoryLink.objects.filter(message__conversation=self.conversation)
        known = known.filter(message__rewind_parent=None).select_related("message")
        there = known.filter(digest__in=[one.digest for one in self.entries])
        by = {bytes(one.digest): one for one in there}
        return [None if one.is_told else by.get(one.digest) for one in self.entries]

    def _rewrite(self, *, is_folded: bool) -> Splicer | None:
        """Return the request, with its summaries if it ``is_folded``."""
        # A provider that refuses results of tools without the thinking before their calls gets the
        # request folded with the next words of the user.
        links = self._links()
        folds = summaries_of(self.conversation.pk) if is_folded else []
        summaries = self._placed(folds, links)
        places = [place_of(one, is_folded=bool(summaries)) for one in links]
        if not any(one != MessageRecord() for one in places):
            return None
        made = Splicer(self.request.dialect, self.entries, places, summaries)
        made.splice(self.request.body, self.request.history.places)
        last = [number for number, one in enumerate(self.entries) if one.role == "assistant"][-1:]
        is_result = self.request.told.keeps_thinking and not self.request.words
        if is_folded and is_result and any(map(made.unbound.get, last)):
            return self._rewrite(is_folded=False)
        self.folds = folds if summaries else []
        return made

    def _placed(self, folds: Sequence[Message], links: Links) -> list[tuple[int, str]]:
        """Return the summaries that the request goes on behind, by the last message of each."""
        numbers = {one.message_id: number for number, one in enumerate(links) if one}
        own = Message.objects.filter(conversation=self.conversation)
        linked = own.filter(hidden=True, rewind_parent=None, history_link__isnull=False)
        found = []
        for row in folds:
            last = linked.filter(seq__lte=row.position).order_by("-seq").first()
            end = numbers.get(last.pk, len(links)) if last else len(links)
            found.append((end, message_store.to_engine(row).text))
        behind = max([end for end, _text in found], default=0) + 1
        return [] if all(one.is_told for one in self.entries[behind:]) else found


def summaries_of(conversation_id: uuid.UUID) -> list[Message]:
    """Return the summaries that stand in a conversation's history now."""
    shown = Message.objects.filter(conversation=conversation_id, hidden=False)
    return [*shown.exclude(condense_id=None).in_reading_order()]


def place_of(link: HistoryLink | None, *, is_folded: bool) -> MessageRecord:
    """Return the place of a message by its record."""
    if link is None:
        return MessageRecord()
    # An engine's message of a damaged row would only say so.
    whole = condense.Message.from_api({"role": "user", "content": link.message.content})
    shown = condense.without_forgotten(whole, link.message.forgotten or ())
    said = "".join([one.text for one in recalled_in(shown.blocks)])
    return MessageRecord(is_folded and link.message.hidden, said, bytes(link.view or b""))
