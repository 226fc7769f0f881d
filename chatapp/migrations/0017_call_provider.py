"""Each call says whose API its request was written for."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def name_providers(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Take the provider of the profile that has a call's name now."""
    calls = apps.get_model("chatapp", "ModelCall").objects
    for profile in apps.get_model("chatapp", "Profile").objects.all():
        made = calls.filter(conversation__owner=profile.owner_id, profile_name=profile.name)
        made.update(provider=profile.provider)


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0016_audit_chain"),
    ]

    operations = [
        migrations.AddField(
            model_name="modelcall",
            name="provider",
            field=models.CharField(blank=True, max_length=20),
        ),
        migrations.RunPython(name_providers, migrations.RunPython.noop),
    ]
