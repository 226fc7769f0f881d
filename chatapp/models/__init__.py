"""Everything that is stored, by theme.

``accounts``       who signs in, and how they want things: SignInToken, Preferences
``profiles``       models at providers, as users set them up: Profile
``tokens``         what programs say to be let in: ApiToken
``commands``       texts that people keep under a name: SavedCommand
``folders``        where conversations are found together: Folder
``conversations``  whose they are, and where they are found: Conversation
``messages``       what was said, and which of it the model sees: Message
``attachments``    what will be sent with a message: Attachment
``turns``          what happened: Turn, Rewind
``queued``         what waits for a turn's end: QueuedMessage
``questions``      what a turn asks a person, and how files were: Question, Checkpoint
``owners``         which process a turn belongs to
``paging``         where the next page of a list begins
``records``        how the context was made smaller: Condensation
``outcomes``       how such an attempt stands, what began it, and what it came to
``reviews``        what a person says to a summary before it is applied: Review
``pins``           what the model keeps word for word: Pin
``forks``          where one conversation became two: Fork
``audit``          the chain that tells of each change of a record: AuditEntry
``calls``          what was asked and run: ModelCall, ToolRun
``spending``       what calls may cost, and have cost: Spending
``servers``        programs of others that have tools: McpServer
``shares``         links with which anybody can read a conversation: Share
``sources``        where a conversation came from that was imported: Source
``message_index``  which messages have the words that somebody looks for
"""

from chatapp.models import message_index
from chatapp.models.accounts import ApiToken, SignInToken
from chatapp.models.audit import AuditEntry
from chatapp.models.calls import Fragment, Manifest, ModelCall, ToolRun
from chatapp.models.condensations import Condensation
from chatapp.models.conversations import Conversation, Folder
from chatapp.models.mcp_servers import McpServer
from chatapp.models.messages import Message
from chatapp.models.origins import Fork, Source
from chatapp.models.pending_messages import Attachment, QueuedMessage
from chatapp.models.pins import Pin
from chatapp.models.preferences import Preferences
from chatapp.models.profiles import Profile
from chatapp.models.questions import Checkpoint, Question
from chatapp.models.shares import Share
from chatapp.models.slash_commands import SavedCommand
from chatapp.models.summary_reviews import Review
from chatapp.models.turns import Rewind, Turn

__all__ = [
    "ApiToken",
    "Attachment",
    "AuditEntry",
    "Checkpoint",
    "Condensation",
    "Conversation",
    "Folder",
    "Fork",
    "Fragment",
    "Manifest",
    "McpServer",
    "Message",
    "ModelCall",
    "Pin",
    "Preferences",
    "Profile",
    "Question",
    "QueuedMessage",
    "Review",
    "Rewind",
    "SavedCommand",
    "Share",
    "SignInToken",
    "Source",
    "ToolRun",
    "Turn",
    "message_index",
]
