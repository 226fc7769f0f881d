"""Which models answer the user, and how things work for them."""

from django.db.models import QuerySet
from ninja import Router

from chatapp import services
from chatapp.api.door import Call
from chatapp.api.shapes import ProfileShape, SettingsShape
from chatapp.models import Preferences, Profile

router = Router(tags=["Settings"])


@router.get("/profiles", response=list[ProfileShape], summary="List profiles")
def list_profiles(request: Call) -> QuerySet[Profile]:
    """List the models that can answer, with limits and prices; no key is ever shown."""
    return Profile.objects.filter(owner=request.auth)


@router.get("/settings", response=SettingsShape, summary="Show settings")
def show_settings(request: Call) -> Preferences:
    """Show how condensing and the agent work."""
    return services.preferences_of(request.auth)
