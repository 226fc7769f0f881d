"""``manage.py verify_audit``: whether the audit chains hold, and where one breaks."""

import uuid
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, override

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from chatapp.errors import BadSeal
from chatapp.maintenance import audit_check, audit_seals
from chatapp.models import Conversation


class Command(BaseCommand):
    """Follow each chain, compare it with what is stored, and with a seal where there is one."""

    help = "Checks the audit chains of all conversations, or of one; fails where one breaks."
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("conversation", type=uuid.UUID, nargs="?", help="default: all")
        parser.add_argument(
            "--against", type=Path, metavar="FILE", help="a seal: since then chains may only grow"
        )
        parser.add_argument(
            "--public-key", metavar="KEY", help="of who made the seal; default: this server's"
        )

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
            chains = entries = erased = waiting = broken = 0
            for verdict in _verdicts(conversation, chosen):
                chains += 1
                broken += not verdict.holds
                entries += verdict.entries
                erased += verdict.erased
                waiting += verdict.waiting
                for problem in verdict.problems:
                    self.stderr.write(f"Conversation {verdict.conversation.pk}: {problem}")
            words = "hold" if not broken else f"were read, {broken:,} of them do not hold"
            self.stdout.write(
                f"{chains:,} chains with {entries:,} entries {words}. {erased:,} contents were "
                f"erased; {waiting:,} messages wait for the next entry."
            )
            outgrown = [*filter(None, map(audit_seals.compare, chosen))]
            for problem in outgrown:
                self.stderr.write(problem)
        except DatabaseError as error:
            raise CommandError(f"The database can't be read to its end: {error}.") from error
        if broken or outgrown:
            raise CommandError("The record was tampered with, or is damaged.")
        if against:
            self.stdout.write(f"Since {against} was made, {len(chosen):,} chains only grew.")


def _verdicts(
    pk: uuid.UUID | None, sealed: Iterable[audit_seals.Head]
) -> Iterator[audit_check.Verdict]:
    if pk is None:
        yield from audit_check.verify_all()
        return
    found = Conversation.objects.filter(pk=pk).first()
    if found:
        yield audit_check.verify(found)
    elif not sealed:
        raise CommandError(f"There is no conversation {pk}.")


def _read_heads(path: Path, key: str | None) -> list[audit_seals.Head]:
    if not (key or audit_seals.has_key()):
        raise CommandError("This server has no key of its own: say --public-key.")
    try:
        return audit_seals.read_seal(path.read_text("utf-8"), key or audit_seals.public_key())
    except (OSError, UnicodeDecodeError, BadSeal) as error:
        raise CommandError(f"{path} can't be used: {error}") from error
