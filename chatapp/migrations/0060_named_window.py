from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0059_tokens_kept'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='named_window',
            field=models.PositiveIntegerField(null=True),
        ),
    ]
