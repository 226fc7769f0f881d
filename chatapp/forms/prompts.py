"""Prompts of one's own: each stands in for a text that is there without it."""

from django import forms
from django.utils.translation import gettext_lazy as _

# Characters; a prompt goes with every request, the condensing prompt with every summary.
LONGEST_PROMPT = 200_000


def own_prompt(text: str, default: str) -> str:
    """Return what to store: nothing where the text is the default, so that a better one arrives."""
    text = "\n".join(text.strip().splitlines())
    return "" if text == default else text


def prompt_field() -> forms.CharField:
    """Return a field for a system prompt."""
    return forms.CharField(
        label=_("System prompt"),
        required=False,
        max_length=LONGEST_PROMPT,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
    )
