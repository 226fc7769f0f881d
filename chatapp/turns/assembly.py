"""The composition root: builds everything a turn works with from rows and settings."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

import condense
from chatapp.agent.loop import AgentLoop
from chatapp.agent.ports import Audience, Nobody
from chatapp.agent.provider_port import Model, Provider
from chatapp.agent.summarizer import ProviderSummarizer
from chatapp.approvals import StoredGate
from chatapp.condensation.attempt_log import StoredLog, last_tried
from chatapp.condensation.background_drafts import Ahead, Draft
from chatapp.condensation.controller import Keeper
from chatapp.condensation.draft_log import DraftJournal, DraftLog
from chatapp.condensation.summary_reviews import StoredReviewer
from chatapp.context.sizes import COUNTER, Scale
from chatapp.context.turn_context import Run, Terms
from chatapp.files.checkpoints import Checkpoints
from chatapp.models import Profile
from chatapp.models.profiles import KeySource, server_key, server_url
from chatapp.network.address_guard import Guard
from chatapp.providers import create_provider, create_sealed
from chatapp.providers.model_servers import Report, probe
from chatapp.storage.journal import StoredJournal
from chatapp.storage.retried_writes import Saver
from chatapp.toolbox.toolbox import toolbox_for, workspace_of

HooksFor = Callable[[Path], condense.Hooks]


def provider_for(profile: Profile, *, most: int | None = None) -> Provider:
    """Return the profile's provider; raise crypto.DecryptionFailed when its key can't be read.

    Its answers have ``most`` tokens where that is given, and less than the profile's limit.
    """
    reached = _reached_by(profile)
    if most is not None:
        model: Model = reached["model"]
        reached["model"] = replace(model, max_output=min(most, model.max_output))
    return create_provider(profile.provider, **reached)


async def probe_profile(profile: Profile) -> Report:
    """Return what the profile's server can do; raise as ``provider_for`` does."""
    return await probe(create_sealed(profile.provider, **_reached_by(profile)))


def _reached_by(profile: Profile) -> dict[str, Any]:
    """Return what a provider is made of."""
    spec = profile.spec
    known = spec.find_model(profile.model)
    model = Model(
        name=profile.model,
        context_window=profile.context_window,
        max_output=profile.output_limit,
        prices=profile.prices,
        supports_images=profile.sees_images,
        caches_prompts=spec.caches_prompts,
        temperature=None if profile.temperature is None else float(profile.temperature),
        effort=profile.effort,
        compacts=known is not None and known.compacts,
    )
    from_server = profile.key_source is KeySource.SERVER
    return {
        "model": model,
        "api_key": server_key(spec) if from_server else profile.read_key(),
        "base_url": profile.base_url or server_url(spec),
        "guard": Guard(settings.ALLOW_PRIVATE_ADDRESSES) if profile.base_url else None,
    }


def load_strategies(terms: Terms) -> list[condense.Strategy]:
    """Return the strategies of the configuration; those that are names, with the user's options."""
    preferences = terms.preferences
    wishes = {"messages": preferences.messages_kept, "keep_first": preferences.keep_first}
    return [
        condense.load_strategy(one, wishes) if isinstance(one, str) else one
        for one in terms.configuration.strategies
    ]


def configuration_for(terms: Terms, workspace: Path) -> condense.Configuration:
    """Return how a run condenses, with all hooks; ``load_strategies`` has the strategies."""
    wanted = terms.configuration
    return replace(wanted, hooks=hooks_for(workspace) + wanted.hooks)


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


def draft_for(run: Run, workspace: Path, scale: Scale) -> Draft | None:
    """Return a draft that can be begun, for a run; None where it has no summary written."""
    configured = configuration_for(run, workspace)
    strategies = [one for one in load_strategies(run) if condense.asks_model(one)]
    if not strategies:
        return None
    audience = Nobody()
    saver = Saver(audience)
    journal = DraftJournal(run, scale, saver)
    log = DraftLog(run, scale=scale, saver=saver, audience=audience)
    summarizer = ProviderSummarizer(
        provider_for(run.writer), journal, audience, apart=run.writer != run.profile
    )
    configured = replace(configured, strategies=strategies)
    return Draft(run, journal, log, configured.condenser(summarizer, COUNTER, log=log))


@dataclass(frozen=True, slots=True)
class Parts:
    """What works on one run: the loop that answers, who lets tools run, and who condenses."""

    keeper: Keeper
    gate: StoredGate
    reviewer: StoredReviewer
    loop: AgentLoop

    def leave(self) -> None:
        """Come to an end at the next safe point, and wait for nobody."""
        self.loop.leave()
        self.reviewer.leave()

    def wake(self) -> None:
        """Look at what a person has said."""
        self.gate.wake()
        self.reviewer.wake()


def assemble(run: Run, audience: Audience) -> Parts:
    """Build the parts for a run; ``audience`` is told what they do."""
    provider = provider_for(run.profile)
    workspace = workspace_of(run.conversation)
    toolbox = toolbox_for(workspace, run.conversation, run.profile)
    scale = Scale.read(run.conversation, run.profile, run.system)
    saver = Saver(audience)
    journal = StoredJournal(run, scale, saver)
    log = StoredLog(
        run,
        scale=scale,
        saver=saver,
        audience=audience,
        on_disk=toolbox.holds,
        condensed_at=last_tried(run.conversation.pk),
    )
    apart = run.writer != run.profile
    writing = provider_for(run.writer) if apart else provider
    summarizer = ProviderSummarizer(writing, journal, audience, apart=apart)
    reviewer = StoredReviewer(run, saver=saver, audience=audience)
    configured = configuration_for(run, workspace)
    keeper = Keeper(
        run,
        condenser=configured.condenser(
            summarizer,
            COUNTER,
            log=log,
            reviewer=reviewer,
            strategies=functools.partial(load_strategies, run),
        ),
        log=log,
        reviewer=reviewer,
        journal=journal,
        toolbox=toolbox,
        provider=provider,
        scale=scale,
        ahead=Ahead(run, functools.partial(draft_for, run, workspace, scale)),
    )
    gate = StoredGate(
        run,
        toolbox=toolbox,
        checkpoints=Checkpoints(workspace),
        saver=saver,
        audience=audience,
    )
    loop = AgentLoop(
        provider=provider,
        toolbox=toolbox,
        journal=journal,
        keeper=keeper,
        audience=audience,
        system=run.system,
        step_limit=run.preferences.step_limit,
        gate=gate,
    )
    return Parts(keeper, gate, reviewer, loop)
