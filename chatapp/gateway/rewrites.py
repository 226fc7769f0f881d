"""Rewrites: requests as they go out, with their folds and recalled passages."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction

import condense
from chatapp.accounts.accounts import preferences_of
from chatapp.context import sizes
from chatapp.gateway.naming import Entry
from chatapp.gateway.requests import Request
from chatapp.gateway.splices import Place, Spliced, Splicer
from chatapp.models import ApiToken, Conversation, HistoryLink, Message, message_store
from chatapp.models.errors import IndexDamaged
from chatapp.toolbox.history_search import StoredRecall
from chatapp.transfer.source_texts import joined
from condense import noop

log = logging.getLogger(__name__)

UNCHANGED = noop("Recall and condensing failed here, so the request went out as it came.")


class Rewriter:
    """Recalls for one request and rewrites it, as its token lets it; a ``problem`` is for a row.

    Its conversation is locked, unless nothing is stored. Whatever fails here, the request goes out.
    """

    def __init__(self, request: Request, conversation: Conversation) -> None:
        self.request, self.conversation = request, conversation
        self.entries = request.history.entries
        self.is_wanted = request.token.mode != ApiToken.Mode.RECORD and not request.told.is_part
        self.problem = ""

    def _attempt[T](self, work: Callable[[], T], otherwise: T) -> T:
        if not self.is_wanted:
            return otherwise
        try:
            with transaction.atomic():
                return work()
        except Exception:
            log.exception("a request of the gateway goes out as it came")
            self.problem, self.is_wanted = UNCHANGED, False
            return otherwise

    def recall(self) -> Sequence[dict[str, Any]]:
        """Return a block of hidden passages that fit the user's newest words, or nothing."""
        return self._attempt(self._recall, [])

    def rewrite(self, *, is_folded: bool) -> Spliced | None:
        """Return the request as it goes out, None if that is as it came."""
        return self._attempt(lambda: self._rewrite(is_folded=is_folded), None)

    def _recall(self) -> list[dict[str, Any]]:
        profile, words = self.conversation.answering, self.request.words
        # A client's own summary, which begins its new history, asks for nothing.
        is_asked = any(one.role == "assistant" for one in self.entries) and words.strip()
        if self.conversation.auto_recall is False or not (profile and is_asked):
            return []
        try:
            found = StoredRecall(self.conversation.pk)(words, condense.MOST_PASSAGES)
        except IndexDamaged:
            return []
        links = self._links() if found else ()
        pairs = zip(self.entries, links, strict=False)
        shown = joined([one.content for one, link in pairs if not (link and link.message.hidden)])
        # What comes with a system prompt's authority has no place in the history.
        told = HistoryLink.objects.filter(message__in=[one.id for one in found])
        linked = {str(pk) for pk in told.values_list("pk", flat=True)}
        found = [one for one in found if one.id in linked and one.text.strip() not in shown]
        limit = preferences_of(self.conversation.owner).recall_tokens
        limit = condense.token_limit(profile.context_window, limit)
        block = condense.recalled_block(found, counter=sizes.COUNTER, limit=limit, is_behind=True)
        return [block.to_api()] if block else []

    def _links(self) -> Sequence[HistoryLink | None]:
        """Return the record of each message, None without one."""
        known = HistoryLink.objects.filter(message__conversation=self.conversation)
        known = known.filter(message__rewind_parent=None).select_related("message")
        there = known.filter(digest__in=[one.digest for one in self.entries])
        by = {bytes(one.digest): one for one in there}
        return [None if one.is_told else by.get(one.digest) for one in self.entries]

    def _rewrite(self, *, is_folded: bool) -> Spliced | None:
        """Return the request with its summaries, if it ``is_folded``, and its passages.

        A provider that refuses results of tools without the thinking before their calls gets the
        request folded with the next words of the user.
        """
        links = self._links()
        summaries = self._summaries(links) if is_folded else []
        places = [place_of(one, is_folded=bool(summaries)) for one in links]
        if not any(one != Place() for one in places):
            return None
        splicer = Splicer(self.request.dialect, self.entries, places, summaries)
        made = splicer.splice(self.request.body, self.request.history.places)
        if summaries and self.request.told.keeps_thinking and self._lacks_thinking(made):
            return self._rewrite(is_folded=False)
        return made

    def _summaries(self, links: Sequence[HistoryLink | None]) -> list[tuple[int, str]]:
        """Return the texts of the summaries in force by the last message that each hides.

        There are none if the request does not go on behind all of them.
        """
        numbers = {one.message_id: number for number, one in enumerate(links) if one}
        own = Message.objects.filter(conversation=self.conversation)
        made = own.filter(hidden=False).exclude(condense_id=None).in_reading_order()
        linked = own.filter(hidden=True, rewind_parent=None, history_link__isnull=False)
        found = []
        for row in made:
            last = linked.filter(seq__lte=row.position).order_by("-seq").first()
            end = numbers.get(last.pk, len(links)) if last else len(links)
            found.append((end, message_store.to_engine(row).text))
        behind = max([end for end, _text in found], default=0) + 1
        goes_on = not all(one.is_told for one in self.entries[behind:])
        return found if goes_on else []

    def _lacks_thinking(self, made: Spliced) -> bool:
        """Return True if the newest results stand behind an answer without its thinking."""
        answers = [number for number, one in enumerate(self.entries) if one.role == "assistant"]
        shown = [one for one in self.entries if not one.is_told][-1]
        is_result = any(one.get("type") == "tool_result" for one in shown.content)
        return is_result and answers[-1:] == made.unbound[-1:] != []


def as_message(entry: Entry, *more: dict[str, Any]) -> condense.Message:
    """Return a message of a client, with ``more`` blocks behind it."""
    return condense.Message.from_api({"role": entry.role, "content": [*entry.content, *more]})


def place_of(link: HistoryLink | None, *, is_folded: bool) -> Place:
    """Return what a message's record says of its place."""
    if link is None:
        return Place()
    content = link.message.content
    told = [one["text"] for one in content if kind_of(one) == condense.RECALLED]
    return Place(is_folded and link.message.hidden, "".join(told), bytes(link.view or b""))


def kind_of(block: Any) -> Any:
    """Return the kind of a stored block that nobody said, None for any other."""
    return block.get(condense.BESIDE, {}).get("kind")
