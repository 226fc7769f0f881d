"""Models: everything that is stored, by theme."""

from chatapp.models.access_tokens import ApiToken, Invitation, Share, SignInToken
from chatapp.models.account_deletions import Deletion
from chatapp.models.audit import AuditEntry
from chatapp.models.background_drafts import BackgroundDraft
from chatapp.models.calls import DraftPiece, Fragment, Manifest, ModelCall, ToolRun
from chatapp.models.client_conversations import ClientConversation, HistoryLink
from chatapp.models.condensations import Condensation
from chatapp.models.conversations import Conversation, Folder
from chatapp.models.import_runs import ImportRun
from chatapp.models.mcp_servers import McpServer
from chatapp.models.meanings import Meanings, MessageMeaning
from chatapp.models.messages import Message
from chatapp.models.origins import Fork, Source
from chatapp.models.pending_messages import Attachment, AttachmentTotal, QueuedMessage
from chatapp.models.pins import Pin
from chatapp.models.preferences import CondensingPrompt, Preferences, SavedCommand
from chatapp.models.processes import Process
from chatapp.models.profiles import Profile
from chatapp.models.questions import Checkpoint, Question, Review
from chatapp.models.rewinds import Rewind
from chatapp.models.server_settings import ServerSettings
from chatapp.models.turn_requests import TurnRequest
from chatapp.models.turns import Turn
