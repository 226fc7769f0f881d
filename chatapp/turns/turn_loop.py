"""The agent's loop over one turn, built with all that the turn works with."""

from functools import cached_property
from typing import override

from chatapp.accounts.accounts import provider_for
from chatapp.agent.loop import AgentLoop
from chatapp.agent.ports import Audience
from chatapp.approvals import Approvals
from chatapp.condensation.controller import ContextController
from chatapp.context.sizes import Scale
from chatapp.context.turn_context import TurnContext
from chatapp.files.checkpoints import Checkpoints
from chatapp.storage.journal import ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites
from chatapp.toolbox.toolbox import folder_of, toolbox_for, workspace_of


class TurnLoop(AgentLoop):
    """The agent's loop over one run."""

    controller: ContextController

    def __init__(self, run: TurnContext, audience: Audience) -> None:
        """Read what the turn works with; what only some turns need is made when they do."""
        provider = provider_for(run.profile)
        toolbox = toolbox_for(folder_of(run.conversation), run.conversation, run.profile)
        scale = Scale.read(run.conversation, run.profile, run.system)
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

    @cached_property
    @override
    def approvals(self) -> Approvals:
        """Who asks a person before a tool runs; from now on the workspace's folder is there."""
        folder = workspace_of(self.run_context.conversation)
        return Approvals(
            self.run_context,
            toolbox=self.files,
            checkpoints=Checkpoints(folder),
            saver=self.saver,
            audience=self.audience,
        )

    def wake(self) -> None:
        """Look at what a person has said."""
        self.approvals.wake()
        self.controller.wake()
