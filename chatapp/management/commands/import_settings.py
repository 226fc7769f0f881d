"""``manage.py import_settings FILE``: Roo Code's settings become those of a user."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, override

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

import condense
from chatapp.management import find_user
from chatapp.models import Preferences, accounts
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _
from chatapp.web.forms.preferences import INHERITED, OWN, PreferencesForm, ThresholdChoice


class Command(BaseCommand):
    """Read Roo Code's export, set its condensing settings, and print the unused ones."""

    help = "Import the condensing settings of Roo Code: a JSON file that it exported."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help=_("JSON file"))
        parser.add_argument("--user", help=_("whose settings; default: the server's owner"))

    @override
    @transaction.atomic
    def handle(self, *, file: Path, user: str | None, **_options: Any) -> None:
        try:
            found = condense.read_roo_settings(json.loads(file.read_text("utf-8")))
        except OSError as error:
            lost = _("{file} cannot be read: {reason}.", file=file, reason=error.strerror)
            raise CommandError(lost) from error
        except ValueError as error:
            raise CommandError(_("{file} is no JSON: {error}", file=file, error=error)) from error
        except condense.CondenseError as error:
            raise CommandError(in_words(str(error))) from error
        preferences = accounts.preferences_of(find_user(user))
        said = [*self._preferences(preferences, found), *self._profiles(preferences, found)]
        for note in found.notes:
            self.stderr.write(in_words(note))
        for line in said or [_("There was nothing to import.")]:
            self.stdout.write(line)

    def _preferences(self, preferences: Preferences, found: condense.RooSettings) -> Iterator[str]:
        """Save the global settings through the form that people use, and yield a line for each."""
        threshold = None if found.threshold is None else round(found.threshold)
        wishes = {
            "auto_condense": found.automatic,
            "threshold": threshold,
            "condensing_prompt": found.prompt,
        }
        given = {name: value for name, value in wishes.items() if value is not None}
        shown = PreferencesForm(instance=preferences)
        stored = {name: shown[name].value() for name in shown.fields}
        form = PreferencesForm({**stored, **given}, instance=preferences)
        if not form.is_valid():
            raise CommandError(_first_problem(form))
        form.save()
        for name, value in given.items():
            told = _("own text") if name == "condensing_prompt" and value else value
            yield f"{shown[name].label}: {told if told != '' else _('default')}"

    def _profiles(self, preferences: Preferences, found: condense.RooSettings) -> Iterator[str]:
        """Set the threshold of each profile that has the same name here."""
        profiles = {profile.name: profile for profile in preferences.owner.profiles.all()}
        for name, percent in found.profiles.items():
            if name not in profiles:
                lost = _("There is no profile {name!r}: its threshold is not used.", name=name)
                self.stderr.write(lost)
                continue
            inherits, profile = percent == condense.INHERIT, profiles[name]
            own = {"mode": OWN, "own_threshold": round(percent)}
            form = ThresholdChoice({"mode": INHERITED} if inherits else own, instance=profile)
            if not form.is_valid():
                raise CommandError(_first_problem(form))
            profile.save(update_fields=["threshold"])
            if inherits:
                yield _("Threshold of {name}: inherited", name=name)
            else:
                yield _("Threshold of {name}: {threshold}", name=name, threshold=profile.threshold)


def _first_problem(form: PreferencesForm | ThresholdChoice) -> str:
    name, problems = next(iter(form.errors.items()))
    return f"{name}: {problems[0]}"
