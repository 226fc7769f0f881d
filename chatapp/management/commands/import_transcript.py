"""``manage.py import_transcript FILE``: a recorded session becomes a conversation."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, override

from django.core.management.base import BaseCommand, CommandError

from chatapp.conversations import pins
from chatapp.management import find_user
from chatapp.models import Conversation, Source, errors
from chatapp.models.conversations import LONGEST_TITLE
from chatapp.operations import processes
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _
from chatapp.records.importers import UNKNOWN_FORMAT, list_formats, read_file, recognise
from chatapp.records.transfer.record_import import load_conversations
from chatapp.records.transfer.transcript_files import digest_of

# A broken file can have as many problems as messages; the first ones are enough to explain it.
PROBLEMS_SHOWN = 20


class Command(BaseCommand):
    """Read a file, gzipped or not, and print the unusable parts."""

    help = "Import a conversation that Palimpsest or another program has recorded."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help=_("file, gzipped or not, or a task's folder"))
        what = _("default: what the file begins like")
        parser.add_argument("--format", choices=list_formats(), help=what)
        what = _("owner of the conversation; default: the server's owner")
        parser.add_argument("--user", help=what)
        parser.add_argument("--title", help=_("title; default: the file's name"))

    @override
    def handle(
        self,
        *,
        file: Path,
        format: str | None,
        user: str | None,
        title: str | None,
        **_options: Any,
    ) -> None:
        if not file.exists():
            raise CommandError(_("There is no file {file}.", file=file))
        try:
            form = format or recognise(file)
        except errors.Refused as reason:
            raise CommandError(str(reason)) from reason
        if form is None:
            raise CommandError(str(UNKNOWN_FORMAT))
        source = Source(form=form, name=file.name[:LONGEST_TITLE], digest=digest_of(file))
        pieces, owner = read_file(form, file), find_user(user)
        refusals = list[str]()
        with processes.working():
            for one in load_conversations(pieces, owner=owner, source=source, title=title or ""):
                self._report(one.source)
                refusals.append(one.refusal)
                if one.refusal:
                    self.stderr.write(f"{one.title}: {in_words(one.refusal)}")
                else:
                    self._tell(one.source, one.source.conversation)
        if all(refusals):
            raise CommandError(in_words(refusals[0]) if refusals else str(UNKNOWN_FORMAT))

    def _tell(self, source: Source, made: Conversation) -> None:
        said = _(
            "Imported {count} message as conversation {id}, answered by the profile {profile}.",
            "Imported {count} messages as conversation {id}, answered by the profile {profile}.",
            count=source.messages or 0,
            id=made.pk,
            profile=made.profile,
        )
        self.stdout.write(said)
        # Texts of the file that the model would obey.
        if made.system_prompt:
            self.stdout.write(_("Its system prompt: {prompt}", prompt=made.system_prompt))
        for rule in pins.claimed_rules(made):
            self.stdout.write(_("A rule that its owner has not made theirs: {rule}", rule=rule))

    def _report(self, source: Source) -> None:
        for problem in source.problems[:PROBLEMS_SHOWN]:
            index, reason = problem["index"], in_words(problem["reason"])
            item = _("Not used: item {index}: {reason}", index=index, reason=reason)
            self.stderr.write(item if index else reason)
        if (others := source.unused - PROBLEMS_SHOWN) > 0:
            self.stderr.write(_("… and one more.", "… and {count} more.", count=others))
