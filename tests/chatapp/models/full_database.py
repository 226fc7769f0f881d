"""A row in every table, as people and their models come to have them."""

import uuid

import condense
from chatapp.accounts import credentials, invitations
from chatapp.condensing import undo
from chatapp.conversations import conversations, forks, pins
from chatapp.conversations.composer import attachments
from chatapp.models import (
    AttachmentTotal,
    BackgroundDraft,
    Checkpoint,
    ClientConversation,
    CondensingPrompt,
    Conversation,
    HistoryLink,
    ImportRun,
    McpServer,
    Message,
    MessageMeaning,
    ModelCall,
    QueuedMessage,
    SavedCommand,
    ServerSettings,
    Source,
    ToolRun,
    TurnRequest,
)
from tests.chatapp.audited import condense_on_record, live_through
from tests.chatapp.observers import live_elsewhere
from tests.chatapp.storage.recorded_session import Session


def fill(conversation: Conversation) -> None:
    """Have a row in every table, as people and their models come to have them."""
    owner = conversation.owner
    live_through(conversation)
    undo.undo_condensation(condensation=condense_on_record(conversation))
    session = Session(conversation)
    session.say("user", condense.TextBlock("Begin"))
    session.send()
    newest = Message.objects.filter(conversation=conversation).latest("seq")
    pins.pin_message(conversation=conversation, seq=newest.seq)
    pins.pin_rule(conversation=conversation, text="Answer briefly.")
    forks.fork_conversation(conversation=conversation, seq=newest.seq)
    conversations.share_conversation(conversation=conversation)
    conversations.move_conversation(conversation=conversation, folder=None, named="Travels")
    credentials.create_sign_in_token(user=owner)
    credentials.create_api_token(owner=owner, name="script", scope="read")
    invitations.invite(by=owner, role="member")
    attachments.attach_file(owner=owner, name="a.txt", data=b"A")
    live_elsewhere()
    turn = conversation.turns.latest("started_at")
    TurnRequest.objects.create(turn=turn, kind=TurnRequest.Kind.STOP)
    ToolRun.objects.create(turn=turn, call_id="c", name="list_files")
    Checkpoint.objects.create(turn=turn, seq=1, name="a" * 40)
    QueuedMessage.objects.create(conversation=conversation, nonce=uuid.uuid4(), text="Later.")
    CondensingPrompt.objects.create(owner=owner, name="Code", text="Name every file.")
    SavedCommand.objects.create(owner=owner, name="review", text="Review it.")
    McpServer.objects.create(owner=owner, name="Maps", address="maps")
    run = ImportRun.objects.begin(owner, "")
    Source.objects.create(conversation=conversation, form="palimpsest", run=run)
    ClientConversation.objects.create(conversation=conversation, program="x", is_open=False)
    HistoryLink.objects.create(message=newest, digest=bytes(32))
    BackgroundDraft.objects.create(conversation=conversation, owner="here")
    AttachmentTotal.objects.create(owner=owner, size=1)
    ServerSettings.read().save()
    ModelCall.objects.latest("pk").pieces.create(at=0, text="[]")
    MessageMeaning.objects.create(message=newest, embedder="a", passages=1, vectors=b"\1")
