# Migrations 0001 to 0042 in one step, for a new database. Those remain for databases between them.

import chatapp.models.mcp_servers
import chatapp.models.profiles
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import uuid
from collections.abc import Callable
from decimal import Decimal
from django.conf import settings
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


# SQLite's own index of words. It keeps no text: what a message says is worked out of its content.
# Markers are left out, whose text nobody sees, but where one holds the summary of a part.
# A migration that makes the table of messages anew drops these triggers and has to make them again.
INDEXED = """({0}.truncation_id IS NULL AND {0}.clear_id IS NULL
    OR {0}.clear_id IS NULL AND instr({0}.content, '"## Conversation Summary\\n'))"""
OLD, NEW = INDEXED.format("old"), INDEXED.format("new")
ADD = f"""
    INSERT INTO chatapp_message_index (rowid, text)
    SELECT new.id, searchable_text(new.content) WHERE {NEW};
"""
TAKE = f"""
    INSERT INTO chatapp_message_index (chatapp_message_index, rowid, text)
    SELECT 'delete', old.id, searchable_text(old.content) WHERE {OLD};
"""
MAKE_INDEX = (
    """
    CREATE VIRTUAL TABLE chatapp_message_index
    USING fts5(text, content='', tokenize='unicode61 remove_diacritics 2', prefix='1')
    """,
    f"""
    CREATE TRIGGER chatapp_message_index_insert AFTER INSERT ON chatapp_message
    WHEN {NEW} BEGIN {ADD} END
    """,
    f"""
    CREATE TRIGGER chatapp_message_index_delete AFTER DELETE ON chatapp_message
    WHEN {OLD} BEGIN {TAKE} END
    """,
    f"""
    CREATE TRIGGER chatapp_message_index_update AFTER UPDATE OF content ON chatapp_message
    WHEN new.content <> old.content BEGIN {TAKE} {ADD} END
    """,
)
DROP_INDEX = (
    "DROP TRIGGER chatapp_message_index_insert",
    "DROP TRIGGER chatapp_message_index_delete",
    "DROP TRIGGER chatapp_message_index_update",
    "DROP TABLE chatapp_message_index",
)


def on_sqlite(*statements: str) -> Callable[[Apps, BaseDatabaseSchemaEditor], None]:
    def run(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        if schema_editor.connection.vendor == "sqlite":
            for statement in statements:
                schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    replaces = [
        ("chatapp", "0001_initial"),
        ("chatapp", "0002_message_index"),
        ("chatapp", "0003_turns"),
        ("chatapp", "0004_requests"),
        ("chatapp", "0005_keep_first"),
        ("chatapp", "0006_questions"),
        ("chatapp", "0007_wishes"),
        ("chatapp", "0008_unbound_thinking"),
        ("chatapp", "0009_summary_profile"),
        ("chatapp", "0010_checkpoints"),
        ("chatapp", "0011_unknown_costs"),
        ("chatapp", "0012_system_prompts"),
        ("chatapp", "0013_attachments"),
        ("chatapp", "0014_queued_messages"),
        ("chatapp", "0015_saved_commands"),
        ("chatapp", "0016_audit_chain"),
        ("chatapp", "0017_call_provider"),
        ("chatapp", "0018_mcp_servers"),
        ("chatapp", "0019_attachments_by_owner"),
        ("chatapp", "0020_adaptive_threshold"),
        ("chatapp", "0021_surroundings_and_titles"),
        ("chatapp", "0022_text_only_models"),
        ("chatapp", "0023_shelves"),
        ("chatapp", "0024_api_tokens"),
        ("chatapp", "0025_condensation_figures"),
        ("chatapp", "0026_pins"),
        ("chatapp", "0027_forks"),
        ("chatapp", "0028_predicted_costs"),
        ("chatapp", "0029_condensing_put_off"),
        ("chatapp", "0030_budgets"),
        ("chatapp", "0031_redo"),
        ("chatapp", "0032_sources"),
        ("chatapp", "0033_reviews"),
        ("chatapp", "0034_background_drafts"),
        ("chatapp", "0035_token_scopes"),
        ("chatapp", "0036_condense_idle"),
        ("chatapp", "0037_shares"),
        ("chatapp", "0038_review_typed"),
        ("chatapp", "0039_claims_and_scopes"),
        ("chatapp", "0040_share_tools"),
        ("chatapp", "0041_settings_texts"),
        ("chatapp", "0042_source_importer"),
    ]

    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Folder",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="folders",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("owner"),
                        django.db.models.functions.text.Lower("name"),
                        name="folder_name_per_owner",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Profile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80, verbose_name="name")),
                (
                    "provider",
                    models.CharField(
                        choices=chatapp.models.profiles.provider_choices,
                        max_length=20,
                        verbose_name="provider",
                    ),
                ),
                ("model", models.CharField(max_length=100, verbose_name="model")),
                ("base_url", models.URLField(blank=True, max_length=300, verbose_name="base URL")),
                ("encrypted_key", models.TextField(blank=True, editable=False)),
                (
                    "context_window",
                    models.PositiveIntegerField(
                        validators=[django.core.validators.MinValueValidator(1000)],
                        verbose_name="context window",
                    ),
                ),
                (
                    "max_output",
                    models.PositiveIntegerField(
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="max output tokens",
                    ),
                ),
                (
                    "price_input",
                    models.DecimalField(
                        decimal_places=6,
                        default=Decimal("0"),
                        max_digits=12,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                        verbose_name="input",
                    ),
                ),
                (
                    "price_output",
                    models.DecimalField(
                        decimal_places=6,
                        default=Decimal("0"),
                        max_digits=12,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                        verbose_name="output",
                    ),
                ),
                (
                    "price_cache_read",
                    models.DecimalField(
                        decimal_places=6,
                        default=Decimal("0"),
                        max_digits=12,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                        verbose_name="cache read",
                    ),
                ),
                (
                    "price_cache_write",
                    models.DecimalField(
                        decimal_places=6,
                        default=Decimal("0"),
                        max_digits=12,
                        validators=[django.core.validators.MinValueValidator(Decimal("0"))],
                        verbose_name="cache write",
                    ),
                ),
                ("threshold", models.SmallIntegerField(default=-1, verbose_name="threshold")),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="profiles",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("tool_policies", models.JSONField(default=dict, editable=False)),
                (
                    "effort",
                    models.CharField(
                        blank=True,
                        choices=chatapp.models.profiles.effort_choices,
                        max_length=10,
                        verbose_name="thinking",
                    ),
                ),
                (
                    "temperature",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        max_digits=3,
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(Decimal("0")),
                            django.core.validators.MaxValueValidator(Decimal("2")),
                        ],
                        verbose_name="temperature",
                    ),
                ),
                ("system_prompt", models.TextField(blank=True, verbose_name="system prompt")),
                ("text_only", models.BooleanField(default=False, verbose_name="sees no images")),
                (
                    "summaries_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chatapp.profile",
                        verbose_name="summaries by",
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner", "name"), name="profile_name_per_owner"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("threshold", -1), ("threshold__range", (5, 100)), _connector="OR"
                        ),
                        name="profile_threshold_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Conversation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=200, verbose_name="title")),
                ("workspace", models.CharField(blank=True, max_length=400)),
                ("last_seq", models.PositiveIntegerField(default=0)),
                ("revision", models.PositiveIntegerField(default=0)),
                ("measured_tokens", models.PositiveIntegerField(null=True)),
                ("measured_seq", models.PositiveIntegerField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("deleted_at", models.DateTimeField(null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conversations",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chatapp.profile",
                    ),
                ),
                ("tool_policies", models.JSONField(default=dict)),
                ("system_prompt", models.TextField(blank=True, verbose_name="system prompt")),
                ("audit_hash", models.CharField(blank=True, max_length=64)),
                ("audit_number", models.PositiveIntegerField(default=0)),
                ("audit_seq", models.PositiveIntegerField(default=0)),
                ("archived_at", models.DateTimeField(null=True)),
                ("pinned_at", models.DateTimeField(null=True)),
                (
                    "folder",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="conversations",
                        to="chatapp.folder",
                    ),
                ),
                ("put_off", models.BooleanField(default=False)),
                (
                    "budget",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
                        verbose_name="budget",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["owner", "-updated_at"], name="conversation_recent"),
                    models.Index(
                        models.F("owner"),
                        django.db.models.functions.text.Lower("title"),
                        name="conversation_title",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at", None), ("pinned_at", None)),
                        fields=["owner", "folder", "-updated_at"],
                        name="conversation_shelf",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("nonce", models.UUIDField(default=uuid.uuid4)),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("sent", "a message was sent"),
                            ("regenerated", "an answer was asked for anew"),
                            ("retried", "a turn that failed was tried again"),
                            ("continued", "an answer that was cut was continued"),
                            ("condensed", "the context was condensed by hand"),
                        ],
                        default="sent",
                        max_length=12,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "queued"),
                            ("running", "running"),
                            ("waiting", "waiting for a person"),
                            ("succeeded", "succeeded"),
                            ("stopped", "stopped"),
                            ("failed", "failed"),
                            ("interrupted", "interrupted"),
                        ],
                        default="queued",
                        max_length=12,
                    ),
                ),
                ("error", models.TextField(blank=True)),
                ("details", models.TextField(blank=True)),
                ("profile_at_fault", models.BooleanField(default=False)),
                ("at_seq", models.PositiveIntegerField(default=0)),
                ("question_seq", models.PositiveIntegerField(default=0)),
                ("last_seq", models.PositiveIntegerField(null=True)),
                ("rewind_parent", models.UUIDField(null=True)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turns",
                        to="chatapp.conversation",
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chatapp.profile",
                    ),
                ),
                (
                    "doing",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("calling", "calling the model"),
                            ("using_tools", "using tools"),
                            ("condensing", "condensing the context"),
                        ],
                        max_length=12,
                    ),
                ),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("owner", models.CharField(blank=True, max_length=120)),
                ("step", models.PositiveIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "nonce"), name="turn_nonce"),
                    models.UniqueConstraint(
                        condition=models.Q(("finished_at", None)),
                        fields=("conversation",),
                        name="one_unfinished_turn",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seq", models.PositiveIntegerField()),
                ("position", models.PositiveIntegerField()),
                (
                    "role",
                    models.CharField(
                        choices=[("user", "User"), ("assistant", "Assistant")], max_length=9
                    ),
                ),
                ("content", models.JSONField()),
                ("tokens", models.PositiveIntegerField()),
                ("results", models.PositiveIntegerField(default=0)),
                ("holds_results", models.BooleanField(default=False)),
                ("stop_reason", models.CharField(blank=True, max_length=40)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("hidden", models.BooleanField(default=False)),
                ("condense_id", models.UUIDField(null=True)),
                ("condense_parent", models.UUIDField(null=True)),
                ("truncation_id", models.UUIDField(null=True)),
                ("truncation_parent", models.UUIDField(null=True)),
                ("clear_id", models.UUIDField(null=True)),
                ("cleared", models.JSONField(default=dict)),
                ("rewind_parent", models.UUIDField(null=True)),
                ("undone", models.BooleanField(default=False)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="chatapp.conversation",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="messages",
                        to="chatapp.turn",
                    ),
                ),
                ("unbound", models.BooleanField(null=True)),
                ("pinned", models.BooleanField(null=True)),
                ("hides", models.JSONField(null=True)),
                ("claimed", models.BooleanField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["conversation", "position", "seq"], name="message_reading"
                    ),
                    models.Index(
                        condition=models.Q(("hidden", False)),
                        fields=["conversation", "position", "seq"],
                        name="message_effective",
                    ),
                    models.Index(
                        condition=models.Q(("condense_id__isnull", False)),
                        fields=["conversation", "condense_id"],
                        name="message_condense_id",
                    ),
                    models.Index(
                        condition=models.Q(("truncation_id__isnull", False)),
                        fields=["conversation", "truncation_id"],
                        name="message_truncation_id",
                    ),
                    models.Index(
                        condition=models.Q(("clear_id__isnull", False)),
                        fields=["conversation", "clear_id"],
                        name="message_clear_id",
                    ),
                    models.Index(
                        condition=models.Q(("rewind_parent__isnull", False)),
                        fields=["conversation", "rewind_parent"],
                        name="message_rewind_parent",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "seq"), name="message_seq")
                ],
            },
        ),
        migrations.CreateModel(
            name="Condensation",
            fields=[
                ("messages_hidden", models.PositiveIntegerField(default=0)),
                ("results_hidden", models.PositiveIntegerField(default=0)),
                ("condensations_hidden", models.PositiveIntegerField(default=0)),
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("at_seq", models.PositiveIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "running"),
                            ("succeeded", "succeeded"),
                            ("failed", "failed"),
                            ("declined", "nothing to do"),
                            ("cancelled", "cancelled"),
                            ("undone", "undone"),
                            ("drafted", "drafted"),
                            ("unused", "draft not used"),
                        ],
                        default="running",
                        max_length=10,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("condensed", "condensed"),
                            ("truncated", "truncated"),
                            ("cleared", "cleared"),
                        ],
                        max_length=10,
                    ),
                ),
                ("strategy", models.CharField(max_length=200)),
                (
                    "trigger",
                    models.CharField(
                        choices=[
                            ("auto", "automatic"),
                            ("forced", "forced"),
                            ("manual", "by you"),
                            ("ahead", "drafted ahead"),
                            ("idle", "while idle"),
                        ],
                        max_length=10,
                    ),
                ),
                ("threshold", models.FloatField()),
                ("threshold_source", models.CharField(max_length=10)),
                ("context_window", models.PositiveIntegerField()),
                ("allowed", models.IntegerField()),
                ("profile_name", models.CharField(max_length=80)),
                ("model", models.CharField(max_length=100)),
                ("prompt", models.TextField(blank=True)),
                ("focus", models.TextField(blank=True)),
                ("tokens_before", models.PositiveIntegerField()),
                ("tokens_before_measured", models.BooleanField()),
                ("tokens_after", models.PositiveIntegerField(null=True)),
                ("tokens_after_measured", models.BooleanField(default=False)),
                ("cost_measured", models.BooleanField(default=True)),
                ("summary", models.TextField(blank=True)),
                ("analysis", models.TextField(blank=True)),
                ("notes", models.JSONField(default=list)),
                ("receipt", models.JSONField(default=list)),
                ("folded", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("details", models.TextField(blank=True)),
                ("fell_back_to", models.CharField(blank=True, max_length=200)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(null=True)),
                ("rewind_parent", models.UUIDField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="condensations",
                        to="chatapp.conversation",
                    ),
                ),
                (
                    "message",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="condensation",
                        to="chatapp.message",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="condensations",
                        to="chatapp.turn",
                    ),
                ),
                ("writer_model", models.CharField(blank=True, max_length=100)),
                ("writer_name", models.CharField(blank=True, max_length=80)),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=10, default=Decimal("0"), max_digits=20, null=True
                    ),
                ),
                ("predicted_cache_read", models.PositiveIntegerField(null=True)),
                ("predicted_cache_write", models.PositiveIntegerField(null=True)),
                (
                    "predicted_cost",
                    models.DecimalField(decimal_places=10, default=None, max_digits=20, null=True),
                ),
                ("predicted_input", models.PositiveIntegerField(null=True)),
                ("predicted_output", models.PositiveIntegerField(null=True)),
                ("redone_at", models.DateTimeField(null=True)),
                ("scope", models.JSONField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["conversation", "at_seq"], name="condensation_place"),
                    models.Index(fields=["-started_at"], name="condensation_recent"),
                    models.Index(
                        fields=[
                            "conversation",
                            "kind",
                            "status",
                            "profile_name",
                            "strategy",
                            "trigger",
                            "message",
                            "tokens_before",
                            "tokens_after",
                            "cost",
                            "cost_measured",
                            "started_at",
                            "finished_at",
                            "id",
                        ],
                        name="condensation_figures",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Preferences",
            fields=[
                (
                    "owner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="preferences",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "auto_condense",
                    models.BooleanField(
                        default=True,
                        help_text="Off: nothing is condensed until you ask; if the window overflows, the oldest messages are hidden without a summary.",
                        verbose_name="condense automatically",
                    ),
                ),
                (
                    "threshold",
                    models.PositiveSmallIntegerField(
                        default=100,
                        validators=[
                            django.core.validators.MinValueValidator(5),
                            django.core.validators.MaxValueValidator(100),
                        ],
                        verbose_name="threshold (%)",
                    ),
                ),
                (
                    "condensing_prompt",
                    models.TextField(blank=True, verbose_name="condensing prompt"),
                ),
                ("strategy", models.CharField(blank=True, max_length=200, verbose_name="strategy")),
                (
                    "messages_kept",
                    models.PositiveSmallIntegerField(
                        default=3,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                        verbose_name="messages to keep",
                    ),
                ),
                (
                    "clear_tool_output",
                    models.BooleanField(
                        default=False,
                        help_text="Output of a file that was read again later, and all but the last 10 results, become one line each. Only where that is not enough, the strategy above follows.",
                        verbose_name="clear superseded tool output first",
                    ),
                ),
                (
                    "step_limit",
                    models.PositiveSmallIntegerField(
                        default=50,
                        help_text="A turn ends after this many model calls, so that a task gone astray stops by itself.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                        verbose_name="steps per turn",
                    ),
                ),
                (
                    "shortcuts",
                    models.BooleanField(
                        default=True,
                        help_text="Single-key shortcuts can collide with assistive software; they can be switched off.",
                        verbose_name="keyboard shortcuts",
                    ),
                ),
                ("offered_providers", models.JSONField(default=list, editable=False)),
                (
                    "default_profile",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chatapp.profile",
                    ),
                ),
                (
                    "keep_first",
                    models.BooleanField(default=False, verbose_name="keep the first message too"),
                ),
                (
                    "adaptive",
                    models.BooleanField(
                        default=False,
                        help_text="Once a turn is complete, it condenses as late as leaves room for two more turns of the size that the latest had, but not before half of the window is full.",
                        verbose_name="adapt the threshold to the conversation",
                    ),
                ),
                (
                    "environment_details",
                    models.BooleanField(
                        default=True,
                        help_text="With each message of yours goes the time, the names of files in the workspace, the to-do list and how full the context is. What was sent stays as it was.",
                        verbose_name="tell the agent about its surroundings",
                    ),
                ),
                (
                    "name_conversations",
                    models.BooleanField(
                        default=True,
                        help_text="One short call after the first answer, to the profile that gave it; it is on record with its cost. Off: a conversation is called what its first message begins with.",
                        verbose_name="let the model name conversations",
                    ),
                ),
                (
                    "month_budget",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="What all your conversations together may cost in a calendar month (UTC). From 80 % on each of them says so; once it is spent no model is called any more, also in the middle of a turn. A conversation can have a budget of its own, under “Tools and prompt” in its menu. Empty: no limit.",
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
                        verbose_name="budget per month (USD)",
                    ),
                ),
                (
                    "review_automatic",
                    models.BooleanField(
                        default=False,
                        help_text="What the model wrote is shown before it applies: accept, change or discard it. The turn waits for you meanwhile; when you neither answer nor change anything, it applies. For a condensation by hand you choose beside the button.",
                        verbose_name="review before it applies",
                    ),
                ),
                (
                    "review_seconds",
                    models.PositiveSmallIntegerField(
                        default=300,
                        validators=[
                            django.core.validators.MinValueValidator(10),
                            django.core.validators.MaxValueValidator(30000),
                        ],
                        verbose_name="seconds until it applies by itself",
                    ),
                ),
                (
                    "draft_ahead",
                    models.CharField(
                        choices=[
                            ("free", "Where tokens cost nothing"),
                            ("always", "Always"),
                            ("never", "Never"),
                        ],
                        default="free",
                        max_length=6,
                        verbose_name="draft summaries in the background",
                    ),
                ),
                (
                    "draft_share",
                    models.PositiveSmallIntegerField(
                        default=80,
                        help_text="From there on the summary is written while the conversation goes on, and takes its place at the threshold without a wait. A rewind, an edit, or a change of prompt, profile or pins makes a draft useless, and its cost stays on record. Where superseded tool output is cleared first, nothing is drafted.",
                        validators=[
                            django.core.validators.MinValueValidator(30),
                            django.core.validators.MaxValueValidator(95),
                        ],
                        verbose_name="start drafting at (% of the threshold)",
                    ),
                ),
                (
                    "condense_idle",
                    models.BooleanField(
                        default=False,
                        help_text="Providers keep a conversation in their cache for some five minutes. Shortly before that is over, one that is half way to its threshold is condensed, if by its profile's prices that and a short next request cost less than to send all of it again. Not where automatic condensations are reviewed.",
                        verbose_name="condense while idle, where that is cheaper",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "preferences",
            },
        ),
        migrations.CreateModel(
            name="Rewind",
            fields=[
                ("messages_hidden", models.PositiveIntegerField(default=0)),
                ("results_hidden", models.PositiveIntegerField(default=0)),
                ("condensations_hidden", models.PositiveIntegerField(default=0)),
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("rewound", "rewound"),
                            ("retried", "tried again"),
                            ("edited", "edited"),
                            ("regenerated", "answered again"),
                        ],
                        default="rewound",
                        max_length=12,
                    ),
                ),
                ("to_seq", models.PositiveIntegerField()),
                ("last_seq", models.PositiveIntegerField()),
                ("root_seq", models.PositiveIntegerField(null=True)),
                ("version", models.PositiveIntegerField(null=True)),
                ("rewind_parent", models.UUIDField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rewinds",
                        to="chatapp.conversation",
                    ),
                ),
                ("files_before", models.CharField(blank=True, max_length=64)),
                (
                    "brings_back",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chatapp.rewind",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["conversation", "created_at"], name="rewind_recent")
                ],
            },
        ),
        migrations.CreateModel(
            name="SignInToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[("chat", "chat"), ("summary", "summary"), ("title", "title")],
                        max_length=10,
                    ),
                ),
                ("profile_name", models.CharField(max_length=80)),
                ("model", models.CharField(max_length=100)),
                ("tokens_input", models.PositiveIntegerField(default=0)),
                ("tokens_output", models.PositiveIntegerField(default=0)),
                ("tokens_cache_read", models.PositiveIntegerField(default=0)),
                ("tokens_cache_write", models.PositiveIntegerField(default=0)),
                ("usage_measured", models.BooleanField(default=True)),
                ("tokens_estimated", models.PositiveIntegerField(null=True)),
                ("tokens_media", models.PositiveIntegerField(default=0)),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=10, default=Decimal("0"), max_digits=20, null=True
                    ),
                ),
                ("seconds", models.FloatField(default=0)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "condensation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="calls",
                        to="chatapp.condensation",
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calls",
                        to="chatapp.conversation",
                    ),
                ),
                (
                    "message",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="call",
                        to="chatapp.message",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="calls",
                        to="chatapp.turn",
                    ),
                ),
                ("draft", models.TextField(blank=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "running"),
                            ("succeeded", "succeeded"),
                            ("failed", "failed"),
                            ("interrupted", "interrupted"),
                        ],
                        default="running",
                        max_length=12,
                    ),
                ),
                ("cache_miss", models.CharField(blank=True, max_length=100)),
                ("reply_id", models.CharField(blank=True, max_length=100)),
                ("request_id", models.CharField(blank=True, max_length=100)),
                ("seconds_to_first", models.FloatField(null=True)),
                ("tokens_missed", models.PositiveIntegerField(null=True)),
                ("transformations", models.JSONField(default=list)),
                ("provider", models.CharField(blank=True, max_length=20)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["conversation", "created_at", "cost"], name="call_spent")
                ],
            },
        ),
        migrations.CreateModel(
            name="ToolRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("call_id", models.TextField()),
                ("name", models.TextField()),
                ("text", models.TextField(blank=True)),
                ("is_error", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tool_runs",
                        to="chatapp.turn",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Fragment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.BinaryField(max_length=32)),
                ("data", models.BinaryField()),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="chatapp.conversation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "digest"), name="fragment_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Manifest",
            fields=[
                (
                    "call",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="chatapp.modelcall",
                    ),
                ),
                ("parent", models.PositiveBigIntegerField(null=True)),
                ("kept", models.PositiveIntegerField()),
                ("data", models.BinaryField()),
                ("digest", models.BinaryField(max_length=32)),
                (
                    "head",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="chatapp.fragment",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Question",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seq", models.PositiveIntegerField()),
                ("place", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("permission", "whether a tool may run"),
                            ("answer", "what the model wants to know"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "waiting"),
                            ("allowed", "allowed"),
                            ("denied", "denied"),
                            ("answered", "answered"),
                            ("withdrawn", "withdrawn"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("tool", models.TextField()),
                ("text", models.TextField(blank=True)),
                ("shown", models.TextField(blank=True)),
                ("suggestions", models.JSONField(default=list)),
                ("answer", models.TextField(blank=True)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="questions",
                        to="chatapp.turn",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("turn", "seq", "place"), name="question_of_call"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seq", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=64)),
                ("taken_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checkpoints",
                        to="chatapp.turn",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("turn", "seq"), name="checkpoint_of_reply")
                ],
            },
        ),
        migrations.CreateModel(
            name="QueuedMessage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("nonce", models.UUIDField(default=uuid.uuid4)),
                ("text", models.TextField(blank=True)),
                ("attachments", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("gone_at", models.DateTimeField(null=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="queued",
                        to="chatapp.conversation",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("gone_at", None)),
                        fields=["conversation"],
                        name="queued_waiting",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "nonce"), name="queued_nonce")
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedCommand",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        max_length=40,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9][a-z0-9_-]{0,39}\\Z",
                                "A name has small letters, digits, hyphens and underscores, and at most 40.",
                            )
                        ],
                        verbose_name="name",
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        validators=[django.core.validators.MaxLengthValidator(20000)],
                        verbose_name="text",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_commands",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "name"), name="command_name_per_owner")
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("beginning", "Beginning"),
                            ("condensation", "Condensation"),
                            ("rewind", "Rewind"),
                            ("question", "Question"),
                            ("pin", "Pin"),
                            ("fork", "Fork"),
                            ("review", "Review"),
                            ("seal", "Seal"),
                        ],
                        max_length=20,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("payload", models.TextField()),
                ("previous", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
                ("openings", models.JSONField(default=dict)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="audit_entries",
                        to="chatapp.conversation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("conversation", "number"), name="audit_number")
                ],
            },
        ),
        migrations.CreateModel(
            name="McpServer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=20, verbose_name="name")),
                (
                    "way",
                    models.CharField(
                        choices=chatapp.models.mcp_servers.way_choices,
                        default="http",
                        max_length=10,
                        verbose_name="reached by",
                    ),
                ),
                ("address", models.CharField(max_length=1000, verbose_name="address or command")),
                ("encrypted_secrets", models.TextField(blank=True, editable=False)),
                ("is_on", models.BooleanField(default=True, verbose_name="in use")),
                ("tools", models.JSONField(default=list, editable=False)),
                ("switched_off", models.JSONField(default=list, editable=False)),
                ("unseen", models.JSONField(default=list, editable=False)),
                ("listed_at", models.DateTimeField(editable=False, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mcp_servers",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner", "name"), name="mcp_server_name_per_owner"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Attachment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("block", models.JSONField()),
                ("tokens", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attachments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("read", "read"),
                            ("write", "read and write"),
                            ("all", "read, write and change settings"),
                        ],
                        default="read",
                        max_length=5,
                        verbose_name="scope",
                    ),
                ),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False),
                ),
                ("used_at", models.DateTimeField(editable=False, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
        migrations.CreateModel(
            name="Pin",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seq", models.PositiveIntegerField()),
                ("tokens", models.PositiveIntegerField()),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("pinned_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("unpinned_at", models.DateTimeField(null=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pins",
                        to="chatapp.conversation",
                    ),
                ),
                (
                    "message",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pin",
                        to="chatapp.message",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Fork",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("other", models.UUIDField()),
                ("is_copy", models.BooleanField()),
                ("seq", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="forks",
                        to="chatapp.conversation",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                (
                    "conversation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="source",
                        serialize=False,
                        to="chatapp.conversation",
                    ),
                ),
                ("form", models.CharField(max_length=40)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("chains", models.JSONField(default=list)),
                ("problems", models.JSONField(default=list)),
                ("unused", models.PositiveIntegerField(default=0)),
                ("imported_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("messages", models.PositiveIntegerField(null=True)),
                ("importer", models.CharField(blank=True, max_length=120)),
            ],
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("ordinal", models.PositiveSmallIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "waiting"),
                            ("accepted", "accepted"),
                            ("edited", "changed and accepted"),
                            ("again", "written again"),
                            ("discarded", "discarded"),
                            ("expired", "applied when its time was over"),
                            ("withdrawn", "withdrawn"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("shown", models.TextField(blank=True)),
                ("text", models.TextField(blank=True)),
                ("focus", models.TextField(blank=True)),
                ("proposal", models.JSONField(default=dict)),
                ("shown_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("applies_at", models.DateTimeField(null=True)),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "answered_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "condensation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reviews",
                        to="chatapp.condensation",
                    ),
                ),
                ("typed", models.JSONField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("condensation", "ordinal"), name="review_ordinal"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Share",
            fields=[
                (
                    "conversation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="share",
                        serialize=False,
                        to="chatapp.conversation",
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("until", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("tools", models.BooleanField(default=False)),
            ],
        ),
        migrations.RunPython(on_sqlite(*MAKE_INDEX), on_sqlite(*DROP_INDEX)),
    ]
