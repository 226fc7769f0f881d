"""The Django application's configuration."""

from django.apps import AppConfig


class ChatAppConfig(AppConfig):
    """The one application of the project; loading it registers its checks."""

    name = "chatapp"
    label = "chatapp"
    verbose_name = "Palimpsest"

    def ready(self) -> None:
        """Import what registers itself: system checks, and what connections are taught."""
        # Apps must be loaded first.
        from chatapp import checks  # noqa: F401, PLC0415
        from chatapp.models import message_index  # noqa: F401, PLC0415
