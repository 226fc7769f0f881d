"""The condenser of a conversation, built from the settings of its user and of the server."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

import condense
from chatapp.agent.model_call import ProviderSummarizer
from chatapp.agent.ports import Provider, Toolbox
from chatapp.conversations.context.sizes import COUNTER
from chatapp.conversations.context.turn_context import TurnSettings
from chatapp.conversations.embedding.rules_by_meaning import rules_among
from chatapp.models.accounts import provider_for
from chatapp.storage.journal import ConversationJournal

HooksFor = Callable[[Path], condense.Hooks]


def loaded_configuration(terms: TurnSettings) -> condense.Configuration:
    """Return the configuration of a run, with all hooks and with loaded strategies.

    Strategies that are named in the configuration get the user's options. If user and server want
    that, a summary carries the ledger of the messages it hides, and the files that were read; and
    an unusable summary is written again, or the ledger replaces it.
    """
    wanted, preferences = terms.configuration, terms.preferences
    options = {
        "messages": preferences.messages_kept,
        "tokens": terms.tokens_kept,
        "keep_first": preferences.keep_first,
        "last": preferences.last_messages,
        "fraction": preferences.truncated_percent / 100,
    }
    strategies = [
        condense.load_strategy(one, options) if isinstance(one, str) else one
        for one in wanted.strategies
    ]
    hooks = condense.Hooks()
    if settings.CONDENSE_DEFAULT_HOOKS:
        ledger = (condense.attach_ledger,) if preferences.attach_ledger else ()
        files = (condense.AttachFoldedFiles(terms.folder),) if preferences.attach_files else ()
        checks = condense.DEFAULT_VALIDATORS if preferences.check_summaries else ()
        hooks = condense.Hooks(after=(*ledger, *files), validators=checks)
    if settings.CONDENSE_HOOKS:
        named: condense.Hooks | HooksFor = import_string(settings.CONDENSE_HOOKS)
        hooks += named if isinstance(named, condense.Hooks) else named(terms.folder)
    return replace(wanted, strategies=strategies, hooks=hooks + wanted.hooks)


def summarizer_for(
    journal: ConversationJournal, answers: Provider | None = None
) -> ProviderSummarizer:
    """Return the model that writes summaries: ``answers``, unless the profile names another one.

    Raises DecryptionFailed when its key can't be read.
    """
    run = journal.run
    apart = run.writer != run.profile
    provider = answers if answers and not apart else provider_for(run.writer)
    return ProviderSummarizer(provider, journal, journal.saver.audience, apart=apart)


def condenser_for(
    journal: ConversationJournal,
    log: condense.CondensationLog,
    reviewer: condense.Reviewer | None = None,
    *,
    answers: Provider | None = None,
) -> condense.Condenser:
    """Return a conversation's condenser, set up as its user and the server choose."""
    configured = loaded_configuration(journal.run)
    summarizer = summarizer_for(journal, answers)
    return configured.condenser(summarizer, COUNTER, log=log, reviewer=reviewer)


def situation_of(
    terms: TurnSettings,
    effective: Sequence[condense.Message],
    size: condense.TokenCount,
    toolbox: Toolbox,
    **rest: Any,
) -> condense.Situation:
    """Return the situation of an effective history; ``rest`` are more of its fields."""
    return terms.configuration.situation(
        effective,
        size,
        terms.budget(effective),
        system=terms.system,
        tools=tuple([spec.to_api() for spec in toolbox.specs]),
        model=terms.profile.model,
        rules_among=rules_among,
        **terms.whose,
        **rest,
    )
