"""The record of condensations in words."""

from django import template

from chatapp.models import Condensation
from chatapp.transcript.labels import trigger_text

register = template.Library()


@register.filter
def trigger(attempt: Condensation) -> str:
    """Say who or what asked for the attempt."""
    return trigger_text(attempt)
