"""Whether it is cheaper to condense while the provider's cache still has the conversation."""

from collections.abc import Sequence

import condense
from chatapp.context.prediction import bill
from chatapp.context.runs import Terms
from chatapp.context.sizes import Scale

# What a summary takes of what it stands for, and all that is written for it, as was measured.
SUMMARY, WRITTEN = 0.04, 0.08
# The share of its threshold from which a context is worth it.
LEAST = 0.5


def is_wanted(terms: Terms) -> bool:
    """Whether the user wants it, and nothing that they want more stands against it."""
    wanted, put_off = terms.preferences, terms.conversation.put_off
    return wanted.condense_idle and not (wanted.review_automatic or put_off)


def is_cheaper(terms: Terms, history: Sequence[condense.Message]) -> bool:
    """Whether a summary now, and a short prompt later, cost less than the whole prompt later.

    Now the provider reads the prompt from its cache; later it reads all of it anew. The prices are
    those of the profile: where it charges nothing, nothing is saved, and unknown ones say nothing.
    """
    if not is_wanted(terms) or terms.writer != terms.profile:
        return False
    scale = Scale.read(terms.conversation, terms.profile, terms.system)
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
