"""HTTP addresses, page by page."""

from django.contrib import admin
from django.urls import include, path

from chatapp.views import (
    attachments,
    chat,
    condensations,
    connections,
    conversations,
    files,
    health,
    profiles,
    questions,
    search,
    settings,
    sign_in,
    whole,
)

one_conversation = [
    path("", chat.show_chat, name="chat"),
    path("transcript/", chat.show_transcript, name="transcript"),
    path("find/", search.find, name="find"),
    path("messages/<int:seq>/text/", whole.show_message_text, name="message_text"),
    path("messages/<int:seq>/call/", whole.show_call_text, name="call_text"),
    path("messages/<int:seq>/blocks/<int:index>/", attachments.show_block, name="message_block"),
    path("attachments/", attachments.show_attachments, name="attachments"),
    path("attachments/new/", attachments.put_attachment, name="put_attachment"),
    path("attachments/<uuid:attachment_pk>/", attachments.show_attachment, name="attachment"),
    path(
        "attachments/<uuid:attachment_pk>/remove/",
        attachments.remove_attachment,
        name="remove_attachment",
    ),
    path("questions/<int:question_pk>/", questions.answer_question, name="answer_question"),
    path("files/", files.show_files, name="files"),
    path("files/file/", files.download_file, name="download_file"),
    path("files/all/", files.download_files, name="download_files"),
    path("outputs/<str:name>/", files.download_output, name="download_output"),
    path("queue/<uuid:nonce>/text/", whole.show_queued_text, name="queued_text"),
    path("todo/", chat.show_todo, name="todo"),
    path("tools/", questions.show_policies, name="tool_policies"),
    path("profile/", chat.choose_profile, name="choose_profile"),
    path("profile/choice/", chat.show_choice, name="profile_choice"),
    path("workspace/", chat.choose_workspace, name="choose_workspace"),
    path("rename/", conversations.rename_conversation, name="rename"),
    path("delete/", conversations.delete_conversation, name="delete"),
    path("restore/", conversations.restore_conversation, name="restore"),
    path("rewind/preview/", chat.preview_rewind, name="rewind_preview"),
    path("rewind/", chat.rewind_conversation, name="rewind"),
    path("rewinds/<uuid:rewind_pk>/undo/", chat.undo_rewind, name="undo_rewind"),
    path("rewinds/<uuid:rewind_pk>/show/", chat.switch_version, name="switch_version"),
]

one_condensation = [
    path("hidden/", condensations.show_hidden, name="hidden"),
    path("put-back/", condensations.put_back, name="put_back"),
    path("undo/", condensations.undo_condensation, name="undo_condensation"),
    path("rewind/", condensations.rewind_condensation, name="rewind_condensation"),
]

urlpatterns = [
    path("", conversations.show_home, name="conversations"),
    path("search/", search.search, name="search"),
    path("c/new/", conversations.create_conversation, name="new_conversation"),
    path("c/<uuid:pk>/", include(one_conversation)),
    path("c/<uuid:pk>/condensations/<uuid:attempt_pk>/", include(one_condensation)),
    path("condensations/", condensations.show_condensations, name="condensations"),
    path("profiles/", profiles.list_profiles, name="profiles"),
    path("profiles/new/", profiles.create_profile, name="new_profile"),
    path("profiles/nearby/", connections.look_around, name="look_around"),
    path("profiles/nearby/use/", connections.use_local_server, name="use_local_server"),
    path("profiles/new/test/", connections.try_profile, name="test_new_profile"),
    path("profiles/<int:pk>/test/", connections.try_profile, name="test_profile"),
    path("profiles/<int:pk>/", profiles.edit_profile, name="edit_profile"),
    path("profiles/<int:pk>/default/", profiles.choose_default, name="default_profile"),
    path("profiles/<int:pk>/delete/", profiles.delete_profile, name="delete_profile"),
    path("settings/", settings.show_settings, name="settings"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-in/<str:token>/", sign_in.sign_in_with_token, name="sign_in_with_token"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("healthz", health.show_alive, name="healthz"),
    path("readyz", health.show_ready, name="readyz"),
    path("admin/", admin.site.urls),
]
