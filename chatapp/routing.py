"""WebSocket addresses."""

from django.urls import path

from chatapp.consumers import ConversationConsumer

websocket_urlpatterns = [
    # Django types a view by what it returns; Channels puts an application in its place.
    path("ws/c/<uuid:conversation_id>/", ConversationConsumer.as_asgi()),  # type: ignore[arg-type]
]
