"""The Django application's configuration."""

from django.apps import AppConfig


class ChatAppConfig(AppConfig):
    """The one application of the project; loading it registers its system checks."""

    name = "chatapp"
    label = "chatapp"
    verbose_name = "Palimpsest"

    def ready(self) -> None:
        """Import the checks: importing registers them."""
        from chatapp import checks  # noqa: F401, PLC0415 - apps must be loaded first
