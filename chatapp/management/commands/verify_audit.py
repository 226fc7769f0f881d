"""``manage.py verify_audit``: check the audit chains, and report each break."""

import uuid
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, override

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.translation import gettext_noop

from chatapp.models import Conversation
from chatapp.models.errors import BadSeal
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import audit_check, audit_seals


class Command(BaseCommand):
    """Follow each chain, compare it with the stored rows, and with a seal if there is one."""

    help = "Checks the audit chains of all conversations, or of one; fails where one breaks."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("conversation", type=uuid.UUID, nargs="?", help=_("default: all"))
        what = _("a seal: since then chains may only grow")
        parser.add_argument("--against", type=Path, metavar="FILE", help=what)
        what = _("of who made the seal; default: this server's")
        parser.add_argument("--public-key", metavar="KEY", help=what)

    @override
    def handle(
        self,
        *,
        conversation: uuid.UUID | None,
        against: Path | None,
        public_key: str | None,
        **_options: Any,
    ) -> None:
        heads = _read_heads(against, public_key) if against else []
        chosen = [head for head in heads if conversation in {None, head.conversation}]
        try:
            found = Counter(chains=0, entries=0, erased=0, waiting=0, broken=0)
            for verdict in _verdicts(conversation, chosen):
                found["chains"] += 1
                found["broken"] += not verdict.holds
                found["entries"] += verdict.entries
                found["erased"] += verdict.erased
                found["waiting"] += verdict.waiting
                pk = verdict.conversation.pk
                for problem in verdict.problems:
                    self.stderr.write(_("Conversation {id}: {problem}", id=pk, problem=problem))
            self._tell(found)
            outgrown = [*filter(None, map(audit_seals.compare, chosen))]
            for problem in outgrown:
                self.stderr.write(problem)
        except DatabaseError as error:
            said = _("The database can't be read to its end: {error}.", error=error)
            raise CommandError(said) from error
        if found["broken"] or outgrown:
            raise CommandError(_("The record was tampered with, or is damaged."))
        if against:
            grew = _(
                "Since {seal} was made, {count:,} chain only grew.",
                "Since {seal} was made, {count:,} chains only grew.",
                seal=against,
                count=len(chosen),
            )
            self.stdout.write(grew)

    def _tell(self, found: Counter[str]) -> None:
        said = gettext_noop(
            "{chains:,} chains with {entries:,} entries hold. {erased:,} contents were erased; "
            "{waiting:,} messages wait for the next entry."
        )
        if found["broken"]:
            said = gettext_noop(
                "{chains:,} chains with {entries:,} entries were read, {broken:,} of them do not "
                "hold. {erased:,} contents were erased; {waiting:,} messages wait for the next "
                "entry."
            )
        self.stdout.write(_(said, **found))


def _verdicts(
    pk: uuid.UUID | None, sealed: Iterable[audit_seals.Head]
) -> Iterator[audit_check.ChainFindings]:
    if pk is None:
        yield from audit_check.verify_all()
        return
    found = Conversation.objects.filter(pk=pk).first()
    if found:
        yield audit_check.verify(found)
    elif not sealed:
        raise CommandError(_("There is no conversation {id}.", id=pk))


def _read_heads(path: Path, key: str | None) -> list[audit_seals.Head]:
    if not (key or audit_seals.has_key()):
        raise CommandError(_("This server has no key of its own: say --public-key."))
    try:
        return audit_seals.read_seal(path.read_text("utf-8"), key or audit_seals.public_key())
    except (OSError, UnicodeDecodeError, BadSeal) as error:
        raise CommandError(_("{path} can't be used: {error}", path=path, error=error)) from error
