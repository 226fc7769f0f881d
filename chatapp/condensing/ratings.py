"""Ratings: people's verdicts on summaries, each with a reason that later requests pass on."""

from django.contrib.auth.models import User
from django.utils import timezone

import condense
from chatapp.conversations.locks import lock
from chatapp.models import Condensation, Message, message_store
from chatapp.models.errors import Refused
from chatapp.project.sentences import translate as _

LONGEST_WORDS = 300  # characters
PASSED_ON = 5  # of the latest ratings with a reason


def rate_summary(*, condensation: Condensation, rating: int, words: str = "") -> None:
    """Keep a person's rating of a summary that a model wrote; 0 takes it back."""
    if rating not in {0, *Condensation.Rating.values}:
        raise Refused(_("A summary is good or bad."))
    if not (condensation.message_id and condensation.prompt):
        raise Refused(_("Only a summary by a model can be rated."))
    said = " ".join(words.split())[:LONGEST_WORDS] if rating else ""
    rated = {"rating": rating or None, "rating_words": said, "rated_at": timezone.now()}
    with lock(condensation.conversation) as locked:
        Condensation.objects.filter(pk=condensation.pk).change(**rated)
        message_store.note_record(locked.pk)


def feedback_of(owner: User) -> tuple[str, ...]:
    """Return the owner's latest ratings that have a reason, as a summary request says them.

    A reason with words that its conversation has forgotten is left out.
    """
    rated = (
        Condensation.objects.owned_by(owner).filter(rated_at__isnull=False).exclude(rating_words="")
    )
    # A fork has copies of them.
    latest = rated.values_list("rated_at", "rating", "rating_words").distinct()
    newest, good = [*latest.order_by("-rated_at")[:PASSED_ON]], Condensation.Rating.GOOD
    of_these = rated.filter(rated_at__in=[at for at, _rating, _words in newest])
    own = Message.objects.filter(conversation__in=of_these.values("conversation"))
    passages = own.forgotten_passages() if newest else []
    return tuple(
        [
            f"{'Good' if rating == good else 'Bad'}: {words}"
            for _at, rating, words in newest
            if not condense.tells_any(words, passages)
        ]
    )
