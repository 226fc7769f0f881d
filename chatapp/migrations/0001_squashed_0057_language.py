"""All tables, as 57 migrations before this one made them one after the other.

A database that has all of those goes on. One that has some of them needs the last version that
had them all. The operations are as Django writes them.
"""

import uuid
from collections.abc import Callable
from decimal import Decimal

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
from django.apps.registry import Apps
from django.conf import settings
from django.core.management.base import CommandError
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.recorder import MigrationRecorder

import chatapp.models.mcp_servers
import chatapp.models.profiles
from chatapp.project.installation import PROGRAM
from chatapp.project.sentences import translate as _

Run = Callable[[Apps, BaseDatabaseSchemaEditor], None]

# SQLite's own index of words. It keeps no text: a message's words are worked out of its content.
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
MAKE_ON_SQLITE = (
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
DROP_ON_SQLITE = (
    "DROP TRIGGER chatapp_message_index_insert",
    "DROP TRIGGER chatapp_message_index_delete",
    "DROP TRIGGER chatapp_message_index_update",
    "DROP TABLE chatapp_message_index",
)
# A deleted or changed message loses its entry; the application stores a new one. An entry names
# its owner and conversation: a search starts at a user's newest entries, or at the words.
MAKE_ON_POSTGRESQL = (
    """
    CREATE TABLE chatapp_message_index (
        rowid bigint PRIMARY KEY,
        text tsvector NOT NULL,
        owner_id integer NOT NULL,
        conversation_id uuid NOT NULL
    )
    """,
    "CREATE INDEX chatapp_message_index_text ON chatapp_message_index USING gin (text)",
    "CREATE INDEX chatapp_message_index_owner ON chatapp_message_index (owner_id, rowid)",
    """
    CREATE FUNCTION chatapp_message_index_forget() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM chatapp_message_index WHERE rowid = old.id;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER chatapp_message_index_forget
    AFTER DELETE OR UPDATE OF content ON chatapp_message
    FOR EACH ROW EXECUTE FUNCTION chatapp_message_index_forget()
    """,
)
DROP_ON_POSTGRESQL = (
    "DROP TRIGGER chatapp_message_index_forget ON chatapp_message",
    "DROP FUNCTION chatapp_message_index_forget",
    "DROP TABLE chatapp_message_index",
)


def on(vendor: str, *statements: str) -> Run:
    def run(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        if schema_editor.connection.vendor == vendor:
            for statement in statements:
                schema_editor.execute(statement)

    return run


def refuse_older(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Raise CommandError if a database has some of the earlier migrations, but not all."""
    applied = MigrationRecorder(schema_editor.connection).applied_migrations()
    if any(app == "chatapp" for app, _name in applied):
        said = _(
            "This database is older than version 0.1.0. Migrate it with that version first"
            " (commit 319f6ce3, `{name} migrate`), and then with this one.",
            name=PROGRAM,
        )
        raise CommandError(said)


def forget_earlier(_apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Let tables that are gone be made again."""
    MigrationRecorder(schema_editor.connection).migration_qs.filter(app="chatapp").delete()


class Migration(migrations.Migration):
    replaces = [("chatapp", "0057_language")]
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(refuse_older, forget_earlier),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=60, verbose_name='name')),
                ('scope', models.CharField(choices=[('read', 'read'), ('write', 'read and write'), ('all', 'read, write and change settings')], default='read', max_length=5, verbose_name='scope')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('used_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'ordering': ('-created_at', '-pk'),
            },
        ),
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to=settings.AUTH_USER_MODEL)),
                ('block', models.JSONField()),
                ('tokens', models.PositiveIntegerField()),
                ('size', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='AttachmentTotal',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('size', models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='CondensingPrompt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='condensing_prompts', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=60, verbose_name='name')),
                ('text', models.TextField(validators=[django.core.validators.MaxLengthValidator(200000)], verbose_name='text')),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(fields=('owner', 'name'), name='prompt_name_per_owner')],
            },
        ),
        migrations.CreateModel(
            name='Folder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='folders', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=60, verbose_name='name')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('owner'), django.db.models.functions.text.Lower('name'), name='folder_name_per_owner')],
            },
        ),
        migrations.CreateModel(
            name='Deletion',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='deletion', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('due_at', models.DateTimeField(db_index=True)),
                ('done_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ImportRun',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imports', to=settings.AUTH_USER_MODEL)),
                ('form', models.CharField(blank=True, max_length=40)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('language', models.CharField(blank=True, max_length=20)),
                ('messages', models.PositiveIntegerField(default=0)),
                ('left_out', models.JSONField(default=list)),
                ('unused', models.PositiveIntegerField(default=0)),
                ('refusal', models.TextField(blank=True)),
                ('worker', models.CharField(blank=True, max_length=120)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('heartbeat_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('owner',), name='one_unfinished_import')],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('invited_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('role', models.CharField(choices=[('member', 'member'), ('operator', 'operator')], default='member', max_length=8, verbose_name='role')),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('used_by', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='McpServer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mcp_servers', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=20, verbose_name='name')),
                ('way', models.CharField(choices=chatapp.models.mcp_servers.way_choices, default='http', max_length=10, verbose_name='reached by')),
                ('address', models.CharField(max_length=1000, verbose_name='address or command')),
                ('encrypted_secrets', models.TextField(blank=True, editable=False)),
                ('is_on', models.BooleanField(default=True, verbose_name='in use')),
                ('tools', models.JSONField(default=list, editable=False)),
                ('switched_off', models.JSONField(default=list, editable=False)),
                ('unseen', models.JSONField(default=list, editable=False)),
                ('listed_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(fields=('owner', 'name'), name='mcp_server_name_per_owner')],
            },
        ),
        migrations.CreateModel(
            name='SavedCommand',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_commands', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=40, validators=[django.core.validators.RegexValidator('\\A[a-z0-9][a-z0-9_-]{0,39}\\Z', 'A name has small letters, digits, hyphens and underscores, and at most 40.')], verbose_name='name')),
                ('text', models.TextField(validators=[django.core.validators.MaxLengthValidator(20000)], verbose_name='text')),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(fields=('owner', 'name'), name='command_name_per_owner')],
            },
        ),
        migrations.CreateModel(
            name='ServerSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('storage_megabytes', models.PositiveIntegerField(blank=True, default=10000, help_text='Attachments, workspaces, their versions and outputs.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000000)], verbose_name='storage (MB)')),
                ('turns_at_once', models.PositiveIntegerField(blank=True, default=100, help_text='Further messages wait their turn.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='turns at once')),
                ('requests_per_minute', models.PositiveIntegerField(blank=True, default=6000, help_text='Pages, the API and messages together.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='requests per minute')),
                ('denied_tools', models.JSONField(default=list, editable=False)),
                ('servers_allowed', models.BooleanField(default=True, help_text='Off: those that they have are not used either.', verbose_name='members may add MCP servers')),
                ('begin_with', models.ForeignKey(blank=True, limit_choices_to={'is_superuser': True}, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='new users begin with')),
            ],
            options={
                'verbose_name_plural': 'server settings',
            },
        ),
        migrations.CreateModel(
            name='SignInToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Profile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='profiles', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('provider', models.CharField(choices=chatapp.models.profiles.provider_choices, max_length=20, verbose_name='provider')),
                ('model', models.CharField(max_length=100, verbose_name='model')),
                ('base_url', models.CharField(blank=True, max_length=300, verbose_name='base URL')),
                ('encrypted_key', models.TextField(blank=True, editable=False)),
                ('context_window', models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1000)], verbose_name='context window')),
                ('max_output', models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)], verbose_name='max output tokens')),
                ('text_only', models.BooleanField(default=False, verbose_name='sees no images')),
                ('price_input', models.DecimalField(decimal_places=6, default=Decimal('0'), max_digits=12, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='input')),
                ('price_output', models.DecimalField(decimal_places=6, default=Decimal('0'), max_digits=12, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='output')),
                ('price_cache_read', models.DecimalField(decimal_places=6, default=Decimal('0'), max_digits=12, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='cache read')),
                ('price_cache_write', models.DecimalField(decimal_places=6, default=Decimal('0'), max_digits=12, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='cache write')),
                ('threshold', models.SmallIntegerField(default=-1, verbose_name='threshold')),
                ('summaries_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chatapp.profile', verbose_name='summaries by')),
                ('condensing_prompt', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chatapp.condensingprompt', verbose_name='condensing prompt')),
                ('tool_policies', models.JSONField(default=dict, editable=False)),
                ('system_prompt', models.TextField(blank=True, verbose_name='system prompt')),
                ('effort', models.CharField(blank=True, choices=chatapp.models.profiles.effort_choices, max_length=10, verbose_name='thinking')),
                ('temperature', models.DecimalField(blank=True, decimal_places=2, max_digits=3, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('2'))], verbose_name='temperature')),
                ('is_shared', models.BooleanField(db_default=False, default=False, editable=False)),
                ('origin', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='copies', to='chatapp.profile')),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(fields=('owner', 'origin'), name='profile_copy_per_owner'), models.UniqueConstraint(fields=('owner', 'name'), name='profile_name_per_owner'), models.CheckConstraint(condition=models.Q(('threshold', -1), ('threshold__range', (5, 100)), _connector='OR'), name='profile_threshold_range')],
            },
        ),
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversations', to=settings.AUTH_USER_MODEL)),
                ('title', models.CharField(blank=True, max_length=200, verbose_name='title')),
                ('profile', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chatapp.profile')),
                ('folder', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='conversations', to='chatapp.folder')),
                ('pinned_at', models.DateTimeField(null=True)),
                ('archived_at', models.DateTimeField(null=True)),
                ('workspace', models.CharField(blank=True, max_length=400)),
                ('last_seq', models.PositiveIntegerField(default=0)),
                ('revision', models.PositiveIntegerField(default=0)),
                ('tool_policies', models.JSONField(default=dict)),
                ('system_prompt', models.TextField(blank=True, verbose_name='system prompt')),
                ('budget', models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))], verbose_name='budget')),
                ('auto_recall', models.BooleanField(null=True, verbose_name='recall automatically')),
                ('measured_tokens', models.PositiveIntegerField(null=True)),
                ('measured_seq', models.PositiveIntegerField(null=True)),
                ('put_off', models.BooleanField(default=False)),
                ('audit_number', models.PositiveIntegerField(default=0)),
                ('audit_hash', models.CharField(blank=True, max_length=64)),
                ('audit_seq', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('deleted_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['owner', '-updated_at'], name='conversation_recent'), models.Index(models.F('owner'), django.db.models.functions.text.Lower('title'), name='conversation_title'), models.Index(condition=models.Q(('archived_at', None), ('pinned_at', None)), fields=['owner', 'folder', '-updated_at'], name='conversation_shelf'), models.Index(condition=models.Q(('deleted_at__isnull', False)), fields=['owner'], name='conversation_deleted')],
            },
        ),
        migrations.CreateModel(
            name='Preferences',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='preferences', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('auto_condense', models.BooleanField(default=True, help_text='Off: you condense by hand. A full window hides its oldest messages.', verbose_name='condense automatically')),
                ('threshold', models.PositiveSmallIntegerField(default=100, validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(100)], verbose_name='threshold (%)')),
                ('adaptive', models.BooleanField(default=False, help_text='Condenses just early enough to leave room for two more turns.', verbose_name='adapt the threshold to the conversation')),
                ('condensing_prompt', models.TextField(blank=True, verbose_name='condensing prompt')),
                ('strategy', models.CharField(blank=True, max_length=200, verbose_name='method')),
                ('messages_kept', models.PositiveSmallIntegerField(default=3, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='messages to keep')),
                ('keep_first', models.BooleanField(default=False, verbose_name='keep the first message too')),
                ('last_messages', models.PositiveSmallIntegerField(default=20, help_text='For the method “Last messages”.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='last messages to keep')),
                ('truncated_percent', models.PositiveSmallIntegerField(default=50, help_text='When no summary helps. More is hidden if it must be.', validators=[django.core.validators.MinValueValidator(10), django.core.validators.MaxValueValidator(90)], verbose_name='oldest share to hide (%)')),
                ('stop_when_full', models.BooleanField(default=False, help_text='A turn stops rather than hide messages without a summary.', verbose_name='stop with an error instead of truncating')),
                ('attach_ledger', models.BooleanField(default=True, help_text='Your words, files and commands, copied without a model.', verbose_name='add key facts to each summary')),
                ('attach_files', models.BooleanField(default=True, help_text='The model then knows what each file defines.', verbose_name='add outlines of the files that were read')),
                ('check_summaries', models.BooleanField(default=True, help_text='An incomplete one is written again, then replaced by key facts.', verbose_name='check each summary')),
                ('draft_ahead', models.CharField(choices=[('free', 'Only with free models'), ('always', 'Always'), ('never', 'Never')], default='free', help_text="The summary is ready when it is needed, so you don't wait.", max_length=6, verbose_name='prepare summaries in the background')),
                ('draft_share', models.PositiveSmallIntegerField(default=80, validators=[django.core.validators.MinValueValidator(30), django.core.validators.MaxValueValidator(95)], verbose_name='start drafting at (% of the threshold)')),
                ('condense_idle', models.BooleanField(default=False, help_text="While the provider's cache is still warm, if that works out cheaper.", verbose_name='condense when you pause')),
                ('clear_tool_output', models.BooleanField(default=False, help_text='Outdated reads and all but the last 10 results become one line.', verbose_name='shorten outdated tool results first')),
                ('review_automatic', models.BooleanField(default=False, help_text='Accept, change or discard it. The turn waits for you.', verbose_name='let me review each summary')),
                ('review_seconds', models.PositiveSmallIntegerField(default=300, validators=[django.core.validators.MinValueValidator(10), django.core.validators.MaxValueValidator(30000)], verbose_name='apply without me after (seconds)')),
                ('auto_recall', models.BooleanField(default=True, help_text='Adds hidden passages that match your message.', verbose_name='recall automatically')),
                ('recall_tokens', models.PositiveSmallIntegerField(default=1500, help_text='For each message, and never more than 2% of the window.', validators=[django.core.validators.MinValueValidator(100), django.core.validators.MaxValueValidator(20000)], verbose_name='tokens to recall')),
                ('step_limit', models.PositiveSmallIntegerField(default=50, help_text='Stops a runaway task after this many model calls.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='steps per turn')),
                ('month_budget', models.DecimalField(blank=True, decimal_places=2, help_text='You are warned at 80%. When it is spent, calls stop.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))], verbose_name='budget per month (USD)')),
                ('allowance', models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))], verbose_name='budget per month (USD)')),
                ('name_conversations', models.BooleanField(default=True, help_text='Costs one short call after the first answer.', verbose_name='let the model name conversations')),
                ('environment_details', models.BooleanField(default=True, help_text='Adds time, file names, to-do list and context level to your messages.', verbose_name='tell the agent about its surroundings')),
                ('language', models.CharField(blank=True, default='', max_length=10, verbose_name='language')),
                ('shortcuts', models.BooleanField(default=True, help_text='Turn them off if they collide with assistive software.', verbose_name='keyboard shortcuts')),
                ('default_profile', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chatapp.profile')),
                ('offered_providers', models.JSONField(default=list, editable=False)),
            ],
            options={
                'verbose_name_plural': 'preferences',
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='audit_entries', to='chatapp.conversation')),
                ('number', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('beginning', 'Beginning'), ('condensation', 'Condensation'), ('rewind', 'Rewind'), ('question', 'Question'), ('pin', 'Pin'), ('fork', 'Fork'), ('review', 'Review'), ('seal', 'Seal'), ('erasure', 'Erasure')], max_length=20)),
                ('at', models.DateTimeField()),
                ('payload', models.TextField()),
                ('previous', models.CharField(max_length=64)),
                ('hash', models.CharField(max_length=64)),
                ('openings', models.JSONField(default=dict)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('conversation', 'number'), name='audit_number')],
            },
        ),
        migrations.CreateModel(
            name='Fork',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='forks', to='chatapp.conversation')),
                ('other', models.UUIDField()),
                ('is_copy', models.BooleanField()),
                ('seq', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Fragment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chatapp.conversation')),
                ('digest', models.BinaryField(max_length=32)),
                ('data', models.BinaryField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('conversation', 'digest'), name='fragment_once')],
            },
        ),
        migrations.CreateModel(
            name='QueuedMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='queued', to='chatapp.conversation')),
                ('nonce', models.UUIDField(default=uuid.uuid4)),
                ('text', models.TextField(blank=True)),
                ('attachments', models.JSONField(default=list)),
                ('zone', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('is_next', models.BooleanField(db_default=False, default=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('gone_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('gone_at', None)), fields=['conversation'], name='queued_waiting'), models.Index(condition=models.Q(('gone_at', None), ('is_next', True)), fields=['conversation'], name='queued_next')],
                'constraints': [models.UniqueConstraint(fields=('conversation', 'nonce'), name='queued_nonce')],
            },
        ),
        migrations.CreateModel(
            name='Rewind',
            fields=[
                ('messages_hidden', models.PositiveIntegerField(default=0)),
                ('results_hidden', models.PositiveIntegerField(default=0)),
                ('condensations_hidden', models.PositiveIntegerField(default=0)),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rewinds', to='chatapp.conversation')),
                ('cause', models.CharField(choices=[('rewound', 'rewound'), ('retried', 'tried again'), ('edited', 'edited'), ('regenerated', 'answered again')], default='rewound', max_length=12)),
                ('to_seq', models.PositiveIntegerField()),
                ('last_seq', models.PositiveIntegerField()),
                ('root_seq', models.PositiveIntegerField(null=True)),
                ('version', models.PositiveIntegerField(null=True)),
                ('files_before', models.CharField(blank=True, max_length=64)),
                ('brings_back', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chatapp.rewind')),
                ('rewind_parent', models.UUIDField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('undone_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['conversation', 'created_at'], name='rewind_recent')],
            },
        ),
        migrations.CreateModel(
            name='Share',
            fields=[
                ('digest', models.CharField(max_length=64, unique=True)),
                ('conversation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='share', serialize=False, to='chatapp.conversation')),
                ('until', models.PositiveIntegerField()),
                ('tools', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Source',
            fields=[
                ('conversation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='source', serialize=False, to='chatapp.conversation')),
                ('form', models.CharField(max_length=40)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('chains', models.JSONField(default=list)),
                ('problems', models.JSONField(default=list)),
                ('unused', models.PositiveIntegerField(default=0)),
                ('messages', models.PositiveIntegerField(null=True)),
                ('importer', models.CharField(blank=True, max_length=120)),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sources', to='chatapp.importrun')),
                ('place', models.PositiveIntegerField(null=True)),
                ('imported_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='chatapp.conversation')),
                ('nonce', models.UUIDField(default=uuid.uuid4)),
                ('origin', models.CharField(choices=[('sent', 'a message was sent'), ('regenerated', 'an answer was asked for anew'), ('retried', 'a turn that failed was tried again'), ('continued', 'an answer that was cut was continued'), ('condensed', 'the context was condensed by hand')], default='sent', max_length=12)),
                ('status', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('waiting', 'waiting for a person'), ('succeeded', 'succeeded'), ('stopped', 'stopped'), ('failed', 'failed'), ('interrupted', 'interrupted')], default='queued', max_length=12)),
                ('owner', models.CharField(blank=True, max_length=120)),
                ('attempt', models.PositiveIntegerField(db_default=1, default=1)),
                ('heartbeat_at', models.DateTimeField(null=True)),
                ('doing', models.CharField(blank=True, choices=[('calling', 'calling the model'), ('using_tools', 'using tools'), ('condensing', 'condensing the context')], max_length=12)),
                ('step', models.PositiveIntegerField(default=0)),
                ('error', models.TextField(blank=True)),
                ('details', models.TextField(blank=True)),
                ('profile', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chatapp.profile')),
                ('profile_at_fault', models.BooleanField(default=False)),
                ('at_seq', models.PositiveIntegerField(default=0)),
                ('question_seq', models.PositiveIntegerField(default=0)),
                ('last_seq', models.PositiveIntegerField(null=True)),
                ('rewind_parent', models.UUIDField(null=True)),
                ('zone', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('conversation', 'nonce'), name='turn_nonce'), models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('conversation',), name='one_unfinished_turn')],
            },
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='chatapp.turn')),
                ('seq', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=64)),
                ('taken_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('turn', 'seq'), name='checkpoint_of_reply')],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='chatapp.conversation')),
                ('turn', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='messages', to='chatapp.turn')),
                ('seq', models.PositiveIntegerField()),
                ('position', models.PositiveIntegerField()),
                ('role', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant')], max_length=9)),
                ('content', models.JSONField()),
                ('tokens', models.PositiveIntegerField()),
                ('results', models.PositiveIntegerField(default=0)),
                ('holds_results', models.BooleanField(default=False)),
                ('stop_reason', models.CharField(blank=True, max_length=40)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('hidden', models.BooleanField(default=False)),
                ('condense_id', models.UUIDField(null=True)),
                ('condense_parent', models.UUIDField(null=True)),
                ('truncation_id', models.UUIDField(null=True)),
                ('truncation_parent', models.UUIDField(null=True)),
                ('clear_id', models.UUIDField(null=True)),
                ('cleared', models.JSONField(default=dict)),
                ('hides', models.JSONField(null=True)),
                ('rewind_parent', models.UUIDField(null=True)),
                ('undone', models.BooleanField(default=False)),
                ('unbound', models.BooleanField(null=True)),
                ('pinned', models.BooleanField(null=True)),
                ('claimed', models.BooleanField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['conversation', 'position', 'seq'], name='message_reading'), models.Index(condition=models.Q(('hidden', False)), fields=['conversation', 'position', 'seq'], name='message_effective'), models.Index(condition=models.Q(('condense_id__isnull', False)), fields=['conversation', 'condense_id'], name='message_condense_id'), models.Index(condition=models.Q(('truncation_id__isnull', False)), fields=['conversation', 'truncation_id'], name='message_truncation_id'), models.Index(condition=models.Q(('clear_id__isnull', False)), fields=['conversation', 'clear_id'], name='message_clear_id'), models.Index(condition=models.Q(('rewind_parent__isnull', False)), fields=['conversation', 'rewind_parent'], name='message_rewind_parent')],
                'constraints': [models.UniqueConstraint(fields=('conversation', 'seq'), name='message_seq')],
            },
        ),
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='chatapp.turn')),
                ('seq', models.PositiveIntegerField()),
                ('place', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('permission', 'whether a tool may run'), ('answer', 'what the model wants to know')], max_length=10)),
                ('status', models.CharField(choices=[('pending', 'waiting'), ('allowed', 'allowed'), ('denied', 'denied'), ('answered', 'answered'), ('withdrawn', 'withdrawn')], default='pending', max_length=10)),
                ('tool', models.TextField()),
                ('text', models.TextField(blank=True)),
                ('shown', models.TextField(blank=True)),
                ('suggestions', models.JSONField(default=list)),
                ('answer', models.TextField(blank=True)),
                ('asked_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('answered_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('turn', 'seq', 'place'), name='question_of_call')],
            },
        ),
        migrations.CreateModel(
            name='ToolRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tool_runs', to='chatapp.turn')),
                ('call_id', models.TextField()),
                ('name', models.TextField()),
                ('text', models.TextField(blank=True)),
                ('is_error', models.BooleanField(default=False)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='TurnRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='requests', to='chatapp.turn')),
                ('kind', models.CharField(choices=[('stop', 'stop'), ('condense', 'condense after the step that runs'), ('cancel_condensing', 'go on without condensing')], max_length=20)),
                ('nonce', models.UUIDField(default=uuid.uuid4)),
                ('details', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('taken_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('taken_at', None)), fields=['turn'], name='turn_request_untaken')],
                'constraints': [models.UniqueConstraint(fields=('turn', 'nonce'), name='turn_request_nonce')],
            },
        ),
        migrations.CreateModel(
            name='Condensation',
            fields=[
                ('messages_hidden', models.PositiveIntegerField(default=0)),
                ('results_hidden', models.PositiveIntegerField(default=0)),
                ('condensations_hidden', models.PositiveIntegerField(default=0)),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='condensations', to='chatapp.conversation')),
                ('turn', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='condensations', to='chatapp.turn')),
                ('owner', models.CharField(max_length=120, null=True)),
                ('message', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='condensation', to='chatapp.message')),
                ('at_seq', models.PositiveIntegerField()),
                ('status', models.CharField(choices=[('running', 'running'), ('succeeded', 'succeeded'), ('failed', 'failed'), ('declined', 'nothing to do'), ('cancelled', 'cancelled'), ('undone', 'undone'), ('drafted', 'drafted'), ('unused', 'draft not used')], default='running', max_length=10)),
                ('kind', models.CharField(choices=[('condensed', 'condensed'), ('truncated', 'truncated'), ('cleared', 'cleared')], max_length=10)),
                ('strategy', models.CharField(max_length=200)),
                ('trigger', models.CharField(choices=[('auto', 'automatic'), ('forced', 'forced'), ('manual', 'by you'), ('ahead', 'drafted ahead'), ('idle', 'while idle')], max_length=10)),
                ('threshold', models.FloatField()),
                ('threshold_source', models.CharField(max_length=10)),
                ('context_window', models.PositiveIntegerField()),
                ('allowed', models.IntegerField()),
                ('profile_name', models.CharField(max_length=80)),
                ('model', models.CharField(max_length=100)),
                ('writer_name', models.CharField(blank=True, max_length=80)),
                ('writer_model', models.CharField(blank=True, max_length=100)),
                ('prompt', models.TextField(blank=True)),
                ('focus', models.TextField(blank=True)),
                ('scope', models.JSONField(null=True)),
                ('tokens_before', models.PositiveIntegerField()),
                ('tokens_before_measured', models.BooleanField()),
                ('tokens_after', models.PositiveIntegerField(null=True)),
                ('tokens_after_measured', models.BooleanField(default=False)),
                ('cost', models.DecimalField(decimal_places=10, default=Decimal('0'), max_digits=20, null=True)),
                ('cost_measured', models.BooleanField(default=True)),
                ('predicted_input', models.PositiveIntegerField(null=True)),
                ('predicted_cache_read', models.PositiveIntegerField(null=True)),
                ('predicted_cache_write', models.PositiveIntegerField(null=True)),
                ('predicted_output', models.PositiveIntegerField(null=True)),
                ('predicted_cost', models.DecimalField(decimal_places=10, default=None, max_digits=20, null=True)),
                ('summary', models.TextField(blank=True)),
                ('analysis', models.TextField(blank=True)),
                ('notes', models.JSONField(default=list)),
                ('receipt', models.JSONField(default=list)),
                ('folded', models.JSONField(default=dict)),
                ('error', models.TextField(blank=True)),
                ('details', models.TextField(blank=True)),
                ('fell_back_to', models.CharField(blank=True, max_length=200)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(null=True)),
                ('rewind_parent', models.UUIDField(null=True)),
                ('undone_at', models.DateTimeField(null=True)),
                ('redone_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['conversation', 'at_seq'], name='condensation_place'), models.Index(fields=['-started_at'], name='condensation_recent'), models.Index(fields=['conversation', 'kind', 'status', 'profile_name', 'strategy', 'trigger', 'message', 'tokens_before', 'tokens_after', 'cost', 'cost_measured', 'started_at', 'finished_at', 'id'], name='condensation_figures')],
            },
        ),
        migrations.CreateModel(
            name='Pin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pins', to='chatapp.conversation')),
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='pin', to='chatapp.message')),
                ('seq', models.PositiveIntegerField()),
                ('tokens', models.PositiveIntegerField()),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('pinned_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('unpinned_at', models.DateTimeField(null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='BackgroundDraft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='background_draft', to='chatapp.conversation')),
                ('condensation', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='background_draft', to='chatapp.condensation')),
                ('owner', models.CharField(max_length=120)),
                ('heartbeat_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('basis', models.JSONField(default=dict)),
                ('seen', models.CharField(blank=True, max_length=64)),
                ('count', models.PositiveIntegerField(default=0)),
                ('proposal', models.JSONField(default=dict)),
                ('written_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ModelCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calls', to='chatapp.conversation')),
                ('turn', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='calls', to='chatapp.turn')),
                ('message', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='call', to='chatapp.message')),
                ('condensation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='calls', to='chatapp.condensation')),
                ('owner', models.CharField(max_length=120, null=True)),
                ('purpose', models.CharField(choices=[('chat', 'chat'), ('summary', 'summary'), ('title', 'title')], max_length=10)),
                ('status', models.CharField(choices=[('running', 'running'), ('succeeded', 'succeeded'), ('failed', 'failed'), ('interrupted', 'interrupted')], default='running', max_length=12)),
                ('draft', models.TextField(blank=True)),
                ('profile_name', models.CharField(max_length=80)),
                ('provider', models.CharField(blank=True, max_length=20)),
                ('model', models.CharField(max_length=100)),
                ('tokens_input', models.PositiveIntegerField(default=0)),
                ('tokens_output', models.PositiveIntegerField(default=0)),
                ('tokens_cache_read', models.PositiveIntegerField(default=0)),
                ('tokens_cache_write', models.PositiveIntegerField(default=0)),
                ('usage_measured', models.BooleanField(default=True)),
                ('tokens_estimated', models.PositiveIntegerField(null=True)),
                ('tokens_media', models.PositiveIntegerField(default=0)),
                ('cost', models.DecimalField(decimal_places=10, default=Decimal('0'), max_digits=20, null=True)),
                ('seconds', models.FloatField(default=0)),
                ('seconds_to_first', models.FloatField(null=True)),
                ('request_id', models.CharField(blank=True, max_length=100)),
                ('reply_id', models.CharField(blank=True, max_length=100)),
                ('cache_miss', models.CharField(blank=True, max_length=100)),
                ('tokens_missed', models.PositiveIntegerField(null=True)),
                ('transformations', models.JSONField(default=list)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'indexes': [models.Index(fields=['conversation', 'created_at', 'cost'], name='call_spent')],
            },
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('condensation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='chatapp.condensation')),
                ('ordinal', models.PositiveSmallIntegerField()),
                ('status', models.CharField(choices=[('pending', 'waiting'), ('accepted', 'accepted'), ('edited', 'changed and accepted'), ('again', 'written again'), ('discarded', 'discarded'), ('expired', 'applied when its time was over'), ('withdrawn', 'withdrawn')], default='pending', max_length=10)),
                ('shown', models.TextField(blank=True)),
                ('text', models.TextField(blank=True)),
                ('focus', models.TextField(blank=True)),
                ('proposal', models.JSONField(default=dict)),
                ('typed', models.JSONField(null=True)),
                ('answered_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('shown_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('applies_at', models.DateTimeField(null=True)),
                ('answered_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('condensation', 'ordinal'), name='review_ordinal')],
            },
        ),
        migrations.CreateModel(
            name='Manifest',
            fields=[
                ('call', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='chatapp.modelcall')),
                ('parent', models.PositiveBigIntegerField(null=True)),
                ('kept', models.PositiveIntegerField()),
                ('data', models.BinaryField()),
                ('head', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='chatapp.fragment')),
                ('digest', models.BinaryField(max_length=32)),
            ],
        ),
        migrations.RunPython(on("sqlite", *MAKE_ON_SQLITE), on("sqlite", *DROP_ON_SQLITE)),
        migrations.RunPython(on("postgresql", *MAKE_ON_POSTGRESQL), on("postgresql", *DROP_ON_POSTGRESQL)),
    ]
