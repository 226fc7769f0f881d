"""The agent's loop over one turn, built of the turn's settings and the stored conversation."""

from collections.abc import Callable
from functools import cached_property
from typing import override

import condense
from chatapp.agent.loop import AgentLoop
from chatapp.agent.ports import Audience
from chatapp.condensing.controller import ContextController
from chatapp.conversations.context.sizes import Scale
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.conversations.toolbox.toolbox import toolbox_for
from chatapp.models import message_store
from chatapp.models.accounts import provider_for
from chatapp.models.calls import measured_prompts, pace_of
from chatapp.models.database import together
from chatapp.storage.approvals import Approvals
from chatapp.storage.journal import ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites
from chatapp.turns.lifecycle import TurnEnd


class TurnLoop(AgentLoop):
    """The agent's loop over one run."""

    controller: ContextController

    def __init__(self, run: TurnContext, audience: Audience, ending: Callable[[], TurnEnd]) -> None:
        """Build the turn's parts from its settings; rarely needed ones are made on demand."""
        profile, pk = run.profile, run.conversation.pk
        profile.mcp_servers, profile.pace, prompts, history = together(
            profile.read_servers.query(),
            pace_of.query(profile.pk),
            measured_prompts.query(pk, profile.model, condense.Calibration.MEMORY),
            message_store.effective_rows.query(pk),
        )
        provider = provider_for(profile)
        toolbox = toolbox_for(run.folder, run.conversation, profile, run.zone)
        vars(run)["tools"] = toolbox.specs
        scale = Scale.read(run, prompts)
        saver = RetriedWrites(audience)
        journal = ConversationJournal(run, scale, saver)
        super().__init__(
            provider=provider,
            toolbox=toolbox,
            journal=journal,
            controller=ContextController(journal, toolbox=toolbox, provider=provider),
            audience=audience,
            system=run.system,
            step_limit=run.preferences.step_limit,
        )
        self.run_context, self.saver, self.files = run, saver, toolbox
        journal.ending, journal.first = ending, journal.learn(history)

    @cached_property
    @override
    def approvals(self) -> Approvals:
        """Approvals of this turn's tool calls."""
        return Approvals(
            self.run_context, toolbox=self.files, saver=self.saver, audience=self.audience
        )

    def wake(self) -> None:
        """Have approvals and reviews read a person's answer."""
        self.approvals.wake()
        self.controller.wake()
