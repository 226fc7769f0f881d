"""Costs: prices of a condensation, a draft and the next request, now and later."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils import timezone

import condense
from chatapp.conversations.context import turn_context
from chatapp.conversations.context.sizes import Scale
from chatapp.conversations.context.turn_context import TurnSettings
from chatapp.models import Conversation, ModelCall, Preferences, Profile

# Vendors keep a prompt this long after its last use, unless they are paid for more.
CACHED_FOR = timedelta(minutes=5)


def predict(terms: TurnSettings, expected: condense.Usage, *, unchanged: bool) -> condense.Usage:
    """Return the usage of calls that is to be billed, from the usage expected of them.

    The part that the conversation's own calls have sent before is read from the cache, if it is
    ``unchanged`` since, and the last call is not long ago.
    """
    calls = ModelCall.objects.filter(
        conversation=terms.conversation.pk,
        model=terms.profile.model,
        created_at__gt=timezone.now() - CACHED_FOR,
    ).exclude(tokens_output=0)
    is_read = expected.cache_read and unchanged and calls.exists()
    read = expected.cache_read if is_read else 0
    new = expected.input + expected.cache_read - read
    return bill(terms.writer, condense.Usage(new, expected.output, cache_read=read))


def still_cached(conversation: Conversation, profile: Profile) -> tuple[int, datetime | None]:
    """Return the cached tokens of the next request, and the approximate end of the cache.

    They are those that the last answer's call read from the cache or wrote to it. It is (0, None)
    if the messages before have changed since, or nothing is known of a cache.
    """
    if not profile.spec.caches_prompts or conversation.measured_tokens is None:
        return 0, None
    answers = ModelCall.objects.filter(
        conversation=conversation, model=profile.model, error="", usage_measured=True
    ).exclude(tokens_estimated=None)
    last = answers.order_by("-created_at", "-pk").first()
    if not last or (until := last.created_at + CACHED_FOR) <= timezone.now():
        return 0, None
    tokens = last.tokens_cache_read + last.tokens_cache_write
    return tokens, until if tokens else None


def cost_of_draft(profile: Profile, preferences: Preferences) -> Decimal | None:
    """Return the highest cost of a draft: nothing is cached, and it has the greatest length."""
    read = turn_context.budget_for(profile, preferences).condenses_at
    writer = profile.summaries_by or profile
    return writer.cost_of(bill(writer, condense.Usage(read, writer.output_limit)))


def bill(profile: Profile, usage: condense.Usage) -> condense.Usage:
    """Return tokens as a profile's provider bills them.

    If writing to its cache costs more than input, all tokens that are not read from the cache are
    written to it.
    """
    if not profile.spec.caches_prompts:
        return replace(usage, input=usage.prompt, cache_read=0)
    prices = profile.prices
    if prices.cache_write <= prices.input:
        return usage
    return replace(usage, input=0, cache_write=usage.input)


# Shares of the hidden text, as measured: the summary, and everything that is written for it.
SUMMARY, WRITTEN = 0.04, 0.08
# Tokens of the shortest summary, and of the instruction that asks for it.
SHORTEST, INSTRUCTION = 250, 1_500


def forecast_part(terms: TurnSettings, tokens: int) -> tuple[int, Decimal | None]:
    """Return the tokens of a summary of a part, and its cost."""
    after = max(SHORTEST, round(SUMMARY * tokens))
    usage = condense.Usage(tokens + INSTRUCTION, 2 * after)
    return after, terms.writer.cost_of(bill(terms.writer, usage))


# Smaller contexts are not condensed while idle; a share of the threshold.
LEAST = 0.5


def is_cheaper(terms: TurnSettings, history: Sequence[condense.Message]) -> bool:
    """Return True if a summary now and a short prompt later cost less than all of it later.

    The prices are the profile's: False without charges, and if some price is unknown.
    """
    # Now the provider reads the prompt from its cache; later it reads all of it anew.
    if not terms.condenses_idle or terms.writer != terms.profile:
        return False
    scale = Scale.read(terms)
    size, profile = scale.weigh(history).value, terms.profile
    if not profile.spec.caches_prompts or size < LEAST * terms.budget(history).condenses_at:
        return False
    usage = condense.Usage(output=round(WRITTEN * size), cache_read=size)
    now = profile.cost_of(bill(profile, usage))
    short = scale.overhead + round(SUMMARY * size)
    next_, later = (
        profile.cost_of(bill(profile, condense.Usage(input=tokens))) for tokens in (short, size)
    )
    return None not in (now, next_, later) and (now or 0) + (next_ or 0) < (later or 0)
