"""The condenser's parts by the user's settings and the server's: strategies and hooks."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.utils.module_loading import import_string

import condense
from chatapp.context.turn_context import TurnSettings

HooksFor = Callable[[Path], condense.Hooks]


def load_strategies(terms: TurnSettings) -> list[condense.Strategy]:
    """Return the strategies of the configuration; those that are names, with the user's options."""
    preferences = terms.preferences
    wishes = {"messages": preferences.messages_kept, "keep_first": preferences.keep_first}
    return [
        condense.load_strategy(one, wishes) if isinstance(one, str) else one
        for one in terms.configuration.strategies
    ]


def loaded_configuration(terms: TurnSettings, workspace: Path) -> condense.Configuration:
    """Return how a run condenses: with strategies that are loaded, and all hooks around them."""
    wanted = terms.configuration
    hooks = hooks_for(workspace) + wanted.hooks
    return replace(wanted, strategies=load_strategies(terms), hooks=hooks)


def hooks_for(workspace: Path) -> condense.Hooks:
    """Return the hooks of the settings, after those that are there unless they are switched off.

    These have a summary carry the ledger of what it hides, and the files that were read; and one
    that is unusable is written again, or the ledger stands for it.
    """
    hooks = condense.Hooks()
    if settings.CONDENSE_DEFAULT_HOOKS:
        files = condense.AttachFoldedFiles(workspace)
        hooks = condense.Hooks(
            after=(condense.attach_ledger, files), validators=condense.DEFAULT_VALIDATORS
        )
    if not settings.CONDENSE_HOOKS:
        return hooks
    named: condense.Hooks | HooksFor = import_string(settings.CONDENSE_HOOKS)
    return hooks + (named if isinstance(named, condense.Hooks) else named(workspace))
