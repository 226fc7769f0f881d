"""WebSocket addresses."""

from django.urls import path

from chatapp.consumers import ConversationConsumer

websocket_urlpatterns = [
    path("ws/c/<uuid:conversation_id>/", ConversationConsumer.as_asgi()),
]
