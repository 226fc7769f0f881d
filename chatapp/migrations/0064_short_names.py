"""Profiles that are named by a path get the short name that a new one would have.

The records of what they did keep the name that they were written with.
"""

import itertools
import re

from django.apps.registry import Apps as StateApps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

FILE = re.compile(r"\.(?:gguf|bin|safetensors|llamafile)$", re.IGNORECASE)
WEIGHTS = re.compile(r"[.-](?=(?:I?Q\d|BF16|FP?16|F32|MXFP)\w*$)", re.IGNORECASE)


def shorten(apps: StateApps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Rename each profile whose name is its model's path, as far as that was kept."""
    profiles = apps.get_model("chatapp", "Profile").objects
    for profile in profiles.filter(name__contains="/").order_by("pk"):
        # A name that was taken already ends with a number.
        kept = re.sub(r" \d+$", "", profile.name)
        if not profile.model.startswith((profile.name, kept)):
            continue
        last = re.split(r"[/\\]", profile.model.rstrip("/\\"))[-1]
        short = WEIGHTS.sub(" ", FILE.sub("", last))[:70]
        taken = {*profiles.filter(owner=profile.owner_id).values_list("name", flat=True)}
        names = itertools.chain([short], (f"{short} {number}" for number in itertools.count(2)))
        profile.name = next(name for name in names if name not in taken)
        profile.save(update_fields=["name"])


class Migration(migrations.Migration):
    dependencies = [("chatapp", "0063_about_me")]
    operations = [migrations.RunPython(shorten, migrations.RunPython.noop, elidable=True)]
