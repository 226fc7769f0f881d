from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0058_forgotten'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='named_window',
            field=models.PositiveIntegerField(null=True),
        ),
    ]
