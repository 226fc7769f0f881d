"""Preferences: a user's settings for condensing and the agent; their prompts and commands."""

from typing import Any

from django.conf import settings
from django.core.validators import (
    MaxLengthValidator,
    MaxValueValidator,
    MinValueValidator,
    RegexValidator,
)
from django.db import models
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import fields
from chatapp.models.profiles import Profile
from chatapp.tools.command_syntax import COMMAND_NAME, LONGEST_TEXT

# Characters; a prompt goes with every request, the condensing prompt with every summary.
LONGEST_PROMPT = 200_000
# Characters of a user's text about themselves, which every request has.
LONGEST_ABOUT = 4_000


def _number(
    label: Any, default: int, bounds: tuple[int, int], hint: Any = ""
) -> "models.PositiveSmallIntegerField[int, int]":
    """Return a column for a whole number from the first of the bounds to the second."""
    checks = [MinValueValidator(bounds[0]), MaxValueValidator(bounds[1])]
    return models.PositiveSmallIntegerField(
        label, default=default, validators=checks, help_text=hint
    )


class Preferences(models.Model):
    """One user's settings for condensing and for the agent; a setting is one field.

    The settings page shows a field's name and help text, and the API takes its type. For those in
    ``offered_providers`` a first profile was made: one that was removed is not made again. The
    ``strategy`` is a name or dotted path for ``condense.load_strategy``; "keep_recent" leaves
    ``messages_kept``, ``tokens_kept`` and ``keep_first`` verbatim.
    """

    class Drafting(models.TextChoices):
        """The models with which summaries are drafted before they are needed."""

        FREE = "free", _("Only with free models")
        ALWAYS = "always", _("Always")
        NEVER = "never", _("Never")

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="preferences"
    )
    auto_condense = models.BooleanField(
        _("condense automatically"),
        default=True,
        help_text=_("Off: you condense by hand. A full window hides its oldest messages."),
    )
    threshold = _number(
        _("threshold (%)"), condense.MAX_THRESHOLD, (condense.MIN_THRESHOLD, condense.MAX_THRESHOLD)
    )
    adaptive = models.BooleanField(
        _("adapt the threshold to the conversation"),
        default=False,
        help_text=_("Condenses just early enough to leave room for two more turns."),
    )
    condensing_prompt = fields.TextField(_("condensing prompt"), blank=True)
    strategy = models.CharField(_("method"), max_length=200, blank=True)  # "" for the server's
    messages_kept = _number(_("messages to keep"), 3, (1, 100))
    tokens_kept = fields.tokens_kept(
        _("Replaces “messages to keep”. Leave empty to count messages.")
    )
    keep_first = models.BooleanField(_("keep the first message too"), default=False)
    last_messages = _number(
        _("last messages to keep"), 20, (1, 1_000), _("For the method “Last messages”.")
    )
    truncated_percent = _number(
        _("oldest share to hide (%)"),
        50,
        (10, 90),
        _("When no summary helps. More is hidden if it must be."),
    )
    stop_when_full = models.BooleanField(
        _("stop with an error instead of truncating"),
        default=False,
        help_text=_("A turn stops rather than hide messages without a summary."),
    )
    attach_ledger = models.BooleanField(
        _("add key facts to each summary"),
        default=True,
        help_text=_("Your words, files and commands, copied without a model."),
    )
    attach_files = models.BooleanField(
        _("add outlines of the files that were read"),
        default=True,
        help_text=_("Outlines only: the model reads a file again for its text."),
    )
    check_summaries = models.BooleanField(
        _("check each summary"),
        default=True,
        help_text=_("An incomplete one is written again, then replaced by key facts."),
    )
    find_contradictions = models.BooleanField(
        _("have a model look for contradictions"),
        default=False,
        db_default=False,
        help_text=_("Compares each summary with the facts. Costs one more short call."),
    )
    draft_ahead = models.CharField(
        _("prepare summaries in the background"),
        max_length=6,
        choices=Drafting,
        default=Drafting.FREE,
        help_text=_("The summary is ready when it is needed, so you don't wait."),
    )
    draft_share = _number(_("start drafting at (% of the threshold)"), 80, (30, 95))
    condense_idle = models.BooleanField(
        _("condense when you pause"),
        default=False,
        help_text=_("While the provider's cache is still warm, if that works out cheaper."),
    )
    clear_tool_output = models.BooleanField(
        _("shorten outdated tool results first"),
        default=False,
        help_text=_("Outdated reads and all but the last 10 results become one line."),
    )
    review_automatic = models.BooleanField(
        _("let me review each summary"),
        default=False,
        help_text=_("Accept, change or discard it. The turn waits for you."),
    )
    review_seconds = _number(_("apply without me after (seconds)"), 300, (10, 30_000))
    auto_recall = models.BooleanField(
        _("recall automatically"),
        default=True,
        help_text=_("Adds hidden passages that match your message."),
    )
    recall_tokens = _number(
        _("tokens to recall"),
        condense.MOST_TOKENS,
        (100, 20_000),
        _("For each message, and never more than 2% of the window."),
    )
    step_limit = _number(
        _("steps per turn"), 50, (1, 1_000), _("Stops a runaway task after this many model calls.")
    )
    month_budget = fields.spending_limit(
        _("budget per month (USD)"),
        help_text=_("You are warned at 80%. When it is spent, calls stop."),
    )
    # Settings of operators only.
    allowance = fields.spending_limit(_("budget per month (USD)"))
    name_conversations = models.BooleanField(
        _("let the model name conversations"),
        default=True,
        help_text=_("Costs one short call after the first answer."),
    )
    environment_details = models.BooleanField(
        _("tell the agent about its surroundings"),
        default=True,
        help_text=_("Adds time, file names, to-do list and context level to your messages."),
    )
    about_me = fields.TextField(
        _("about me and how to answer"),
        blank=True,
        default="",
        db_default="",
        help_text=_("Part of the system prompt of each of your conversations."),
        validators=[
            MaxLengthValidator(LONGEST_ABOUT, _("Shorten this to %(limit_value)d characters."))
        ],
    )
    # One of ``settings.LANGUAGES``; without one it is the browser's.
    language = models.CharField(_("language"), max_length=10, blank=True, default="")
    shortcuts = models.BooleanField(
        _("keyboard shortcuts"),
        default=True,
        help_text=_("Turn them off if they collide with assistive software."),
    )
    default_profile = models.ForeignKey(
        Profile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    offered_providers = models.JSONField(default=list, editable=False)

    class Meta:
        verbose_name_plural = "preferences"


class CondensingPrompt(models.Model):
    """A named text that asks for a summary, in the profiles that choose it."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="condensing_prompts"
    )
    name = fields.CharField(_("name"), max_length=60)
    text = fields.TextField(_("text"), validators=[MaxLengthValidator(LONGEST_PROMPT)])

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("owner", "name"), name="prompt_name_per_owner"),
        )

    def __str__(self) -> str:
        return str(self.name)


class SavedCommand(models.Model):
    """A named text that its owner can type after a slash, with a head as in a file."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_commands"
    )
    name = models.CharField(
        _("name"),
        max_length=40,
        validators=[
            RegexValidator(
                rf"\A{COMMAND_NAME.pattern}\Z",
                _("A name has small letters, digits, hyphens and underscores, and at most 40."),
            )
        ],
    )
    text = fields.TextField(_("text"), validators=[MaxLengthValidator(LONGEST_TEXT)])

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("owner", "name"), name="command_name_per_owner"),
        )

    def __str__(self) -> str:
        return f"/{self.name}"
