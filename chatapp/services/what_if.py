"""Settings that were tried on a conversation, put in force."""

from django.db import transaction

from chatapp.context.runs import Terms
from chatapp.context.variants import Variant
from chatapp.models import Preferences, Profile


@transaction.atomic
def use_variant(*, terms: Terms, variant: Variant) -> None:
    """Condense in this way from now on; conversations stay as they are."""
    wanted = variant.preferences(terms)
    Preferences.objects.filter(pk=terms.preferences.pk).update(**wanted)
    if changed := variant.profile(terms):
        Profile.objects.filter(pk=terms.profile.pk).update(**changed)
