"""Users choose the language of their pages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the language to the preferences; without one it is the browser's."""

    dependencies = [("chatapp", "0056_allowance")]

    operations = [
        migrations.AddField(
            model_name="preferences",
            name="language",
            field=models.CharField(blank=True, default="", max_length=10, verbose_name="language"),
        )
    ]
