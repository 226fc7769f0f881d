"""Preferences: how one user wants condensing and the agent to work, and their own commands."""

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
from chatapp.command_syntax import LONGEST_TEXT, NAME
from chatapp.models import fields
from chatapp.models.profiles import Profile


class Preferences(models.Model):
    """How one user wants condensing and the agent to work.

    A setting is one field: its name and help text are what the settings page shows, and its type
    is what the API takes. ``strategy`` is a name or dotted path for ``condense.load_strategy``,
    empty for the server's; ``messages_kept`` and ``keep_first`` are what "keep_recent" leaves
    verbatim. ``offered_providers`` names those for which a first profile was made, so that one
    that was removed is not made again.
    """

    class Drafting(models.TextChoices):
        """Where summaries are drafted before they are needed."""

        FREE = "free", _("Where tokens cost nothing")
        ALWAYS = "always", _("Always")
        NEVER = "never", _("Never")

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="preferences"
    )
    auto_condense = models.BooleanField(
        _("condense automatically"),
        default=True,
        help_text=_(
            "Off: nothing is condensed until you ask; if the window overflows, the oldest messages "
            "are hidden without a summary."
        ),
    )
    threshold = models.PositiveSmallIntegerField(
        _("threshold (%)"),
        default=condense.MAX_THRESHOLD,
        validators=[
            MinValueValidator(condense.MIN_THRESHOLD),
            MaxValueValidator(condense.MAX_THRESHOLD),
        ],
    )
    adaptive = models.BooleanField(
        _("adapt the threshold to the conversation"),
        default=False,
        help_text=_(
            "Once a turn is complete, it condenses as late as leaves room for two more turns of "
            "the size that the latest had, but not before half of the window is full."
        ),
    )
    condensing_prompt = fields.TextField(_("condensing prompt"), blank=True)
    strategy = models.CharField(_("strategy"), max_length=200, blank=True)
    messages_kept = models.PositiveSmallIntegerField(
        _("messages to keep"),
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
    )
    keep_first = models.BooleanField(_("keep the first message too"), default=False)
    draft_ahead = models.CharField(
        _("draft summaries in the background"),
        max_length=6,
        choices=Drafting,
        default=Drafting.FREE,
    )
    draft_share = models.PositiveSmallIntegerField(
        _("start drafting at (% of the threshold)"),
        default=80,
        validators=[MinValueValidator(30), MaxValueValidator(95)],
        help_text=_(
            "From there on the summary is written while the conversation goes on, and takes its "
            "place at the threshold without a wait. A rewind, an edit, or a change of prompt, "
            "profile or pins makes a draft useless, and its cost stays on record. Where superseded "
            "tool output is cleared first, nothing is drafted."
        ),
    )
    condense_idle = models.BooleanField(
        _("condense while idle, where that is cheaper"),
        default=False,
        help_text=_(
            "Providers keep a conversation in their cache for some five minutes. Shortly before "
            "that is over, one that is half way to its threshold is condensed, if by its profile's "
            "prices that and a short next request cost less than to send all of it again. Not "
            "where automatic condensations are reviewed."
        ),
    )
    clear_tool_output = models.BooleanField(
        _("clear superseded tool output first"),
        default=False,
        help_text=_(
            "Output of a file that was read again later, and all but the last 10 results, become "
            "one line each. Only where that is not enough, the strategy above follows."
        ),
    )
    review_automatic = models.BooleanField(
        _("review before it applies"),
        default=False,
        help_text=_(
            "What the model wrote is shown before it applies: accept, change or discard it. The "
            "turn waits for you meanwhile; when you neither answer nor change anything, it "
            "applies. For a condensation by hand you choose beside the button."
        ),
    )
    review_seconds = models.PositiveSmallIntegerField(
        _("seconds until it applies by itself"),
        default=300,
        validators=[MinValueValidator(10), MaxValueValidator(30_000)],
    )
    auto_recall = models.BooleanField(
        _("recall automatically"),
        default=True,
        help_text=_("Hidden passages that fit your message go to the model beside it."),
    )
    recall_tokens = models.PositiveSmallIntegerField(
        _("tokens to recall"),
        default=condense.MOST_TOKENS,
        validators=[MinValueValidator(100), MaxValueValidator(20_000)],
        help_text=_("At most so many beside one message, and 2 % of the window."),
    )
    step_limit = models.PositiveSmallIntegerField(
        _("steps per turn"),
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(1_000)],
        help_text=_(
            "A turn ends after this many model calls, so that a task gone astray stops by itself."
        ),
    )
    month_budget = fields.spending_limit(
        _("budget per month (USD)"),
        help_text=_(
            "What all your conversations together may cost in a calendar month (UTC). From 80 % on "
            "each of them says so; once it is spent no model is called any more, also in the "
            "middle of a turn. A conversation can have a budget of its own, under “Tools and "
            "prompt” in its menu. Empty: no limit."
        ),
    )
    name_conversations = models.BooleanField(
        _("let the model name conversations"),
        default=True,
        help_text=_(
            "One short call after the first answer, to the profile that gave it; it is on record "
            "with its cost. Off: a conversation is called what its first message begins with."
        ),
    )
    environment_details = models.BooleanField(
        _("tell the agent about its surroundings"),
        default=True,
        help_text=_(
            "With each message of yours goes the time, the names of files in the workspace, the "
            "to-do list and how full the context is. What was sent stays as it was."
        ),
    )
    shortcuts = models.BooleanField(
        _("keyboard shortcuts"),
        default=True,
        help_text=_(
            "Single-key shortcuts can collide with assistive software; they can be switched off."
        ),
    )
    default_profile = models.ForeignKey(
        Profile, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    offered_providers = models.JSONField(default=list, editable=False)

    class Meta:
        verbose_name_plural = "preferences"

    def __str__(self) -> str:
        return f"Preferences of {self.owner}"


class SavedCommand(models.Model):
    """A text under a name that its owner can type after a slash, with a head as in a file."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_commands"
    )
    name = models.CharField(
        _("name"),
        max_length=40,
        validators=[
            RegexValidator(
                rf"\A{NAME.pattern}\Z",
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
