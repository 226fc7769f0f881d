from collections.abc import Iterable, Iterator
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def runs(seqs: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for seq in seqs:
        if found and seq == found[-1][1] + 1:
            found[-1][1] = seq
        else:
            found.append([seq, seq])
    return found


def hidden(messages: Any, row: Any) -> Iterator[int]:
    there = messages.filter(conversation=row.conversation_id)
    if row.condense_id:
        there = there.filter(condense_parent=row.condense_id)
    elif row.truncation_id:
        there = there.filter(truncation_parent=row.truncation_id)
    else:
        there = there.filter(pk__in=row.cleared)
    yield from there.order_by("seq").values_list("seq", flat=True)


def tell_what_is_hidden(apps: Apps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    messages: models.QuerySet[Any] = models.QuerySet(apps.get_model("chatapp", "Message"))
    for name in ("condense_id", "truncation_id", "clear_id"):
        made = messages.filter(**{f"{name}__isnull": False}).defer("content")
        for row in made.iterator():
            messages.filter(pk=row.pk).update(hides=runs(hidden(messages, row)))


class Migration(migrations.Migration):
    dependencies = [
        ("chatapp", "0030_budgets"),
    ]

    operations = [
        migrations.AddField(
            model_name="condensation",
            name="redone_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="hides",
            field=models.JSONField(null=True),
        ),
        migrations.RunPython(tell_what_is_hidden, migrations.RunPython.noop),
    ]
